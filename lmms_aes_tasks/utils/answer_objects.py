"""JSON objects and Python dicts inside text, as lists of pairs: repeated keys must be seen, not the last one taken.

No function here raises on text, whatever the text, and none recurses into what it has read.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

_MAX_OBJECT_CHARS = 20_000
"""Longest text that is tried as a Python dict; an answer object is a few hundred characters."""
_MAX_OBJECT_STARTS = 50
"""Opening braces tried from either end of a text, so that hostile text costs linear time."""
_MAX_NESTING = 100
"""Deepest bracket nesting given to `ast.literal_eval`, far below the depth that exhausts the C stack."""

STRAIGHT_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
"""Typographic quotes to straight ones."""
_TYPOGRAPHIC = re.compile("[“”„‘’]")
_ESCAPED = re.compile(r"\\{1,8}([\"'])")
_ESCAPED_BREAK = re.compile(r"\\{1,8}[nrt]")


class Pairs(list[tuple[str, Any]]):
    """A mapping as its list of pairs."""


def _pairs_of(value: Any) -> Any:
    """A literal with each dict turned into its pairs, as the JSON reader gives them; at most `_MAX_NESTING` deep."""
    if isinstance(value, dict):
        return Pairs((str(key), _pairs_of(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [_pairs_of(item) for item in value]
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=Pairs, strict=False)


def _end_of_braces(text: str, start: int) -> int | None:
    """Index after the brace that closes the one at `start`, quotes respected; None within the size limit."""
    depth = 0
    quote = ""
    index = start
    stop = min(len(text), start + _MAX_OBJECT_CHARS)
    while index < stop:
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return index + 1
        index += 1
    return None


def _literal(source: str) -> Any:
    """A Python literal, or None: never more than a literal, never beyond the limits above."""
    if len(source) > _MAX_OBJECT_CHARS or sum(source.count(bracket) for bracket in "([{-~+") > _MAX_NESTING:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # "1or 2" in a reply is no concern of the reader
            return _pairs_of(ast.literal_eval(source))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _decode_at(text: str, start: int) -> tuple[Pairs, int] | None:
    """The object (JSON, else Python dict) that begins at `start`, with the index after it."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        python_end = _end_of_braces(text, start)
        value, end = (None, start) if python_end is None else (_literal(text[start:python_end]), python_end)
    return (value, end) if isinstance(value, Pairs) else None


def _starts(text: str) -> list[int]:
    braces = [match.start() for match in re.finditer(r"\{", text)]
    if len(braces) <= 2 * _MAX_OBJECT_STARTS:
        return braces
    return braces[:_MAX_OBJECT_STARTS] + braces[-_MAX_OBJECT_STARTS:]


def objects(text: str) -> Iterator[Pairs]:
    """Every outermost JSON object or Python dict inside a text, in order."""
    end = 0
    for start in _starts(text):
        if start < end:
            continue
        decoded = _decode_at(text, start)
        if decoded is not None:
            value, end = decoded
            yield value


def object_at_start(text: str) -> Pairs | None:
    """The object that a text begins with."""
    decoded = _decode_at(text, 0)
    return decoded[0] if decoded is not None else None


def whole_object(text: str) -> Pairs | None:
    """The text as one JSON object, or as a list that holds one object; else None."""
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    value = only_item(value)
    return value if isinstance(value, Pairs) else None


def only_item(value: Any) -> Any:
    """What a list of one holds, once; anything else as it is."""
    return value[0] if isinstance(value, list) and not isinstance(value, Pairs) and len(value) == 1 else value


def without_escapes(text: str) -> str:
    """A text whose quotes are written without backslashes before them."""
    return _ESCAPED.sub(r"\1", text)


def other_writings(text: str) -> Iterator[str]:
    r"""A text whose objects cannot be read as they stand, written otherwise: straight quotes, then without escapes.

    >>> list(other_writings(r'{\"answer\": \"B\"}'))
    ['{"answer": "B"}']
    """
    if "{" not in text:
        return
    if _TYPOGRAPHIC.search(text):
        text = text.translate(STRAIGHT_QUOTES)
        yield text
    if _ESCAPED.search(text):
        yield _ESCAPED_BREAK.sub(" ", without_escapes(text))


def named_values(pairs: Pairs, name: str) -> list[Any]:
    """Values of the field `name` (any case); where the object has none, those one level further in.

    A value that is itself an object with such a field gives that field's, however deep (without recursion).
    """
    direct = [value for key, value in pairs if key.strip().lower() == name]
    if not direct:
        nested = [value for _, value in pairs if isinstance(value, Pairs)]
        return [value for inner in nested for key, value in inner if key.strip().lower() == name]
    values: list[Any] = []
    waiting = direct[::-1]
    while waiting:
        value = waiting.pop()
        inner = _inner_values(value, name) if isinstance(value, Pairs) else []
        if inner:
            waiting.extend(inner[::-1])
        else:
            values.append(value)
    return values


def _inner_values(pairs: Pairs, name: str) -> list[Any]:
    """Values of the field within an answer's own object: its own, else those of the objects in it."""
    direct = [value for key, value in pairs if key.strip().lower() == name]
    if direct:
        return direct
    return [
        value
        for _, nested in pairs
        if isinstance(nested, Pairs)
        for key, value in nested
        if key.strip().lower() == name
    ]
