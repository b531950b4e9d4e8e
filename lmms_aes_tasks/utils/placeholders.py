"""Marks for images inside texts: LLaVA's `<image>` is taken out, those of other models are named."""

from __future__ import annotations

import re

_IMAGE = re.compile(r"(?P<before>[ \t]*)(?:<\s*image\s*>(?P<after>[ \t]*))+(?P<end>\r?\n)?", re.IGNORECASE)
_OTHER = re.compile(
    r"<[|｜/\s]{0,3}[\w\- ]{0,40}?(?:image|img|vision|video|pixel|im_start|im_end|im_patch)[^<>\n]{0,200}>"
    r"|<[|｜/\s]{0,3}(?:picture|photo|audio)(?:[_ -]?\d{1,3})?[\s|｜/]{0,3}>"
    r"|\[/?(?:image|img)(?:[_ -]?\d{1,3}|_token|_pad|_end|_break)?\]"
    r"|\{/?(?:image|img)[_ -]?\d{0,3}\}",
    re.IGNORECASE,
)
"""`<image_1>`, `<ImageHere>`, `<img>…</img>`, `<|image_pad|>`, `<|vision_start|>`, `<IMG_CONTEXT>`, `[IMG]`, …"""
_CLOSING = ".,;:!?)]}»”’。，、；：！？）"
_UNSPACED_FROM = "\u2e80"
"""Scripts from here on (Chinese, Japanese) write no space between words."""


def without_image_marks(text: str) -> str:
    r"""A text without `<image>`: a mark goes with its line, or with the space on one of its sides.

    >>> without_image_marks("<image>\nCritique this.")
    'Critique this.'
    >>> without_image_marks("Look at <image> and critique.")
    'Look at and critique.'
    """

    def instead(match: re.Match[str]) -> str:
        start, stop = match.span()
        left = text[start - 1] if start else "\n"
        right = text[stop] if stop < len(text) else "\n"
        if left == "\n":
            return ""
        if match["end"] or right == "\n":
            return match["end"] or ""
        if match["before"] or match["after"]:
            return "" if right in _CLOSING else " "
        joins = left.isalnum() and right.isalnum() and left < _UNSPACED_FROM and right < _UNSPACED_FROM
        return " " if joins else ""

    return _IMAGE.sub(instead, text).strip()


def other_image_marks(text: str) -> list[str]:
    """Marks for images but `<image>`, each once, in the order of the text: models may count them as images.

    >>> other_image_marks("<image> <image_1> and <|image_pad|>, a < b")
    ['<image_1>', '<|image_pad|>']
    """
    found = dict.fromkeys(match[0] for match in _OTHER.finditer(_IMAGE.sub(" ", text)))
    return list(found)


def mark_problems(name: str, text: str) -> list[str]:
    """A problem of a record whose text, as a model gets it, has such marks; none when it has none."""
    marks = other_image_marks(text)
    if not marks:
        return []
    listed = ", ".join(mark[:40] for mark in marks[:3])
    return [f"{name} has {listed}; take it out, or write <image>, which is left out of what a model reads"]
