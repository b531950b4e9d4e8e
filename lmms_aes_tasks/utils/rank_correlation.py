"""Spearman's ρ of two rankings, computed so that no machine's rounding decides a rank or a digit.

Ratings that are equal in exact arithmetic come out of an optimiser, or of `pow`, a few units of the last place apart,
in an order that the processor chooses. So ratings closer than `SAME` are one value before they are ranked, and ρ is
computed of whole numbers.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SAME = 1e-9
"""Ratings closer than this are equal: nine digits. True ties are below 1e-13, the next gap above 1e-8 (PROTOCOLS)."""

Rho = tuple[float | None, float | None, str]
"""ρ, its two-sided p-value, and why there is none (else empty)."""


def settled(ratings: Floats) -> Floats:
    """Ratings in which those closer than `SAME` are equal: each run of neighbours takes its highest value.

    It is rounding to nine digits without its flaw, that two equal numbers may lie on both sides of a rounding boundary.

    >>> settled(np.array([0.5, 2.0, 0.5 + 1e-12])).tolist()
    [0.500000000001, 2.0, 0.500000000001]
    """
    order = np.argsort(-ratings, kind="stable")
    descending = ratings[order]
    starts = np.concatenate([[True], -np.diff(descending) >= SAME])
    values = np.empty_like(ratings)
    values[order] = descending[starts][np.cumsum(starts) - 1]
    return values


def positions(ratings: Floats) -> Floats:
    """Place of each item in a stable sort by rating, best first; equal ratings keep their order."""
    order = np.argsort(-settled(ratings), kind="stable")
    places = np.empty(len(ratings))
    places[order] = np.arange(len(ratings))
    return places


def spearman(one: Floats, two: Floats) -> Rho:
    """Spearman's ρ of two sets of ratings, equal ones sharing the mean of their ranks; p by the t approximation.

    SciPy's takes the correlation of the ranks through BLAS, whose kernels differ in the last digit; then whether ρ is
    1, and so p is 0, hangs on the processor. Here twice the ranks are whole numbers, and their sums exact.

    Args:
        one: Ratings, shape (n,).
        two: Ratings of the same items, shape (n,).
    """
    from scipy import special, stats

    n = len(one)
    if n < 3:
        return None, None, f"only {n} methods in common"
    # twice a rank, about its mean: even where ranks are shared, a whole number
    first, second = (
        [round(2 * rank) - (n + 1) for rank in stats.rankdata(settled(values)).tolist()] for values in (one, two)
    )
    spread = sum(a * a for a in first) * sum(b * b for b in second)
    if spread == 0:
        return None, None, "all methods tied"
    together = sum(a * b for a, b in zip(first, second, strict=True))
    if together * together == spread:
        return math.copysign(1.0, together), 0.0, ""
    rho = together / math.sqrt(spread)
    t = abs(together) * math.sqrt((n - 2) / (spread - together * together))
    return rho, float(2 * special.stdtr(n - 2, -t)), ""
