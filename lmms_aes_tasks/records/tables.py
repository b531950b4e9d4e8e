"""CSV and TSV with a line of names, read as records."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records.files import kind_of
from lmms_aes_tasks.records.schema import SourceError

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_MAX_CELL_CHARS = 768 * 1024 * 1024
"""Longest cell: an image of the largest size allowed, as base64."""


def _wrong_delimiter(header: list[str], delimiter: str) -> str:
    """Which other delimiter a first line seems to have; empty when none."""
    if len(header) != 1:
        return ""
    if header[0].strip().lower().startswith("sep="):
        return f"the line {header[0].strip()!r}, which Excel writes, before the names"
    counts = {name: header[0].count(name) for name in _NAMES if name != delimiter}
    other = max(counts, key=lambda name: counts[name])
    return f"fields that {_NAMES[other]} separate" if counts[other] else ""


def _header(header: list[str], path: Path, delimiter: str, required: Sequence[str]) -> list[str]:
    """The names of the columns.

    Raises:
        SourceError: There are none, one is missing or stands twice, or another delimiter separates them.
    """
    wanted = f"{kind_of(path)} has {_NAMES[delimiter]}"
    wrong = _wrong_delimiter(header, delimiter)
    if wrong:
        other = ", or name it .tsv" if "tabs" in wrong else ", or name it .csv" if "commas" in wrong else ""
        raise SourceError(f"{path}: the first line has {wrong}, and {wanted}. Save it with {_NAMES[delimiter]}{other}.")
    names = [name.strip() for name in header]
    missing = [name for name in required if name not in names]
    if missing:
        listed = ", ".join(names) or "none"
        raise SourceError(f"{path}: no column {', '.join(missing)} among {listed}. Correct the first line.")
    if not any(names):
        raise SourceError(f"{path}: no names of columns in the first line. Write them there.")
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise SourceError(f"{path}: a column stands twice among {', '.join(names)} ({', '.join(twice)}). Rename one.")
    return names


def table_rows(path: Path, required: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The rows of a CSV or TSV file in UTF-8, with or without a byte order mark; cells are texts.

    Args:
        path: The file.
        required: Columns that must be there.

    Raises:
        SourceError: It is not UTF-8, has no names or another delimiter, or a row has too few or too many fields.
    """
    delimiter = _DELIMITERS[kind_of(path)]
    # The module's limit is the process's; it is only ever raised, because another reader may count on its own.
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL_CHARS))
    kind = kind_of(path)[1:].upper()
    line = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, delimiter=delimiter, strict=True)
            names = _header(next(reader, []), path, delimiter, required)
            for row in reader:
                line = reader.line_num
                if not row:
                    continue
                if len(row) != len(names):
                    raise SourceError(
                        f"{path}, line {line}: not {len(names)} fields, but {len(row)}. Correct the line; a text that "
                        "holds the delimiter stands in quotes."
                    )
                yield {name: cell for name, cell in zip(names, row, strict=True) if name}
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not {kind} in UTF-8 ({error}). Save it anew.") from None
    except csv.Error as error:
        raise SourceError(f"{path}, after line {line}: not {kind} ({error}). Save it anew.") from None
