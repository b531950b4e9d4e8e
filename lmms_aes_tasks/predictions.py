"""Responses made elsewhere, or by lmms-eval: reading them and matching them with a data set's ids.

Text here is hostile: it is read as data, with limits, and never evaluated.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records import SourceError, kind_of, read_records
from lmms_aes_tasks.utils.cells import id_text, is_empty, is_nothing, whole_number
from lmms_aes_tasks.utils.errors import AesError
from lmms_aes_tasks.utils.file_kinds import described

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Longest line read; a reply of a million words is still shorter."""
_MAX_JSON_BYTES = 512 * 1024 * 1024
_LISTED = 50
_SUFFIXES_OF_RECORDS = (".csv", ".tsv", ".parquet")
_ITEM_FIELDS = ("filtered_resps", "response", "model_response")
"""Each tells one response from an object around a list of them."""
PREDICT_ONLY = (
    "samples of --predict_only hold no record of their documents. They are scored by their place in the data they were "
    "made from, all of it and in its order"
)
_INSTEAD = (
    "Run without --predict_only: scoring is quick, and LMMS_AES_EMBEDDINGS=off leaves out of a run what needs encoders."
)


class PredictionError(AesError):
    """A predictions file that cannot be scored; the message lists every case and says what to do."""


@dataclass(frozen=True)
class Prediction:
    """One response.

    Attributes:
        id: Id of the document; empty where only its place is known.
        response: The text that is scored.
        record: The record that the harness logged beside it, if this is a samples file.
        prompt: The text that the model was given, if it is one.
        target: What the harness logged as the right answer, if it is one: the reference of a critique.
        position: The document's place in the data, of samples made with `--predict_only`; see `placed`.
    """

    id: str
    response: str
    record: dict[str, Any] | None = None
    prompt: str | None = None
    target: str | None = None
    position: int | None = None


# -- Items of a file --------------------------------------------------------------------------------------------------


def _json_items(path: Path) -> Any:
    """The items of a file that is one JSON value; None where it is not, and may be JSONL.

    Raises:
        PredictionError: It is a list and not JSON, too large, an object around anything but one list, or visibly
            something else, as an archive.
    """
    with path.open("rb") as file:
        first = file.read(4096)
    what, remedy = described(first) if first else ("", "")
    if what:
        raise PredictionError(f"{path}: no responses: it is {what}. {remedy}.")
    start = first.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start != b"[" and not (start == b"{" and kind_of(path) == ".json"):
        return None
    if path.stat().st_size > _MAX_JSON_BYTES:
        raise PredictionError(f"{path}: {path.stat().st_size} bytes; JSON is read up to {_MAX_JSON_BYTES}. Use JSONL.")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        if start == b"{":
            return None
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise PredictionError(f"{path}, line {line}: not JSON ({error}). Correct the line.") from None
    if isinstance(content, list):
        return content
    if any(name in content for name in _ITEM_FIELDS):
        return [content]
    lists = [value for value in content.values() if isinstance(value, list)]
    if len(lists) != 1:
        raise PredictionError(f"{path}: a JSON object with {len(lists)} lists. Give a list of responses.")
    return lists[0]


def limited_lines(path: Path, limit: int, question: str) -> Iterator[tuple[int, bytes]]:
    """Lines of a file by their number from 1, none longer than a limit, so that no file fills the memory.

    Raises:
        PredictionError: A line is longer; the message ends in the question.
    """
    with path.open("rb") as lines:
        number = 0
        while line := lines.readline(limit + 1):
            number += 1
            if len(line) > limit:
                raise PredictionError(f"{path}, line {number}: longer than {limit} bytes. {question}")
            yield number, line


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in limited_lines(path, MAX_LINE_BYTES, "Is it JSONL?"):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise PredictionError(f"{where}: not JSON ({error}). Correct the line.") from None


def read_items(path: Path) -> Iterator[tuple[int, Any]]:
    """The items of a file of responses with their numbers (lines of JSONL, rows of anything else), one at a time.

    JSONL, a JSON list or an object around one, CSV, TSV and Parquet; JSON is told by its content, not its name.

    Raises:
        PredictionError: The file is missing, or none of these.
    """
    if not path.is_file():
        raise PredictionError(f"{path} is not a file. Name a JSONL file of responses.")
    if kind_of(path) in _SUFFIXES_OF_RECORDS:
        try:
            yield from enumerate(read_records(path), 1)
        except SourceError as error:
            raise PredictionError(str(error)) from None
        return
    items = _json_items(path)
    yield from _lines(path) if items is None else enumerate(items, 1)


# -- Samples of lmms-eval ---------------------------------------------------------------------------------------------


def _says_nothing(record: Mapping[str, Any]) -> bool:
    """Whether the record of a sample says that its reply was empty."""
    return record.get("empty") is True or record.get("rule") == "empty"


def is_sample(item: Any) -> bool:
    """Whether an item is a line of lmms-eval's samples file."""
    return isinstance(item, dict) and "filtered_resps" in item and ("record" in item or "doc_id" in item)


def sample_of(item: Mapping[str, Any], where: str) -> Prediction:
    """A line of lmms-eval's samples file, of any task: its id is in our record, or its place is known alone.

    lmms-eval writes the text None for a reply of null; where the record says that nothing was there, it is empty.

    Raises:
        PredictionError: It has no text, or a record without an id.
    """
    response = item["filtered_resps"]
    while isinstance(response, list) and response:
        response = response[0]
    record = item.get("record")
    position = whole_number(item.get("doc_id")) if record is None else None
    if position is None and (not isinstance(record, dict) or not isinstance(record.get("id"), str)):
        raise PredictionError(f"{where}: its record has no id. Is it the samples file of one of our tasks?")
    if is_nothing(response) or (response == "None" and record is not None and _says_nothing(record)):
        response = ""
    if not isinstance(response, str):
        raise PredictionError(f"{where}: filtered_resps holds no text. Run lmms-eval with --log_samples again.")
    given, target = item.get("input"), item.get("target")
    return Prediction(
        "" if record is None else record["id"],
        response,
        record,
        given if isinstance(given, str) else None,
        target if isinstance(target, str) else None,
        position,
    )


# -- Reading ----------------------------------------------------------------------------------------------------------


def response_text(value: Any) -> str:
    """The text of a response made elsewhere; null is an empty one.

    Raises:
        ValueError: It is no text: a list, a number, or NaN, which may be a reply that is missing.
    """
    if isinstance(value, float) and is_nothing(value):
        raise ValueError('response is NaN, an empty cell of pandas. Write "" for an empty reply, and no NaN')
    if is_nothing(value):
        return ""
    if not isinstance(value, str):
        raise ValueError(f"response is of type {type(value).__name__}. Give the model's text")
    return value


def _prediction(item: Any, where: str) -> Prediction:
    if is_sample(item):
        return sample_of(item, where)
    if not isinstance(item, dict) or "id" not in item or "response" not in item:
        raise PredictionError(
            f"{where}: no fields id and response. Write one such JSON object a line, or give a samples file."
        )
    number = whole_number(item["id"])
    if number is None and (is_empty(item["id"]) or not isinstance(item["id"], str)) and item["id"] != "":
        raise PredictionError(f"{where}: id is {item['id']!r}. Give a text.")
    try:
        response = response_text(item["response"])
    except ValueError as error:
        raise PredictionError(f"{where}: {error}.") from None
    return Prediction(item["id"] if isinstance(item["id"], str) else str(number), response)


def read_predictions(path: Path, by_position: bool = False) -> list[Prediction]:
    """Read `id` and `response` from JSONL, a JSON list, CSV, TSV or Parquet, or an lmms-eval samples file.

    A null response counts as an empty one.

    Args:
        path: The file.
        by_position: Whether samples of `--predict_only` are taken, which have a place and no id; see `placed`.

    Raises:
        PredictionError: The file is missing, empty, or an item is neither.
    """
    unit = "row" if kind_of(path) in _SUFFIXES_OF_RECORDS else "line"
    predictions = [_prediction(item, f"{path}, {unit} {number}") for number, item in read_items(path)]
    if not predictions:
        raise PredictionError(f"{path} holds no predictions. Write one JSON object a line.")
    if not by_position and any(prediction.position is not None for prediction in predictions):
        raise PredictionError(f"{path}: {PREDICT_ONLY}, which is not done here. {_INSTEAD}")
    return predictions


# -- Matching ---------------------------------------------------------------------------------------------------------


def is_placed(predictions: Iterable[Prediction]) -> bool:
    """Whether some predictions have a place in the data alone, and no id."""
    return any(prediction.position is not None for prediction in predictions)


def placed(
    predictions: Sequence[Prediction], documents: Sequence[tuple[str, str]] | None, path: Path
) -> list[Prediction]:
    """Give samples of `--predict_only` the ids of the documents in their places; others stay as they are.

    Args:
        predictions: What was read.
        documents: (id, target) of every document in the order of the data; None when it is not at hand.
        path: For the message.

    Raises:
        PredictionError: The data is not at hand, has another number of documents, or other targets in their places.
    """
    if not is_placed(predictions):
        return list(predictions)

    def refused(why: str) -> PredictionError:
        return PredictionError(f"{path}: {PREDICT_ONLY}, and {why}. Give --data, or: {_INSTEAD}")

    if documents is None:
        raise refused("the data is not at hand")
    positions = [prediction.position for prediction in predictions]
    if len(positions) != len(documents):
        raise refused(f"there are {len(positions)} samples and {len(documents)} documents")
    if sorted(position for position in positions if position is not None) != list(range(len(documents))):
        raise refused("not every document has one sample")
    found = []
    for prediction, position in zip(predictions, positions, strict=True):
        document_id, target = documents[position or 0]
        if prediction.target != target:
            raise refused(
                f"the document in place {position} ({document_id}) has another right answer than the sample: it is "
                "other data"
            )
        found.append(replace(prediction, id=document_id))
    return found


def as_in_data(predictions: Sequence[Prediction], known: Iterable[str]) -> list[Prediction]:
    """Predictions with ids as the data spells them, where both are one whole number (7, "7.0").

    An id that the data has as it is stays; so does one that several ids of the data could be.
    """
    ids = set(known)
    by_number: dict[str, list[str]] = {}
    for own in ids:
        by_number.setdefault(id_text(own), []).append(own)

    def spelled(own: str) -> str:
        same = by_number.get(id_text(own), [])
        return same[0] if own not in ids and len(same) == 1 else own

    return [replace(prediction, id=spelled(prediction.id)) for prediction in predictions]


def _listing(what: str, ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_LISTED])
    more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
    return f"{len(ids)} {what}: {shown}{more}"


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
