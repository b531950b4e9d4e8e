"""The images that records refer to: paths below the data folder, bytes, base64 text and data URIs."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records.files import inside
from lmms_aes_tasks.utils.cells import is_empty, json_value
from lmms_aes_tasks.utils.images import MAX_FILE_BYTES, ImageError

_SHOWN_CHARS = 60
_LONGEST_SHOWN = 160
"""A reference longer than this is no path that a reader wants to see: its beginning is shown."""
_MAX_ENCODED_CHARS = MAX_FILE_BYTES // 3 * 4 + 1_000
_ENCODED = re.compile(r"[A-Za-z0-9+/_\-\s]+={0,2}\s*")
_DATA_URI = re.compile(r"data:(?P<type>[\w.+/\-]*)(?P<more>(?:;[\w.+=\-]+)*),", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?|ftp|s3|gs|hf|file)://", re.IGNORECASE)
_STARTS = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*", b"P5", b"P6",
    b"\0\0\0\x0cjP", b"\xff\x4f\xff\x51",
)  # fmt: skip
"""First bytes of the kinds of images that are met: short base64 text is told from a path by them."""


def shown(reference: object) -> str:
    """A reference for a message, cut where it is long or holds an image."""
    text = reference if isinstance(reference, str) else repr(reference)
    cut = len(text) > _LONGEST_SHOWN or (text.startswith("data:") and len(text) > _SHOWN_CHARS)
    return f"{text[:_SHOWN_CHARS]} …" if cut else text


def _decoded(text: str) -> bytes | None:
    """The bytes of base64 text, in either alphabet, with or without padding and line breaks; None when it is none."""
    if not _ENCODED.fullmatch(text):
        return None
    packed = re.sub(r"\s+", "", text).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _too_long(text: str) -> None:
    if len(text) > _MAX_ENCODED_CHARS:
        raise ImageError(
            f"{text[:_SHOWN_CHARS]} …: {len(text)} characters of base64, {_MAX_ENCODED_CHARS} are allowed. "
            "Make the image smaller."
        )


def _of_data_uri(text: str) -> bytes | None:
    """The content of a data URI; None where a text is none.

    Raises:
        ImageError: It is one, and holds no image as base64.
    """
    match = _DATA_URI.match(text[:200])
    if match is None:
        return None
    _too_long(text)
    content = _decoded(text[match.end() :]) if "base64" in match["more"].lower() else None
    if not content:
        raise ImageError(f"{shown(text)}: a data URI without base64 in it. Give data:image/png;base64,… or a path.")
    return content


def _of_base64(text: str) -> bytes | None:
    """The content of base64 text that begins as images do; None where a text is none."""
    _too_long(text)
    content = _decoded(text)
    begins = content is not None and (content.startswith(_STARTS) or content[4:8] == b"ftyp")
    return content if begins else None


def _of_text(text: str, root: Path) -> bytes:
    content = _of_data_uri(text)
    if content is not None:
        return content
    if _ADDRESS.match(text):
        raise ImageError(f"{shown(text)}: an address; images are read from files. Download it, and give its path.")
    try:
        path = inside(root, text)
    except (OSError, ValueError) as error:  # too long for a path, or not one at all
        content = _of_base64(text)
        if content is not None:
            return content
        if isinstance(error, ImageError):
            raise
        raise ImageError(
            f"{text[:_SHOWN_CHARS]!r} … is no path, nor an image in base64. Give a path inside the data folder."
        ) from None
    if path is not None:
        return path.read_bytes()
    content = _of_base64(text)
    if content is None:
        raise ImageError(f"{shown(text)}: no such file. Put it there, or correct the record.")
    return content


def image_bytes(reference: Any, root: Path) -> bytes:
    """The content of an image that a record refers to.

    Args:
        reference: A path below `root`; bytes; base64 text or a data URI; or a dict with `bytes` (of any of these) or
            `path` (the Hub's image type).
        root: The folder of the records.

    Raises:
        ImageError: The reference is of another kind, leaves the folder, or names no file; it is never shown whole
            where it is long.
    """
    reference = json_value(reference)
    if isinstance(reference, dict):
        content = reference.get("bytes")
        if isinstance(content, str) and not is_empty(content):
            content = _of_data_uri(content) or _decoded(content)
            if content is None:
                raise ImageError("bytes is a text that is no base64. Give base64, or a path.")
        reference = reference.get("path") if is_empty(content) or not content else content
    if isinstance(reference, bytes):
        return reference
    if is_empty(reference) or not isinstance(reference, str):
        raise ImageError(f"{shown(reference)} is no image. Give a path or bytes.")
    return _of_text(reference.strip(), root)


def file_name(reference: Any) -> str | None:
    """The name of the file that a reference is, or is from; None where it holds the image itself."""
    reference = json_value(reference)
    path = reference.get("path") if isinstance(reference, dict) else reference
    if not isinstance(path, str) or len(path) > _LONGEST_SHOWN or _DATA_URI.match(path):
        return None
    encoded = not isinstance(reference, dict) and _of_base64(path.strip()) is not None
    return None if encoded or not path.strip() else path.strip()
