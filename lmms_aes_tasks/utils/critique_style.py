"""How long critiques are and which dimensions they speak of (AesCanvas, S10 to S13 and Table S5)."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_aes_tasks.utils.dimensions import DIMENSIONS, focus, mentions, without_markers, words
from lmms_aes_tasks.utils.scripts import other_words
from lmms_aes_tasks.utils.sums import Floats, ratio, score_of_sums

_CLOSED = re.compile(r"[.!?…。！？؟।۔]['\"”’»)\]*_`~\s]*\Z")
STYLE_METRICS = (
    "avg_length",
    "len_ref",
    "dim_hits",
    "density",
    "prompt_align",
    "empty_rate",
    "truncated_rate",
    "wordless_rate",
)
"""Names of the style statistics that are one number."""
PARTIAL_METRICS = ("prompt_align",)
"""Those that not every critique enters."""


@dataclass(frozen=True)
class CritiqueStyle:
    """One critique, counted.

    Attributes:
        words: Words of the critique, of any script.
        reference_words: Words of its reference.
        mentions: Matched triggers by dimension, of the dimensions that it addresses.
        focus: Dimensions that the instruction names.
        empty: Whether there is no text.
        truncated: Whether it breaks off: there is text, and it does not end with a sentence mark (our reading).
        other_script: Whether it has words, and none in the letters a to z: the trigger lists cannot read it.
    """

    words: int
    reference_words: int
    mentions: dict[str, int]
    focus: tuple[str, ...]
    empty: bool
    truncated: bool
    other_script: bool = False

    @property
    def wordless(self) -> bool:
        """Whether there is text, and no word of any script in it: signs, numbers, emoji."""
        return not self.empty and not self.words


def breaks_off(text: str) -> bool:
    """Whether a text ends without a sentence mark, as one cut at a token limit does.

    Quotation marks, brackets and Markdown marks after the sentence mark do not count.

    >>> breaks_off("A calm scene."), breaks_off("A calm scene with")
    (False, True)
    """
    stripped = text.strip()
    return bool(stripped) and _CLOSED.search(stripped[-40:]) is None


def critique_style(prediction: str, reference: str, instruction: str) -> CritiqueStyle:
    """Count one critique.

    Args:
        prediction: The model's text, reasoning removed.
        reference: The reference.
        instruction: What the model was asked; few-shot examples in it are not looked at.
    """
    english, others = len(words(prediction)), len(other_words(without_markers(prediction)))
    return CritiqueStyle(
        words=english + others,
        reference_words=len(words(reference)) + len(other_words(without_markers(reference))),
        mentions=mentions(prediction),
        focus=focus(instruction),
        empty=not prediction.strip(),
        truncated=breaks_off(prediction),
        other_script=others > 0 and not english,
    )


_STATISTICS: Mapping[str, tuple[Callable[[CritiqueStyle], float], Callable[[CritiqueStyle], float], float]] = {
    "avg_length": (lambda style: style.words, lambda style: 1, 1),
    "len_ref": (lambda style: style.words, lambda style: style.reference_words, 1),
    "dim_hits": (lambda style: len(style.mentions), lambda style: 1, 1),
    "density": (lambda style: sum(style.mentions.values()), lambda style: style.words, 100),
    "prompt_align": (lambda style: _aligned(style), lambda style: bool(style.focus), 1),
    "empty_rate": (lambda style: style.empty, lambda style: 1, 1),
    "truncated_rate": (lambda style: style.truncated, lambda style: 1, 1),
    "wordless_rate": (lambda style: style.wordless, lambda style: 1, 1),
}
"""Each statistic is a scale times a sum over critiques divided by another."""


def _aligned(style: CritiqueStyle) -> bool:
    return bool(style.focus) and set(style.focus) <= set(style.mentions)


def style_sums(styles: Sequence[CritiqueStyle], statistic: str) -> Floats:
    """What each critique adds to a statistic of `STYLE_METRICS`, of shape (n, 2): the statistic is their ratio.

    Raises:
        ValueError: The statistic is unknown.
    """
    if statistic not in _STATISTICS:
        raise ValueError(f"unknown statistic {statistic!r}: use one of {', '.join(STYLE_METRICS)}")
    numerator, denominator, scale = _STATISTICS[statistic]
    rows = [[scale * float(numerator(style)), float(denominator(style))] for style in styles]
    return np.array(rows, np.float64).reshape(len(rows), 2)


def style_statistic(styles: Sequence[CritiqueStyle], statistic: str) -> float | None:
    """One statistic of `STYLE_METRICS`; None where nothing enters it.

    Length over reference length is a ratio of two means: in Table S5 length and ratio of each locally run model give
    the same 131 words for the references, which a mean of ratios would not.

    Raises:
        ValueError: The statistic is unknown.
    """
    return score_of_sums(style_sums(styles, statistic), ratio).value


def unread_texts(styles: Sequence[CritiqueStyle]) -> list[str]:
    """What to say of critiques that the metrics cannot read as they read English; nothing without such."""
    n = len(styles)
    wordless, others = sum(style.wordless for style in styles), sum(style.other_script for style in styles)
    said = []
    if wordless:
        said.append(
            f"{wordless} of {n} critiques have text and no word in it: they score 0 in ROUGE-L and have no length"
        )
    if others:
        said.append(
            f"{others} of {n} critiques have no word in the letters a to z: the trigger lists are English, so these "
            "address no dimension, whatever they say"
        )
    return said


@dataclass(frozen=True)
class PromptKinds:
    """Prompts by whether they name a dimension, and what critiques speak of where they do not (Table S5).

    Attributes:
        generic_top3: The dimensions that most critiques of generic prompts address, at most three; ties by the order
            of `DIMENSIONS`.
        n_focused: Prompts that name a dimension.
        n_generic: Prompts that name none.
    """

    generic_top3: tuple[str, ...]
    n_focused: int
    n_generic: int


def prompt_kinds(styles: Sequence[CritiqueStyle]) -> PromptKinds:
    """Focused and generic prompts of critiques in any order."""
    generic = collections.Counter(name for style in styles if not style.focus for name in style.mentions)
    ranked = sorted(generic, key=lambda name: (-generic[name], DIMENSIONS.index(name)))
    n_focused = sum(bool(style.focus) for style in styles)
    return PromptKinds(tuple(ranked[:3]), n_focused, len(styles) - n_focused)
