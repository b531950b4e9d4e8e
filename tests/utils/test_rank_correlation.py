"""Ranks and ρ that no rounding decides: SciPy's values, and ties a few units of the last place apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmms_aes_tasks.utils.rank_correlation import positions, settled, spearman

RATINGS = st.lists(st.integers(-5, 5), min_size=3, max_size=12)


@given(RATINGS, st.randoms(use_true_random=False))
def test_rho_and_p_are_scipys(first: list[int], draw: object) -> None:
    second = [value + draw.randint(-2, 2) for value in first]  # type: ignore[attr-defined]
    rho, p, reason = spearman(np.array(first, float), np.array(second, float))
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert (rho, p, reason) == (None, None, "all methods tied")
        return
    expected = stats.spearmanr(first, second)
    assert rho == pytest.approx(expected.statistic, abs=1e-12)
    assert p == pytest.approx(expected.pvalue, abs=1e-6)
    assert spearman(np.array(first, float), np.array(first, float)) == (1.0, 0.0, "")
    assert spearman(np.array(first, float), -np.array(first, float)) == (-1.0, 0.0, "")


@given(RATINGS, st.integers(0, 2**32))
def test_rounding_decides_no_rank(values: list[int], seed: int) -> None:
    ratings = np.array(values, dtype=np.float64) / 7
    moved = ratings + np.random.default_rng(seed).uniform(-1e-11, 1e-11, len(values))
    assert positions(moved).tolist() == positions(ratings).tolist()
    other = np.arange(len(values), dtype=np.float64)
    assert spearman(moved, other) == spearman(ratings, other)


def test_a_tie_across_a_rounding_boundary_is_a_tie() -> None:
    # to nine digits these two are 0.123456789 and 0.123456790
    pair = np.array([0.1234567895 - 1e-13, 0.1234567895 + 1e-13, 0.5])
    assert len(set(np.round(pair, 9).tolist())) == 3
    assert len(set(settled(pair).tolist())) == 2
    assert positions(pair).tolist() == [1, 2, 0]  # best first; equal ones keep their order
    assert positions(np.array([1.0, 1.0 + 5e-8])).tolist() == [1, 0]


def test_too_few() -> None:
    assert spearman(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == (None, None, "only 2 methods in common")
    assert math.isclose(spearman(np.array([1.0, 2, 3]), np.array([1.0, 3, 2]))[0] or 0, 0.5)
