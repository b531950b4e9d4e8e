"""Sentences that call one option right or wrong: "only option A is right", "选项B是正确的" (our reading).

A clause counts only when it says this and nothing else: remarks, comparisons, conditions and questions are no answer.
"""

from __future__ import annotations

import functools
import re

from lmms_aes_tasks.utils.option_reader import CLOSE, OPEN, OptionReader

_MAX_SENTENCE_CHARS = 400
_SENTENCE = re.compile(r"(?P<text>[^.;!?\n。]+)(?P<end>[.;!?\n。]|\Z)")
_KEY = re.compile(r"right|correct|wrong|false|true|answer|choice|option|best|正确|对|错|答案|选", re.IGNORECASE)
_CLAUSE = re.compile(r",\s*|\s+(?=(?:and|while|whereas|but)\s)", re.IGNORECASE)

_LEAD = (
    r"(?:(?:so|thus|therefore|hence|overall|clearly|finally|ultimately|and|while|whereas|but|then"
    r"|in\s(?:conclusion|summary|short|my\sopinion|my\sview|fact)"
    r"|(?:i|we)\s(?:think|believe|conclude|feel|find|am\s(?:sure|certain|confident))(?:\sthat)?"
    r"|(?:of|between)\sthe\s(?:two|options)|it\sis\s(?:clear|evident|obvious)\sthat|th(?:is|at)\smeans(?:\sthat)?|(?:my\s|the\s)?(?:final\s)?answer:)\s*){0,3}"
)
_IS = (
    r"(?:\s(?:is|must\sbe|has\sto\sbe|would\sbe)|['’]s)"
    r"(?:\s(?:clearly|definitely|indeed|therefore|thus|obviously|certainly))?"
)
_NOUN = r"(?:answer|option|choice|one|pick|response|alternative)"
_RIGHT = (
    rf"(?:(?:the\s)?(?:only\s)?(?:right|correct)(?:\s{_NOUN})?"
    rf"|the\s(?:best|only|most\s(?:suitable|appropriate|fitting)|final)\s(?:answer|option|choice|one|pick)"
    r"|(?:the|my)\sanswer|my\s(?:final\s)?(?:choice|pick))"
)
_FITTING = r"(?:suitable|appropriate|acceptable|valid|true)"
_PLACE = r"(?:\s(?:here|in\sthis\scase|for\sthis\s(?:use|image|picture|case|question|purpose)))?"
_REASON = r"(?:\s(?:because|since|as|given|due\sto)\b.*)?"
_WRONG = (
    rf"(?:(?:\snot|n['’]t)\s(?:the\s)?(?:right|correct)(?:\s{_NOUN})?|(?:\snot|n['’]t)"
    rf"|\s(?:the\s)?(?:wrong|incorrect|false)(?:\s{_NOUN})?)"
)

_ZH_LEAD = r"(?:(?:所以|因此|综上(?:所述)?|那么|显然|我认为|我觉得|可见|而且?|但)\s?){0,3}"
_ZH_RIGHT = (
    r"(?:(?:才|显然|应该|应)?(?:是)?(?:唯一)?正确的?(?:答案|选项|选择)?|(?:才)?是(?:唯一)?对的(?:答案|选项|选择)?|(?:才)?对"
    r"|(?:才)?[是为](?:最佳|正确的?|最合适的?|最好的?|最终)?(?:答案|选择))"
)
_ZH_WRONG = r"(?:(?:是)?(?:错误?|不正确|不对)的?(?:答案|选项|选择)?|不是(?:正确的?|对的)?(?:答案|选项|选择)?)"

# What before a clause, in its sentence, or after it, takes a judgement back.
_HEDGE = re.compile(
    r"\b(?:if|unless|whether|when|suppose|assuming|although|though|not|never|doubt|some|others|might|may|could)\b|n['’]t"
    r"|如果|假如|若|要是|是否|难道|除非|虽然|并非|有人|不",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"(?:because|since|as|given|due|so|for|making|which\sis\swhy)\b|not\s(?:option\s|choice\s)?\S{1,6}\Z|因为|由于|所以|故|理由|而?不是",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=64)
def _clauses(ids: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What calls an option of these ids right, and what calls it wrong."""
    own = r"(?:\s?\((?P<own>[^()]{1,80})\))?"
    name = rf"(?:the\s)?(?:(?:option|choice|answer|alternative)\s)?{OPEN}(?P<id>{ids}){CLOSE}{own}(?:\salone)?"
    zh_name = rf"{OPEN}(?:选项|答案|选择?)?\s?{OPEN}(?P<zh>{ids}){CLOSE}\s?(?:选项|项)?\s?"
    right = (
        rf"{_LEAD}(?:only\s)?{name}{_IS}\s{_RIGHT}{_PLACE}{_REASON}|{_LEAD}only\s"
        rf"{name.replace('?P<id>', '?P<only>').replace('?P<own>', '?P<onlyown>')}{_IS}\s{_FITTING}{_PLACE}{_REASON}"
        rf"|{_ZH_LEAD}(?:只有|仅有|唯有)?\s?{zh_name}{_ZH_RIGHT}"
        rf"|{_ZH_LEAD}(?:只有|仅有|唯有)\s?{zh_name.replace('?P<zh>', '?P<zhonly>')}是?(?:合适|恰当|适合|合理)的?"
    )
    wrong = rf"{_LEAD}{name}(?:\s(?:is|was)|['’]s){_WRONG}{_PLACE}{_REASON}|{_ZH_LEAD}{zh_name}{_ZH_WRONG}"
    return re.compile(right, re.IGNORECASE), re.compile(wrong, re.IGNORECASE)


def _named(reader: OptionReader, match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    groups = {name: text for name, text in match.groupdict().items() if text}
    option_id = next((reader.id_of(text) for name, text in groups.items() if not name.endswith("own")), None)
    texts = {reader.exact_text(text) for name, text in groups.items() if name.endswith("own")}
    return option_id if texts <= {option_id} else None  # "option A (No)" names two


def judged(reader: OptionReader, text: str) -> tuple[set[str], set[str]]:
    """The options that sentences of a text call right, and those that they call wrong.

    Args:
        reader: The question's options.
        text: A folded text.

    Returns:
        Two sets of ids, which may overlap where a text contradicts itself.
    """
    right: set[str] = set()
    wrong: set[str] = set()
    right_clause, wrong_clause = _clauses(reader.ids)
    for sentence in _SENTENCE.finditer(text) if _KEY.search(text) else ():
        words = sentence.group("text").strip(" \t\r*_#>-`")
        if sentence.group("end") == "?" or len(words) > _MAX_SENTENCE_CHARS or not _KEY.search(words):
            continue
        called: list[tuple[set[str], str]] = []
        before_hedged = False
        for clause in _CLAUSE.split(words):
            clause = clause.strip(" \t\r*_`\"'")
            is_right = _named(reader, right_clause.fullmatch(clause))
            is_wrong = _named(reader, wrong_clause.fullmatch(clause))
            if is_right is not None or is_wrong is not None:
                called.append((right, is_right) if is_right is not None else (wrong, str(is_wrong)))
            elif called and not _GOES_ON.match(clause):
                called.clear()  # "option A is right, but only in colour"
                break
            elif called:
                break  # a reason: what follows is of it
            else:
                before_hedged = before_hedged or _HEDGE.search(clause) is not None
        if not before_hedged:
            for options, option_id in called:
                options.add(option_id)
    return right, wrong
