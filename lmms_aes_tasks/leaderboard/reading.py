"""Reading entries: strict JSON and zstd JSONL of strangers, with limits, and never through a symbolic link."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lmms_aes_tasks.predictions import PredictionError
from lmms_aes_tasks.records import bulleted

if TYPE_CHECKING:
    from lmms_aes_tasks.leaderboard.schema import Board, Entry, Model, Verification

    Form = TypeVar("Form", bound=Model)

ENTRY_FILE = "entry.json"
VERIFICATION_FILE = "verification.json"
RESPONSES_FOLDER = "responses"
MAX_JSON_BYTES = 8 * 1024 * 1024
"""Of an entry or a verification; the largest of ours (every breakdown of FineArtBench) is a hundredth of it."""
MAX_BOARD_BYTES = 256 * 1024 * 1024
MAX_FILE_BYTES = 256 * 1024 * 1024
"""Of a file of responses; GitHub itself takes none above 100 MB."""
MAX_CONTENT_BYTES = 512 * 1024 * 1024
MAX_LINE_BYTES = 32 * 1024 * 1024
_MAX_WINDOW = 8 * 1024 * 1024
"""Memory that a frame may ask for: that of level 19."""
_CHUNK = 1024 * 1024
_SHOWN = 5


class LeaderboardError(PredictionError):
    """An entry, a board or a folder of them that is not sound; the message lists every problem and the next step."""


def printable(text: str, limit: int = 200) -> str:
    r"""A stranger's text as it may be printed: control characters and half surrogate pairs escaped, cut at `limit`.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    cut = text if len(text) <= limit else f"{text[:limit]}…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in cut)


def raise_problems(name: str, problems: list[str], note: str = "") -> None:
    """Raise all problems at once.

    Raises:
        LeaderboardError: There is one.
    """
    if problems:
        raise LeaderboardError(f"{name}: {len(problems)} problem(s){note}. Correct them:\n{bulleted(problems)}")


# -- Files ------------------------------------------------------------------------------------------------------------


def read_bytes(path: Path, limit: int) -> bytes:
    """A regular file of at most `limit` bytes.

    Raises:
        LeaderboardError: It is missing, a link, no file, or larger.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise LeaderboardError(
            f"{path}: cannot be read ({error.strerror}). Give a file that is there, and no link."
        ) from None
    with os.fdopen(handle, "rb") as opened:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise LeaderboardError(f"{path}: is no file. Give a file.")
        content = opened.read(limit + 1)
    if len(content) > limit:
        raise LeaderboardError(f"{path}: has more than {limit} bytes. Make it smaller.")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = sorted({name for name in names if names.count(name) > 1})[:_SHOWN]
        raise ValueError(f"key(s) {', '.join(repeated)} stand there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def parse_json(content: bytes, where: str) -> Any:
    """Strict JSON: UTF-8, no key twice in an object, no NaN or Infinity.

    Raises:
        LeaderboardError: It is not.
    """
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise LeaderboardError(
            f"{where}: not sound JSON ({printable(str(error))}). Write it again with `leaderboard build`."
        ) from None


def _form(kind: type[Form], content: bytes, where: str) -> Form:
    from pydantic import ValidationError

    data = parse_json(content, where)
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        problems = [
            printable(f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}")
            for one in error.errors(include_input=False, include_url=False)
        ]
        raise LeaderboardError(
            f"{where}: {len(problems)} field(s) do not have the form of {kind.__name__}:\n{bulleted(problems)}"
        ) from None


def read_entry(folder: Path) -> Entry:
    """The entry of a folder.

    Raises:
        LeaderboardError: It is missing or not sound.
    """
    from lmms_aes_tasks.leaderboard.schema import Entry

    path = folder / ENTRY_FILE
    return _form(Entry, read_bytes(path, MAX_JSON_BYTES), str(path))


def read_verification(folder: Path) -> Verification | None:
    """The verification beside an entry; None when there is none.

    Raises:
        LeaderboardError: It is not sound.
    """
    from lmms_aes_tasks.leaderboard.schema import Verification

    path = folder / VERIFICATION_FILE
    if not os.path.lexists(path):
        return None
    return _form(Verification, read_bytes(path, MAX_JSON_BYTES), str(path))


def read_board(path: Path) -> Board:
    """A board.

    Raises:
        LeaderboardError: It is missing or not sound.
    """
    from lmms_aes_tasks.leaderboard.schema import Board

    return _form(Board, read_bytes(path, MAX_BOARD_BYTES), str(path))


def entry_digest(folder: Path) -> str:
    """SHA-256 of `entry.json` as it is, which a verification names."""
    return hashlib.sha256(read_bytes(folder / ENTRY_FILE, MAX_JSON_BYTES)).hexdigest()


# -- Responses --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line of a file of responses.

    Attributes:
        id: Id of the document.
        response: The text that was scored.
        record: What was read from it.
    """

    id: str
    response: str
    record: dict[str, Any]


def _decompressed(content: bytes, limit: int, where: str) -> Iterator[bytes]:
    """A zstd file in pieces; ends when it holds more than it says."""
    import io

    import zstandard

    size = 0
    reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(
        io.BytesIO(content), read_across_frames=True
    )
    try:
        while piece := reader.read(_CHUNK):
            size += len(piece)
            if size > limit:
                raise LeaderboardError(
                    f"{where}: holds more than the {limit} bytes that the entry says. Build it again."
                )
            yield piece
    except zstandard.ZstdError as error:
        raise LeaderboardError(f"{where}: not a zstd file ({error}). Build the entry again.") from None


def _lines(pieces: Iterator[bytes], where: str) -> Iterator[bytes]:
    held = b""
    for piece in pieces:
        *whole, held = (held + piece).split(b"\n")
        yield from whole
        if len(held) > MAX_LINE_BYTES:
            raise LeaderboardError(f"{where}: a line is longer than {MAX_LINE_BYTES} bytes. Is it JSONL?")
    if held:
        yield held


def _row(line: bytes, where: str) -> Row:
    item = parse_json(line, where)
    if not isinstance(item, dict) or set(item) != {"id", "response", "record"}:
        raise LeaderboardError(f"{where}: give one object with id, response and record, nothing else.")
    if not isinstance(item["id"], str) or not isinstance(item["response"], str) or not isinstance(item["record"], dict):
        raise LeaderboardError(f"{where}: id and response must be texts, and record an object. Build the entry again.")
    if item["record"].get("id") != item["id"]:
        raise LeaderboardError(f"{where}: its record is of another id. Build the entry again.")
    return Row(item["id"], item["response"], item["record"])


def read_rows(folder: Path, entry: Entry, task: str) -> list[Row]:
    """The responses of one task, by id.

    Raises:
        LeaderboardError: The file is not the one that the entry names (digest, sizes, rows), or a line is not sound.
    """
    file = entry.tasks[task].file
    path = folder / file.path
    where = str(path)
    if path.parent.is_symlink():
        raise LeaderboardError(f"{path.parent}: is a link. Give a folder.")
    content = read_bytes(path, MAX_FILE_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise LeaderboardError(
            f"{where}: its SHA-256 is {digest[:8]}… and the entry says {file.sha256[:8]}…. Build the entry again."
        )
    pieces = _decompressed(content, min(file.content_bytes, MAX_CONTENT_BYTES), where)
    rows = [_row(line, f"{where}, line {number}") for number, line in enumerate(_lines(pieces, where), 1)]
    if len(rows) != file.rows:
        raise LeaderboardError(f"{where}: has {len(rows)} rows and the entry says {file.rows}. Build the entry again.")
    ids = {row.id for row in rows}
    if len(ids) != len(rows):
        raise LeaderboardError(f"{where}: {len(rows) - len(ids)} id(s) stand there twice. Answer each case once.")
    return sorted(rows, key=lambda row: row.id)


def responses_digest(rows: list[Row]) -> str:
    """Digest of what a model said, whatever was read from it and however it is compressed."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps([row.id, row.response]).encode("ascii"))
    return digest.hexdigest()
