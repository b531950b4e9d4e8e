"""Scores of closed-form suitability decisions (ContextCanvas): accuracy, class F1, Macro-F1, Yes rate, parse rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_aes_tasks.utils.reply_facts import PLAIN_REPLY, ReplyFacts
from lmms_aes_tasks.utils.sums import Floats, Statistic, SumScore, ratio, score_of_sums

SUITABILITY_METRICS = ("accuracy", "macro_f1", "yes_rate", "yes_f1", "no_f1", "parse_rate")
"""Metric names in the order of the paper's tables."""
Score = SumScore
"""A metric's score; its value is in [0, 1], and its n counts the cases that enter it."""


@dataclass(frozen=True)
class Decision:
    """One case's decision beside its gold label.

    Attributes:
        id: Evaluation id of the case.
        answer: Option id that was read, or None.
        gold: Option id that is right.
        options: Option ids of the case in their order; two-option cases enter F1 and the Yes rate.
        reply: Facts of the reply; one whose request failed has no answer.
    """

    id: str
    answer: str | None
    gold: str
    options: tuple[str, ...]
    reply: ReplyFacts = PLAIN_REPLY

    def __str__(self) -> str:
        return self.id

    @property
    def correct(self) -> bool:
        """Whether the answer was read and is the gold label."""
        return self.answer == self.gold


def _class_counts(decision: Decision, option: str) -> list[bool]:
    """What a two-option case adds to the F1 of an option's class: right with it, answered with it, labelled with it."""
    answered, labelled = decision.answer == option, decision.gold == option
    return [answered and labelled, answered, labelled]


def _f1(sums: Floats) -> Floats:
    """2·TP / (answered + labelled) of three sums; 0 where both are 0 (S18)."""
    return np.asarray(2 * sums[..., 0] / np.maximum(sums[..., 1] + sums[..., 2], 1), dtype=np.float64)


def _macro_f1(sums: Floats) -> Floats:
    return (_f1(sums[..., :3]) + _f1(sums[..., 3:])) / 2


@dataclass(frozen=True)
class _Metric:
    """What a case adds to a metric, and the statistic of these sums."""

    adds: Callable[[Decision], list[bool]]
    statistic: Statistic = ratio
    two_option: bool = False


_METRICS: Mapping[str, _Metric] = {
    "accuracy": _Metric(lambda case: [case.correct, True]),
    "macro_f1": _Metric(
        lambda case: _class_counts(case, case.options[0]) + _class_counts(case, case.options[1]), _macro_f1, True
    ),
    "yes_rate": _Metric(lambda case: [case.answer == case.options[0], True], two_option=True),
    "yes_f1": _Metric(lambda case: _class_counts(case, case.options[0]), _f1, True),
    "no_f1": _Metric(lambda case: _class_counts(case, case.options[1]), _f1, True),
    "parse_rate": _Metric(lambda case: [case.answer is not None, True]),
}


def suitability_score(decisions: Sequence[Decision], metric: str, resamples: int = 0, seed: int = 0) -> Score:
    """One metric of a set of decisions (AesCanvas, equations S17 to S19).

    Accuracy and parse rate are over all cases. F1 and the Yes rate are over the two-option cases, the first option
    being the paper's class A (Yes, target-aligned) and the second its class B; a case whose answer was not read stays
    in every denominator. Macro-F1 is the mean of the two F1.

    Args:
        decisions: In any order; the value does not depend on it.
        metric: One of `SUITABILITY_METRICS`.
        resamples: Bootstrap resamples of the interval; 0 for none.
        seed: Seed of the resampling.

    Returns:
        The score; its value is None when no case enters the metric.

    Raises:
        ValueError: The metric is unknown.
    """
    if metric not in _METRICS:
        raise ValueError(f"unknown metric {metric!r}: use one of {', '.join(SUITABILITY_METRICS)}")
    found = _METRICS[metric]
    ordered = sorted(decisions, key=lambda decision: decision.id)
    entering = [case for case in ordered if len(case.options) == 2 or not found.two_option]
    items = np.array([found.adds(case) for case in entering], dtype=np.float64)
    return score_of_sums(items, found.statistic, resamples, seed)


def suitability_scores(decisions: Sequence[Decision], resamples: int = 0, seed: int = 0) -> dict[str, Score]:
    """Every metric of `SUITABILITY_METRICS`; see `suitability_score`."""
    return {metric: suitability_score(decisions, metric, resamples, seed) for metric in SUITABILITY_METRICS}
