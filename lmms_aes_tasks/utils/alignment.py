"""Agreement of a model's rankings with the experts' (FineArtBench, sections 4.1 to 4.3), under two protocols.

`official` follows the authors' script with its peculiarities, but for what rounding decides in it; `aligned` is the
sound reading: joined by id, only pairs that both judged, ties that share ranks, and no number where there is none.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.utils.judgements import OUTCOMES
from lmms_aes_tasks.utils.judgements import Judgement as Judgement
from lmms_aes_tasks.utils.judgements import left_share as left_share
from lmms_aes_tasks.utils.judgements import methods_of as methods_of
from lmms_aes_tasks.utils.judgements import pair_agreement as pair_agreement
from lmms_aes_tasks.utils.judgements import to_games as to_games
from lmms_aes_tasks.utils.rank_correlation import Rho, positions, spearman
from lmms_aes_tasks.utils.ranking import (
    Games,
    bradley_terry,
    bradley_terry_official,
    bradley_terry_with_prior,
    elo_ratings,
    feedback_arc_ratio,
    win_matrix,
)

Protocol = Literal["official", "aligned"]
PROTOCOLS: tuple[str, ...] = get_args(Protocol)
COMBINATIONS = ("fisher", "pearson")

SPLIT_SEED = 8
"""Seed of NumPy's legacy generator in the authors' script."""
OFFICIAL_ROWS = 1_000
"""Rows of each file that the authors' script reads."""
MIN_GAMES = 15
MAX_FEEDBACK = 0.15
"""A content–style task with fewer judgements, or a larger share of feedback arcs, is dropped (section 4.2)."""

PRIOR = 0.5
"""Weight of the aligned prior at the task level: half a win and half a loss a method, the usual pseudo-count; ours."""

Floats = npt.NDArray[np.float64]


# -- Correlation ------------------------------------------------------------------------------------------------------


Ratings = Mapping[str, tuple[float | None, ...] | None]


@dataclass(frozen=True)
class Agreement:
    """Correlation of one ranking with another.

    Attributes:
        elo_rho: Spearman's ρ of the Elo rankings; None where it is not defined.
        elo_p: Its two-sided p-value.
        bt_rho: The same of the Bradley–Terry rankings.
        bt_p: Its p-value.
        problems: Why a value is None, by `elo`, `bt` or `bt_plain`.
        label: Which split, or which content–style task, this is.
        n: Judgements of the model that went in.
        ratings: `human_elo`, `model_elo`, `human_bt`, `model_bt`, each over the methods in alphabetical order; None
            where a side has none, or a method did not take part (aligned).
        bt_plain_rho: At the task level under `aligned`, ρ of the fits without a prior, where both exist.
        bt_plain_p: Its p-value.
    """

    elo_rho: float | None
    elo_p: float | None
    bt_rho: float | None
    bt_p: float | None
    problems: Mapping[str, str] = field(default_factory=dict)
    label: tuple[int, ...] = ()
    n: int = 0
    ratings: Ratings = field(default_factory=dict)
    bt_plain_rho: float | None = None
    bt_plain_p: float | None = None


def _agreement(
    elo: Rho, bt: Rho, label: tuple[int, ...], n: int, ratings: Ratings, plain: Rho | None = None
) -> Agreement:
    values = {"elo": elo, "bt": bt} | ({} if plain is None else {"bt_plain": plain})
    problems = {name: reason for name, (_, _, reason) in values.items() if reason}
    beside = (None, None) if plain is None else plain[:2]
    return Agreement(elo[0], elo[1], bt[0], bt[1], problems, label, n, ratings, *beside)


def official_agreement(human: Games, model: Games, k: int, label: tuple[int, ...] = ()) -> Agreement:
    """Elo and Bradley–Terry agreement of two sets of games among k methods, as the authors' script has it."""
    sides = {"human": human, "model": model}
    empty = [side for side, own in sides.items() if len(own.winner) == 0]
    if empty:
        nothing: Rho = (None, None, f"no decided judgement of the {' and '.join(empty)}")
        return _agreement(nothing, nothing, label, len(model), {})
    elo = {side: elo_ratings(own, k) for side, own in sides.items()}
    bt = {side: bradley_terry_official(win_matrix(own, k)) for side, own in sides.items()}
    return _agreement(
        spearman(positions(elo["human"]), positions(elo["model"])),
        spearman(positions(bt["human"]), positions(bt["model"])),
        label,
        len(model),
        {f"{side}_elo": tuple(elo[side].tolist()) for side in sides}
        | {f"{side}_bt": tuple(bt[side].tolist()) for side in sides},
    )


def _aligned_spearman(one: Floats, two: Floats) -> Rho:
    """ρ of ranks shared by ties; no p-value at |ρ| = 1, where the t approximation has 0 however few the methods."""
    rho, p, reason = spearman(one, two)
    return rho, None if rho is None or abs(rho) == 1 else p, reason


def _of_those(values: Floats, took_part: npt.NDArray[np.int64]) -> tuple[float | None, ...]:
    """Values by method, None for those that did not take part."""
    known = set(took_part.tolist())
    return tuple(value if method in known else None for method, value in enumerate(values.tolist()))


def aligned_agreement(
    human: Games, model: Games, k: int, label: tuple[int, ...] = (), prior: float | None = None
) -> Agreement:
    """The same soundly: over methods that took part, ties sharing ranks, Bradley–Terry only where it is estimable.

    With a `prior` it always is (`bradley_terry_with_prior`), and the fit without one stands beside where it exists.
    """
    took_part = np.union1d(human.winner, human.loser)
    if len(took_part) == 0:
        nothing: Rho = (None, None, "no pair that both decided")
        return _agreement(nothing, nothing, label, 0, {}, None if prior is None else nothing)
    sides = {"human": human, "model": model}
    elo = {side: elo_ratings(own, k) for side, own in sides.items()}
    wins = {side: win_matrix(own, k) for side, own in sides.items()}
    fits = {side: bradley_terry(own) for side, own in wins.items()}
    thetas = {side: fit.theta for side, fit in fits.items() if fit.theta is not None}
    plain: Rho = (None, None, "; ".join(f"{side}: {fit.problem}" for side, fit in fits.items() if fit.problem))
    if len(thetas) == len(sides):
        plain = _aligned_spearman(thetas["human"][took_part], thetas["model"][took_part])
    bt = plain
    if prior is not None:
        thetas = {side: bradley_terry_with_prior(own, prior) for side, own in wins.items()}
        bt = _aligned_spearman(thetas["human"][took_part], thetas["model"][took_part])
    ratings: dict[str, tuple[float | None, ...] | None] = {
        f"{side}_elo": _of_those(own, took_part) for side, own in elo.items()
    }
    for side in sides:
        ratings[f"{side}_bt"] = None if side not in thetas else _of_those(thetas[side], took_part)
    own = _aligned_spearman(elo["human"][took_part], elo["model"][took_part])
    return _agreement(own, bt, label, len(human), ratings, None if prior is None else plain)


def combine_p(values: Sequence[float | None], method: str = "fisher") -> float | None:
    """Combined p-value of independent tests (Fisher's or Pearson's method, by SciPy); None without any.

    Raises:
        ValueError: The method is neither.
    """
    from scipy import stats

    if method not in COMBINATIONS:
        raise ValueError(f"combine is {method!r}: use one of {', '.join(COMBINATIONS)}")
    found = [value for value in values if value is not None]
    if not found:
        return None
    with np.errstate(divide="ignore"):  # the logarithm of a p-value of 0, which the official protocol may have
        combined = float(stats.combine_pvalues(found, method).pvalue)
    return combined if np.isfinite(combined) else None


def mean_of(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are defined; None when none is."""
    found = [value for value in values if value is not None]
    return math.fsum(found) / len(found) if found else None


@dataclass(frozen=True)
class Alignment:
    """Agreement over splits (artist level) or content–style tasks (task level).

    Attributes:
        elo_rho: Mean of the parts that have a value.
        elo_p: Combined p-value of the parts.
        bt_rho: The same for Bradley–Terry.
        bt_p: Its combined p-value.
        parts: Each split, or each task.
        dropped: Human judgements left out before (task level).
        dropped_tasks: Tasks left out, by the reason (task level).
        bt_plain_rho: Mean over the tasks whose fits exist without a prior (task level, `aligned`).
    """

    elo_rho: float | None
    elo_p: float | None
    bt_rho: float | None
    bt_p: float | None
    parts: tuple[Agreement, ...]
    dropped: int = 0
    dropped_tasks: Mapping[str, int] = field(default_factory=dict)
    bt_plain_rho: float | None = None

    def missing(self, name: str) -> int:
        """Parts without a value for `elo`, `bt` or `bt_plain`."""
        return sum(name in part.problems for part in self.parts)


def _alignment(
    parts: Sequence[Agreement], combine: str, dropped: int = 0, dropped_tasks: Mapping[str, int] | None = None
) -> Alignment:
    return Alignment(
        mean_of([part.elo_rho for part in parts]),
        combine_p([part.elo_p for part in parts], combine),
        mean_of([part.bt_rho for part in parts]),
        combine_p([part.bt_p for part in parts], combine),
        tuple(parts),
        dropped,
        dropped_tasks or {},
        mean_of([part.bt_plain_rho for part in parts]),
    )


# -- Rows that go in --------------------------------------------------------------------------------------------------


def _in_order(judgements: Sequence[Judgement]) -> list[Judgement]:
    return sorted(judgements, key=lambda judgement: judgement.id)


def official_rows(judgements: Sequence[Judgement], before: int = OFFICIAL_ROWS) -> list[Judgement]:
    """The authors' frame: rows with an empty winner dropped, skipped ones kept, the first `before` of what is left."""
    return [judgement for judgement in _in_order(judgements) if judgement.winner != ""][:before]


def joint_rows(
    human: Sequence[Judgement], model: Sequence[Judgement], before: int | None = None
) -> tuple[list[Judgement], list[Judgement]]:
    """Pairs that both sides decided, joined by id, in question order; the first `before` of them."""
    decided = {judgement.id: judgement for judgement in model if judgement.winner in OUTCOMES}
    shared = [j for j in _in_order(human) if j.winner in OUTCOMES and j.id in decided][:before]
    return shared, [decided[judgement.id] for judgement in shared]


# -- Artist level -----------------------------------------------------------------------------------------------------


def artist_alignment(
    human: Sequence[Judgement],
    model: Sequence[Judgement],
    protocol: Protocol,
    before: int | None = None,
    splits: int = 5,
    combine: str = "fisher",
) -> Alignment:
    """Per-artist agreement: ρ of the methods' rankings, averaged over random splits (section 4.1).

    Args:
        human: The experts' judgements of the globally sampled pairs.
        model: The model's, of the same pairs.
        protocol: `official`: each side's own first 1,000 rows; positions shuffled by NumPy's legacy generator seeded 8,
            split i taking every `splits`-th from i on, in that order. `aligned`: pairs that both decided, dealt into
            splits by the same shuffle, in question order within each.
        before: Rows that go in; 1,000 for `official` and all for `aligned` when None.
        splits: Number of splits.
        combine: How p-values are combined.

    Raises:
        ValueError: A parameter is not allowed, or the two sides hold other methods.
    """
    _check(protocol, splits, before)
    methods = _same_methods(human, model)
    if protocol == "official":
        rows = [official_rows(side, OFFICIAL_ROWS if before is None else before) for side in (human, model)]
        agreement: Callable[..., Agreement] = official_agreement
    else:
        rows = list(joint_rows(human, model, before))
        agreement = aligned_agreement
    sides = [to_games(side, methods) for side in rows]
    order = np.arange(len(sides[1]))
    np.random.RandomState(SPLIT_SEED).shuffle(order)
    parts = []
    for split in range(splits):
        own = order[split::splits]
        own = np.sort(own) if protocol == "aligned" else own
        human_own = own[own < len(sides[0])]  # the official frames may differ in length
        parts.append(agreement(sides[0].take(human_own), sides[1].take(own), len(methods), (split,)))
    return _alignment(parts, combine)


# -- Task level -------------------------------------------------------------------------------------------------------

ContentStyle = tuple[int, int]


def by_task(judgements: Sequence[Judgement]) -> dict[ContentStyle, list[Judgement]]:
    """Judgements by (content, style), each in question order."""
    found: dict[ContentStyle, list[Judgement]] = {}
    for judgement in _in_order(judgements):
        found.setdefault((judgement.content, judgement.style), []).append(judgement)
    return found


def consistent_tasks(
    human: Sequence[Judgement], methods: Sequence[str], least: int = MIN_GAMES, most: float = MAX_FEEDBACK
) -> tuple[dict[ContentStyle, list[Judgement]], dict[str, int]]:
    """Tasks with enough decided judgements and few feedback arcs, without their skipped rows (section 4.2).

    Returns:
        The tasks that are kept, and the number of the others by `few_judgements` and `feedback_arcs`.
    """
    decided = [judgement for judgement in human if judgement.winner in OUTCOMES]
    kept = {}
    dropped = {"few_judgements": len(by_task(human)) - len(by_task(decided)), "feedback_arcs": 0}
    for task, own in by_task(decided).items():
        ratio = feedback_arc_ratio(to_games(own, methods))
        if len(own) < least:
            dropped["few_judgements"] += 1
        elif ratio is None or ratio > most:
            dropped["feedback_arcs"] += 1
        else:
            kept[task] = own
    return kept, dropped


def task_alignment(
    human: Sequence[Judgement],
    model: Sequence[Judgement],
    protocol: Protocol,
    before: int | None = None,
    combine: str = "fisher",
    prior: float = PRIOR,
) -> Alignment:
    """Per-task agreement: one ρ for each content–style task, averaged (section 4.1).

    Args:
        human: The experts' judgements of the pairs sampled per instance.
        model: The model's, of the same pairs.
        protocol: `official`: each side's own first 1,000 rows, the model's not filtered by the human's. `aligned`:
            pairs that both decided.
        before: Rows that go in; 1,000 for `official` and all for `aligned` when None.
        combine: How p-values are combined.
        prior: Weight of the prior of Bradley–Terry under `aligned`, without which most tasks have no finite fit.

    Raises:
        ValueError: A parameter is not allowed, or the two sides hold other methods.
    """
    _check(protocol, 1, before)
    methods = _same_methods(human, model)
    if protocol == "official":
        humans, models = (official_rows(side, OFFICIAL_ROWS if before is None else before) for side in (human, model))
        agreement: Callable[..., Agreement] = official_agreement
    else:
        humans, models = joint_rows(human, model, before)
        agreement = functools.partial(aligned_agreement, prior=prior)
    kept, dropped = consistent_tasks(humans, methods)
    answers = by_task(models)
    parts = [
        agreement(to_games(kept[task], methods), to_games(answers.get(task, []), methods), len(methods), task)
        for task in sorted(kept)
    ]
    return _alignment(parts, combine, len(humans) - sum(map(len, kept.values())), dropped)


def _check(protocol: str, splits: int, before: int | None) -> None:
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol is {protocol!r}: use one of {', '.join(PROTOCOLS)}")
    if splits < 1:
        raise ValueError(f"splits is {splits}: use at least 1")
    if before is not None and before < 1:
        raise ValueError(f"before is {before}: use at least 1, or leave it out")


def _same_methods(human: Sequence[Judgement], model: Sequence[Judgement]) -> list[str]:
    methods = methods_of(human)
    others = sorted(set(methods_of(model)) - set(methods))
    if others:
        raise ValueError(f"unknown method {', '.join(others)}: the human file has {', '.join(methods)}")
    return methods
