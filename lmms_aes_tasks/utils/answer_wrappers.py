"""Text as the parsers read it: what stands around an answer is taken off, so that the answer stands alone."""

from __future__ import annotations

import re

from lmms_aes_tasks.utils.visible_text import ANSWER_TAGS, ZERO_WIDTH, marked_text, visible_text

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_FOLDED = _FULL_WIDTH | dict.fromkeys(map(ord, ZERO_WIDTH))


def fold_full_width(text: str) -> str:
    """Fold the full-width forms U+FF01–FF5E and the ideographic space U+3000 to ASCII (not NFKC).

    >>> fold_full_width("（Ｂ）")
    '(B)'
    """
    return text.translate(_FULL_WIDTH)


def folded(text: str) -> str:
    """`fold_full_width`, characters without a width removed, and line ends as one character."""
    return text.translate(_FOLDED).replace("\r\n", "\n")


def answer_text(text: str | None) -> str:
    """The part of a reply that can hold an answer: `visible_text`, full-width folded, zero-width characters removed."""
    return folded(visible_text(text).text).strip()


# Commands that set their content in another type; what they hold is the value.
_SETTING = (
    r"\\(?P<command>(?:boxed|fbox|framebox|bbox)|text(?:bf|it|rm|sf|tt|sc|normal|up|md)?|math(?:bf|rm|it|sf|tt|cal|bb|normal)"
    r"|operatorname|mbox|hbox|underline|emph|bf|rm|boldsymbol|bm)\s?\{"
)
_TOKEN = re.compile(rf"{_SETTING}|\\[{{}}]|[{{}}]")
_BOXES = frozenset({"boxed", "fbox", "framebox", "bbox"})
_MATHS = re.compile(r"\\[()\[\]]|\\(?:displaystyle|quad|qquad|left|right|,|;|!)(?![A-Za-z])")
_DOLLARS = re.compile(r"(?P<mark>\${1,2})(?P<value>[^$\n]{1,200})(?P=mark)")
_TAG = re.compile(rf"<\s?{ANSWER_TAGS}(?:\s[^<>]{{0,200}})?>|<\|begin_of_box\|>", re.IGNORECASE)
_TAG_END = re.compile(rf"<\s?[/\\]\s?{ANSWER_TAGS}\s?>|<\|end_of_box\|>", re.IGNORECASE)
_INLINE = re.compile(
    r"<(?P<tag>b|strong|em|i|u|p|span|code|mark|h[1-6]|div|center)(?:\s[^<>]{0,200})?>(?P<value>[^<>]{0,400})</(?P=tag)>",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[A-Za-z]{0,12}[ \t]{0,4}\n|```")
_JOINED = re.compile(rf"(?:{_TAG_END.pattern})(?=\s{{0,3}}(?:or\b|and\b|[,/&]))", re.IGNORECASE)
_VERDICT = re.compile(r"\[\[\s{0,3}(?P<value>[A-Za-z0-9]{1,2})\s{0,3}\]\]")
_VERDICT_ALONE = re.compile(rf"(?:^|(?<=[:*\n])|(?<=: )){_VERDICT.pattern}(?=[.*\s]{{0,4}}(?:\n|$))")
_CONTROL = re.compile(r"<[|｜][^|｜<>\s]{1,48}[|｜]>|</s>|<(?:eos|end_of_turn)>", re.IGNORECASE)


def _without_commands(text: str, answer_mark: str) -> str:
    """A text without the LaTeX commands of setting; a box, which is the answer by convention, leaves `answer_mark`.

    A command whose brace is never closed stays: what it would have held was cut.
    """
    opened: list[re.Match[str] | None] = []
    removed: list[tuple[int, int, str]] = []
    for token in _TOKEN.finditer(text):
        if token.group().startswith("\\") and token.group("command") is None:  # an escaped brace
            continue
        if token.group() != "}":
            opened.append(token if token.group("command") else None)
        elif opened:
            command = opened.pop()
            if command is not None:
                mark = answer_mark if command.group("command") in _BOXES else ""
                removed += [(command.start(), command.end(), mark), (token.start(), token.end(), "")]
    pieces: list[str] = []
    position = 0
    for start, end, mark in sorted(removed):
        pieces += [text[position:start], mark]
        position = end
    return "".join([*pieces, text[position:]])


def _without_verdict(text: str, answer_mark: str) -> str:
    """A text whose only verdict `[[B]]` is written as a box is, where it stands alone in its line or after a colon.

    Inside a sentence (`I reject [[A]]`) it is a letter like any other; two different ones are no verdict, and stay.
    """
    values = {match["value"].upper() for match in _VERDICT.finditer(text)}
    if len(values) != 1:
        return text
    text = _VERDICT_ALONE.sub(lambda match: answer_mark + match["value"], text)
    return _VERDICT.sub(r"\g<value>", text)


def unwrapped(text: str, answer_mark: str = "") -> str:
    r"""A text without LaTeX settings, math marks, fences, inline HTML, answer tags, box tokens, a verdict's `[[…]]`.

    Other control tokens become line ends.

    Args:
        text: A text, folded.
        answer_mark: What stands in the place of a mark that says "this is the answer": `\boxed{`, `<answer>`, the
            opening token of a box, `[[` around a letter or number.

    >>> unwrapped(r"ANSWER: $\text{B}$")
    'ANSWER: B'
    >>> unwrapped("<answer>B</answer>", "Answer: ")
    'Answer: B\n'
    """
    if "$" in text:
        text = _DOLLARS.sub(lambda match: match.group("value").strip(), text)
    if "\\" in text:
        text = _MATHS.sub("", _without_commands(text, answer_mark))
    if "[[" in text:
        text = _without_verdict(text, answer_mark)
    if "```" in text:
        text = _FENCE.sub("\n", text)
    if "<" in text:
        for _ in range(2):  # <p><b>B</b></p>
            text = _INLINE.sub(r"\g<value>", text)
        text = _CONTROL.sub("\n", _TAG_END.sub("\n", _JOINED.sub("", _TAG.sub(lambda _: answer_mark, text))))
    return text


def answer_marks_text(text: str | None, answer_mark: str) -> str:
    """`answer_text` with wrappers taken off and every mark that says "this is the answer" written as `answer_mark`."""
    return unwrapped(folded(marked_text(text).text), answer_mark).strip()
