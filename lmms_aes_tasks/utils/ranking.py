"""Rankings from pairwise choices (FineArtBench, section 3.2): Elo, Bradley–Terry in two forms, and what surrounds them.

Items are numbered 0 to k - 1. A game has a left and a right item and an outcome: `LEFT`, `RIGHT`, or `NONE` where
nothing was decided; games without outcome change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LEFT, RIGHT, NONE = 0, 1, -1
ELO_K = 32.0
ELO_START = 1500.0


@dataclass(frozen=True)
class Games:
    """Pairwise choices in order.

    Attributes:
        left: Item shown left, shape (n,).
        right: Item shown right, shape (n,).
        outcome: `LEFT`, `RIGHT` or `NONE`, shape (n,).
    """

    left: Ints
    right: Ints
    outcome: Ints

    def __post_init__(self) -> None:
        if not self.left.shape == self.right.shape == self.outcome.shape or self.left.ndim != 1:
            raise ValueError(
                f"shapes {self.left.shape}, {self.right.shape}, {self.outcome.shape}: give three arrays of one length"
            )
        paired = np.flatnonzero(self.left == self.right)
        if len(paired):
            raise ValueError(f"game {paired[0]} sets item {self.left[paired[0]]} against itself: give two items")
        strange = np.setdiff1d(self.outcome, [LEFT, RIGHT, NONE])
        if len(strange):
            raise ValueError(f"outcome {strange[0]}: use {LEFT} (left), {RIGHT} (right) or {NONE} (none)")

    def __len__(self) -> int:
        return len(self.left)

    def take(self, indices: Any) -> Games:
        """The games at these indices (or where a mask holds), in their order."""
        return Games(self.left[indices], self.right[indices], self.outcome[indices])

    @property
    def winner(self) -> Ints:
        """Winning item of every decided game, in order."""
        decided = self.outcome != NONE
        return np.asarray(np.where(self.outcome == LEFT, self.left, self.right)[decided], dtype=np.int64)

    @property
    def loser(self) -> Ints:
        """Losing item of every decided game, in order."""
        decided = self.outcome != NONE
        return np.asarray(np.where(self.outcome == LEFT, self.right, self.left)[decided], dtype=np.int64)


def games(left: Sequence[int], right: Sequence[int], outcome: Sequence[int]) -> Games:
    """Games from plain sequences."""
    return Games(*(np.asarray(values, dtype=np.int64) for values in (left, right, outcome)))


def win_matrix(played: Games, k: int) -> Ints:
    """W[i, j], how often i won against j; shape (k, k)."""
    flat = np.bincount(played.winner * k + played.loser, minlength=k * k)
    return flat.reshape(k, k)


# -- Elo --------------------------------------------------------------------------------------------------------------


def elo_ratings(played: Games, k: int) -> Floats:
    """Elo ratings after the games, in their order (K 32, start 1500); shape (k,).

    An item that did not play keeps the start.
    """
    ratings = [ELO_START] * k
    for left, right, outcome in zip(played.left.tolist(), played.right.tolist(), played.outcome.tolist(), strict=True):
        if outcome == NONE:
            continue
        expected = 1.0 / (1.0 + 10.0 ** ((ratings[right] - ratings[left]) / 400.0))
        score = 1.0 if outcome == LEFT else 0.0
        ratings[left] += ELO_K * (score - expected)
        ratings[right] += ELO_K * ((1.0 - score) - (1.0 - expected))
    return np.array(ratings)


# -- Bradley–Terry ----------------------------------------------------------------------------------------------------


STEP = 1.49e-8
"""Step of SciPy's forward differences, the square root of the spacing of numbers at 1, as the authors' code has it."""


def bradley_terry_official(wins: Ints, noise: np.random.Generator | None = None) -> Floats:
    """Log-strengths where the authors' optimiser stops, without what rounding adds to its path.

    SciPy's SLSQP from zeros under sum 0 on the negative log-likelihood Σ w·log(1 + e^(θ_loser - θ_winner)), with its
    default tolerance and forward differences. Where an item is undefeated no finite maximum exists, and the value, and
    with it the rank, is where the optimiser stops. SciPy's own differences subtract two rounded sums: their error of
    1e-7, other on every BLAS kernel, decides there. Here each term's difference is computed by itself, free of
    cancellation, and handed over as the gradient; kernels then differ by less than 1e-9, and
    `rank_correlation.settled` makes ties of true ties. The sum's derivative is given, too; it changes no rank.
    `bradley_terry` has no such trouble.

    Args:
        wins: Win matrix, shape (k, k).
        noise: Adds to each gradient what rounding adds to SciPy's: uniform in ±2 units in the last place of the
            function's value, over the step. For `rounding_noise`.

    Returns:
        Log-strengths θ, shape (k,).
    """
    from scipy.optimize import minimize

    k = len(wins)
    winners, losers = np.nonzero(wins)
    if len(winners) == 0:
        return np.zeros(k)
    counts = wins[winners, losers].astype(np.float64)

    def negative_log_likelihood(theta: Floats) -> float:
        return math.fsum(counts * np.logaddexp(0.0, theta[losers] - theta[winners]))

    def forward_differences(theta: Floats) -> Floats:
        upset = 1.0 / (1.0 + np.exp(theta[winners] - theta[losers]))
        # bincount adds in the order of the terms, whatever the processor
        up = np.bincount(losers, counts * np.log1p(upset * math.expm1(STEP)), k)
        down = np.bincount(winners, counts * np.log1p(upset * math.expm1(-STEP)), k)
        raised = np.asarray(up + down, dtype=np.float64)
        if noise is not None:
            raised += noise.uniform(-2.0, 2.0, k) * math.ulp(negative_log_likelihood(theta))
        return np.asarray(raised / STEP, dtype=np.float64)

    fit = minimize(
        negative_log_likelihood,
        np.zeros(k),
        method="SLSQP",
        jac=forward_differences,
        constraints={"type": "eq", "fun": np.sum, "jac": lambda theta: np.ones(k)},
    )
    return np.asarray(fit.x, dtype=np.float64)


@dataclass(frozen=True)
class BradleyTerry:
    """A maximum-likelihood fit, or why there is none.

    Attributes:
        theta: Log-strengths of mean 0, shape (k,), NaN for items that did not play; None when no finite maximum exists.
        played: Items with a decided game.
        problem: Empty; `no games`; `disconnected`, groups of items never met; `separated`, a group of items never lost
            to the rest, so that its strength has no finite maximum (Ford 1957).
        groups: The strongly connected groups of items that played, larger first: within one, strengths are estimable.
    """

    theta: Floats | None
    played: Ints
    problem: str
    groups: tuple[tuple[int, ...], ...]


def bradley_terry(wins: Ints, tolerance: float = 1e-10) -> BradleyTerry:
    """Maximum-likelihood Bradley–Terry strengths, by Newton's method with the analytic gradient.

    A unique finite maximum exists exactly when every item can be reached from every other along wins (Ford 1957); where
    it does not, the fit says so in place of a number.

    Args:
        wins: Win matrix, shape (k, k).
        tolerance: The largest change of a log-strength in the last step, where rounding lets it become so small.

    Returns:
        The fit over the items that played.
    """
    from scipy.sparse.csgraph import connected_components

    played = np.flatnonzero(wins.sum(axis=0) + wins.sum(axis=1))
    if len(played) == 0:
        return BradleyTerry(None, played, "no games", ())
    own = wins[np.ix_(played, played)].astype(np.float64)
    weak, _ = connected_components(own, directed=True, connection="weak")
    strong, labels = connected_components(own, directed=True, connection="strong")
    members = [tuple(int(i) for i in played[labels == label]) for label in range(strong)]
    groups = tuple(sorted(members, key=lambda group: (-len(group), group)))
    if weak > 1:
        return BradleyTerry(None, played, "disconnected", groups)
    if strong > 1:
        return BradleyTerry(None, played, "separated", groups)
    theta = np.full(len(wins), np.nan)
    theta[played] = _newton(own, tolerance)
    return BradleyTerry(theta, played, "", groups)


_LONGEST_STEP = 3.0


def _newton(wins: Floats, tolerance: float) -> Floats:
    """Newton's method on a strongly connected win matrix; the mean stays 0."""
    met = wins + wins.T
    theta = np.zeros(len(wins))

    def log_likelihood(values: Floats) -> float:
        return float(np.sum(wins * -np.logaddexp(0.0, values[None, :] - values[:, None])))

    best, before = log_likelihood(theta), math.inf
    for _ in range(200):
        chance = 1.0 / (1.0 + np.exp(theta[None, :] - theta[:, None]))
        # wins that were not to be expected less such losses: won - expected would cancel
        gradient = np.sum(wins * chance.T - wins.T * chance, axis=1)
        weights = met * chance * chance.T
        # the information is singular along (1, …, 1); adding that direction makes it regular and keeps the step
        information = np.diag(weights.sum(axis=1)) - weights + 1.0 / len(wins)
        step = np.linalg.solve(information, gradient)
        step -= step.mean()
        # a longer step may end where every probability is 0 or 1, and the information is singular
        step *= _LONGEST_STEP / max(_LONGEST_STEP, float(np.max(np.abs(step))))
        scale = 1.0
        while scale > 1e-8 and log_likelihood(theta + scale * step) < best - 1e-12 * abs(best):
            scale /= 2
        theta = theta + scale * step
        best = log_likelihood(theta)
        size = float(np.max(np.abs(scale * step)))
        # steps shrink quadratically: after two small ones only rounding is left, which extreme counts keep above
        if size < tolerance or max(size, before) < 1e-6:
            return theta
        before = size
    raise ArithmeticError(
        "Bradley–Terry did not converge in 200 Newton steps: look for items with nearly one-sided results"
    )


def bradley_terry_with_prior(wins: Ints, weight: float) -> Floats:
    """Bradley–Terry strengths that always exist: the mode under a weak prior, by Newton's method.

    Every item has, beside its games, `weight` of a win and as much of a loss against an opponent of strength 0 (our
    choice). The likelihood then has one finite maximum whatever the games, and an item without any lies at 0, as does
    the opponent: the average, in that over all items the wins against it are as many as expected.

    Newton's method corrects its own steps, so the error of the linear solver, which hangs on the BLAS kernel, does not
    stay in the result.

    Args:
        wins: Win matrix, shape (k, k).
        weight: Above 0.

    Returns:
        Log-strengths θ, shape (k,).

    Raises:
        ValueError: The weight is not above 0, or not finite.
    """
    if not 0 < weight < math.inf:
        raise ValueError(f"prior weight is {weight}: use a number above 0")
    k = len(wins)
    against = np.zeros((k + 1, k + 1))
    against[:k, :k] = wins
    against[:k, k] = against[k, :k] = weight
    theta = _newton(against, tolerance=1e-10)
    return np.asarray(theta[:k] - theta[k], dtype=np.float64)


def win_probability(theta: Floats, left: Ints, right: Ints) -> Floats:
    """P(left beats right) under log-strengths (equation 2)."""
    return np.asarray(1.0 / (1.0 + np.exp(theta[right] - theta[left])), dtype=np.float64)


def mcfadden_r2(played: Games, theta: Floats) -> float | None:
    """McFadden's R² = 1 - log L(θ) / log L(chance) of decided games, chance being 1/2 each; None without games.

    The paper uses it for the transitivity of human judgements (Table 3); 0.2 and more is a good fit.
    """
    winner, loser = played.winner, played.loser
    if len(winner) == 0:
        return None
    log_likelihood = float(np.sum(np.log(win_probability(theta, winner, loser))))
    return 1.0 - log_likelihood / (len(winner) * float(np.log(0.5)))


# -- Which judgements to keep -----------------------------------------------------------------------------------------


def certain(played: Games, theta: Floats, low: float = 0.4, high: float = 0.6) -> npt.NDArray[np.bool_]:
    """Mask of games that are not uncertain: the probability of left lies outside [low, high] (section 4.2).

    The paper's probability is that of repeated judgements; a file with one judgement a pair has none, so that of the
    fitted strengths stands for it: our reading.
    """
    probability = win_probability(theta, played.left, played.right)
    # a record of 3 to 2 has a probability of 0.6, which rounding must not put outside
    return np.asarray((probability < low - 1e-9) | (probability > high + 1e-9), dtype=np.bool_)


def feedback_arc_ratio(played: Games) -> float | None:
    """Share of decided games that run against an order of the items (section 3.2); None without games.

    Items are ordered by wins minus losses, those first met standing first among equals (winner before loser within a
    game): the authors' approximation of the smallest feedback arc set.
    """
    winner, loser = played.winner, played.loser
    if len(winner) == 0:
        return None
    met = np.column_stack([winner, loser]).ravel()
    items, first = np.unique(met, return_index=True)
    balance = {int(i): int(np.sum(winner == i) - np.sum(loser == i)) for i in items}
    order = sorted(zip(first.tolist(), items.tolist(), strict=True), key=lambda pair: (-balance[pair[1]], pair[0]))
    place = {item: position for position, (_, item) in enumerate(order)}
    against = sum(place[won] > place[lost] for won, lost in zip(winner.tolist(), loser.tolist(), strict=True))
    return against / len(winner)


# -- Sampling comparisons ---------------------------------------------------------------------------------------------


def sample_global(n_items: int, n_pairs: int, seed: int = 0) -> list[tuple[int, int]]:
    """Pairs of items drawn uniformly without replacement (section 3.2, global sampling).

    Raises:
        ValueError: More pairs than there are, or a negative number.
    """
    every = [(i, j) for i in range(n_items) for j in range(i + 1, n_items)]
    if not 0 <= n_pairs <= len(every):
        raise ValueError(f"{n_pairs} pairs of {n_items} items: give 0 to {len(every)}")
    chosen = np.random.default_rng(seed).choice(len(every), size=n_pairs, replace=False)
    return [every[position] for position in chosen]


def sample_connected(n_items: int, n_pairs: int, seed: int = 0) -> list[tuple[int, int]]:
    """Pairs that connect all items, each compared about equally often (Algorithm 1).

    A random spanning tree, then one by one a random edge among those whose larger end, and then whose sum of ends, has
    the smallest degree.

    Args:
        n_items: At least 1.
        n_pairs: From `n_items - 1` to all.
        seed: Seed of the draws.

    Raises:
        ValueError: A number is out of range.
    """
    from scipy.cluster.hierarchy import DisjointSet

    most = n_items * (n_items - 1) // 2
    if n_items < 1 or not n_items - 1 <= n_pairs <= most:
        raise ValueError(
            f"{n_pairs} pairs of {n_items} items: give {max(n_items - 1, 0)} to {most} pairs of at least 1 item"
        )
    generator = np.random.default_rng(seed)
    edges = [(i, j) for i in range(n_items) for j in range(i + 1, n_items)]
    forest = DisjointSet(range(n_items))
    chosen = [edges[position] for position in generator.permutation(len(edges)) if forest.merge(*edges[position])]
    degree = np.bincount(np.array(chosen, dtype=np.int64).ravel(), minlength=n_items)
    left = sorted(set(edges) - set(chosen))
    while len(chosen) < n_pairs:
        cost = [(max(degree[i], degree[j]), degree[i] + degree[j]) for i, j in left]
        least = min(cost)
        best = [position for position, own in enumerate(cost) if own == least]
        i, j = left.pop(best[int(generator.integers(len(best)))])
        chosen.append((i, j))
        degree[i] += 1
        degree[j] += 1
    return chosen
