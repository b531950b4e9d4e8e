"""Single values as files hold them: nothing under its many names, whole numbers in any spelling, ids, JSON in a cell.

Spreadsheets, pandas and JSON libraries write one value in many ways. Every reader asks here, so that a value means the
same in a file of any kind.
"""

from __future__ import annotations

import json
import re
from typing import Any

_PANDAS_NOTHING = frozenset({"NaTType", "NAType"})
"""Types of pandas' NaT and NA; told by name, since pandas need not be there."""
_NEVER_WORDS = frozenset({"nan", "nat", "<na>", "#n/a"})
"""What an empty cell becomes when it is turned into text; no text of any record."""
_NOTHING_WORDS = _NEVER_WORDS | {"none", "null"}
"""The same with words that are sound texts elsewhere: an option, or a reply, may be None."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(?:\.0*)?")


def is_nothing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN of any library, pandas' NaT and NA. The empty text does not.

    >>> [is_nothing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in _PANDAS_NOTHING:
        return True
    try:
        return bool(value != value)  # true of NaN alone, whatever library it is of
    except (TypeError, ValueError):
        return False


def is_empty(value: Any) -> bool:
    """Whether nothing is given: `is_nothing`, blank text, or an empty list or object.

    >>> [is_empty(value) for value in ("", " ", [], {}, "nan", "no", False)]
    [True, True, True, True, True, False, False]
    """
    if is_nothing(value):
        return True
    if isinstance(value, str):
        return not value.strip() or value.strip().casefold() in _NOTHING_WORDS
    return isinstance(value, (list, tuple, dict)) and not value


def text_of(value: Any, words: bool = True) -> str:
    """A value as text without space around it; nothing, and what nothing becomes as text, as the empty text.

    Args:
        value: Any value; lists and objects become JSON.
        words: Whether the words None and null are nothing, as they are but for options.

    >>> text_of(float("nan")), text_of(" nan "), text_of(7), text_of("None", words=False)
    ('', '', '7', 'None')
    """
    if is_nothing(value):
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.strip()
    return "" if text.casefold() in (_NOTHING_WORDS if words else _NEVER_WORDS) else text


def whole_number(value: Any) -> int | None:
    """A whole number in any spelling (1, "1", 1.0, "1.0"); None for anything else, truth values among it.

    >>> [whole_number(value) for value in (1, "1", 1.0, " 1.0 ", "1.5", True, "one", float("nan"))]
    [1, 1, 1, 1, None, None, None, None]
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    return None


def id_text(value: Any) -> str:
    """An id as text; a whole number in any spelling is the same id. Nothing, and what is no id, is the empty text.

    >>> [id_text(value) for value in (7, "7", 7.0, "7.0", " a-1 ", "007", None, True, [1])]
    ['7', '7', '7', '7', 'a-1', '007', '', '', '']
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    if isinstance(value, str):
        text = text_of(value)
        number = whole_number(text)
        return str(number) if number is not None and text.partition(".")[0] == str(number) else text
    number = whole_number(value)
    return text_of(value) if number is None else str(number)


def json_value(value: Any) -> Any:
    """A text that holds a JSON list or object, decoded, as a cell of CSV has it; anything else as it is.

    >>> json_value('["A", "B"]'), json_value("A, B")
    (['A', 'B'], 'A, B')
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
