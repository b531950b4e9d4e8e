"""Records of a benchmark: schema, reading, validation, and the canonical Parquet file they are written to.

What a record of one benchmark must hold is said by a `RecordSchema` in that benchmark's module; nothing here knows
any benchmark. Canonical data is one Parquet file with the images inside it, each of them decoded once.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.utils.errors import AesError
from lmms_aes_tasks.utils.images import ImageError, load_image

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

RECORD_SUFFIXES = (".parquet", ".jsonl", ".json")
IMAGES_COLUMN = "images"

_BATCH_ROWS = 32
"""Records decoded at once while importing."""
_GROUP_BYTES = 16 * 1024 * 1024
_GROUP_ROWS = 1_000
"""A row group of the file ends at so many bytes of images, or so many rows."""
_MAX_RECORDS_BYTES = 512 * 1024 * 1024
_LISTED = 50
"""Problems printed in full; the rest is counted."""
_CANONICAL_KEY = b"lmms_aes_tasks.canonical"
"""Key in the file's metadata that says our importer wrote it, for which schema."""


class SourceError(AesError):
    """Data that is missing or cannot be used; the message lists every problem and says what to do."""


# -- Schemas -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """One field of a benchmark's record.

    Attributes:
        name: Its canonical name.
        aliases: Other spellings it is taken from, compared without case, spaces, hyphens and underscores.
        required: Whether a record without it is refused.
    """

    name: str
    aliases: tuple[str, ...] = ()
    required: bool = True


@dataclass(frozen=True)
class RecordSchema:
    """What a benchmark's records hold.

    Attributes:
        fields: The fields, `images` among them.
        columns: Canonical columns but `images`, as features of `datasets`; a function so that importing stays light.
        normalise: Turns a record with canonical field names into its canonical form and gives the problems found;
            the record's `images` are the references as given (paths, bytes, or dicts of either).
    """

    fields: tuple[Field, ...]
    columns: Callable[[], dict[str, Any]]
    normalise: Callable[[dict[str, Any]], tuple[dict[str, Any], list[str]]]


def _key(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


@dataclass(frozen=True)
class FieldMap:
    """How the names a file uses match a schema's fields.

    Attributes:
        mapping: Canonical name to the file's name.
        unused: The file's names that match nothing.
        problems: Required fields that are missing, or that two names could be.
    """

    mapping: dict[str, str]
    unused: list[str]
    problems: list[str]


def map_fields(names: Iterable[str], schema: RecordSchema) -> FieldMap:
    """Match the names a file uses with a schema's fields.

    Two names for one required field are a problem, not a choice: a record with a scenario and a question would lose one
    of them without a word. Of an optional field the canonical spelling wins, then the earlier alias.
    """
    names = list(names)
    mapping: dict[str, str] = {}
    problems: list[str] = []
    missing: list[str] = []
    for field_ in schema.fields:
        keys = [_key(spelling) for spelling in (field_.name, *field_.aliases)]
        found = sorted((name for name in names if _key(name) in keys), key=lambda name: keys.index(_key(name)))
        if found:
            mapping[field_.name] = found[0]
        if len(found) > 1 and field_.required:
            problems.append(
                f"{', '.join(found)} could each be {field_.name}; keep one, or rename what is something else"
            )
        if not found and field_.required:
            missing.append(field_.name)
    if missing:
        problems.append(
            f"no field for {', '.join(missing)} among {', '.join(names) or 'none'}; "
            "rename the fields (docs list the spellings that are understood)"
        )
    used = set(mapping.values())
    return FieldMap(mapping, [name for name in names if name not in used], problems)


# -- Reading records ---------------------------------------------------------------------------------------------------


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
        batches = file.iter_batches(batch_size=_BATCH_ROWS)
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


# -- Images of records -------------------------------------------------------------------------------------------------


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


def _image_cell(reference: Any, root: Path, position: int) -> dict[str, Any]:
    """An image read and decoded once, as the cell that is stored."""
    content = image_bytes(reference, root)
    path = reference.get("path") if isinstance(reference, dict) else reference
    name = Path(path).name if isinstance(path, str) else None
    load_image(content, f"image {position}" + (f" ({path})" if name else ""))
    return {"bytes": content, "path": name}


# -- Validation --------------------------------------------------------------------------------------------------------


@dataclass
class Import:
    """What an import, or a check, found.

    Attributes:
        mapping: Canonical field to the file's own name.
        unused: The file's names that were not taken.
        records: Records that are sound.
        images: Images in them.
        problems: Every problem, with the record it is in.
    """

    mapping: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    records: int = 0
    images: int = 0
    problems: list[str] = field(default_factory=list)

    def raise_problems(self, name: str, note: str = "") -> None:
        """Raise when anything is wrong.

        Raises:
            SourceError: With every problem; beyond the first fifty they are counted.
        """
        if not self.problems:
            return
        raise SourceError(f"{name}: {len(self.problems)} problem(s){note}. Correct them:\n{bulleted(self.problems)}")


def bulleted(problems: Sequence[str]) -> str:
    """Problems as a list for a message, one a line; beyond the first fifty they are counted."""
    more = [f"… and {len(problems) - _LISTED} more"] if len(problems) > _LISTED else []
    return "\n".join(f"  - {problem}" for problem in [*problems[:_LISTED], *more])


def _is_unicode(value: Any) -> bool:
    """Whether all text in a value can be written as UTF-8 (half a surrogate pair, as JSON may hold, cannot)."""
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, dict):
        return all(map(_is_unicode, value.values()))
    return all(map(_is_unicode, value)) if isinstance(value, list) else True


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


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    numbered = enumerate(rows, 1)
    while batch := list(itertools.islice(numbered, _BATCH_ROWS)):
        yield batch


def canonical_rows(
    stream: RecordStream, schema: RecordSchema, report: Import, *, progress: bool = False, images: bool = True
) -> Iterator[dict[str, Any]]:
    """Normalise and check records; problems go to `report`, sound records are yielded.

    Every image is decoded once, in threads, at most `_BATCH_ROWS` records at a time, so that memory does not grow with
    their number. Without `images` the references are not followed: the rows hold those that are paths, as given.
    """
    from tqdm import tqdm

    names: dict[str, None] = {}
    seen: dict[str, int] = {}

    def checked(numbered: tuple[int, dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
        number, record = numbered
        row, problems = schema.normalise({name: record.get(own) for name, own in report.mapping.items()})
        where = f"record {number} (id {row.get('id')!r})"
        problems += [
            f"{name} holds text that is not Unicode; write it anew" for name in row if not _is_unicode(row[name])
        ]
        cells = []
        for position, reference in enumerate(row[IMAGES_COLUMN] if images else [], 1):
            try:
                cells.append(_image_cell(reference, stream.root, position))
            except ImageError as error:
                problems.append(str(error))
        paths = [reference for reference in row[IMAGES_COLUMN] if isinstance(reference, str)]
        row[IMAGES_COLUMN] = cells if images else paths
        return row, [f"{where}: {problem}" for problem in problems]

    bar = tqdm(desc=f"reading {Path(stream.name).name}", unit=" records", disable=not progress)
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool, bar:
        for batch in _batches(stream.rows):
            names.update((name, None) for _, record in batch for name in record)
            fields = map_fields(names, schema)
            report.mapping, report.unused = fields.mapping, fields.unused
            if fields.problems:
                report.problems.extend(fields.problems)
                return
            for (number, _), (row, problems) in zip(batch, pool.map(checked, batch), strict=True):
                first = seen.setdefault(str(row.get("id")), number)
                if first != number:
                    problems.append(f"record {number}: id {row.get('id')!r} is already that of record {first}")
                report.problems.extend(problems)
                if not problems:
                    report.records += 1
                    report.images += len(row[IMAGES_COLUMN])
                    yield row
            bar.update(len(batch))
    if not seen:
        report.problems.append("no records")


def check_records(path: Path, schema: RecordSchema, progress: bool = False) -> tuple[Import, list[dict[str, Any]]]:
    """Check a file's records and images.

    Returns:
        The report, and the sound records with `image_sha256`, a list of digests, in place of their images.
    """
    report = Import()
    rows = []
    for row in canonical_rows(file_stream(path), schema, report, progress=progress):
        cells = row.pop(IMAGES_COLUMN)
        rows.append(row | {"image_sha256": [hashlib.sha256(cell["bytes"]).hexdigest() for cell in cells]})
    return report, rows


# -- Writing -----------------------------------------------------------------------------------------------------------


def features_of(schema: RecordSchema) -> datasets.Features:
    """The features of a benchmark's canonical data: its columns and its images, which are not decoded."""
    import datasets

    images = datasets.Sequence(datasets.Image(decode=False))
    return datasets.Features({**schema.columns(), IMAGES_COLUMN: images})


def schema_fingerprint(schema: RecordSchema) -> str:
    """Changes when the canonical columns change: files written before are then read as any other file."""
    return hashlib.sha256(repr(features_of(schema)).encode()).hexdigest()[:12]


def _arrow_schema(schema: RecordSchema) -> pa.Schema:
    arrow = features_of(schema).arrow_schema
    return arrow.with_metadata({**(arrow.metadata or {}), _CANONICAL_KEY: schema_fingerprint(schema).encode()})


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` that replaces it when the block ends well, and is removed when it does not."""
    made = [folder for folder in target.parents if not folder.exists()]  # innermost first
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        for folder in made:
            if not any(folder.iterdir()):
                folder.rmdir()
        raise


def _row_groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows in groups that are small in memory, and few enough that the file's footer stays small."""
    group: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(cell["bytes"]) for cell in row[IMAGES_COLUMN])
        if size >= _GROUP_BYTES or len(group) >= _GROUP_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def import_records(stream: RecordStream, target: Path, schema: RecordSchema, progress: bool = False) -> Import:
    """Check records and write them as canonical Parquet.

    Args:
        stream: The records.
        target: The Parquet file to write; an existing one stays as it is unless everything is sound.
        schema: What the records must hold.
        progress: Whether to show a progress bar.

    Returns:
        What was found and written.

    Raises:
        SourceError: Anything is wrong; every problem is listed, and nothing is written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    report = Import()
    arrow = _arrow_schema(schema)
    with atomic_path(target) as temporary:
        with pq.ParquetWriter(temporary, arrow, compression="zstd") as writer:
            for group in _row_groups(canonical_rows(stream, schema, report, progress=progress)):
                if not report.problems:  # else nothing will be kept: only look for further problems
                    writer.write_table(pa.Table.from_pylist(group, schema=arrow))
        report.raise_problems(stream.name, "; nothing was written")
    return report


def import_file(source: Path, target: Path, schema: RecordSchema, progress: bool = False) -> Import:
    """`import_records` for a folder with one file of records, or that file."""
    return import_records(file_stream(records_file(source, besides=target)), target, schema, progress)


def is_canonical(path: Path, schema: RecordSchema) -> bool:
    """Whether our importer wrote this file for this schema, and so every image in it was decoded once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() != ".parquet":
        return False
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError):
        return False
    return metadata.get(_CANONICAL_KEY) == schema_fingerprint(schema).encode()


def read_labels(path: Path, schema: RecordSchema, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Some columns of every record, without touching an image: what scoring needs.

    Raises:
        SourceError: A record is not sound.
    """
    import pyarrow.parquet as pq

    if is_canonical(path, schema):
        rows: list[dict[str, Any]] = pq.read_table(path, columns=list(columns)).to_pylist()
        return rows
    report = Import()
    found = [
        {name: row[name] for name in columns} for row in canonical_rows(file_stream(path), schema, report, images=False)
    ]
    report.raise_problems(str(path))
    return found
