"""Reading records, whatever kind of file they are in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records.files import RECORD_SUFFIXES, kind_of, shards_of
from lmms_aes_tasks.records.schema import SourceError
from lmms_aes_tasks.records.tables import table_rows
from lmms_aes_tasks.utils.cells import is_empty, json_value
from lmms_aes_tasks.utils.file_kinds import FIRST_BYTES, described

BATCH_ROWS = 32
"""Records in memory at once, undecoded or decoded."""
_MAX_RECORDS_BYTES = 512 * 1024 * 1024


def _json_records(path: Path) -> Iterator[Any]:
    size = path.stat().st_size
    if size > _MAX_RECORDS_BYTES:
        raise SourceError(f"{path}: {size} bytes; JSON is read up to {_MAX_RECORDS_BYTES}. Use JSONL or Parquet.")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not JSON ({error}). Correct the file.") from None
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        if len(lists) != 1:
            raise SourceError(
                f"{path}: a JSON object with {len(lists)} lists. Give a list of records, or one list in it."
            )
        content = lists[0]
    if not isinstance(content, list):
        raise SourceError(f"{path}: JSON of type {type(content).__name__}. Give a list of records.")
    yield from content


def _jsonl_records(path: Path) -> Iterator[Any]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{path}, line {number}: not JSON ({error}). Correct the line.") from None


def _parquet_records(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path}: not Parquet ({error}). Write it anew.") from None
    with file:
        batches = file.iter_batches(batch_size=BATCH_ROWS)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise SourceError(f"{path}: damaged Parquet ({error}). Write it anew.") from None
            if batch is None:
                return
            yield from batch.to_pylist()


_READERS: Mapping[str, Callable[[Path], Iterator[Any]]] = {
    ".json": _json_records,
    ".jsonl": _jsonl_records,
    ".parquet": _parquet_records,
    ".csv": table_rows,
    ".tsv": table_rows,
}


def _check_content(path: Path) -> None:
    """Raise when a file is visibly another thing than its name says: a pointer, a page.

    Raises:
        SourceError: It is; the message says what.
    """
    with path.open("rb") as file:
        first = file.read(FIRST_BYTES)
    what, remedy = described(first) if first else ("", "")
    if what:
        raise SourceError(f"{path}: no records: it is {what}. {remedy}.")


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSON, JSONL, Parquet, CSV or TSV file, one at a time; of a shard those of all its source.

    Cells of CSV and TSV are texts.

    Raises:
        SourceError: The file is none of these, or holds something other than records.
    """
    if not path.is_file():
        raise SourceError(f"{path} is not a file. Name a {', '.join(RECORD_SUFFIXES)} file.")
    reader = _READERS.get(kind_of(path))
    if reader is None:
        raise SourceError(f"{path}: unknown kind {path.suffix!r}. Use one of {', '.join(RECORD_SUFFIXES)}.")
    for file in shards_of(path):
        _check_content(file)
        for number, record in enumerate(reader(file), 1):
            if not isinstance(record, dict):
                kind = type(record).__name__
                raise SourceError(f"{file}, record {number}: {kind} in place of an object. Correct it.")
            yield record


@dataclass(frozen=True)
class RecordStream:
    """Records before they are checked.

    Attributes:
        name: Where they come from, for messages.
        root: Folder that their image paths are below.
        rows: The records, one at a time.
    """

    name: str
    root: Path
    rows: Iterable[dict[str, Any]]


def file_stream(path: Path) -> RecordStream:
    """The records of a file; its images are beside it."""
    return RecordStream(str(path), path.parent, read_records(path))


def as_list(value: Any) -> list[Any]:
    """A list as it is, a text that holds a JSON list decoded, anything else as a list of one; nothing as none.

    >>> as_list('["a.jpg", "b.jpg"]'), as_list("a.jpg"), as_list(float("nan"))
    (['a.jpg', 'b.jpg'], ['a.jpg'], [])
    """
    if is_empty(value):
        return []
    value = json_value(value)
    return list(value) if isinstance(value, (list, tuple)) else [value]
