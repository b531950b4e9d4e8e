"""People's ratings of critiques (AesCanvas, S2.2.3, S14): reading and checking them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records import SourceError, kind_of, read_records, table_rows
from lmms_aes_tasks.utils.cells import id_text, whole_number
from lmms_aes_tasks.utils.errors import problem_text
from lmms_aes_tasks.utils.ratings import CRITERIA, Rating

NAMES = ("id", "model", "evaluator")
_WORDS = {"false": 0, "true": 1}


def _name(item: Mapping[str, Any], name: str) -> str:
    text = id_text(item.get(name))
    if not text:
        raise ValueError(f"{name} is {item.get(name)!r}; give a text")
    return text


def _flag(value: Any) -> int | None:
    """0 or 1 in any spelling, true or false in any case; None for anything else."""
    if isinstance(value, bool):
        return int(value)
    number = _WORDS.get(value.strip().lower()) if isinstance(value, str) else None
    number = whole_number(value) if number is None else number
    return number if number in (0, 1) else None


def _rating(item: Mapping[str, Any]) -> Rating:
    problems = []
    names = []
    for name in NAMES:
        try:
            names.append(_name(item, name))
        except ValueError as error:
            problems.append(str(error))
    values = [_flag(item.get(name)) for name in CRITERIA]
    problems += [
        f"{name} is {item.get(name)!r}; use 0 or 1"
        for name, value in zip(CRITERIA, values, strict=True)
        if value is None
    ]
    if problems:
        raise ValueError("; ".join(problems))
    first, second, third, fourth = (value for value in values if value is not None)
    case_id, model, evaluator = names
    return Rating(case_id, model, evaluator, (first, second, third, fourth))


def read_ratings(path: Path) -> list[Rating]:
    """Read ratings from JSON, JSONL, Parquet, CSV or TSV: `id`, `model`, `evaluator`, and four criteria, 0 or 1 each.

    Raises:
        SourceError: A rating is unsound or repeated; every case is listed.
    """
    table = kind_of(path) in {".csv", ".tsv"}
    if table and not path.is_file():
        raise SourceError(f"{path} is not a file. Name a file of ratings.")
    records = table_rows(path, (*NAMES, *CRITERIA)) if table else read_records(path)
    ratings: list[Rating] = []
    problems: list[str] = []
    seen: dict[tuple[str, str, str], int] = {}
    for number, item in enumerate(records, 1):
        try:
            rating = _rating(item)
        except ValueError as error:
            problems.append(f"rating {number}: {error}")
            continue
        first = seen.setdefault((rating.id, rating.model, rating.evaluator), number)
        if first != number:
            problems.append(
                f"rating {number}: {rating.evaluator!r} has rated {rating.model!r} on {rating.id!r} already in "
                f"rating {first}"
            )
        ratings.append(rating)
    if not ratings and not problems:
        problems.append("no ratings")
    if problems:
        raise SourceError(problem_text(path, problems))
    return ratings
