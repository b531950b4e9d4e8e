"""Finding the options of one question in a text: by id, by text, or by a Yes or No label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from lmms_aes_tasks.utils.answer_wrappers import folded

Option = tuple[str, str]
"""An option as (id, text), for example ("A", "Yes")."""

_MAX_VALUE_CHARS = 400
"""Longest line that is compared with the option texts."""

# Wrappers that may stand around a value: Markdown emphasis, quotes, brackets. All repetitions are bounded: adjacent
# unbounded ones over overlapping characters would take polynomial time on hostile text.
OPEN = r"[\s*_`\"'(\[{<>#“”‘’「『【]{0,12}"
CLOSE = r"[*_`\"')\]}>“”‘’」』】]{0,6}"
# What may follow an id that stands alone: the end, a line end, or punctuation that is not part of a word.
_STOP = r"(?:\s{0,4}$|\s*[\r\n]|\s{0,4}[.,:;!。、](?![A-Za-z0-9])|\s{1,4}[-–—]{1,3}\s)"
_BECAUSE = r"(?:\s{1,4}(?:because|since|as|given|due)\b|\s{0,4}(?:是?因为|由于|而不是|而非|(?:而|,)?不选))"
# At the beginning of a text a colon or a dash makes a list ("A: too bright", "A - 20%"), unless nothing or a reason
# follows.
_LEADING_STOP = (
    r"(?:\s{0,4}$|\s*[\r\n]|\s{0,4}[.,;!。、](?![A-Za-z0-9])"
    rf"|\s{{0,4}}(?:[:：]|[-–—]{{1,3}})[*_]{{0,3}}(?:\s{{0,4}}$|[^\S\r\n]{{0,4}}[\r\n]|{_BECAUSE}))"
)
_PREFIX = r"(?:(?:option|choice)[\s:]{1,4}|选?项\s?:?\s?)"
# How a declared "option B" may go on: "I choose option B for this image", but not "option B is too bright".
_GOES_ON = (
    r"(?:\s{1,4}(?:for|in|on|over|with|to|at|here|by|from|rather|instead|based|when|which|that|out|among|of|this|it"
    r"|and|but|so|not)\b)"
)
_LEAST_LIKENESS = 0.8
_MAX_NUMBER = 1_000
"""Ids that are numbers are below this; a huge one is never printed."""
_AFTER_COLON = re.compile(
    rf"{CLOSE}\s{{0,4}}(?:[:：]|[-–—]{{1,3}})(?P<line>[^\r\n]{{1,{_MAX_VALUE_CHARS}}})(?:$|[\r\n])"
)
# After an id and a comma or a stop: a remark about the option, or its denial.
_REMARK = re.compile(
    rf"{CLOSE}\s{{0,4}}(?:,\s{{0,4}}(?:however|which|on\sthe\s(?:other|one)\shand|unlike|too|is|isn|does|doesn|would|was|has"
    rf"|seems|looks|and|or|nor|as\swell\sas|like|being)\b"
    rf"|[.,:;!\-–—\s]{{1,6}}(?:is\s)?(?:wrong|incorrect|false|rejected|excluded){CLOSE}\s{{0,3}}(?:[.;,!]|$|[\r\n]))",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """An option's text for comparison: folded, case folded, outer punctuation and emphasis removed."""
    return re.sub(r"\s+", " ", folded(text)).strip(" \t\r\n*_`\"'.,:;!?()[]“”‘’。").casefold()


class OptionReader:
    """The options of one question, found in text; pure, built per question.

    Attributes:
        ids: The ids as an expression without groups, longest first.
    """

    def __init__(self, options: Sequence[Option]) -> None:
        self._by_id = {option_id.upper(): option_id for option_id, _ in options}
        self._by_text: dict[str, str] = {}
        for option_id, text in options:
            self._by_text.setdefault(plain(text), option_id)
        ids = "|".join(re.escape(i) for i in sorted(self._by_id, key=len, reverse=True)) or r"(?!)"
        texts = "|".join(re.escape(t) for t in sorted(self._by_text, key=len, reverse=True) if t) or r"(?!)"
        labels = "|".join(t for t in ("yes", "no") if t in self._by_text) or r"(?!)"
        flags = re.IGNORECASE
        self.ids = ids
        # 2.0 is the id 2
        alone = (
            rf"(?P<id>{ids})(?:\.0{{1,3}})?(?![A-Za-z0-9_])" if self._numbers() else rf"(?P<id>{ids})(?![A-Za-z0-9_])"
        )
        self._id = re.compile(rf"{OPEN}(?:{_PREFIX}{OPEN})?{alone}", flags)
        self._named_id = re.compile(rf"{OPEN}{_PREFIX}{OPEN}{alone}", flags)
        tail = rf"{CLOSE}(?:选?项|吧|呢)?"
        self._alone = re.compile(rf"{tail}(?:{_STOP}|{_BECAUSE})", flags)
        self._leads = re.compile(rf"{tail}(?:{_LEADING_STOP}|{_BECAUSE})", flags)
        self._goes_on = re.compile(rf"{tail}(?:{_GOES_ON}|{_BECAUSE})", flags)
        # "Option B rather than A.", "Option B for this use.", where the sentence ends
        self._leads_on = re.compile(
            rf"{OPEN}{_PREFIX}{OPEN}{alone}{CLOSE}\s{{1,4}}(?:(?:rather\sthan|over|instead\sof)\s(?:option\s|choice\s)?"
            rf"{OPEN}(?:{ids}){CLOSE}|(?:for|in)\sthis\s[a-z]{{1,20}}|here)\s{{0,4}}(?:[.!;]|$|[\r\n]|{_BECAUSE})",
            flags,
        )
        self._text_after_id = re.compile(
            rf"{CLOSE}\s{{0,4}}[.:),\-–—]{{0,3}}{OPEN}(?P<text>{texts})(?![A-Za-z0-9])", flags
        )
        self._second_id = re.compile(
            rf"{CLOSE}\s{{0,4}}(?:[,/&|+、]|\band\b|\bor\b|\bnor\b|或者?是?|和|与|及|还是){OPEN}"
            rf"(?:(?:and|or)\s)?(?:{_PREFIX})?{OPEN}(?P<id>{ids})(?![A-Za-z0-9_'’])",
            flags,
        )
        self._joined = re.compile(
            rf"(?<![A-Za-z0-9]){OPEN}(?:{ids}){CLOSE}\s{{0,4}}(?:\bor|\band|[/&]|或者?|还是|[和与及])\s{{0,4}}\Z", flags
        )
        self._leading_label = re.compile(rf"{OPEN}(?P<text>{labels})(?![A-Za-z0-9_'’])", flags)
        self._label_stop = re.compile(rf"{CLOSE}(?:{_STOP})", flags)
        self._next_label = re.compile(
            rf"{CLOSE}[\s.,:;!?。、\-–—]{{0,6}}{OPEN}(?P<text>{labels})(?![A-Za-z0-9])", flags
        )
        self._numbered = re.compile(r"\s{0,4}\.\s{0,4}\d")  # "No. 1"
        self._after_label = re.compile(rf"{CLOSE}[\s.,:;!。、\-–—]{{1,6}}")
        self._listed = re.compile(
            rf"(?<![A-Za-z0-9])\(?(?P<id>{ids})\s*[.):]\s*(?P<text>{texts})(?![A-Za-z0-9])", flags
        )
        self._bare = re.compile(rf"{CLOSE}[\s.!。]{{0,4}}(?:$|[\r\n])", flags)
        self._bare_line = re.compile(
            rf"(?:^|[\r\n])[ \t]{{0,4}}{OPEN}(?:{_PREFIX})?(?P<id>{ids}){CLOSE}[ \t.!。]{{0,4}}(?=$|[\r\n])", flags
        )
        self._line = re.compile(
            rf"(?:^|[\r\n])[ \t]{{0,4}}{OPEN}(?:{_PREFIX})?(?P<id>{ids}){CLOSE}\s{{0,3}}(?:[.:)]|[-–—]\s)", flags
        )

    def _numbers(self) -> bool:
        return bool(self._by_id) and all(option_id.isdecimal() for option_id in self._by_id)

    def id_of(self, text: str) -> str | None:
        """The option whose id this is, in any case."""
        return self._by_id.get(text.strip().upper())

    def id_at(self, text: str, start: int = 0, leading: bool = False) -> str | None:
        """The option id that stands at `start`, alone or before its own text, with or without the word "option".

        Args:
            text: A text.
            start: Where to look.
            leading: Whether the id begins the reply, where a colon or a dash after it makes a list.
        """
        match = self._id.match(text, start)
        if match is None:
            return None
        option_id = self._by_id.get(match.group("id").upper())
        if option_id is None or self._another_follows(text, match.end(), option_id):
            return None
        own = self._text_after_id.match(text, match.end())
        if own is not None:
            return option_id if self._option_of(own) == option_id else None
        stop = (self._leads if leading else self._alone).match(text, match.end())
        if stop is None and leading and self._misspelt(text, match.end(), option_id):
            return option_id
        if stop is None:
            return option_id if leading and self._leads_on.match(text, match.start()) else None
        if leading and _REMARK.match(text, match.end()):
            return None
        following = self._id.match(text, stop.end()) if text[stop.start() : stop.end()].strip().endswith(":") else None
        if following is not None and self._alone.match(text, following.end()):  # "A: B"
            return option_id if self.id_of(following.group("id")) == option_id else None
        return option_id

    def _misspelt(self, text: str, end: int, option_id: str) -> bool:
        """Whether after a colon or a dash the rest of the line is this option's text, nearly: "Option B: Postr"."""
        rest = _AFTER_COLON.match(text, end)
        line = plain(rest.group("line")) if rest else ""
        if not line:
            return False
        likeness = {
            own: SequenceMatcher(None, line, option).ratio()
            for option, own in self._by_text.items()
            if abs(len(option) - len(line)) <= 2
        }
        return (
            likeness.get(option_id, 0.0) >= _LEAST_LIKENESS
            and max(likeness, key=lambda key: likeness[key]) == option_id
        )

    def named(self, text: str, start: int) -> str | None:
        """The option at `start` that the word "option" names, in a sentence that goes on but does not judge it."""
        match = self._named_id.match(text, start)
        option_id = self.id_of(match.group("id")) if match else None
        if match is None or option_id is None or self._another_follows(text, match.end(), option_id):
            return None
        return option_id if self._goes_on.match(text, match.end()) else None

    def joins(self, text: str) -> bool:
        """Whether a text ends with an id and a conjunction, so that what follows is one of several."""
        return self._joined.search(text) is not None

    def leading_id(self, text: str) -> str | None:
        """The option id that the text begins with."""
        return self.id_at(text, leading=True)

    def _option_of(self, match: re.Match[str]) -> str | None:
        """The option whose text was matched; None where case folding and matching disagree (dotted and dotless i)."""
        return self._by_text.get(plain(match.group("text")))

    def _another_follows(self, text: str, end: int, option_id: str) -> bool:
        """Whether a second, different id is named: an upper-case letter, or one that stands alone (not the article)."""
        second = self._second_id.match(text, end)
        if second is None or self._by_id.get(second.group("id").upper()) in {option_id, None}:
            return False
        return not second.group("id").islower() or self._alone.match(text, second.end()) is not None

    def label_at(self, text: str, start: int = 0) -> str | None:
        """The Yes or No label at `start`, closed by punctuation or a line end, with no other answer right after it."""
        match = self._leading_label.match(text, start)
        if match is None or not self._label_stop.match(text, match.end()) or self._numbered.match(text, match.end()):
            return None
        option_id = self._option_of(match)
        following = self._next_label.match(text, match.end())
        if following is not None and self._option_of(following) != option_id:
            return None
        skipped = self._after_label.match(text, match.end())
        next_id = self.id_at(text, skipped.end()) if skipped else None
        return option_id if next_id in {option_id, None} else None

    def exact_text(self, text: str) -> str | None:
        """The option whose whole text this is."""
        return self._by_text.get(plain(text))

    def short(self, text: str, start: int = 0) -> str | None:
        """A value read as an answer: id, exact option text, or a closed label."""
        lines = text[start : start + _MAX_VALUE_CHARS].lstrip().splitlines()
        return self.id_at(text, start) or self.exact_text(lines[0] if lines else "") or self.label_at(text, start)

    def number(self, value: Any) -> str | None:
        """The option whose id is this number, a whole one."""
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < _MAX_NUMBER:
            return None
        return self.id_of(str(int(value))) if value == int(value) else None

    def below_heading(self, text: str) -> str | None:
        """The answer that a section begins with; a list of the options is none."""
        option_id = self.id_at(text)
        if option_id is not None and self.lists_others(text, option_id):
            return None
        return option_id or self.exact_text(text.splitlines()[0] if text else "") or self.label_at(text)

    def lists_others(self, text: str, option_id: str) -> bool:
        """Whether a text that begins with an option id lists further options in the same way.

        Ids count that stand before their own texts anywhere, and those that begin lines as the first one does: below
        an id alone on its line, or with its own text, only others alone on theirs do, since the rest are remarks.
        """
        ids = {
            self._by_id.get(match.group("id").upper())
            for match in self._listed.finditer(text)
            if self._option_of(match) == self._by_id.get(match.group("id").upper())
        }
        first = self._id.match(text)
        if first is not None:
            complete = self._bare.match(text, first.end()) or self._text_after_id.match(text, first.end())
            lines = self._bare_line if complete else self._line
            ids |= {self._by_id.get(match.group("id").upper()) for match in lines.finditer(text)}
        return not ids <= {option_id, None}
