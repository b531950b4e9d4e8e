"""How long critiques are and which dimensions they speak of (AesCanvas, S10 to S13 and Table S5)."""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmms_aes_tasks.utils.dimensions import DIMENSIONS, focus, mentions, words

_CLOSED = re.compile(r"[.!?…。！？؟।۔]['\"”’»)\]*_`~\s]*\Z")
STYLE_METRICS = (
    "avg_length",
    "len_ref",
    "dim_hits",
    "density",
    "prompt_align",
    "empty_rate",
    "truncated_rate",
)
"""Names of the style statistics that are one number."""


@dataclass(frozen=True)
class CritiqueStyle:
    """One critique, counted.

    Attributes:
        words: Words of the critique.
        reference_words: Words of its reference.
        mentions: Matched triggers by dimension, of the dimensions that it addresses.
        focus: Dimensions that the instruction names.
        empty: Whether there is no text.
        truncated: Whether it breaks off: there is text, and it does not end with a sentence mark (our reading).
    """

    words: int
    reference_words: int
    mentions: dict[str, int]
    focus: tuple[str, ...]
    empty: bool
    truncated: bool


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
    return CritiqueStyle(
        words=len(words(prediction)),
        reference_words=len(words(reference)),
        mentions=mentions(prediction),
        focus=focus(instruction),
        empty=not prediction.strip(),
        truncated=breaks_off(prediction),
    )


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


@dataclass(frozen=True)
class StyleRow:
    """A row of Table S5.

    Attributes:
        n: Critiques.
        avg_length: Mean number of words (S10).
        len_ref: Average length over the references' average length (our reading; see `style_row`); None without words.
        dim_hits: Mean number of dimensions addressed (S11).
        density: Trigger matches per 100 words over all critiques (S12); None without words.
        prompt_align: Share of focused prompts whose critique addresses every dimension they name (S13), in [0, 1].
        n_focused: Focused prompts.
        generic_top3: The dimensions that most critiques of generic prompts address, at most three; ties by the order
            of `DIMENSIONS`.
        n_generic: Generic prompts.
        empty_rate: Share of empty critiques.
        truncated_rate: Share of critiques that break off.
    """

    n: int
    avg_length: float | None
    len_ref: float | None
    dim_hits: float | None
    density: float | None
    prompt_align: float | None
    n_focused: int
    generic_top3: tuple[str, ...]
    n_generic: int
    empty_rate: float | None
    truncated_rate: float | None


def style_row(styles: Sequence[CritiqueStyle]) -> StyleRow:
    """S10 to S13 over critiques, each in its order or any other.

    Length over reference length is a ratio of two means: in Table S5 length and ratio of each locally run model give
    the same 131 words for the references, which a mean of ratios would not.
    """
    n = len(styles)
    total = sum(style.words for style in styles)
    focused = [style for style in styles if style.focus]
    generic = collections.Counter(name for style in styles if not style.focus for name in style.mentions)
    ranked = sorted(generic, key=lambda name: (-generic[name], DIMENSIONS.index(name)))
    return StyleRow(
        n=n,
        avg_length=_ratio(total, n),
        len_ref=_ratio(total, sum(style.reference_words for style in styles)),
        dim_hits=_ratio(sum(len(style.mentions) for style in styles), n),
        density=_ratio(100 * sum(sum(style.mentions.values()) for style in styles), total),
        prompt_align=_ratio(sum(set(style.focus) <= set(style.mentions) for style in focused), len(focused)),
        n_focused=len(focused),
        generic_top3=tuple(ranked[:3]),
        n_generic=n - len(focused),
        empty_rate=_ratio(sum(style.empty for style in styles), n),
        truncated_rate=_ratio(sum(style.truncated for style in styles), n),
    )
