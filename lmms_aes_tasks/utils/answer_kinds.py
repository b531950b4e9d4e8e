"""The kinds of answers by name, each with the one function that reads it: what `lmms-aes parse` offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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


KINDS: Mapping[str, tuple[Callable[[Mapping[str, Any]], dict[str, Any]], str]] = {
    "option": (_option, "text, options [[id, text], …]"),
    "winner": (_winner, "text"),
    "vab": (_vab, "text, labels [A, …], prompt_type (pick_best, pick_worst or pick_best_and_worst)"),
}
"""By kind: its reader, which takes an object of `text` and the fields that the kind needs, and what they are."""
