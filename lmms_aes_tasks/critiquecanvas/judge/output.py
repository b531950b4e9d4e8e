"""The output file: one line a case, which is also the memory of a run begun again; and reading it for analysis."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_aes_tasks.critiquecanvas.judge.cases import ALIASES, JudgeCase
from lmms_aes_tasks.critiquecanvas.judge.request import JudgeSettings
from lmms_aes_tasks.critiquecanvas.judge.verdict import parse_verdict
from lmms_aes_tasks.predictions import PredictionError, limited_lines
from lmms_aes_tasks.records import IMAGES_COLUMN
from lmms_aes_tasks.utils.errors import bulleted
from lmms_aes_tasks.utils.ratings import OVERALL

MAX_LINE_BYTES = 1024 * 1024
"""Longest line of an output file; ours are some kilobytes."""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def identity(case: JudgeCase, document: Mapping[str, Any], settings: JudgeSettings) -> dict[str, Any]:
    """What makes a line of the output this case of this run: where any of it differs, the line is another run's."""
    (cell,) = document[IMAGES_COLUMN]
    shown = hashlib.sha256(document["instruction"].encode("utf-8", "replace") + b"\0" + cell["bytes"]).hexdigest()
    return {
        "id": case.id,
        "order": dict(case.order),
        "candidates": {model: _sha256(text) for model, text in sorted(case.candidates.items())},
        "case_sha256": shown,
        "seed": settings.seed,
        "judge": settings.judge,
        "prompt": settings.prompt.id,
        "prompt_sha256": settings.prompt.sha256,
        "image_fit": settings.image_fit,
        "response_format": settings.response_format,
    }


def _line_problem(item: Any) -> str | None:
    """What is wrong with a line of an output file, as far as reading it needs it."""
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        return "no line of `lmms-aes judge critiques`"
    order, verdict = item.get("order"), item.get("verdict")
    if not isinstance(order, dict) or not all(a in tuple(ALIASES) and isinstance(m, str) for a, m in order.items()):
        return "no order of aliases"
    if len(set(order.values())) != len(order):
        return "a model has two aliases"
    if "verdict" not in item or not (verdict is None or isinstance(verdict, dict)):
        return "no verdict"
    if verdict is not None:
        if set(verdict) != set(order.values()):
            return "the verdict is not on the models of the order"
        _, problem = parse_verdict(json.dumps(verdict), list(verdict))
        return problem
    return None


@dataclass
class JudgeFile:
    """What an output file holds.

    Attributes:
        lines: Its sound lines, in order.
        size: Bytes up to the end of the last sound line: what follows was cut off while it was written.
        ended: Whether the last sound line ends in a line end.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0
    ended: bool = True


def read_judge_file(path: Path) -> JudgeFile:
    """Read an output file; a last line that was cut off is left out, and nothing is changed.

    Raises:
        PredictionError: It is no such file, a line before the last is damaged, or an id stands twice.
    """
    found = JudgeFile()
    seen: dict[str, int] = {}
    for number, line in limited_lines(path, MAX_LINE_BYTES, "Is it a file of `judge critiques`?"):
        where = f"{path}, line {number}"
        if not line.strip():
            found.size += len(line)
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            # only what begins as our lines do: a wrong file that was named must not lose its end
            ours = line.startswith(b'{"id": ') or (len(line) < 7 and b'{"id": '.startswith(line))
            if ours and found.size + len(line) == path.stat().st_size:
                return found
            raise PredictionError(
                f"{where}: not JSON ({error}). Correct or remove the line, or name another file."
            ) from None
        if problem := _line_problem(item):
            raise PredictionError(f"{where}: {problem}. Correct or remove the line, or name another file.")
        if item["id"] in seen:
            raise PredictionError(
                f"{where}: id {item['id']!r} stands in line {seen[item['id']]} already. Keep one of them."
            )
        seen[item["id"]] = number
        found.lines.append(item)
        found.size += len(line)
        found.ended = line.endswith(b"\n")
    return found


def check_lines(path: Path, lines: Iterable[Mapping[str, Any]], identity_of: Callable[[str], dict[str, Any]]) -> None:
    """Make sure that an output file is of this run.

    Args:
        path: For the message.
        lines: What is in it.
        identity_of: Identity of a case by id; raises KeyError for an unknown id.

    Raises:
        PredictionError: Lists every line that differs, and in what.
    """
    problems = []
    for line in lines:
        try:
            wanted = identity_of(line["id"])
        except KeyError:
            problems.append(f"{line['id']!r}: no case that all models answered")
            continue
        differing = [name for name, value in wanted.items() if line.get(name) != value]
        if differing:
            problems.append(f"{line['id']!r}: {', '.join(differing)} differ")
    if problems:
        raise PredictionError(
            f"{path} belongs to another run: {len(problems)} line(s) differ. Name another --out, or run with the "
            f"settings and files of before.\n{bulleted(problems)}"
        )


@contextmanager
def open_output(path: Path, found: JudgeFile) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Open an output file to append whole lines, each flushed; what was cut off at its end is removed first.

    Raises:
        PredictionError: It cannot be written.
    """
    lock = threading.Lock()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        output = path.open("ab")
    except OSError as error:
        raise PredictionError(f"{path} cannot be written ({error.strerror}). Name another --out.") from None
    with output:
        output.truncate(found.size)
        if not found.ended:
            output.write(b"\n")

        def write(line: Mapping[str, Any]) -> None:
            content = json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
            with lock:
                try:
                    output.write(content)
                    output.flush()
                    os.fsync(output.fileno())
                except OSError as error:
                    raise PredictionError(
                        f"{path} cannot be written ({error.strerror}). Make room, and run again."
                    ) from None

        yield write


# -- Reading for analysis ---------------------------------------------------------------------------------------------


def verdicts_of(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, int]]]:
    """Verdicts by case and model, of the lines that have one."""
    return {line["id"]: line["verdict"] for line in lines if line["verdict"] is not None}


def alias_means(lines: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, int]]:
    """Mean `overall_quality` and number of verdicts by alias: far from equal means that the position counts."""
    by_alias: dict[str, list[int]] = {}
    for line in lines:
        for alias, model in line["order"].items():
            if line["verdict"] is not None:
                by_alias.setdefault(alias, []).append(line["verdict"][model][OVERALL])
    return {alias: (sum(values) / len(values), len(values)) for alias, values in sorted(by_alias.items())}
