"""Reading the winner of a pair (FineArtBench, Table 8)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lmms_aes_tasks.utils.answer_objects import STRAIGHT_QUOTES, Pairs, named_values, objects, only_item, other_writings
from lmms_aes_tasks.utils.answer_wrappers import answer_text, unwrapped
from lmms_aes_tasks.utils.failed_requests import failed_request


@dataclass(frozen=True)
class WinnerAnswer:
    """What a reply to a two-alternative question declares.

    Attributes:
        winner: "left", "right", or None.
        rule: `object` or `field`; where winner is None, `conflict`, `invalid`, `empty`, `none`, or `failed` (no reply,
            but lmms-eval's mark of a failed request).
    """

    winner: str | None
    rule: str


_WINNER_VALUES = {"0": "left", "1": "right", "left": "left", "right": "right", "false": "left", "true": "right"}
_WINNER_NUMBERS: dict[float, str] = {0.0: "left", 1.0: "right"}
_VALUE = r"[A-Za-z0-9_.+-]{1,40}"
_WRAP = r"[\s*_`\"'(\[{#]{0,8}"
_WINNER_FIELD = re.compile(
    rf"(?<![A-Za-z0-9_])_{{0,3}}[\"']?winner[\"'*_`)\]]{{0,6}}\s{{0,9}}[:=]{_WRAP}(?P<value>{_VALUE})"
    rf"(?:[\"'*_`)\]]{{0,4}}\s{{0,4}}(?:/|\||&|,|\bor\b|\band\b){_WRAP}(?P<second>0|1|left|right)\b"
    r"(?=[\"'*_`)\]}\s.]{0,6}(?:$|[\r\n.}]))?)?"
    rf"|(?:^|\n)[ \t#*_>]{{0,8}}(?:(?:the|final)\s)?winner[ \t*_#:]{{0,8}}\n{_WRAP}(?P<heading>{_VALUE})"
    r"(?=[*_`\"')\].]{0,6}\s*(?:$|\n))",
    re.IGNORECASE,
)
_OBJECT_KEYS = frozenset({"winner", "value", "id", "index", "image", "choice", "answer"})


def _winner_value(value: Any) -> str | None:
    value = only_item(value)
    if isinstance(value, Pairs):
        values = {_winner_value(item) for key, item in value if key in _OBJECT_KEYS and not isinstance(item, list)}
        return values.pop() if len(values) == 1 else None
    if isinstance(
        value, (int, float)
    ):  # a truth value among them; a huge number is none of these, and is never printed
        return _WINNER_NUMBERS.get(value)
    if not isinstance(value, str):
        return None
    text = re.sub(r"^([01])\.0*$", r"\1", unwrapped(value).strip(" \t\r\n*_`\"'().").lower())
    return _WINNER_VALUES.get(text)


def _fields(text: str) -> list[str]:
    """Values of the fields in a text; two values given as alternatives are two values."""
    values: list[str] = []
    for match in _WINNER_FIELD.finditer(text):
        values += [value.rstrip(".") for value in match.groups() if value]
    return values


def parse_winner(text: str | None) -> WinnerAnswer:
    """Read the winner of a pair: 0 or left, 1 or right, from a dict or a `winner` field (FineArtBench, Table 8).

    Only the key `winner` itself counts (`style_winner` does not). Two different values are no answer.

    Args:
        text: The reply as generated; None is the empty reply.

    >>> parse_winner("{'winner': 1}")
    WinnerAnswer(winner='right', rule='object')
    >>> parse_winner("**Winner:** 1.0")
    WinnerAnswer(winner='right', rule='field')
    """
    if failed_request(text):
        return WinnerAnswer(None, "failed")
    body = answer_text(text).translate(STRAIGHT_QUOTES)
    if not body:
        return WinnerAnswer(None, "empty")
    values = [value for pairs in objects(body) for value in named_values(pairs, "winner")]
    for writing in other_writings(body):
        values = values or [value for pairs in objects(writing) for value in named_values(pairs, "winner")]
    rule = "object"
    if not values:
        values = list(_fields(unwrapped(body)))
        rule = "field"
    if not values:
        return WinnerAnswer(None, "none")
    winners = {_winner_value(value) for value in values}
    if len(winners) > 1:
        return WinnerAnswer(None, "conflict")
    winner = winners.pop()
    return WinnerAnswer(winner, rule if winner is not None else "invalid")
