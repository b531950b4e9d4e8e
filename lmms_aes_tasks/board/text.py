"""Foreign text: how it may be printed, what of it may be published, and how it is shown."""

from __future__ import annotations

import re
import unicodedata

from lmms_aes_tasks.utils.key_shapes import KEY_SHAPES
from lmms_aes_tasks.utils.unicode_text import well_formed


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


# -- As it is shown ---------------------------------------------------------------------------------------------------

# Controls that no reader sees but that reorder, hide or break the text around them.
_INVISIBLE = re.compile(r"[\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]")


def shown(text: str) -> str:
    r"""Foreign text as it may be shown: on one line, and with every control character visible as a replacement mark.

    Escaping is the template's work; this is about text that deceives the eye.

    >>> shown("gpt\u202e4\n o")
    'gpt\ufffd4 o'
    """
    flat = " ".join(_INVISIBLE.sub("\ufffd", well_formed(text)).split())
    return "".join("\ufffd" if unicodedata.category(char) in {"Cc", "Cn", "Co"} else char for char in flat)


def short(text: str, width: int) -> str:
    """The text, cut in the middle to at most `width` characters: both ends of a model's name tell it apart.

    >>> short("organisation/model-7b-instruct", 13)
    'organi…struct'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


_VARIANTS = {"cot": "CoT", "artcot": "ArtCoT"}


def variant_label(name: str) -> str:
    """A variant's printed name; empty for the main task.

    >>> variant_label("artcot_no_style")
    'ArtCoT no style'
    """
    return " ".join(_VARIANTS.get(word, word) for word in name.split("_"))


_DIGITS = {"fraction": 2, "words": 2, "per 100 words": 2, "dimensions": 2, "rating": 2}


def number(value: float, unit: str) -> str:
    """A figure as text: shares as percent with two decimals, counts without any, the rest with three.

    A p-value below 0.001 is told as such.

    >>> number(0.9169, "fraction"), number(-0.333, "rho"), number(12.0, "count")
    ('91.69', '−0.333', '12')
    """
    if unit == "p" and value < 0.001:
        return "< 0.001"
    if unit == "fraction":
        value *= 100
    digits = 0 if unit == "count" and value == int(value) else _DIGITS.get(unit, 3)
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")
