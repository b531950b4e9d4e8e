"""Scores and differences of sums, worked by hand and against plain resampling."""

from __future__ import annotations

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from lmms_aes_tasks.utils.sums import (
    SumDifference,
    SumScore,
    bleu,
    difference_of_sums,
    mean_items,
    ratio,
    score_of_sums,
)
from lmms_aes_tasks.utils.text_metrics import bleu_statistics
from tests.critique_texts import PAIRS

# right and asked, of four items: 6 of 10
FIRST = np.array([[3.0, 3.0], [0.0, 3.0], [2.0, 3.0], [1.0, 1.0]])
# 3 of 10
SECOND = np.array([[0.0, 3.0], [0.0, 3.0], [2.0, 3.0], [1.0, 1.0]])


def test_a_ratio_of_sums() -> None:
    assert score_of_sums(FIRST, ratio) == SumScore(0.6, 4, None)
    assert ratio(np.array([[1.0, 4.0], [0.0, 0.0], [3.0, 0.0]])).tolist() == pytest.approx(
        [0.25, np.nan, np.nan], nan_ok=True
    )
    assert score_of_sums(mean_items([0.5, 1.0, 0.0]), ratio).value == 0.5


def test_what_is_not_defined_is_none() -> None:
    assert score_of_sums(np.zeros((0, 2)), ratio, resamples=100) == SumScore(None, 0)
    assert score_of_sums(np.zeros((3, 2)), ratio, resamples=100) == SumScore(None, 3)
    assert difference_of_sums(np.zeros((0, 2)), np.zeros((0, 2)), ratio) == SumDifference(None, 0)
    assert difference_of_sums(FIRST, np.zeros((4, 2)), ratio, resamples=100) == SumDifference(None, 4, None, 0.6, None)
    assert score_of_sums(FIRST[:1], ratio, resamples=100) == SumScore(1.0, 1)
    # one item has no word: a resample of it alone has no value, so there is no interval
    assert score_of_sums(np.array([[1.0, 2.0], [0.0, 0.0]]), ratio, resamples=100) == SumScore(0.5, 2)


def test_a_difference_is_second_minus_first() -> None:
    found = difference_of_sums(FIRST, SECOND, ratio, resamples=2000, seed=3)
    assert (found.first, found.second, found.n) == (0.6, 0.3, 4)
    assert found.value == pytest.approx(-0.3, abs=1e-15)
    assert found.interval is not None
    assert -1 <= found.interval.low < found.interval.high == 0  # only the first item differs, by -3
    other_way = difference_of_sums(SECOND, FIRST, ratio, resamples=2000, seed=3)
    assert other_way.value == -found.value
    with pytest.raises(ValueError, match=r"items are of shapes \(4, 2\) and \(3, 2\): give the same items for both"):
        difference_of_sums(FIRST, SECOND[:3], ratio)


def test_items_are_drawn_whole_and_for_both_runs_together() -> None:
    """Runs that differ by a constant on each item differ by it in every resample."""
    values = np.random.default_rng(0).random(30)
    found = difference_of_sums(mean_items(values), mean_items(values + 0.25), ratio, resamples=500)
    assert found.interval is not None
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((0.25, 0.25, 0.25), abs=1e-12)


def test_the_interval_is_the_percentile_bootstraps() -> None:
    """The quantiles of a resampling in NumPy with the same generator."""
    values = np.random.default_rng(1).random(25)
    drawn = np.random.default_rng(7).integers(0, 25, (400, 25))
    expected = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    found = score_of_sums(mean_items(values), ratio, resamples=400, seed=7).interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-12)


def test_bleu_of_sums_is_the_corpus_value() -> None:
    pairs = PAIRS[:20]
    items = np.array([bleu_statistics(*pair).as_list() for pair in pairs], dtype=np.float64)
    texts, references = zip(*pairs, strict=True)
    plain = BLEU(effective_order=True).corpus_score(list(texts), [list(references)]).score / 100
    assert score_of_sums(items, bleu).value == pytest.approx(plain, abs=1e-9)
    assert bleu(np.stack([items.sum(axis=0)] * 2)).tolist() == [score_of_sums(items, bleu).value] * 2
