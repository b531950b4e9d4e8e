"""Reading the answer that a model's text declares: options, pairwise winners, best and worst of a set.

An answer is read, never guessed: a text that declares nothing, or two different things, gives None, and the
result says which rule fired. The rules are those of AesCanvas (supplement S2.4.3), the Visual Aesthetic
Benchmark (appendix E) and FineArtBench (Table 8); what those leave open is our reading and is said where it stands.

This is the front of the parsers. What of a reply is read at all is in `visible_text` (reasoning, control tokens), what
stands around an answer in `answer_wrappers`, objects in `answer_objects`, and the three kinds of answers in
`option_answers`, `winner_answers` and `set_answers`.

No function here raises on text, whatever the text, and each takes the null reply, None, for the empty one.
"""

from __future__ import annotations

from lmms_aes_tasks.utils.answer_wrappers import answer_text, fold_full_width
from lmms_aes_tasks.utils.option_answers import OptionAnswer, parse_option
from lmms_aes_tasks.utils.option_reader import Option
from lmms_aes_tasks.utils.set_answers import VAB_FIELDS, SetAnswer, parse_set, parse_set_strict
from lmms_aes_tasks.utils.visible_text import VisibleText, strip_reasoning, visible_text
from lmms_aes_tasks.utils.winner_answers import WinnerAnswer, parse_winner

PARSER_VERSION = "2"
"""Version of the rules; part of a result's signature, and raised when any text could read differently."""

__all__ = [
    "PARSER_VERSION",
    "VAB_FIELDS",
    "Option",
    "OptionAnswer",
    "SetAnswer",
    "VisibleText",
    "WinnerAnswer",
    "answer_text",
    "fold_full_width",
    "parse_option",
    "parse_set",
    "parse_set_strict",
    "parse_winner",
    "strip_reasoning",
    "visible_text",
]
