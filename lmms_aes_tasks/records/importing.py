"""Checking records with their images, and the canonical Parquet file they are written to.

Canonical data is one Parquet file with the images inside it, each of them decoded once.
"""

from __future__ import annotations

import collections
import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.outputs import atomic_path
from lmms_aes_tasks.records.files import kind_of, records_file, shards_of
from lmms_aes_tasks.records.images import file_name, image_bytes
from lmms_aes_tasks.records.reading import BATCH_ROWS, RecordStream, file_stream
from lmms_aes_tasks.records.schema import IMAGES_COLUMN, RecordSchema, SourceError, map_fields
from lmms_aes_tasks.utils.colour_profiles import is_other_than_srgb
from lmms_aes_tasks.utils.errors import problem_text
from lmms_aes_tasks.utils.images import ImageError, load_with_profile

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

_GROUP_BYTES = 16 * 1024 * 1024
_GROUP_ROWS = 1_000
"""A row group of the file ends at so many bytes of images, or so many rows."""
_SHOWN_ID_CHARS = 100
_CANONICAL_KEY = b"lmms_aes_tasks.canonical"
"""Key in the file's metadata that says our importer wrote it, for which schema."""


# -- Checking ----------------------------------------------------------------------------------------------------------


@dataclass
class Import:
    """What an import, or a check, found.

    Attributes:
        mapping: Canonical field to the file's own name.
        unused: The file's names that were not taken.
        records: Records that are sound.
        images: Images in them.
        problems: Every problem, with the record it is in.
        remarks: What is sound and worth knowing, and how many records, or images, it is true of.
    """

    mapping: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    records: int = 0
    images: int = 0
    problems: list[str] = field(default_factory=list)
    remarks: collections.Counter[str] = field(default_factory=collections.Counter)

    def remark_lines(self) -> list[str]:
        """The remarks as sentences, each with how many records or images of all it is true of."""
        return [
            f"{count} of {self.images if text == OTHER_PROFILE else self.records} {text}"
            for text, count in self.remarks.items()
            if count
        ]

    def raise_problems(self, name: str, note: str = "") -> None:
        """Raise when anything is wrong.

        Raises:
            SourceError: With every problem; beyond the first fifty they are counted.
        """
        if not self.problems:
            return
        raise SourceError(problem_text(name, self.problems, f"{note}. Correct them:"))


def _image_cell(reference: Any, root: Path, position: int) -> tuple[dict[str, Any], bool]:
    """An image read and decoded once, as the cell that is stored, and whether it has another profile than sRGB's."""
    content = image_bytes(reference, root)
    path = file_name(reference)
    _, profile = load_with_profile(content, f"image {position}" + (f" ({path})" if path else ""))
    return {"bytes": content, "path": Path(path).name if path else None}, is_other_than_srgb(profile)


def _is_unicode(value: Any) -> bool:
    """Whether all text in a value can be written as UTF-8 (half a surrogate pair, as JSON may hold, cannot)."""
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, dict):
        return all(map(_is_unicode, value.values()))
    return all(map(_is_unicode, value)) if isinstance(value, list) else True


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    numbered = enumerate(rows, 1)
    while batch := list(itertools.islice(numbered, BATCH_ROWS)):
        yield batch


OTHER_PROFILE = "images have another colour profile than sRGB; icc: srgb among a task's settings converts them"
"""The remark on images whose colours a viewer shows otherwise than a model gets them."""


@dataclass(frozen=True)
class _Checked:
    """One record, normalised: what is wrong with it, and how many of its images have another profile than sRGB's."""

    row: dict[str, Any]
    problems: list[str]
    other_profiles: int


def _check(number: int, row: dict[str, Any], problems: list[str], root: Path | None) -> _Checked:
    """Look at a normalised record, and at its images below `root`; None leaves them as the paths that they are."""
    where = f"record {number} (id {str(row.get('id'))[:_SHOWN_ID_CHARS]!r})"
    problems = [*problems]
    problems += [f"{name} holds text that is not Unicode; write it anew" for name in row if not _is_unicode(row[name])]
    if root is None:
        paths = [reference for reference in row[IMAGES_COLUMN] if isinstance(reference, str)]
        return _Checked(row | {IMAGES_COLUMN: paths}, [f"{where}: {problem}" for problem in problems], 0)
    cells = []
    other = 0
    for position, reference in enumerate(row[IMAGES_COLUMN], 1):
        try:
            cell, has_other = _image_cell(reference, root, position)
            cells.append(cell)
            other += has_other
        except ImageError as error:
            problems.append(str(error))
    return _Checked(row | {IMAGES_COLUMN: cells}, [f"{where}: {problem}" for problem in problems], other)


def canonical_rows(
    stream: RecordStream, schema: RecordSchema, report: Import, *, progress: bool = False, images: bool = True
) -> Iterator[dict[str, Any]]:
    """Normalise and check records; problems go to `report`, sound records are yielded.

    Every image is decoded once, in threads, at most `BATCH_ROWS` records at a time, so that memory does not grow with
    their number. Without `images` the references are not followed: the rows hold those that are paths, as given.
    """
    from tqdm import tqdm

    names: dict[str, None] = {}
    seen: dict[str, int] = {}

    def checked(numbered: tuple[int, dict[str, Any]]) -> _Checked:
        number, record = numbered
        row, problems = schema.normalise({name: record.get(own) for name, own in report.mapping.items()})
        return _check(number, row, problems, stream.root if images else None)

    bar = tqdm(desc=f"reading {Path(stream.name).name}", unit=" records", disable=not progress)
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool, bar:
        for batch in _batches(stream.rows):
            names.update((name, None) for _, record in batch for name in record)
            fields = map_fields(names, schema)
            report.mapping, report.unused = fields.mapping, fields.unused
            if fields.problems:
                report.problems.extend(fields.problems)
                return
            for (number, _), found in zip(batch, pool.map(checked, batch), strict=True):
                row, problems = found.row, found.problems
                first = seen.setdefault(str(row.get("id")), number)
                if first != number:
                    problems.append(f"record {number}: id {row.get('id')!r} is already that of record {first}")
                report.problems.extend(problems)
                if not problems:
                    report.records += 1
                    report.images += len(row[IMAGES_COLUMN])
                    report.remarks.update(schema.remarks(row))
                    report.remarks[OTHER_PROFILE] += found.other_profiles
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

    if kind_of(path) != ".parquet" or len(shards_of(path)) > 1:
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
