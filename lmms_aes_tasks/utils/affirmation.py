"""Whether a short text affirms or denies: which of two options is the Yes, in several languages."""

from __future__ import annotations

import re
import unicodedata

_YES = frozenset(
    (
        *("yes", "y", "yeah", "yep", "true", "correct", "right", "suitable", "appropriate", "fits", "suits", "agree"),
        *("accept", "pass", "ja", "oui", "si", "sí", "sim", "da", "да", "так", "tak", "evet", "ναι", "hai"),
    )
)
_NO = frozenset(
    (
        *("no", "n", "not", "nope", "never", "false", "wrong", "nein", "non", "não", "nao", "nej", "nee", "nie"),
        *("нет", "ні", "hayır", "όχι", "नहीं"),
    )
)
_YES_STARTS = ("是", "对", "對", "可以", "适合", "適合", "合适", "合適", "はい", "네", "예", "نعم", "हाँ", "हां")
_NO_STARTS = ("否", "不", "非", "未", "いいえ", "いえ", "아니", "لا", "ไม่")
"""Of scripts without spaces between words, and of languages that hang further signs on a word, the beginning counts."""
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "不", "非", "未")
_NO_PREFIX = frozenset(
    ("inside", "indoor", "indoors", "inland", "inset", "insight", "impress", "import", "unit", "under", "until")
)
"""Words that begin as negations do and are none."""
_OPPOSITES = {"false": "true", "wrong": "right", "bad": "good", "fail": "pass", "fails": "passes", "reject": "accept"}
_LABEL = re.compile(
    r"\s*(?:\(\s*[A-Za-z0-9]\s*\)|\[\s*[A-Za-z0-9]\s*\]|[A-Za-z0-9]\s*[.):\uff0e\uff09\uff1a\u3001])\s*(?=\S)"
)
"""An option's letter or number in front of its text: `A. No`, `(1) Yes`."""
_AUXILIARIES = frozenset(["does", "do", "did", "is", "are", "was", "will", "would", "can", "could", "should"])
_CONTRACTED = {"can't": "can not", "cannot": "can not", "won't": "will not"}
_CONTRACTED |= dict.fromkeys(("не", "nicht", "niet", "pas", "inte", "ikke"), "not")


def _words(text: str) -> list[str]:
    """The words of a text in small letters without punctuation; full-width letters folded, "isn't" as "is not"."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    spaced = "".join(
        char if char.isalnum() or char == "'" or unicodedata.category(char)[0] == "M" else " " for char in folded
    )
    words = [word.strip("'") for word in spaced.split()]
    whole = [
        _CONTRACTED.get(word, word.removesuffix("n't") + " not" if word.endswith("n't") else word) for word in words
    ]
    return " ".join(whole).split()


def affirms(text: str) -> bool:
    """Whether a text begins with a Yes.

    >>> [affirms(text) for text in ("Yes.", "(yes) it does", "是", "No", "Warm filter")]
    [True, True, True, False, False]
    """
    words = _words(text)
    return bool(words) and (words[0] in _YES or words[0].startswith(_YES_STARTS))


def denies(text: str) -> bool:
    """Whether a text begins with a No.

    >>> [denies(text) for text in ("No.", "Not at all", "不适合", "否", "Yes", "Notable")]
    [True, True, True, True, False, False]
    """
    words = _words(text)
    return bool(words) and (words[0] in _NO or words[0].startswith(_NO_STARTS))


def _negates(text: str, other: str) -> bool:
    """Whether a text is another with a negation: before its first word (unsuitable), or among its words (is not)."""
    words, others = _words(text), _words(other)
    if not words or not others:
        return False
    if _OPPOSITES.get(words[0]) == others[0]:
        return True
    if words[0] not in _NO_PREFIX and any(words[0] == prefix + others[0] for prefix in _PREFIXES):
        return True

    def bare(sentence: list[str]) -> list[str]:
        return [word.removesuffix("s") for word in sentence if word != "not" and word not in _AUXILIARIES]

    return "not" in words and "not" not in others and bare(words) == bare(others)


def denies_before_affirming(first: str, second: str) -> bool:
    """Whether of two options the first is the No of the second; letters in front of both (`A. No`) are left out.

    >>> denies_before_affirming("No, it does not suit", "Yes, it suits"), denies_before_affirming("否", "是")
    (True, True)
    >>> denies_before_affirming("Unsuitable", "Suitable"), denies_before_affirming("It isn't fit", "It is fit")
    (True, True)
    >>> denies_before_affirming("Yes", "No"), denies_before_affirming("No filter", "Warm filter")
    (False, False)
    """
    if _LABEL.match(first) and _LABEL.match(second):
        first, second = _LABEL.sub("", first, count=1), _LABEL.sub("", second, count=1)
    return (denies(first) and affirms(second)) or _negates(first, second)
