"""Rankings: hand-worked games, the likelihood equations, and properties of the sampling algorithms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from lmms_aes_tasks.utils.ranking import (
    LEFT,
    NONE,
    RIGHT,
    bradley_terry,
    bradley_terry_official,
    bradley_terry_with_prior,
    certain,
    elo_ratings,
    feedback_arc_ratio,
    games,
    mcfadden_r2,
    sample_connected,
    sample_global,
    win_matrix,
    win_probability,
)


def test_elo_by_hand() -> None:
    # 1500 against 1500: the winner takes 16; then 1516 against 1484, the expected score being 1/(1+10^(-32/400))
    played = games([0, 0, 0], [1, 1, 1], [LEFT, NONE, RIGHT])
    expected = 1 / (1 + 10 ** (-32 / 400))
    assert elo_ratings(played, 3).tolist() == pytest.approx([1516 - 32 * expected, 1484 + 32 * expected, 1500.0])


def test_win_matrix_by_hand() -> None:
    played = games([0, 1, 2, 0], [1, 0, 0, 2], [LEFT, LEFT, RIGHT, NONE])
    assert win_matrix(played, 3).tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]


def test_two_items_have_their_odds() -> None:
    fit = bradley_terry(np.array([[0, 3], [1, 0]]))
    assert fit.theta is not None
    assert fit.theta[0] - fit.theta[1] == pytest.approx(math.log(3), abs=1e-10)
    assert fit.theta.sum() == pytest.approx(0, abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(st.integers(2, 8).flatmap(lambda k: st.lists(st.integers(0, 6), min_size=k * k, max_size=k * k)))
def test_the_fit_solves_the_likelihood_equations_or_says_why_not(flat: list[int]) -> None:
    k = math.isqrt(len(flat))
    wins = np.array(flat).reshape(k, k)
    np.fill_diagonal(wins, 0)
    fit = bradley_terry(wins)
    own = wins[np.ix_(fit.played, fit.played)]
    if len(fit.played) == 0:
        assert fit.problem == "no games"
        return
    strong, _ = connected_components(own, directed=True, connection="strong")
    assert (fit.theta is not None) == (strong == 1)  # Ford 1957
    if fit.theta is None:
        assert fit.problem in {"disconnected", "separated"}
        assert sorted(itertools.chain(*fit.groups)) == fit.played.tolist()
        return
    theta = fit.theta[fit.played]
    met = own + own.T
    chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    # at the maximum every item has won as often as it is expected to
    assert np.sum(met * chance, axis=1) == pytest.approx(own.sum(axis=1), abs=1e-7)


def test_what_cannot_be_estimated_is_named() -> None:
    undefeated = bradley_terry(np.array([[0, 2, 1], [0, 0, 1], [0, 1, 0]]))
    assert (undefeated.theta, undefeated.problem, undefeated.groups) == (None, "separated", ((1, 2), (0,)))
    apart = np.zeros((4, 4), dtype=int)
    apart[0, 1] = apart[1, 0] = apart[2, 3] = apart[3, 2] = 1
    assert bradley_terry(apart).problem == "disconnected"
    assert bradley_terry(np.zeros((3, 3), dtype=int)).problem == "no games"
    absent = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    fit = bradley_terry(absent)
    assert fit.theta is not None
    assert np.isnan(fit.theta[2])
    assert fit.theta[:2] == pytest.approx([0, 0], abs=1e-12)


def test_both_forms_agree_where_a_maximum_exists() -> None:
    generator = np.random.default_rng(0)
    wins = generator.integers(5, 30, (10, 10))
    np.fill_diagonal(wins, 0)
    fit = bradley_terry(wins)
    assert fit.theta is not None
    assert bradley_terry_official(wins) == pytest.approx(fit.theta, abs=2e-3)  # SLSQP stops at its tolerance
    assert bradley_terry_official(np.zeros((3, 3), dtype=int)).tolist() == [0, 0, 0]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 8).flatmap(lambda k: st.lists(st.integers(0, 6), min_size=k * k, max_size=k * k)),
    st.sampled_from([0.1, 0.5, 1.0]),
)
def test_the_fit_with_a_prior_always_solves_its_equations(flat: list[int], weight: float) -> None:
    k = math.isqrt(len(flat))
    wins = np.array(flat).reshape(k, k)
    np.fill_diagonal(wins, 0)
    theta = bradley_terry_with_prior(wins, weight)
    met = wins + wins.T
    chance = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    prior = 2 * weight / (1 + np.exp(-theta))  # against the opponent of strength 0
    assert np.sum(met * chance, axis=1) + prior == pytest.approx(wins.sum(axis=1) + weight, abs=1e-8)


def test_a_prior_by_hand() -> None:
    # θ and -θ: σ(2θ) + σ(θ) = 1 + 1/2; with u = e^θ it is u³ - u² - u - 1 = 0... solved by bisection here
    low, high = 0.0, 5.0
    for _ in range(200):
        middle = (low + high) / 2
        short = 1 / (1 + math.exp(-2 * middle)) + 1 / (1 + math.exp(-middle)) < 1.5
        low, high = (middle, high) if short else (low, middle)
    theta = bradley_terry_with_prior(np.array([[0, 1], [0, 0]]), 0.5)
    assert theta == pytest.approx([low, -low], abs=1e-10)
    assert bradley_terry_with_prior(np.zeros((3, 3), dtype=int), 0.5).tolist() == [0, 0, 0]
    for weight in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError) as error:
            bradley_terry_with_prior(np.zeros((2, 2), dtype=int), weight)
        assert str(error.value) == f"prior weight is {weight}: use a number above 0"


def test_noise_is_of_rounding_size() -> None:
    wins = np.random.default_rng(0).integers(5, 30, (10, 10))
    np.fill_diagonal(wins, 0)
    exact = bradley_terry_official(wins)
    noisy = bradley_terry_official(wins, np.random.default_rng(1))
    assert 0 < np.abs(noisy - exact).max() < 1e-4
    assert bradley_terry_official(wins, np.random.default_rng(1)).tolist() == noisy.tolist()


def test_mcfadden_by_hand() -> None:
    played = games([0, 0, 0, 0], [1, 1, 1, 1], [LEFT, LEFT, LEFT, RIGHT])
    theta = np.array([math.log(3) / 2, -math.log(3) / 2])
    log_likelihood = 3 * math.log(0.75) + math.log(0.25)
    assert mcfadden_r2(played, theta) == pytest.approx(1 - log_likelihood / (4 * math.log(0.5)))
    assert mcfadden_r2(games([0], [1], [NONE]), theta) is None


def test_uncertain_pairs() -> None:
    theta = np.array([0.0, 0.1, 2.0])
    played = games([0, 0, 2], [1, 2, 1], [LEFT, RIGHT, LEFT])
    assert win_probability(theta, played.left, played.right) == pytest.approx([0.475, 0.1192, 0.8699], abs=1e-4)
    assert certain(played, theta).tolist() == [False, True, True]
    # 3 to 2 is a probability of 0.6, which lies in the interval whatever the last digit of a fit
    for error in (-1e-14, 0.0, 1e-14):
        edge = np.array([math.log(1.5) + error, 0.0])
        assert certain(games([0, 1], [1, 0], [LEFT, LEFT]), edge).tolist() == [False, False]


def test_feedback_arcs_by_hand() -> None:
    # a>b, b>c, c>a: all even, so the order is that of first sight, a b c, and c>a runs against it
    assert feedback_arc_ratio(games([0, 1, 2], [1, 2, 0], [LEFT, LEFT, LEFT])) == pytest.approx(1 / 3)
    assert feedback_arc_ratio(games([0, 1, 0], [1, 2, 2], [LEFT, LEFT, LEFT])) == 0.0
    assert feedback_arc_ratio(games([0], [1], [NONE])) is None


@pytest.mark.parametrize(
    ("left", "right", "outcome", "message"),
    [
        ([0], [0], [LEFT], "game 0 sets item 0 against itself: give two items"),
        ([0], [1], [2], "outcome 2: use 0 (left), 1 (right) or -1 (none)"),
        ([0, 1], [1], [0], "shapes (2,), (1,), (1,): give three arrays of one length"),
    ],
)
def test_unsound_games(left: list[int], right: list[int], outcome: list[int], message: str) -> None:
    with pytest.raises(ValueError) as error:
        games(left, right, outcome)
    assert str(error.value) == message


@given(n=st.integers(1, 12), seed=st.integers(0, 1000), share=st.floats(0, 1))
def test_connected_sampling(n: int, seed: int, share: float) -> None:
    least, most = n - 1, n * (n - 1) // 2
    pairs = sample_connected(n, round(least + share * (most - least)), seed)
    assert len(set(pairs)) == len(pairs) == round(least + share * (most - least))
    assert all(0 <= i < j < n for i, j in pairs)
    adjacency = np.zeros((n, n))
    for i, j in pairs:
        adjacency[i, j] = 1
    assert connected_components(adjacency, directed=False)[0] == 1
    assert pairs == sample_connected(n, len(pairs), seed)


def test_connected_sampling_evens_out_degrees() -> None:
    for seed in range(20):
        degree = np.bincount(np.array(sample_connected(10, 23, seed)).ravel(), minlength=10)
        assert degree.max() - degree.min() <= 2  # the paper: O(k log k) pairs, k = 10


def test_global_sampling_is_uniform_without_replacement() -> None:
    counts = np.zeros((5, 5))
    for seed in range(2000):
        pairs = sample_global(5, 3, seed)
        assert len(set(pairs)) == 3
        for i, j in pairs:
            counts[i, j] += 1
    found = counts[np.triu_indices(5, 1)]
    assert found.sum() == 6000
    assert abs(found - 600).max() < 5 * math.sqrt(600 * 0.7)


@pytest.mark.parametrize(("n", "pairs"), [(3, 4), (3, 1), (0, 0)])
def test_sampling_errors(n: int, pairs: int) -> None:
    with pytest.raises(ValueError, match=rf"^{pairs} pairs of {n} items: give "):
        sample_connected(n, pairs)
    with pytest.raises(ValueError) as error:
        sample_global(3, 4)
    assert str(error.value) == "4 pairs of 3 items: give 0 to 3"


def test_one_sided_and_large_counts_are_fitted() -> None:
    generator = np.random.default_rng(0)
    for most in (1, 100, 100_000):
        for _ in range(20):
            wins = np.triu(generator.integers(0, most + 1, (12, 12)), 1)  # a chain: no item lost to a later one
            theta = bradley_terry_with_prior(wins, 0.5)
            chance = 1 / (1 + np.exp(theta[:, None] - theta[None, :]))  # of the column's item
            left = np.sum(wins * chance, axis=1) - np.sum(wins.T * chance.T, axis=1)
            assert left + 0.5 - 1 / (1 + np.exp(-theta)) == pytest.approx(np.zeros(12), abs=1e-7)
