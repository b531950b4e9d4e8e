"""Reading what a stranger sent: files of one folder, strict JSON, compressed lines, each with its limits.

Nothing here evaluates anything, follows a link, or holds a whole file of responses in memory. What breaks a limit or is
not sound raises `EntryError`, whose message is safe to print.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from lmms_aes_tasks.board.errors import CorruptError, EntryError
from lmms_aes_tasks.utils.key_shapes import KEY_SHAPES

MAX_JSON_BYTES = 8 * 1024 * 1024
"""`entry.json` of every task of ours is well below one megabyte."""
MAX_DEPTH = 24
"""Nesting of JSON; an entry needs 8, a record 4."""
MAX_DIGITS = 30
"""Characters of a number; a 64-bit one needs 24."""
MAX_COMPRESSED_BYTES = 256 * 1024 * 1024
MAX_CONTENT_BYTES = 512 * 1024 * 1024
"""Of one file of responses; 10,000 replies of 8,192 tokens are about 350 MB."""
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
"""Of all files of an entry, decompressed."""
FREE_CONTENT_BYTES = 64 * 1024 * 1024
MAX_RATIO = 1_000
"""Content may be this many times the compressed size once it is above `FREE_CONTENT_BYTES`: text has 3 to 50, and a
model that repeats itself to the token limit about 500."""
MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_ROWS = 100_000
MAX_WINDOW_BYTES = 8 * 1024 * 1024
"""Memory that a Zstandard frame may ask for: that of level 19."""
_CHUNK = 1024 * 1024


def printable(text: object, limit: int = 200) -> str:
    r"""A text as it may be printed: control and other invisible characters escaped, cut at `limit`.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    shown = str(text)
    cut = shown if len(shown) <= limit else f"{shown[:limit]}…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in cut)


_SECRET = re.compile(
    rf"{KEY_SHAPES}"
    r"|\bBearer\s|(?:^|[\s\"'=:])(?:/(?:home|root|Users|mnt|tmp|data|work|scratch|var|opt|srv|private)/|[A-Za-z]:\\|~/)",
)


def looks_local(text: str) -> bool:
    """Whether a text looks like a key, a token or a local path: such a text never goes into an entry.

    >>> looks_local("sk-abcdefgh12345678"), looks_local("/home/ada/model"), looks_local("<|im_end|>")
    (True, True, False)
    """
    return _SECRET.search(text) is not None


def is_plain(text: str) -> bool:
    """Whether a name holds nothing but visible characters and spaces, and no angle bracket: no markup, no controls."""
    return text.isprintable() and not set(text) & set("<>")


# -- Files ------------------------------------------------------------------------------------------------------------


REBUILD = "Build the entry again."


def open_inside(folder: Path, name: str, remedy: str = REBUILD) -> IO[bytes]:
    """Open a regular file below a folder for reading; no link on the way below the folder, nothing outside it.

    Raises:
        EntryError: The name leaves the folder, a part is a link, or it is no regular file.
    """
    parts = name.split("/")
    if not name or any(part in {"", ".", ".."} or "\\" in part or "\0" in part for part in parts):
        raise EntryError(f"{printable(name)!r} leaves the entry's folder. Name a file inside it.")
    place = folder
    for part in parts:
        place = place / part
        if place.is_symlink():
            raise EntryError(f"{printable(name)}: {printable(part)} is a symbolic link. Put the file itself there.")
    try:
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise EntryError(f"{printable(name)}: no such file in the entry. {remedy}") from None
    except OSError as error:
        raise EntryError(f"{printable(name)} cannot be read ({error.strerror}).") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise EntryError(f"{printable(name)} is no regular file. An entry holds regular files only.")
    return os.fdopen(handle, "rb")


def read_limited(folder: Path, name: str, limit: int = MAX_JSON_BYTES, remedy: str = REBUILD) -> bytes:
    """The content of a small file of an entry.

    Raises:
        EntryError: As `open_inside`, or the file is larger than the limit.
    """
    with open_inside(folder, name, remedy) as file:
        return _within(file, printable(name), limit)


def read_named(path: Path, limit: int, remedy: str) -> bytes:
    """The content of a file that the user names, who may name a link.

    Raises:
        EntryError: It is no regular file, or larger than the limit.
    """
    if not path.is_file():
        raise EntryError(f"{path} is not a file. {remedy}")
    with path.open("rb") as file:
        return _within(file, str(path), limit)


def _within(file: IO[bytes], shown: str, limit: int) -> bytes:
    content = file.read(limit + 1)
    if len(content) > limit:
        raise EntryError(f"{shown} is larger than {limit} bytes. Is it the right file?")
    return content


# -- JSON -------------------------------------------------------------------------------------------------------------


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON; write null")


def _finite(text: str) -> float:
    value = float(text)
    if len(text) > MAX_DIGITS or not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large or too long")
    return value


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"the number {text[:20]}… has {len(text)} digits; {MAX_DIGITS} are allowed")
    return int(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {printable(twice, 60)!r} is there twice")
    return made


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for own in level
            if isinstance(own, (dict, list))
            for inner in (own.values() if isinstance(own, dict) else own)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def strict_json(content: bytes, where: str, remedy: str = REBUILD) -> Any:
    """Decode JSON of a stranger: UTF-8, finite numbers, no key twice, not deep, no half surrogate pair.

    Raises:
        EntryError: It is not such JSON; the message names `where` and what is wrong.
    """
    try:
        text = content.decode("utf-8")
        value = json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_unique,
        )
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise EntryError(f"{where}: nested deeper than {MAX_DEPTH} levels. {remedy}") from None
    except UnicodeEncodeError:
        raise EntryError(f"{where}: holds half a surrogate pair. {remedy}") from None
    except ValueError as error:
        raise EntryError(f"{where}: not sound JSON ({printable(error)}). {remedy}") from None
    if _too_deep(value):
        raise EntryError(f"{where}: nested deeper than {MAX_DEPTH} levels. {remedy}")
    return value


# -- Compressed lines -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileFacts:
    """What a file of responses is, before its content is looked at.

    Attributes:
        bytes: Its size.
        sha256: Its digest.
    """

    bytes: int
    sha256: str


def file_facts(folder: Path, name: str) -> FileFacts:
    """Size and digest of a file of responses, read in pieces.

    Raises:
        EntryError: As `open_inside`, or it is larger than `MAX_COMPRESSED_BYTES`.
    """
    digest = hashlib.sha256()
    size = 0
    with open_inside(folder, name) as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size > MAX_COMPRESSED_BYTES:
                raise EntryError(f"{name} is larger than {MAX_COMPRESSED_BYTES} bytes, the limit of a responses file.")
            digest.update(chunk)
    return FileFacts(size, digest.hexdigest())


def check_sizes(name: str, compressed: int, content: int) -> None:
    """Refuse a file whose content is too large, or out of all proportion to its size.

    Raises:
        EntryError: A limit is broken.
    """
    if content > MAX_CONTENT_BYTES:
        raise EntryError(f"{name}: {content} bytes of content, and {MAX_CONTENT_BYTES} are allowed.")
    if content > FREE_CONTENT_BYTES and content > MAX_RATIO * compressed:
        raise EntryError(
            f"{name}: {content} bytes of content in {compressed} bytes, more than {MAX_RATIO} times as much: refused "
            "as a decompression bomb."
        )


def compressed_lines(folder: Path, name: str, content_bytes: int) -> Iterator[bytes]:
    """The lines of a Zstandard file, one at a time, in bounded memory.

    Args:
        folder: The entry's folder.
        name: The file, relative to it.
        content_bytes: How much content the entry says there is: reading stops where there is more.

    Raises:
        EntryError: A limit is broken, there is more content than said, or the last line does not end.
        CorruptError: The file does not decompress.
    """
    import zstandard

    with open_inside(folder, name) as file:
        decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        # across frames, so that what follows the first one is read, and counted, too
        with decompressor.stream_reader(file, read_across_frames=True, closefd=False) as stream:
            waiting = io.BytesIO()
            total = 0
            while True:
                try:
                    chunk = stream.read(_CHUNK)
                except zstandard.ZstdError as error:
                    raise CorruptError(
                        f"{name} does not decompress ({printable(error)}). Build the entry again."
                    ) from None
                if not chunk:
                    break
                total += len(chunk)
                if total > content_bytes:
                    raise EntryError(
                        f"{name} decompresses to more than the {content_bytes} bytes that the entry says: refused."
                    )
                *whole, rest = chunk.split(b"\n")
                for line in whole:
                    waiting.write(line)
                    if waiting.tell() > MAX_LINE_BYTES:
                        raise EntryError(f"{name}: a line is longer than {MAX_LINE_BYTES} bytes.")
                    yield waiting.getvalue()
                    waiting = io.BytesIO()
                waiting.write(rest)
                if waiting.tell() > MAX_LINE_BYTES:
                    raise EntryError(f"{name}: a line is longer than {MAX_LINE_BYTES} bytes.")
            if waiting.tell():
                raise CorruptError(f"{name}: its last line does not end. Build the entry again.")
    if total != content_bytes:
        raise CorruptError(f"{name} decompresses to {total} bytes, and the entry says {content_bytes}.")
