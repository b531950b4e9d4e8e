"""Every metric as a statistic of sums over items: its value, its interval, and the paired difference of two runs.

A share or a mean is one sum over another, F1 is made of three, corpus BLEU of ten. An item is a row of numbers, a
metric reads the columns' sums, and one bootstrap over whole items serves them all.

>>> score_of_sums(np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 2.0]]), ratio)
SumScore(value=0.5, n=3, interval=None)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.utils.significance import Interval, bootstrap_interval

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From sums of shape (..., k) to values of shape (...); NaN where it is not defined."""


def ratio(sums: Floats) -> Floats:
    """The first sum over the second, NaN where that is 0: shares and means.

    Args:
        sums: Of shape (..., 2).
    """
    below = sums[..., 1]
    return np.asarray(sums[..., 0] / np.where(below == 0, np.nan, below), dtype=np.float64)


def bleu(sums: Floats) -> Floats:
    """Corpus BLEU as a fraction.

    Args:
        sums: Of shape (..., 10), in the order of `text_metrics.BleuStatistics.as_list`.
    """
    from lmms_aes_tasks.utils.text_metrics import bleu_of_sums

    rows = sums.reshape(-1, sums.shape[-1]).astype(np.int64)
    return np.array([bleu_of_sums(row) for row in rows], dtype=np.float64).reshape(sums.shape[:-1])


def mean_items(values: npt.ArrayLike) -> Floats:
    """Items of a mean: of shape (n, 2), each value beside a 1.

    Args:
        values: Of shape (n,).
    """
    numbers = np.asarray(values, dtype=np.float64)
    return np.stack([numbers, np.ones_like(numbers)], axis=-1)


@dataclass(frozen=True)
class SumScore:
    """A metric's value.

    Attributes:
        value: None where no item enters it, or it is not defined.
        n: Items that enter it.
        interval: 95% percentile bootstrap interval over items; None when it was not asked for, with fewer than 2
            items, or where a resample has no value, as terms per word have none without words.
    """

    value: float | None
    n: int
    interval: Interval | None = None


@dataclass(frozen=True)
class SumDifference:
    """A metric of a second run minus that of a first one, over the same items.

    Attributes:
        value: Second minus first; None where one of the two is not defined.
        n: Items that enter the metric in both.
        interval: 95% percentile bootstrap interval of the difference, items drawn for both together; None as in
            `SumScore`.
        first: The first run's value over these items.
        second: The second's.
    """

    value: float | None
    n: int
    interval: Interval | None = None
    first: float | None = None
    second: float | None = None


def finite(value: float) -> float | None:
    """The number, or None where it is none that JSON can hold."""
    return float(value) if math.isfinite(value) else None


def _columns(items: Floats) -> list[Floats]:
    """Columns that lie together in memory: they are summed faster, and the same in a whole and in a resample."""
    return list(np.ascontiguousarray(np.asarray(items, dtype=np.float64).T))


def _totals(columns: Sequence[Floats]) -> Floats:
    return np.array([column.sum() for column in columns], dtype=np.float64)


def _value(columns: Sequence[Floats], statistic: Statistic) -> float | None:
    return finite(float(statistic(_totals(columns))))


def _drawn_totals(columns: Sequence[Floats], drawn: npt.NDArray[np.intp], axis: int) -> Floats:
    """Sums of the drawn items, of shape (..., k)."""
    return np.stack([column[drawn].sum(axis=axis) for column in columns], axis=-1)


def _interval(n: int, statistic: Callable[..., Floats], resamples: int, seed: int) -> Interval | None:
    """Percentile interval of a statistic of drawn item numbers; None where a resample has no value."""
    interval = bootstrap_interval([np.arange(n)], statistic, resamples=resamples, seed=seed)
    return interval if math.isfinite(interval.low) and math.isfinite(interval.high) else None


def score_of_sums(items: Floats, statistic: Statistic, resamples: int = 0, seed: int = 0) -> SumScore:
    """A metric over items.

    Args:
        items: What each item adds, of shape (n, k).
        statistic: The metric, from sums.
        resamples: Bootstrap resamples of the interval; 0 for none.
        seed: Seed of the bootstrap.
    """
    n = len(items)
    if n == 0:
        return SumScore(None, 0)
    columns = _columns(items)
    value = _value(columns, statistic)

    def of_drawn(drawn: npt.NDArray[np.intp], axis: int = -1) -> Floats:
        return statistic(_drawn_totals(columns, drawn, axis))

    wanted = resamples and n > 1 and value is not None
    return SumScore(value, n, _interval(n, of_drawn, resamples, seed) if wanted else None)


def difference_of_sums(
    first: Floats, second: Floats, statistic: Statistic, resamples: int = 0, seed: int = 0
) -> SumDifference:
    """A metric of a second run minus that of a first one; an item is drawn with both of its rows or not at all.

    Args:
        first: What each item adds in the first run, of shape (n, k).
        second: The same items in the second run, in the same order.
        statistic: The metric, from sums.
        resamples: Bootstrap resamples of the interval; 0 for none.
        seed: Seed of the bootstrap.

    Raises:
        ValueError: The shapes differ.
    """
    if np.shape(first) != np.shape(second):
        raise ValueError(f"items are of shapes {np.shape(first)} and {np.shape(second)}: give the same items for both")
    n = len(first)
    if n == 0:
        return SumDifference(None, 0)
    ones, twos = _columns(first), _columns(second)
    one, two = _value(ones, statistic), _value(twos, statistic)
    if one is None or two is None:
        return SumDifference(None, n, None, one, two)

    def of_drawn(drawn: npt.NDArray[np.intp], axis: int = -1) -> Floats:
        return statistic(_drawn_totals(twos, drawn, axis)) - statistic(_drawn_totals(ones, drawn, axis))

    interval = _interval(n, of_drawn, resamples, seed) if resamples and n > 1 else None
    return SumDifference(two - one, n, interval, one, two)
