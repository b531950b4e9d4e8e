"""Responses made elsewhere, or by lmms-eval: reading them and matching them with a data set's ids.

Text here is hostile: it is read as data, with limits, and never evaluated.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_aes_tasks.utils.errors import AesError

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Longest line read; a reply of a million words is still shorter."""
_LISTED = 50


class PredictionError(AesError):
    """A predictions file that cannot be scored; the message lists every case and says what to do."""


@dataclass(frozen=True)
class Prediction:
    """One response.

    Attributes:
        id: Id of the document.
        response: The text that is scored.
        record: The record that the harness logged beside it, if this is a samples file.
        prompt: The text that the model was given, if it is one.
        target: What the harness logged as the right answer, if it is one: the reference of a critique.
    """

    id: str
    response: str
    record: dict[str, Any] | None = None
    prompt: str | None = None
    target: str | None = None


def _listing(what: str, ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_LISTED])
    more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
    return f"{len(ids)} {what}: {shown}{more}"


def _sample(item: dict[str, Any], where: str) -> Prediction:
    """A line of lmms-eval's samples file: the id is in our record, the text is what the harness scored."""
    record = item["record"]
    responses = item["filtered_resps"]
    while isinstance(responses, list) and responses:
        responses = responses[0]
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        raise PredictionError(f"{where}: its record has no id. Is it the samples file of one of our tasks?")
    if not isinstance(responses, str):
        raise PredictionError(f"{where}: filtered_resps holds no text. Run lmms-eval with --log_samples again.")
    given, target = item.get("input"), item.get("target")
    return Prediction(
        record["id"],
        responses,
        record,
        given if isinstance(given, str) else None,
        target if isinstance(target, str) else None,
    )


def _prediction(item: Any, where: str) -> Prediction:
    if isinstance(item, dict) and "record" in item and "filtered_resps" in item:
        return _sample(item, where)
    if not isinstance(item, dict) or "id" not in item or "response" not in item:
        raise PredictionError(
            f"{where}: no fields id and response. Write one such JSON object a line, or give a samples file."
        )
    if isinstance(item["id"], bool) or not isinstance(item["id"], (str, int)):
        raise PredictionError(f"{where}: id is {item['id']!r}. Give a text.")
    response = "" if item["response"] is None else item["response"]
    if not isinstance(response, str):
        raise PredictionError(f"{where}: response is of type {type(response).__name__}. Give the model's text.")
    return Prediction(str(item["id"]), response)


def read_predictions(path: Path) -> list[Prediction]:
    """Read a JSONL of `id` and `response`, or an lmms-eval samples file.

    A null response counts as an empty one.

    Raises:
        PredictionError: The file is missing, empty, or a line is neither.
    """
    if not path.is_file():
        raise PredictionError(f"{path} is not a file. Name a JSONL file of responses.")
    predictions = []
    with path.open("rb") as lines:
        number = 0
        while line := lines.readline(MAX_LINE_BYTES + 1):
            number += 1
            where = f"{path}, line {number}"
            if len(line) > MAX_LINE_BYTES:
                raise PredictionError(f"{where}: longer than {MAX_LINE_BYTES} bytes. Is it JSONL?")
            if not line.strip():
                continue
            try:
                item = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise PredictionError(f"{where}: not JSON ({error}). Correct the line.") from None
            predictions.append(_prediction(item, where))
    if not predictions:
        raise PredictionError(f"{path} holds no predictions. Write one JSON object a line.")
    return predictions


def check_ids(
    predictions: Sequence[Prediction], expected: Iterable[str] | None, path: Path, allow_missing: bool = False
) -> None:
    """Check that every expected id is answered exactly once, and no other.

    Args:
        predictions: What was read.
        expected: Ids of the data set; None when only repetitions can be seen.
        path: For the message.
        allow_missing: Whether ids may be missing (a run with --limit).

    Raises:
        PredictionError: Lists the repeated, unknown and missing ids together.
    """
    counts = collections.Counter(prediction.id for prediction in predictions)
    problems = []
    repeated = sorted(id_ for id_, count in counts.items() if count > 1)
    if repeated:
        problems.append(_listing("repeated", repeated))
    if expected is not None:
        known = set(expected)
        unknown = sorted(set(counts) - known)
        missing = sorted(known - set(counts))
        if unknown:
            problems.append(_listing("not in the data", unknown))
        if missing and not allow_missing:
            problems.append(_listing("missing", missing))
    if problems:
        raise PredictionError(f"{path}: ids do not match. Answer each case once.\n  " + "\n  ".join(problems))
