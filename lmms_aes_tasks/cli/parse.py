"""`lmms-aes parse`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from reprlib import repr as shortened
from typing import Any

import typer

from lmms_aes_tasks.predictions import PredictionError
from lmms_aes_tasks.utils.answers import parse_option, parse_set, parse_winner


def _option(item: Mapping[str, Any]) -> dict[str, Any]:
    options = [(str(option_id), str(text)) for option_id, text in item["options"]]
    answer = parse_option(item["text"], options)
    return {"parsed": answer.answer, "rule": answer.rule}


def _winner(item: Mapping[str, Any]) -> dict[str, Any]:
    answer = parse_winner(item["text"])
    return {"parsed": answer.winner, "rule": answer.rule}


def _vab(item: Mapping[str, Any]) -> dict[str, Any]:
    answer = parse_set(item["text"], item["prompt_type"], [str(label) for label in item["labels"]])
    return {"parsed": answer.labels, "strict": answer.strict, "rule": answer.rule}


_KINDS: Mapping[str, tuple[Callable[[Mapping[str, Any]], dict[str, Any]], str]] = {
    "option": (_option, "text, options [[id, text], …]"),
    "winner": (_winner, "text"),
    "vab": (_vab, "text, labels [A, …], prompt_type (pick_best, pick_worst or pick_best_and_worst)"),
}


def _parse_line(line: bytes, number: int) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PredictionError(f"line {number}: not JSON ({error}). Write one object a line.") from None
    kind = item.get("kind") if isinstance(item, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise PredictionError(f"line {number}: kind is {shortened(kind)}. Use one of {', '.join(_KINDS)}.")
    read, wanted = _KINDS[kind]
    if not isinstance(item.get("text", 0), (str, type(None))):  # null is the empty reply
        raise PredictionError(
            f"line {number}: text is {shortened(item.get('text'))}. A line of kind {kind} needs {wanted}."
        )
    try:
        return read(item)
    except RecursionError:
        raise PredictionError(f"line {number}: nested too deeply. A line of kind {kind} needs {wanted}.") from None
    except (KeyError, TypeError, ValueError) as error:
        raise PredictionError(f"line {number}: {error}. A line of kind {kind} needs {wanted}.") from None


def parse() -> None:
    """Read answers from standard input: JSONL with `kind`, `text` and what the kind needs; one JSON object a line out.

    Kinds: `option` (with `options`, a list of [id, text]), `winner`, and `vab` (with `labels` and `prompt_type`). Each
    output line has `parsed` and `rule`, and for `vab` also `strict`; the order is that of the input.
    """
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            typer.echo(json.dumps(_parse_line(line, number)))
