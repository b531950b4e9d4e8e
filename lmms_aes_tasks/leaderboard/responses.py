"""Files of responses: one canonical JSON line an item (id, response, record), Zstandard-compressed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.benchmark import Row
from lmms_aes_tasks.board.digests import canonical_json
from lmms_aes_tasks.board.errors import EntryError
from lmms_aes_tasks.board.schema import ResponsesFile
from lmms_aes_tasks.board.text import is_plain, printable
from lmms_aes_tasks.leaderboard.safe_reading import MAX_LINE_BYTES, MAX_ROWS, check_sizes, compressed_lines, strict_json
from lmms_aes_tasks.utils.failed_requests import failed_request

FOLDER = "responses"
MAX_RESPONSE_CHARS = 1_000_000
"""A reply of 8,192 tokens has about 35,000; a transcript of ArtCoT three times as many."""
MAX_ID_CHARS = 1_000
_LEVEL = 12
"""Of compression: its window (4 MB) is within what a verifier allows, and 10,000 rows take a second."""
_KEYS = {"id", "response", "record"}


def path_of(task: str) -> str:
    """A task's file, relative to the entry's folder."""
    return f"{FOLDER}/{task}.jsonl.zst"


def has_failed(response: str, record: Mapping[str, Any]) -> bool:
    """Whether lmms-eval's mark of a failed request stands in a reply's place, or in that of one of its rounds."""
    return failed_request(response) or record.get("failed") is True


def write_rows(folder: Path, task: str, rows: Iterable[Row]) -> ResponsesFile:
    """Write a task's rows, sorted by id.

    Raises:
        EntryError: The file would break a limit that a verifier sets.
    """
    import zstandard

    lines = []
    for row in sorted(rows, key=lambda own: own.id):
        line = canonical_json({"id": row.id, "response": row.response, "record": row.record}).encode("utf-8")
        if len(row.response) > MAX_RESPONSE_CHARS or len(line) > MAX_LINE_BYTES:
            raise EntryError(
                f"{task}, {printable(row.id)}: its response has {len(row.response)} characters, and "
                f"{MAX_RESPONSE_CHARS} are allowed. Run it with a smaller max_new_tokens."
            )
        lines.append(line + b"\n")
    size = sum(map(len, lines))
    name = path_of(task)
    target = folder / name
    target.parent.mkdir(exist_ok=True)
    with target.open("wb") as file:
        writer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).stream_writer(
            file, size=size, closefd=False
        )
        with writer:
            for line in lines:
                writer.write(line)
    compressed = target.read_bytes()
    check_sizes(name, len(compressed), size)
    return ResponsesFile(
        path=name,
        sha256=hashlib.sha256(compressed).hexdigest(),
        rows=len(lines),
        bytes=len(compressed),
        content_bytes=size,
    )


def read_rows(folder: Path, name: str, content_bytes: int) -> Iterator[Row]:
    """The rows of a file of responses, one at a time.

    Raises:
        EntryError: A limit is broken, or a line is no row.
        CorruptError: It does not decompress.
    """
    for number, line in enumerate(compressed_lines(folder, name, content_bytes), 1):
        where = f"{name}, line {number}"
        if number > MAX_ROWS:
            raise EntryError(f"{name}: more than {MAX_ROWS} rows, the limit.")
        row = strict_json(line, where)
        if not isinstance(row, dict) or set(row) != _KEYS:
            keys = printable(", ".join(sorted(row)) if isinstance(row, dict) else type(row).__name__)
            raise EntryError(f"{where}: holds {keys}; a row has id, response and record, and nothing else.")
        own_id, response, record = row["id"], row["response"], row["record"]
        if not isinstance(own_id, str) or not 0 < len(own_id) <= MAX_ID_CHARS or not is_plain(own_id):
            raise EntryError(
                f"{where}: id is {printable(repr(own_id))}; give a text of 1 to {MAX_ID_CHARS} visible characters "
                "without < and >."
            )
        if not isinstance(response, str) or len(response) > MAX_RESPONSE_CHARS:
            raise EntryError(f"{where}: response is no text of up to {MAX_RESPONSE_CHARS} characters.")
        if not isinstance(record, dict):
            raise EntryError(f"{where}: record is no object.")
        yield Row(own_id, response, record)
