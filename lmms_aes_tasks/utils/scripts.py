"""Words of texts that are not in Latin letters, by Unicode's scripts (the library `regex`).

The paper's metrics read the letters a to z. A text in another script is read here: in scripts that put spaces between
words (Cyrillic, Arabic, Hebrew, Greek, Devanagari, Hangul, …) a word is a run of letters and their marks; in scripts
that do not (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar and a few more) each letter with its marks is one.
Letters that belong to no script, as the modifier letter apostrophe, and Latin letters beyond a to z ("é") are none of
these: English texts keep the values that the metrics' libraries give them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import regex  # type: ignore[import-untyped]

_UNSPACED_SCRIPTS = (
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Thai", "Lao", "Khmer", "Myanmar"),
    *("Tai_Tham", "Tai_Le", "New_Tai_Lue", "Tai_Viet", "Javanese", "Balinese"),
)
_KANA_MARKS = r"\u30fc\uff70\uff9e\uff9f"  # long vowels and voicing, which Unicode gives to no single script
_UNSPACED_LETTER = r"[\p{L}&&[" + "".join(rf"\p{{Script={name}}}" for name in _UNSPACED_SCRIPTS) + "]]"
_UNSPACED = "[" + _UNSPACED_LETTER + _KANA_MARKS + "]"
_SPACED = r"[\p{L}--\p{Script=Latin}--\p{Script=Common}--\p{Script=Inherited}--" + _UNSPACED + "]"
_UNSPACED_WORD = _UNSPACED + r"\p{M}*"
_SPACED_WORD = _SPACED + "[" + _SPACED + r"\p{M}\u200c\u200d]*"  # the joiners of Persian and Indic words
_CHARACTER = regex.compile(_UNSPACED_WORD, regex.VERSION1)
_WORD = regex.compile(f"{_UNSPACED_WORD}|{_SPACED_WORD}", regex.VERSION1)
_TOKEN = regex.compile(f"{_UNSPACED_WORD}|{_SPACED_WORD}|" + r"[\p{Nd}--[0-9]]+", regex.VERSION1)


def other_words(text: str) -> list[str]:
    """Words of scripts other than Latin, in their order, as they stand.

    >>> other_words("Soft light; мягкий свет, 柔光.")
    ['мягкий', 'свет', '柔', '光']
    """
    return [] if text.isascii() else list(_WORD.findall(text))


def script_parts(text: str) -> Iterator[tuple[bool, str]]:
    """A text in parts: tokens of other scripts (words, and digits beyond 0 to 9), and what stands between them.

    Yields:
        (True, token in lower case and in one normal form), or (False, text between tokens as it stands).
    """
    place = 0
    for match in () if text.isascii() else _TOKEN.finditer(text):
        if match.start() > place:
            yield False, text[place : match.start()]
        yield True, unicodedata.normalize("NFC", match.group().lower())
        place = match.end()
    if place < len(text):
        yield False, text[place:]


def with_spaced_characters(text: str) -> str:
    """The text with a space around each letter of a script that puts none between words.

    >>> with_spaced_characters("柔光, soft light").split()
    ['柔', '光', ',', 'soft', 'light']
    """
    return text if text.isascii() else str(_CHARACTER.sub(r" \g<0> ", text))
