"""What a file is by its first bytes, for messages about files that are not what their name says."""

from __future__ import annotations

import re

FIRST_BYTES = 1024
"""How many of them are looked at."""
_MARKUP = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>|<!--.*?-->|<!doctype\s+svg[^>]*>|\s)*<(?P<tag>[!\w:]+)",
    re.DOTALL | re.IGNORECASE,
)
_BRANDS = {
    b"heic": "HEIC", b"heix": "HEIC", b"heim": "HEIC", b"heis": "HEIC", b"hevc": "HEIC", b"hevx": "HEIC",
    b"mif1": "HEIF", b"msf1": "HEIF", b"avif": "AVIF", b"avis": "AVIF",
}  # fmt: skip
_SAVE = "Save it as PNG or JPEG"
_STARTS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "Fetch it with `git lfs pull`"),
    (b"/annex/objects/", "a git-annex pointer, not the file itself", "Fetch it with `git annex get`"),
    (b"%PDF-", "a PDF document", _SAVE),
    (b"PK\x03\x04", "a ZIP archive, as files of Excel are", "Unpack it, or save the table as CSV"),
    (b"\x1f\x8b", "a gzip archive", "Unpack it"),
    (b"\xff\x0a", "JPEG XL, which Pillow does not read", _SAVE),
    (b"\0\0\0\x0cJXL ", "JPEG XL, which Pillow does not read", _SAVE),
)


def described(first: bytes) -> tuple[str, str]:
    """What a file seems to be, and what to do; two empty texts when nothing is known of it.

    >>> described(b"version https://git-lfs.github.com/spec/v1")[0]
    'a Git LFS pointer, not the file itself'
    """
    if not first:
        return "an empty file", "Get it again"
    for start, what, remedy in _STARTS:
        if first.startswith(start):
            return what, remedy
    if first[4:8] == b"ftyp":
        brand = _BRANDS.get(first[8:12])
        if brand is None:
            return "a film or another ISO container, not an image", "Save a frame of it as PNG"
        how = "pillow-heif" if brand.startswith("HEI") else "its AVIF plugin"
        return f"{brand}, which Pillow reads with {how} alone", _SAVE
    match = _MARKUP.match(first[:FIRST_BYTES])
    if match is None:
        return "", ""
    tag = match["tag"].lower()
    if tag == b"svg":
        return "SVG, a drawing in text", "Render it to PNG"
    if tag in {b"!doctype", b"html", b"head", b"body"}:
        return "an HTML page, as servers send in place of a file", "Download the file itself"
    return "XML, as servers send for an error", "Download the file itself"
