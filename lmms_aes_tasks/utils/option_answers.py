"""Reading the option that a reply to a multiple-choice question declares (AesCanvas, supplement S2.4.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from lmms_aes_tasks.utils.answer_objects import (
    Pairs,
    named_values,
    object_at_start,
    objects,
    only_item,
    other_writings,
    whole_object,
)
from lmms_aes_tasks.utils.answer_wrappers import answer_marks_text, answer_text, folded, unwrapped
from lmms_aes_tasks.utils.failed_requests import failed_request
from lmms_aes_tasks.utils.option_reader import Option, OptionReader
from lmms_aes_tasks.utils.option_sentences import judged

_MAX_DECLARATIONS = 500
"""Declared answers read in one text, so that hostile text costs linear time; two that differ already decide."""
_CONFIDENCES = frozenset({"low", "medium", "high"})


@dataclass(frozen=True)
class OptionAnswer:
    """What a reply to a multiple-choice question declares.

    Attributes:
        answer: An option id of the question, or None when nothing, or more than one thing, was declared.
        rule: The rule that decided: `json`, `object`, `declared`, `leading_id`, `option_text`; where answer is None,
            `conflict` (two different answers), `invalid` (an answer field that names no option), `empty`, `none`, or
            `failed` (no reply, but lmms-eval's mark of a failed request).
        confidence: `low`, `medium` or `high` when the reply's object says so, else None.
        reason: The reply's own reason when its object gives one, else None.
    """

    answer: str | None
    rule: str
    confidence: str | None = None
    reason: str | None = None


# A declared answer: a field ("answer: …"), a heading ("### Answer"), a sentence ("the answer is …"), a choice ("I
# choose option …"), Chinese.
_DECLARED = re.compile(
    r"""
    (?<![A-Za-z0-9])answer["'*_`]{0,6}\s{0,4}(?:[:=]|(?:is|was|would\s+be|will\s+be)\b\s{0,4}:?)
  | (?:^|\n)[ \t#*_>]{0,8}(?:(?:final|my|the|correct|your)[ \t]){0,2}answer[ \t*_#:]{0,8}(?=\n)
  | (?<![A-Za-z0-9])(?P<choice>choose|chose|select|selected|pick|picked|go\s+with|opt\s+for)\b
    (?=\s+["'(*]{0,6}(?:option|choice)\b)
  | (?<![A-Za-z0-9])(?:my|final|selected|chosen|correct|right|best)\s+(?:choice|option|selection|pick|one)
    ["'*_`]{0,6}\s{0,4}(?:is\b|[:=])
  | 答案["'*\s]{0,6}(?:应该?)?[是为选]?\s{0,4}[:=]?
  | (?:正确|最佳|最终|最合适|我)的?(?:选项|选择)\s?(?:应该?)?[是为:]\s{0,4}
  | (?:正确|对)的(?:应该?)?是
  | (?<![备候入精挑筛海])选(?![项手])择?\s{0,4}[:=]?
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Words before a declaration, within its clause, that take it back: "not the answer", "the wrong answer", "if the …".
_NEGATED = re.compile(
    r"(?:(?:\b(?:not|never|cannot|neither|nor|incorrect|wrong|rejected|false|if|unless|whether|(?:I|we)\sdoubt"
    r"|den(?:y|ies|ied)|disagree[sd]?|(?:hard|difficult|impossible)\sto\s(?:say|tell|claim|argue))|n['’]t)"
    r"(?:\s+[\w'’]+){0,6}"
    r"|(?:\b(?:few|some|many|most)\s(?:people|viewers|readers|others|would|may|might|could|say|argue)|\bothers)"
    r"(?:\s+[\w'’]+){0,3}"
    r"|(?:[不别勿没非未]|没有|无法|难以|很难|拒绝|避免)"
    r"(?:是|应该?|会|能够?|可以?|要|该|建议|宜|得|必|一定|再|只|仅|说|认为|觉得|确定|同意|敢|想){0,4}"
    r"|错误的?|不正确的?|不对的?"
    r"|(?:如果|假如|若|要是|是否|难道|为什么|有人|很多人|不少人|部分人)[\w\s]{0,8})\s*$",
    re.IGNORECASE,
)
_CLAUSE_CHARS = 60
_BRACE = re.compile(r"[\s`*_]{0,8}\{")
_HEADING_END = re.compile(r"[ \t*_#]{0,8}\n")
_SECTION_CHARS = 2_000
"""As much of what follows a heading is looked at."""
# JSON reads the backslash of "\boxed" and "\text" as part of a control character
_UNREAD_COMMANDS = {"\boxed": r"\boxed", "\text": r"\text"}
_MAX_OBJECTS = 3
"""Objects within objects that name an option."""


def _declared(reader: OptionReader, text: str) -> tuple[set[str], bool]:
    """Every readable declared answer of a text, and whether one is joined to another ("A or the answer: B")."""
    answers: set[str] = set()
    joined = False
    labels = list(islice(_DECLARED.finditer(text), _MAX_DECLARATIONS))
    for match, following in zip_longest(labels, labels[1:]):
        before = text[max(0, match.start() - _CLAUSE_CHARS) : match.start()]
        if _NEGATED.search(before):
            continue
        joined = joined or reader.joins(before)
        brace = _BRACE.match(text, match.end())
        if brace is not None and (value := object_at_start(text[brace.end() - 1 : brace.end() + _SECTION_CHARS])):
            answer = _object_value(reader, value, 0)
        elif _HEADING_END.match(text, match.end()):
            stop = min(match.end() + _SECTION_CHARS, following.start() if following else len(text))
            answer = reader.below_heading(text[match.end() : stop].strip("-•> \t\n"))
        else:
            answer = reader.named(text, match.end()) or reader.short(text, match.end())
        if answer is not None:
            answers.add(answer)
    return answers, joined


def _object_value(reader: OptionReader, value: Pairs, depth: int) -> str | None:
    """The option that an object in an answer field names: by its id, its text or both; None where these differ."""
    keys = ("id", "option_id", "option", "choice", "letter", "label", "key", "value", "text", "option_text")
    read = {_value(reader, item, depth + 1) for key, item in value if key.strip().lower() in keys} - {None}
    if read:
        return read.pop() if len(read) == 1 else None
    ids = [(reader.id_of(key), item) for key, item in value]
    if len(ids) == 1 and ids[0][0] is not None and isinstance(ids[0][1], str):  # {"B": "No"}
        return ids[0][0] if reader.exact_text(ids[0][1]) == ids[0][0] else None
    if all(option_id is not None and isinstance(item, bool) for option_id, item in ids):  # {"A": false, "B": true}
        chosen = [option_id for option_id, item in ids if item]
        return chosen[0] if len(chosen) == 1 else None
    return None


def _value(reader: OptionReader, value: Any, depth: int = 0) -> str | None:
    """The option that the content of an answer field names."""
    value = only_item(value)
    if isinstance(value, str) and value.strip().startswith("{"):
        value = whole_object(value) or value
    if isinstance(value, Pairs):
        return _object_value(reader, value, depth) if depth < _MAX_OBJECTS else None
    if not isinstance(value, str):
        return reader.number(value)
    for unread, command in _UNREAD_COMMANDS.items():
        value = value.replace(unread, command)
    text = unwrapped(folded(value)).strip()
    right, wrong = judged(reader, text)
    return reader.short(text) or (right.pop() if len(right) == 1 and not right & wrong else None)


def _from_objects(reader: OptionReader, found: Iterable[Pairs], rule: str) -> OptionAnswer | None:
    """The answer that objects agree on; None when none of them has an answer field, so that the next rule is tried."""
    answers: set[str] = set()
    confidence: str | None = None
    reason: str | None = None
    has_field = False
    for pairs in found:
        values = named_values(pairs, "answer")
        if not values:
            continue
        has_field = True
        read = [_value(reader, value) for value in values]
        if len(set(read)) > 1:  # a repeated key with two values, one of them perhaps unreadable
            return OptionAnswer(None, "conflict")
        answers.update(answer for answer in read if answer is not None)
        confidence = confidence or _text_field(pairs, "confidence", _CONFIDENCES)
        reason = reason or _text_field(pairs, "reason")
    if not has_field:
        return None
    if not answers:
        return OptionAnswer(None, "invalid", confidence, reason)
    if len(answers) > 1:
        return OptionAnswer(None, "conflict")
    return OptionAnswer(answers.pop(), rule, confidence, reason)


def _text_field(pairs: Pairs, name: str, allowed: frozenset[str] | None = None) -> str | None:
    values = [value.strip() for value in named_values(pairs, name) if isinstance(value, str) and value.strip()]
    if len(values) != 1:
        return None
    if allowed is None:
        return values[0]
    lowered = values[0].lower()
    return lowered if lowered in allowed else None


def _by_objects(reader: OptionReader, body: str) -> OptionAnswer | None:
    whole = whole_object(body)
    if whole is not None:
        return _from_objects(reader, [whole], "json")
    decided = _from_objects(reader, objects(body), "object")
    for writing in other_writings(body) if decided is None else ():
        decided = decided or _from_objects(reader, objects(writing), "object")
    return decided


_OBJECT_START = re.compile(r"\{|\[(?![^\[\]{}\"',:]{1,20}\])")


def parse_option(text: str | None, options: Sequence[Option]) -> OptionAnswer:
    """Read the option that a reply declares (AesCanvas, supplement S2.4.3).

    The first rule that decides, decides: (1) `json`, the whole text is a JSON object with an `answer`; (2) `object`,
    JSON objects or Python dicts inside it (a fence, prose, a list of one, one level of nesting, escaped quotes); (3)
    `declared`, an answer field, a mark of the answer (a box, an answer tag), a declared answer, or a sentence that
    calls one option right; (4) `leading_id`, the text begins with one option id; (5) `option_text`, it is an option's
    exact text or begins with a closed Yes or No label. Two different answers within the rule that fires are no answer.
    Rules 2 and 3 are our reading of the paper's "one unambiguous answer field".

    Args:
        text: The reply as generated; None is the empty reply.
        options: The question's options as (id, text) pairs.

    Returns:
        The answer with the rule that fired.

    >>> parse_option('{"answer": "B", "confidence": "high"}', [("A", "Yes"), ("B", "No")])
    OptionAnswer(answer='B', rule='json', confidence='high', reason=None)
    >>> parse_option("A warm palette makes this suitable.", [("A", "Yes"), ("B", "No")])
    OptionAnswer(answer=None, rule='none', confidence=None, reason=None)
    """
    if failed_request(text):
        return OptionAnswer(None, "failed")
    body = answer_text(text)
    if not body:
        return OptionAnswer(None, "empty")
    reader = OptionReader(options)
    decided = _by_objects(reader, body)
    if decided is not None:
        return decided

    marked = answer_marks_text(text, "\nAnswer: ")
    declared, joined = _declared(reader, marked)
    right, wrong = judged(reader, marked)
    if joined or len(declared | right) > 1 or right & wrong:
        return OptionAnswer(None, "conflict")
    if declared or right:
        return OptionAnswer((declared | right).pop(), "declared")

    plain = unwrapped(body).strip()
    # a text that begins as an object is none of the short forms below: the "a" of {"a": 1} is a key
    leading = None if _OBJECT_START.match(plain) else reader.leading_id(plain)
    if leading is not None:
        if leading in wrong or reader.lists_others(plain, leading):
            return OptionAnswer(None, "conflict")
        return OptionAnswer(leading, "leading_id")

    by_text = reader.exact_text(plain) or reader.label_at(plain)
    if by_text is not None:
        return OptionAnswer(by_text, "option_text")
    return OptionAnswer(None, "none")
