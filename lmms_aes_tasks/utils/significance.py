"""Uncertainty of scores: seeded bootstrap intervals, McNemar's exact test, Wilson's interval of a proportion."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

DEFAULT_RESAMPLES = 10_000
"""Resamples of a published interval: its Monte-Carlo error is then well below the second decimal of a percentage."""
_BATCH_ELEMENTS = 4_000_000
"""Resampled elements held at once, so that memory does not grow with resamples times items."""


@dataclass(frozen=True)
class Interval:
    """An interval estimate.

    Attributes:
        low: Lower end.
        high: Upper end.
        level: Confidence level, for example 0.95.
    """

    low: float
    high: float
    level: float = 0.95


def bootstrap_interval(
    columns: Sequence[npt.NDArray[Any]],
    statistic: Callable[..., npt.NDArray[np.float64]],
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval over items (Efron and Tibshirani 1993), by `scipy.stats.bootstrap`.

    Its ends are NaN where the statistic is not defined in some resample, as terms per word are in one without words.

    Args:
        columns: Arrays of one length n ≥ 2; entry i of each belongs to item i, and items are resampled whole.
        statistic: Takes the columns and `axis`, and reduces along that axis.
        resamples: Number of resamples.
        seed: Seed of a local generator; the same seed gives the same interval.
        level: Confidence level in (0, 1).

    Raises:
        ValueError: Fewer than two items, or columns of different lengths.
    """
    from scipy import stats

    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        raise ValueError(f"columns have different lengths {sorted(lengths)}: give one entry per item in each")
    n = lengths.pop()
    if n < 2:
        raise ValueError(f"a bootstrap needs at least 2 items, got {n}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # NaN says it
        result = stats.bootstrap(
            tuple(columns),
            statistic,
            paired=True,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _BATCH_ELEMENTS // n),
            confidence_level=level,
            method="percentile",
            rng=np.random.default_rng(seed),
        )
    return Interval(float(result.confidence_interval.low), float(result.confidence_interval.high), level)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar test: a binomial test of the discordant pairs (McNemar 1947).

    Args:
        only_first: Pairs in which only the first is right.
        only_second: Pairs in which only the second is right.

    Returns:
        The p-value; 1 when there is no discordant pair.

    Raises:
        ValueError: A count is negative.

    >>> round(mcnemar_exact(29, 57), 4)
    0.0034
    """
    from scipy import stats

    if min(only_first, only_second) < 0:
        raise ValueError(f"counts are {only_first} and {only_second}: give numbers of pairs, 0 or more")
    if only_first + only_second == 0:
        return 1.0
    return float(stats.binomtest(only_first, only_first + only_second, 0.5).pvalue)


def wilson_interval(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927), by `scipy.stats.binomtest`.

    Raises:
        ValueError: Not 0 ≤ successes ≤ n with n ≥ 1.
    """
    from scipy import stats

    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n}: give 0 to n successes, n at least 1")
    interval = stats.binomtest(successes, n).proportion_ci(confidence_level=level, method="wilson")
    return Interval(float(interval.low), float(interval.high), level)
