"""People's ratings of critiques (AesCanvas, S2.2.3, S14): reading and checking them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records import SourceError, read_records
from lmms_aes_tasks.utils.errors import problem_text
from lmms_aes_tasks.utils.ratings import CRITERIA, Rating

NAMES = ("id", "model", "evaluator")
_WORDS = {"0": 0, "1": 1, "false": 0, "true": 1}


def _csv_records(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a CSV with a line of names; criteria as 0, 1, true or false, in any case."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, strict=True)
            columns = list(reader.fieldnames or [])
            missing = [name for name in (*NAMES, *CRITERIA) if name not in columns]
            if missing or len(set(columns)) != len(columns):
                what = f"no column {', '.join(missing)}" if missing else "a column stands twice"
                raise SourceError(f"{path}: {what} among {', '.join(columns) or 'none'}. Correct the first line.")
            for row in reader:
                if None in row or None in row.values():
                    raise SourceError(f"{path}, line {reader.line_num}: not {len(columns)} fields. Correct the line.")
                words = {name: _WORDS.get(row[name].strip().lower(), row[name]) for name in CRITERIA}
                yield dict(row) | words
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{path}: not CSV in UTF-8 ({error}). Save it anew.") from None


def _name(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} is {value!r}; give a text")
    return value.strip()


def _rating(item: Mapping[str, Any]) -> Rating:
    problems = []
    names = []
    for name in NAMES:
        try:
            names.append(_name(item, name))
        except ValueError as error:
            problems.append(str(error))
    values = [item.get(name) for name in CRITERIA]
    problems += [
        f"{name} is {value!r}; use 0 or 1"
        for name, value in zip(CRITERIA, values, strict=True)
        if not isinstance(value, (bool, int, float)) or value not in (0, 1)
    ]
    if problems:
        raise ValueError("; ".join(problems))
    first, second, third, fourth = (int(value) for value in values if value is not None)
    case_id, model, evaluator = names
    return Rating(case_id, model, evaluator, (first, second, third, fourth))


def read_ratings(path: Path) -> list[Rating]:
    """Read ratings from JSON, JSONL, Parquet or CSV: `id`, `model`, `evaluator`, and the four criteria, 0 or 1 each.

    Raises:
        SourceError: A rating is unsound or repeated; every case is listed.
    """
    if path.suffix.lower() == ".csv" and not path.is_file():
        raise SourceError(f"{path} is not a file. Name a file of ratings.")
    records = _csv_records(path) if path.suffix.lower() == ".csv" else read_records(path)
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
