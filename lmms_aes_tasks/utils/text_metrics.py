"""Lexical overlap of a critique with its reference: BLEU, ROUGE-L, METEOR (AesCanvas, S2.3.2, S1 to S7).

Every value is in [0, 1]. An empty text scores 0; no text raises.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.utils.scripts import script_parts, with_spaced_characters

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.wordnet import Lexicon

MAX_ORDER = 4
"""Highest n of BLEU's n-grams."""
_CACHED_WORDS = 200_000
"""Words whose stem and tokens are kept."""


@dataclass(frozen=True)
class BleuStatistics:
    """What one item adds to corpus BLEU.

    Attributes:
        length: Tokens of the prediction (13a tokenizer).
        reference_length: Tokens of the reference.
        counts: Clipped n-gram matches for n = 1 to 4.
        totals: n-grams of the prediction for n = 1 to 4.
    """

    length: int
    reference_length: int
    counts: tuple[int, ...]
    totals: tuple[int, ...]

    def as_list(self) -> list[int]:
        """Length, reference length, four counts, four totals."""
        return [self.length, self.reference_length, *self.counts, *self.totals]

    @classmethod
    def from_list(cls, values: Sequence[int]) -> BleuStatistics:
        """The inverse of `as_list`.

        Raises:
            ValueError: Not ten whole numbers of at least 0.
        """
        if len(values) != 2 + 2 * MAX_ORDER or any(isinstance(v, bool) or not isinstance(v, int) for v in values):
            raise ValueError(f"BLEU statistics are {values!r}: give {2 + 2 * MAX_ORDER} whole numbers")
        if min(values) < 0:
            raise ValueError(f"BLEU statistics are {values!r}: give numbers of at least 0")
        counts, totals = tuple(values[2 : 2 + MAX_ORDER]), tuple(values[2 + MAX_ORDER :])
        return cls(values[0], values[1], counts, totals)


@functools.cache
def _bleu() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(max_ngram_order=MAX_ORDER, effective_order=True, smooth_method="exp")


def _ngrams(tokens: Sequence[str], order: int) -> collections.Counter[tuple[str, ...]]:
    return collections.Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def bleu_statistics(prediction: str, reference: str) -> BleuStatistics:
    """Sufficient statistics of one item; they add up to the corpus'.

    The tokens are SacreBLEU's; the n-grams are counted here, because its own way joins each to a text first.
    """
    found, wanted = (_bleu().tokenizer(text.rstrip()).split() for text in (prediction, reference))
    counts, totals = [], []
    for order in range(1, MAX_ORDER + 1):
        counts.append(sum((_ngrams(found, order) & _ngrams(wanted, order)).values()))
        totals.append(max(0, len(found) - order + 1))
    return BleuStatistics(len(found), len(wanted), tuple(counts), tuple(totals))


def corpus_bleu(statistics: Iterable[BleuStatistics]) -> float | None:
    """SacreBLEU's corpus value of items, as a fraction (S1); None without an item.

    Order 4, `effective_order=True`, exponential smoothing.
    """
    rows = [item.as_list() for item in statistics]
    return bleu_of_sums(np.sum(rows, axis=0)) if rows else None


def bleu_of_sums(sums: npt.NDArray[np.int64]) -> float:
    """BLEU as a fraction from summed statistics, in the order of `BleuStatistics.as_list`."""
    values = [int(value) for value in sums]
    found = _bleu().compute_bleu(
        values[2 : 2 + MAX_ORDER],
        values[2 + MAX_ORDER :],
        values[0],
        values[1],
        smooth_method="exp",
        effective_order=True,
        max_ngram_order=MAX_ORDER,
    )
    return min(1.0, float(found.score) / 100)  # a perfect match is 100.00000000000004 there


class _CachedStemmer:
    """NLTK's Porter stemmer, each word stemmed once."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self.stem = functools.lru_cache(maxsize=_CACHED_WORDS)(PorterStemmer().stem)


@functools.cache
def _stemmer() -> _CachedStemmer:
    return _CachedStemmer()


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _rouge_tokens_of_word(word: str) -> tuple[str, ...]:
    from rouge_score.tokenize import tokenize

    tokens: list[str] = []
    for is_token, part in script_parts(word):
        tokens += [part] if is_token else tokenize(part, _stemmer())
    return tuple(tokens)


def _rouge_tokens(text: str) -> list[str]:
    """rouge-score's tokens and other scripts', word by word: none reaches over white space, and words come again."""
    return [token for word in text.split() for token in _rouge_tokens_of_word(word)]


def rouge_l(prediction: str, reference: str) -> float:
    """ROUGE-L of one item: F with equal weight of precision and recall of the longest common subsequence (S2).

    rouge-score's tokenizer and Porter stemmer, which read a to z and digits; other scripts by `scripts.script_parts`
    (our reading: they would have no token). The subsequence by rapidfuzz.

    >>> round(rouge_l("the light falls softly", "soft light falls"), 4)
    0.5714
    """
    from rapidfuzz.distance import LCSseq

    found, wanted = _rouge_tokens(prediction), _rouge_tokens(reference)
    if not found or not wanted:
        return 0.0
    numbers = {token: number for number, token in enumerate(dict.fromkeys((*found, *wanted)))}
    longest = LCSseq.similarity([numbers[token] for token in found], [numbers[token] for token in wanted])
    precision, recall = longest / len(found), longest / len(wanted)
    return 2 * precision * recall / (precision + recall) if longest else 0.0


def meteor(prediction: str, reference: str, lexicon: Lexicon) -> float:
    """METEOR of one item by NLTK, on whitespace tokens: alpha 0.9, beta 3, gamma 0.5 (S3 to S7).

    In scripts without spaces each letter is a token (our reading: a whole clause would be one).
    Matches are exact, of Porter stems, and of WordNet synonyms, in this order; 0 without any.

    Args:
        prediction: The model's text.
        reference: The reference.
        lexicon: From `wordnet.load_wordnet`.
    """
    from nltk.translate.meteor_score import single_meteor_score

    found, wanted = (with_spaced_characters(text).split() for text in (prediction, reference))
    # NLTK looks synonyms up for stems, among the stems of the reference
    synonyms = lexicon.within({_stemmer().stem(word.lower()) for word in wanted})
    score = single_meteor_score(wanted, found, stemmer=_stemmer(), wordnet=synonyms, alpha=0.9, beta=3.0, gamma=0.5)
    return float(score)


@dataclass(frozen=True)
class LexicalScores:
    """Lexical values of one item.

    Attributes:
        bleu: What it adds to corpus BLEU.
        rouge_l: In [0, 1].
        meteor: In [0, 1].
    """

    bleu: BleuStatistics
    rouge_l: float
    meteor: float


def lexical_scores(prediction: str, reference: str, lexicon: Lexicon) -> LexicalScores:
    """BLEU statistics, ROUGE-L and METEOR of one item; an empty prediction has no match in any of them."""
    return LexicalScores(
        bleu_statistics(prediction, reference), rouge_l(prediction, reference), meteor(prediction, reference, lexicon)
    )
