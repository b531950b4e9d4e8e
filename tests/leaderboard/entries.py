"""Entries made by hand: small files of responses and the forms that name them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard

from lmms_aes_tasks.board.schema import (
    Entry,
    Finding,
    Metric,
    PromptUse,
    ResponsesFile,
    Subject,
    TaskResult,
    Verification,
    Versions,
)

Rows = Sequence[dict[str, Any]]


def row(item_id: str, response: str, **record: Any) -> dict[str, Any]:
    return {"id": item_id, "response": response, "record": {"id": item_id, **record}}


def context_rows(answers: Mapping[str, str | None], golds: Mapping[str, str], three: Sequence[str] = ()) -> Rows:
    """ContextCanvas: an answer and a gold label for each id; those in `three` have three options."""
    options = {item: [["A", "yes"], ["B", "no"], *([["C", "perhaps"]] if item in three else [])] for item in answers}
    return [
        row(item, f"answer: {answer}", answer=answer, gold=golds[item], options=options[item], parser="2")
        for item, answer in answers.items()
    ]


def vab_rows(right: Mapping[str, Sequence[bool]], domain: Mapping[str, str] | None = None) -> Rows:
    """VAB Top-1 of three images: whether each trial of a task is right."""
    return [
        row(
            f"{task}#{trial}",
            f"BEST: {'A' if one else 'B'}",
            task_id=task,
            trial=trial,
            question="top1",
            domain=(domain or {}).get(task, "photography"),
            substyle="portrait",
            n_images=3,
            answer=["A"] if one else ["B"],
            gold=["A"],
        )
        for task, trials in right.items()
        for trial, one in enumerate(trials)
    ]


def critique_row(
    item: str, bleu: Sequence[int], rouge_l: float, words: int, domain: str = "painting"
) -> dict[str, Any]:
    return row(
        item,
        "text",
        domain=domain,
        bleu=list(bleu),
        rouge_l=rouge_l,
        meteor=rouge_l / 2,
        words=words,
        reference_words=10,
        mentions={},
        focus=[],
        empty=False,
        truncated=False,
        other_script=False,
        failed=False,
        reasoning=False,
        reasoning_cut=False,
        parser="1+text2",
    )


def pair_rows(winners: Mapping[int, str], humans: Mapping[int, str]) -> Rows:
    """FineArtBench: the model's and the experts' winner of numbered pairs."""
    return [
        row(f"global-{number}", winner, number=number, content_index=number % 2, style_index=0, human=humans[number],
            winner=winner)
        for number, winner in winners.items()
    ]  # fmt: skip


def digest(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def write_responses(folder: Path, task: str, rows: Rows, level: int = 3) -> ResponsesFile:
    text = "".join(json.dumps(one) + "\n" for one in rows).encode()
    content = zstandard.ZstdCompressor(level=level).compress(text)
    path = folder / "responses" / f"{task}.jsonl.zst"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return ResponsesFile(
        path=f"responses/{task}.jsonl.zst",
        sha256=digest(content),
        rows=len(rows),
        bytes=len(content),
        content_bytes=len(text),
    )


def result(folder: Path, task: str, benchmark: str, rows: Rows, level: int = 3, **changes: Any) -> TaskResult:
    ids = sorted(one["id"] for one in rows)
    fields: dict[str, Any] = {
        "task": task,
        "benchmark": benchmark,
        "version": "1-A",
        "data_sha256": digest("data"),
        "ids_sha256": digest(json.dumps(ids)),
        "prompts": [PromptUse(id=f"{benchmark}-1", sha256=digest("prompt"), n=len(rows))],
        "parser": "2",
        "decoding": {"temperature": 0, "max_new_tokens": 800, "do_sample": False},
        "images": {"image_fit": "pad", "image_size": 448},
        "n": len(rows),
        "n_expected": len(rows),
        "parse_rate": 1.0,
        "metrics": {"accuracy": Metric(value=0.5, n=len(rows), numerator=len(rows) / 2, denominator=len(rows))},
        "signature": f"task:{task}|v:1-A|n:{len(rows)}",
        "file": write_responses(folder, task, rows, level),
    }
    return TaskResult(**{**fields, **changes})


def entry_of(tasks: Mapping[str, TaskResult], model: str = "org/model", **changes: Any) -> Entry:
    fields: dict[str, Any] = {
        "date": "2026-03-01",
        "evaluator": "somebody",
        "model": Subject(id=model, revision=changes.pop("revision", "abc123"), backend="qwen3_vl"),
        "versions": Versions(harness="0.7.3", plugin="0.1.0", libraries={"torch": "2.9.0"}),
        "tasks": dict(tasks),
    }
    return Entry(**{**fields, **changes})


def write_entry(folder: Path, entry: Entry) -> str:
    """Write `entry.json`; its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps(entry.model_dump(mode="json")).encode()
    (folder / "entry.json").write_bytes(content)
    return digest(content)


def write_verification(folder: Path, entry_sha256: str, **changes: Any) -> None:
    fields: dict[str, Any] = {
        "status": "recomputed",
        "entry_sha256": entry_sha256,
        "verified": "2026-03-02",
        "plugin": "0.1.0",
        "recomputed": {"contextcanvas": ["accuracy"]},
    }
    made = Verification(**{**fields, **changes})
    (folder / "verification.json").write_text(json.dumps(made.model_dump(mode="json")))


GOLDS = {"c1": "A", "c2": "B", "c3": "A", "c4": "B"}


def submit(root: Path, run: str = "run1", model: str = "org/model", answers: str = "AAAA", **changes: Any) -> Path:
    """A ContextCanvas entry in its place below the submissions; letters of `answers` answer c1 to c4.

    Args:
        root: The submissions.
        run: Name of the run.
        model: ORG/NAME.
        answers: A letter for each case.
        changes: `verified` (False, True or fields of the verification), `date`, `revision`, and fields of the result.
    """
    verified = changes.pop("verified", False)
    own = {name: changes.pop(name) for name in ("date", "revision", "evaluator") if name in changes}
    revision = own.get("revision", "abc123")
    folder = root / model.replace("/", "__") / (revision or "unknown") / run
    rows = context_rows(dict(zip(GOLDS, answers, strict=False)), GOLDS)
    sha256 = write_entry(
        folder,
        entry_of(
            {"contextcanvas": result(folder, "contextcanvas", rows=rows, **{"benchmark": "contextcanvas"} | changes)},
            model,
            **own,
        ),
    )
    if verified is not False:
        write_verification(folder, sha256, **(verified if isinstance(verified, dict) else {}))
    return folder


FLAG = Finding(kind="flag", where="contextcanvas", message="implausible")
