"""What of a reply is meant for the reader: its text without reasoning, control tokens and the marks around an answer.

Models mark their reasoning in many ways, and whether the marks reach a benchmark depends on the server. One table here
(`THOUGHT_MARKS`, with the two channel formats) serves the parsers, the critiques, the judge and the subjectivity of
texts. The marks are those of the models' chat templates and of the reasoning parsers of vLLM and SGLang; how unclosed
and lone marks are read is our reading, and is said at `visible_text`.

No function here raises on text, whatever the text, and each takes time linear in it. None is the empty reply.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

ZERO_WIDTH = "\ufeff\u200b\u200c\u200d\u200e\u200f\u2060\u00ad"
"""Characters without a width: byte order mark, zero-width space and joiners, direction marks, soft hyphen."""


TEXT_VERSION = "2"
"""Version of what is read of a reply at all. Critiques name it; where it rises, the parsers' version rises with it."""


@dataclass(frozen=True)
class VisibleText:
    """A reply as its reader sees it.

    Attributes:
        text: The reply without reasoning, control tokens and marks around the whole, outer space stripped.
        reasoning: Whether reasoning was removed; an empty block (`<think></think>`) is none.
        cut: Whether the reply ended inside its reasoning: the answer never came.
    """

    text: str
    reasoning: bool = False
    cut: bool = False


@dataclass(frozen=True)
class ThoughtMark:
    """One way of marking reasoning; both patterns ignore case, and a group `tag` tells marks of one way apart.

    Attributes:
        opening: What begins it.
        closing: What ends it.
        example: A block, for the documentation and its test.
    """

    opening: str
    closing: str
    example: str


_THINK = (
    r"(?:(?!no[n_])[a-z0-9_.\-]{1,20}[:|_])?"
    r"(?:think(?:ing)?|thoughts?|reasoning|scratchpad|monologue|cot)(?:_(?:process|content|steps?|fast(?:er)?))?"
    r"(?::[a-z0-9_.\-]{1,20})?"
)
_NAME = rf"(?P<tag>{_THINK}|analysis|reflection|rethink|deliberation|rationale|chain[_\-]of[_\-]thoughts?)"
_EDGE_NAME = r"(?P<tag>think(?:ing)?|thoughts?|reasoning|analysis|reflection)"
_ATTRIBUTES = r"(?:\s[^<>]{0,200})?\s?"
_OF = r"[_▁\-]?(?:of[_▁\-]?)?"
_MAKER = r"(?:[a-z0-9]{1,12}:)?"
_TAIL = r"(?::[a-z0-9]{1,12})?"

THOUGHT_MARKS: Sequence[ThoughtMark] = (
    # the closing tag may lack its bracket at a line's end, and may be written with a backslash
    ThoughtMark(
        rf"<[|｜]?\s{{0,3}}{_NAME}{_ATTRIBUTES}[|｜]?>",
        rf"<(?:[|｜]?\s{{0,3}}[/\\]\s{{0,3}}[|｜]?{_NAME}(?:{_ATTRIBUTES}[|｜]?>|(?=[ \t]{{0,4}}(?:[\r\n]|\Z)))"
        r"|(?P<tag2>think(?:ing)?)\|>)",
        "<think>…</think>",
    ),
    ThoughtMark(
        r"[\[【]\s?(?P<tag>think(?:ing)?)\s?[\]】]", r"[\[【]\s?/\s?(?P<tag>think(?:ing)?)\s?[\]】]", "[THINK]…[/THINK]"
    ),
    ThoughtMark(rf"◁\s{{0,3}}{_NAME}\s{{0,3}}▷", rf"◁\s{{0,3}}/\s{{0,3}}{_NAME}\s{{0,3}}▷", "◁think▷…◁/think▷"),
    ThoughtMark(
        rf"[<\[][|｜]?{_MAKER}(?:begin|start){_OF}{_EDGE_NAME}{_TAIL}[|｜]?[>\]]",
        rf"[<\[][|｜]?{_MAKER}end{_OF}{_EDGE_NAME}{_TAIL}[|｜]?[>\]]",
        "<|START_THINKING|>…<|END_THINKING|>",
    ),
    ThoughtMark(
        rf"[<\[][|｜]?{_EDGE_NAME}[_▁\-](?:begin|start)[|｜]?[>\]]",
        rf"[<\[][|｜]?{_EDGE_NAME}[_▁\-]end[|｜]?[>\]]",
        "<|think_start|>…<|think_end|>",
    ),
    ThoughtMark(
        r"<\|channel>\s{0,3}(?:(?:thought|thinking|analysis|reasoning)\b)?",
        r"<channel\|>",
        "<|channel>thought…<channel|>",
    ),
    ThoughtMark(
        r"<\|open\|>\s?think(?:ing)?\s?<\|sep\|>",
        r"<\|close\|>\s?think(?:ing)?\s?<\|sep\|>",
        "<|open|>think<|sep|>…<|close|>think<|sep|>",
    ),
    ThoughtMark(r"<\|inner_prefix\|>", r"<\|inner_suffix\|>", "<|inner_prefix|>…<|inner_suffix|>"),
    ThoughtMark(r"<unused94>(?:\s{0,3}thought\b)?", r"<unused95>", "<unused94>thought…<unused95>"),
    ThoughtMark(r"\[unused16\]", r"\[unused17\]", "[unused16]…[unused17]"),
    ThoughtMark(r"<\|content_thinking\|>", r"(?!)", "<|content_thinking|>…<|content_text|>"),
    # gpt-oss, decoded without its special tokens
    ThoughtMark(r"(?-i:\A\s{0,9}analysis(?=[A-Z]))", r"(?-i:assistant\s?final(?![a-z]))", "analysisWe…assistantfinal"),
)
"""Marks around reasoning, beside gpt-oss' channels and Granite's sentences."""

# Where the part for the reader begins and ends. The mark is dropped, its content stays; an opening one ends a thought.
_PART = r"(?:response|solution|answer|output)"
_PART_OPENING = (
    rf"<[|｜]?(?:begin|start){_OF}{_PART}[|｜]?>|<\|START_TEXT\|>|<\|open\|>\s?response\s?<\|sep\|>"
    r"|<\|content(?:_text)?\|>"
)
_PART_CLOSING = (
    rf"<[|｜]?end{_OF}{_PART}[|｜]?>|<\|END_TEXT\|>|<\|close\|>\s?(?:response|message)\s?<\|sep\|>|<\|end_message\|>"
)
_BOX = re.compile(r"<\|(?:begin|end)_of_box\|>", re.IGNORECASE)


def _named(pattern: str, number: int, role: str) -> str:
    """A pattern of the table with its groups renamed, so that all can stand in one expression."""
    return f"(?P<{role}{number}>{pattern})".replace("?P<tag>", f"?P<{role}{number}tag>").replace(
        "?P<tag2>", f"?P<{role}{number}other>"
    )


_ALL_MARKS = re.compile(
    r"(?:(?=[<\[【◁a])|\A)(?:"
    + "|".join(
        [
            f"(?P<part>{_PART_OPENING})",
            f"(?P<end>{_PART_CLOSING})",
            *(_named(mark.closing, number, "c") for number, mark in enumerate(THOUGHT_MARKS)),
            *(_named(mark.opening, number, "o") for number, mark in enumerate(THOUGHT_MARKS)),
        ]
    )
    + ")",
    re.IGNORECASE,
)
_TAG_GROUPS = {
    name: [tag for tag in (f"{name}tag", f"{name}other") if tag in _ALL_MARKS.groupindex]
    for name in _ALL_MARKS.groupindex
    if not name.endswith(("tag", "other"))
}


class _Mark(NamedTuple):
    start: int
    end: int
    role: str  # o opens a thought, c closes one, p and e begin and end the part for the reader
    key: str


def _mark_of(match: re.Match[str]) -> _Mark:
    group = str(match.lastgroup)  # the outermost one
    tag = next((match[name] for name in _TAG_GROUPS[group] if match[name] is not None), "")
    return _Mark(match.start(), match.end(), group[0], f"{group[1:]} {tag.lower()}")


def _without_marked(text: str) -> tuple[str, bool, bool]:
    """The text outside marked thoughts, whether there were any, and whether the last one was never closed."""
    marks = [_mark_of(match) for match in _ALL_MARKS.finditer(text)]
    last_closing = {mark.key: place for place, mark in enumerate(marks) if mark.role == "c"}
    pieces: list[str] = []
    reasoning = False
    position = 0
    inside: str | None = None  # the key of the open block
    opened: Counter[str] = Counter()  # other blocks opened within it
    for place, mark in enumerate(marks):
        if inside is None:
            pieces.append(text[position : mark.start])
            if mark.role == "c":  # a template opened the block before the text began
                reasoning = reasoning or any(piece.strip() for piece in pieces)
                pieces.clear()
            elif mark.role == "o":
                inside = mark.key
                opened.clear()
            position = mark.end
            continue
        ends = mark.role == "p" or (mark.role == "c" and mark.key == inside)
        if not ends and mark.role == "o" and mark.key != inside:
            opened[mark.key] += 1
        if not ends and mark.role == "c" and last_closing.get(inside, -1) < place:
            # another closing mark ends a block that has none of its own, unless it belongs to a block within
            ends = opened[mark.key] == 0
            opened[mark.key] -= not ends
        if ends:
            reasoning = reasoning or bool(text[position : mark.start].strip())
            inside = None
            position = mark.end
    if inside is None:
        pieces.append(text[position:])
        return "".join(pieces), reasoning, False
    return "".join(pieces), reasoning or bool(text[position:].strip()), True


# -- Channels and sentences -------------------------------------------------------------------------------------------

_CHANNEL = re.compile(
    r"(?:<\|start\|>[^<]{0,80})?<\|channel\|>\s{0,3}(?P<name>[a-z]{1,20})"
    r"(?:[^<\n]{0,80}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>)?",
    re.IGNORECASE,
)
_MESSAGE_END = re.compile(r"<\|(?:end|return|call|start)\|>", re.IGNORECASE)


def _without_channels(text: str) -> tuple[str, bool, bool] | None:
    """Of a text in channels (gpt-oss, "harmony") what the last final message says; None where there are no channels."""
    headers = list(_CHANNEL.finditer(text))
    if not headers:
        return None
    stops = [*(header.start() for header in headers[1:]), len(text)]
    final = None
    closed = False
    reasoning = bool(text[: headers[0].start()].strip())
    for header, stop in zip(headers, stops, strict=True):
        end = _MESSAGE_END.search(text, header.end(), stop)
        closed = end is not None
        message = text[header.end() : end.start() if end else stop]
        if header.group("name").lower() == "final":
            final = message
        else:
            reasoning = reasoning or bool(message.strip())
    return (final, reasoning, False) if final is not None else ("", reasoning, not closed)


_THOUGHT_SENTENCE = re.compile(r"\W{0,9}here(?:['’]s| is) my thought process:", re.IGNORECASE)
_RESPONSE_SENTENCE = re.compile(r"here(?:['’]s| is) my response:\**", re.IGNORECASE)


def _without_sentences(text: str) -> tuple[str, bool, bool] | None:
    """Granite 3.2 marks its parts by two sentences; None unless both stand there, the first at the beginning."""
    thought = _THOUGHT_SENTENCE.match(text)
    response = _RESPONSE_SENTENCE.search(text, thought.end()) if thought else None
    return (text[response.end() :], True, False) if response else None


def _is_object(text: str) -> bool:
    """Whether the whole text is one JSON object: what looks like a mark in it stands inside a string."""
    if not (text.startswith("{") and text.endswith("}")):
        return False
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def _without_reasoning(text: str) -> tuple[str, bool, bool]:
    if _ALL_MARKS.search(text) is None and _CHANNEL.search(text) is None and _THOUGHT_SENTENCE.match(text) is None:
        return text, False, False
    if _is_object(without_control_tokens(text)):
        return text, False, False
    first = _without_channels(text) or _without_sentences(text) or (text, False, False)
    rest, reasoning, cut = _without_marked(first[0])
    return rest, reasoning or first[1], cut or first[2]


def strip_reasoning(text: str | None) -> str:
    """A reply without its reasoning, and nothing else changed; see `visible_text`.

    Blocks do not nest: the first closing mark ends the block, so that a reasoning text which mentions the opening
    mark is still removed whole.

    >>> strip_reasoning("<think>A or B?</think> B")
    ' B'
    >>> strip_reasoning("It might be A.</think>B")
    'B'
    >>> strip_reasoning("[THINK]I lean to A")
    ''
    """
    return _without_reasoning(text)[0] if text else ""


# -- Control tokens ---------------------------------------------------------------------------------------------------

# A token of 64 characters at the most, and no box, which says where the answer is. The words are roles, which follow
# where a model goes on to the next turn.
_BAR_TOKEN = r"<[|｜](?!(?:begin|end)_of_box\|)[^|｜<>\s]{1,48}[|｜]>"
_LAST_TOKEN = re.compile(
    rf"(?:{_BAR_TOKEN}|</?s>|<(?:eos|bos|pad|unk|eot|eod|eop|eoa|eom|end|endoftext)>|<turn\|>"
    r"|<(?:start|end)[_▁](?:of[_▁])?(?:turn|text|utterance|sentence|message)>|<reserved_\d{1,4}>|<TOKENS_UNUSED_\d{1,3}>"
    r"|\[(?:EOS|EOT|BOS|PAD|END|e~|/?INST|unused\d{1,3}|UNUSED_TOKEN_\d{1,3})[\]\[]|\|ENDOFTEXT\|"
    r"|(?:<\|(?:im_)?start\|>|<\|start_header_id\|>|<start_of_turn>|<\|turn>)\s?(?:assistant|user|model|system))\Z",
    re.IGNORECASE,
)
_FIRST_TOKEN = re.compile(
    rf"\s{{0,9}}(?:(?:<\|(?:im_)?start\|>|<\|start_header_id\|>|<start_of_turn>|<\|turn>)\s?(?:assistant|model)|{_BAR_TOKEN}"
    r"|<s>|<bos>|\[BOS\])",
    re.IGNORECASE,
)
_OUTER = " \t\r\n\f\v\xa0\u3000" + ZERO_WIDTH


def without_control_tokens(text: str) -> str:
    """A text without the control tokens at its two ends (`<|im_end|>`, `</s>`, `<eos>`, …), and without outer space.

    >>> without_control_tokens("B<|im_end|> </s>")
    'B'
    """
    end = len(text)
    while True:
        while end and (text[end - 1] in _OUTER or text[end - 1].isspace()):
            end -= 1
        token = _LAST_TOKEN.search(text, max(0, end - 64), end)
        if token is None:
            break
        end = token.start()
    start = 0
    while True:
        while start < end and (text[start] in _OUTER or text[start].isspace()):
            start += 1
        token = _FIRST_TOKEN.match(text, start, end)
        if token is None:
            return text[start:end]
        start = token.end()


# -- The whole --------------------------------------------------------------------------------------------------------

ANSWER_TAGS = r"(?:answer|final_answer|final|response|output|solution|conclusion)"
"""Tags that hold the part for the reader."""
_ANSWER_OPENING = re.compile(rf"<\s?{ANSWER_TAGS}(?:\s[^<>]{{0,200}})?>", re.IGNORECASE)
_ANSWER_CLOSING = re.compile(rf"<\s?[/\\]\s?{ANSWER_TAGS}\s?>", re.IGNORECASE)


def _without_answer_tags(text: str) -> str:
    """A text without the answer tag around the whole; one side may be missing, more than one pair is no wrapper."""
    opening, closing = list(_ANSWER_OPENING.finditer(text)), list(_ANSWER_CLOSING.finditer(text))
    if len(opening) > 1 or len(closing) > 1:
        return text
    start = opening[0].end() if opening and opening[0].start() == 0 else 0
    end = closing[0].start() if closing and closing[0].end() == len(text) else len(text)
    return text[start:end].strip() if start <= end else text


def marked_text(response: str | None) -> VisibleText:
    """`visible_text` with the marks of an answer (`<answer>`, GLM's box) still in it, for the parsers."""
    if not response:
        return VisibleText("")
    text, reasoning, cut = _without_reasoning(response)
    return VisibleText(without_control_tokens(text), reasoning, cut)


def visible_text(response: str | None) -> VisibleText:
    """What the reader of a reply sees.

    Removed are: blocks of reasoning (`THOUGHT_MARKS`; any case, attributes tolerated); all that precedes a lone closing
    mark, since templates open the block before the text begins; an unclosed block, to the end; of channels all but the
    last final message; control tokens at both ends; marks around the answer. A reply that is one JSON object keeps what
    stands in its strings.

    Args:
        response: The reply as generated; None (a null reply) is the empty one.

    Returns:
        The text, whether reasoning was removed, and whether the reply ended inside it.

    >>> visible_text("<think>A or B?</think><answer>B</answer><|im_end|>")
    VisibleText(text='B', reasoning=True, cut=False)
    >>> visible_text("◁think▷I lean to A")
    VisibleText(text='', reasoning=True, cut=True)
    """
    marked = marked_text(response)
    text = without_control_tokens(_without_answer_tags(_BOX.sub("", marked.text).strip()))
    return VisibleText(text, marked.reasoning, marked.cut)
