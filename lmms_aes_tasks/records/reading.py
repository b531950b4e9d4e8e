"""Reading records, whatever kind of file they are in, and the images that they refer to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records.schema import SourceError
from lmms_aes_tasks.utils.images import ImageError

RECORD_SUFFIXES = (".parquet", ".jsonl", ".json")
BATCH_ROWS = 32
"""Records in memory at once, undecoded or decoded."""
_MAX_RECORDS_BYTES = 512 * 1024 * 1024


def records_file(folder: Path, besides: Path | None = None) -> Path:
    """The one file of records in a folder (or the file itself): Parquet before JSONL before JSON.

    Args:
        folder: A folder, or a file.
        besides: A file that does not count: what an import writes is not what it reads.

    Raises:
        SourceError: There is none, or several of the same kind.
    """
    if folder.is_file():
        return folder
    if not folder.is_dir():
        raise SourceError(f"{folder} does not exist. Name a folder with a {', '.join(RECORD_SUFFIXES)} file in it.")
    for suffix in RECORD_SUFFIXES:
        found = sorted(path for path in folder.glob(f"*{suffix}") if path.is_file() and path != besides)
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise SourceError(f"{folder} holds several {suffix} files ({names}). Keep one, or name it.")
        if found:
            return found[0]
    raise SourceError(f"{folder} holds no records. Put one {', '.join(RECORD_SUFFIXES)} file there.")


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


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSON, JSONL or Parquet file, one at a time.

    Raises:
        SourceError: The file is none of these, or holds something other than records.
    """
    readers = {".json": _json_records, ".jsonl": _jsonl_records, ".parquet": _parquet_records}
    if not path.is_file():
        raise SourceError(f"{path} is not a file. Name a {', '.join(RECORD_SUFFIXES)} file.")
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise SourceError(f"{path}: unknown kind {path.suffix!r}. Use one of {', '.join(RECORD_SUFFIXES)}.")
    for number, record in enumerate(reader(path), 1):
        if not isinstance(record, dict):
            raise SourceError(f"{path}, record {number}: {type(record).__name__} in place of an object. Correct it.")
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
    """A list as it is, a string that holds a JSON list decoded, anything else as a list of one; nothing as none."""
    if value is None or value == "":
        return []
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            decoded = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        return decoded if isinstance(decoded, list) else [value]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _inside(root: Path, reference: str) -> Path:
    """A path below `root`; nothing outside it, by `..`, an absolute path or a link."""
    if "\0" in reference:
        raise ImageError(f"{reference!r} is no path. Give a path inside the data folder.")
    resolved = (root / reference).resolve()
    if not resolved.is_relative_to(root.resolve()):
        raise ImageError(f"{reference!r} leaves the data folder. Give a path inside it.")
    return resolved


def image_bytes(reference: Any, root: Path) -> bytes:
    """The content of an image that a record refers to.

    Args:
        reference: A path below `root`, bytes, or a dict with `bytes` or `path` (the Hub's image type).
        root: The folder of the records.

    Raises:
        ImageError: The reference is of another kind, leaves the folder, or names no file.
    """
    if isinstance(reference, dict):
        reference = reference.get("bytes") or reference.get("path")
    if isinstance(reference, bytes):
        return reference
    if not isinstance(reference, str) or not reference.strip():
        raise ImageError(f"{reference!r} is no image. Give a path or bytes.")
    try:
        path = _inside(root, reference.strip())
        found = path.is_file()
    except (OSError, ValueError) as error:  # too long for a path, or not one at all: base64 text, for example
        if isinstance(error, ImageError):
            raise
        raise ImageError(f"{reference[:60]!r} … is no path. Give a path inside the data folder, or bytes.") from None
    if not found:
        raise ImageError(f"{reference}: no such file. Put it there, or correct the record.")
    return path.read_bytes()
