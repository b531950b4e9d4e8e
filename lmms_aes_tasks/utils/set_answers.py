"""Reading the best, the worst, or both images of a set (Visual Aesthetic Benchmark, appendix E)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lmms_aes_tasks.utils.answer_objects import without_escapes
from lmms_aes_tasks.utils.answer_wrappers import folded, unwrapped
from lmms_aes_tasks.utils.failed_requests import failed_request
from lmms_aes_tasks.utils.option_reader import CLOSE, OPEN
from lmms_aes_tasks.utils.visible_text import visible_text

VAB_FIELDS: Mapping[str, tuple[str, ...]] = {
    "pick_best": ("best",),
    "pick_worst": ("worst",),
    "pick_best_and_worst": ("best", "worst"),
}
"""The lines that each prompt type asks for."""


@dataclass(frozen=True)
class SetAnswer:
    """What a reply about a set of images declares.

    Attributes:
        labels: The label per asked field, for example {"best": "B"}; None unless every asked field was read.
        strict: The same by the authors' rule alone.
        rule: `strict`, `tolerant`, `empty` (no text to read), `none`, or `failed` (no reply, but lmms-eval's mark of a
            failed request).
    """

    labels: dict[str, str] | None
    strict: dict[str, str] | None
    rule: str


# A label before a word is one only before these: "Best: a striking picture" holds the article.
_NOT_ARTICLE = r"(?![ \t]{1,4}(?!(?:because|since|as|given|due|is|for)\b)(?-i:[a-z]))"
# Two labels are none: "Best: B/C", "Best: B, C". After a comma a letter may be the article of what follows.
_NO_SECOND = (
    r"(?!['\"*_`)\]]{0,4}\s{0,4}[/&|+]\s{0,4}[('\"*]{0,3}[A-Za-z](?![A-Za-z0-9]))"
    r"(?!['\"*_`)\]]{0,4}\s{0,4},\s{0,4}[('\"*]{0,3}(?-i:[A-Z])[)'\"*]{0,3}\s{0,4}(?:[.,;&\r\n]|\Z))"
    r"(?!['\"*_`)\]]{0,4}\s{1,4}(?:and|or)\s{1,4}[('\"*]{0,3}(?:image\s)?(?-i:[A-Z])(?![A-Za-z0-9]))"
)
_THING = (
    r"(?:image|picture|photo(?:graph)?|painting|artwork|work|piece|option|choice|pick|one|candidate|label|id"
    r"|图片?|图像|照片|选项)"
)
# "second best", "next-best", "2nd worst": not the declaration.
_RUNNER_UP = re.compile(
    r"(?:second|third|next|2nd|3rd|runner[\s-]?up|almost|not)[\s\-*_]{0,4}(?:the\s)?$", re.IGNORECASE
)


def _fields_of(prompt_type: str) -> tuple[str, ...]:
    if prompt_type not in VAB_FIELDS:
        raise ValueError(f"unknown prompt type {prompt_type!r}: use one of {', '.join(VAB_FIELDS)}")
    return VAB_FIELDS[prompt_type]


def _all_or_none(fields: Sequence[str], read: Callable[[str], str | None]) -> dict[str, str] | None:
    labels = {field: read(field) for field in fields}
    return {field: label for field, label in labels.items() if label is not None} if all(labels.values()) else None


def parse_set_strict(text: str | None, prompt_type: str, labels: Sequence[str]) -> dict[str, str] | None:
    """The authors' rule on the text as it stands: first `BEST: X`, upper-case tag, X a label of the set (appendix E).

    Args:
        text: The reply; reasoning is not removed here. None is the empty reply.
        prompt_type: `pick_best`, `pick_worst` or `pick_best_and_worst`.
        labels: The labels of this set, upper case.

    Raises:
        ValueError: `prompt_type` is none of these.

    >>> parse_set_strict("BEST: B", "pick_best", ["A", "B"])
    {'best': 'B'}
    """
    allowed = frozenset(labels)

    def read(field: str) -> str | None:
        match = re.search(rf"\b{field.upper()}:\s*([A-Za-z])\b", text or "")
        label = match.group(1).upper() if match else None
        return label if label in allowed else None

    return _all_or_none(_fields_of(prompt_type), read)


def _tolerant(field: str) -> re.Pattern[str]:
    tag = rf"(?<![A-Za-z0-9]){field}(?:[\s_]{{1,3}}{_THING})?(?:\sis)?{CLOSE}\s{{0,4}}[:=\-–—]{{1,3}}{OPEN}"
    tag += rf"(?:{_THING}(?:[\"']\s{{0,3}}:)?{OPEN})?"
    heading = rf"(?:^|\n)[ \t#*_>]{{0,8}}(?:the\s)?{field}(?:\s{_THING})?[ \t*_#:]{{0,8}}\n{OPEN}(?:{_THING}{OPEN})?"
    end_of_line = r"(?=[*_`\"')\].]{0,6}[ \t]{0,4}(?:\Z|\n))"
    label = rf"([A-Za-z])(?![A-Za-z0-9'’]){_NOT_ARTICLE}{_NO_SECOND}"
    return re.compile(rf"{tag}{label}|{heading}([A-Za-z]){end_of_line}", re.IGNORECASE)


_TOLERANT = {field: _tolerant(field) for field in ("best", "worst")}


def parse_set(text: str | None, prompt_type: str, labels: Sequence[str]) -> SetAnswer:
    """Read the best, the worst, or both images of a set: the strict rule first, then a tolerant one (our reading).

    The tolerant rule reads the tag in any case, with emphasis, brackets, LaTeX, "image" before or after the colon, a
    dash or an equals sign, or as a heading, and takes the last declaration. Prose is not searched.

    Args:
        text: The reply as generated; None is the empty reply.
        prompt_type: `pick_best`, `pick_worst` or `pick_best_and_worst`.
        labels: The labels of this set, upper case.

    Raises:
        ValueError: `prompt_type` is none of these.
    """
    fields = _fields_of(prompt_type)
    if failed_request(text):
        return SetAnswer(None, None, "failed")
    visible = visible_text(text).text
    if not visible:
        return SetAnswer(None, None, "empty")
    strict = parse_set_strict(visible, prompt_type, labels)
    if strict is not None:
        return SetAnswer(strict, strict, "strict")
    plain = unwrapped(without_escapes(folded(visible)))
    allowed = frozenset(labels)

    def read(field: str) -> str | None:
        declared = [
            (match.group(1) or match.group(2)).upper()
            for match in _TOLERANT[field].finditer(plain)
            if not _RUNNER_UP.search(plain[max(0, match.start() - 16) : match.start()])
        ]
        known = [label for label in declared if label in allowed]
        return known[-1] if known else None

    tolerant = _all_or_none(fields, read)
    return SetAnswer(tolerant, None, "tolerant" if tolerant is not None else "none")
