"""Ratings of critiques by people and by an MLLM judge, and how far they agree (AesCanvas, S2.2.3, S14 to S16)."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lmms_aes_tasks.utils.significance import DEFAULT_RESAMPLES, Interval
from lmms_aes_tasks.utils.sums import ratio, score_of_sums

CRITERIA = ("visual_grounding", "aesthetic_specificity", "criterion_appropriateness", "analytical_usefulness")
"""The four criteria, binary for people, 1 to 5 for the judge."""
OVERALL = "overall_quality"
"""The judge's fifth, holistic score, which is the reported one (S16)."""
SCALE = (1, 2, 3, 4, 5)
"""Values of H and of every score of the judge."""

Critique = tuple[str, str]
"""A critique is known by its case and its model."""


@dataclass(frozen=True)
class Rating:
    """One evaluator's judgement of one critique.

    Attributes:
        id: The case.
        model: Whose critique.
        evaluator: Who judged.
        criteria: 0 or 1 for each of `CRITERIA`, in that order; 0 is weak in comparison within the case, not absent.
    """

    id: str
    model: str
    evaluator: str
    criteria: tuple[int, int, int, int]

    @property
    def critique(self) -> Critique:
        """What is judged."""
        return self.id, self.model

    @property
    def h(self) -> int:
        """H = 1 + the number of criteria met, 1 to 5 (S14).

        >>> Rating("a", "m", "e", (1, 0, 1, 1)).h
        4
        """
        return 1 + sum(self.criteria)


@dataclass(frozen=True)
class Statistic:
    """A figure that may be undefined.

    Attributes:
        value: The figure; None where it is not defined.
        n: Items in it.
        reason: Why it is not defined; None where it is.
    """

    value: float | None
    n: int
    reason: str | None = None


# -- Scores -----------------------------------------------------------------------------------------------------------


def mean_by_case(
    values: Sequence[tuple[str, float]], resamples: int = DEFAULT_RESAMPLES, seed: int = 0
) -> tuple[float, Interval | None]:
    """Mean of all values, and its 95% percentile bootstrap interval over cases (a case's values stay together).

    Args:
        values: Case and value, at least one; a case may have several.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.

    Returns:
        The mean, and its interval; None with a single case.

    Raises:
        ValueError: There is no value.
    """
    by_case: dict[str, list[float]] = collections.defaultdict(list)
    for case_id, value in values:
        by_case[case_id].append(value)
    items = np.array([[sum(by_case[case_id]), len(by_case[case_id])] for case_id in sorted(by_case)], np.float64)
    score = score_of_sums(items, ratio, resamples, seed)
    if score.value is None:
        raise ValueError("no values: give at least one")
    return score.value, score.interval


@dataclass(frozen=True)
class HumanScore:
    """How people rate one model's critiques.

    Attributes:
        score: HumanScore, 1 to 5 (S15).
        interval: 95% bootstrap interval over cases; None with a single case.
        criteria: Share of ratings in which each criterion is met.
        cases: Cases, and so critiques, rated.
        ratings: Ratings of them.
        least_evaluators: Fewest evaluators of a critique.
        most_evaluators: Most evaluators of a critique.
    """

    score: float
    interval: Interval | None
    criteria: Mapping[str, float]
    cases: int
    ratings: int
    least_evaluators: int
    most_evaluators: int


def human_scores(ratings: Sequence[Rating], resamples: int = DEFAULT_RESAMPLES, seed: int = 0) -> dict[str, HumanScore]:
    """HumanScore by model: the mean of H over critiques and evaluators (S15).

    The paper has two evaluators of every critique. Any number is taken; where it differs between critiques, every
    rating counts once (our reading).
    """
    found = {}
    for model in sorted({rating.model for rating in ratings}):
        own = [rating for rating in ratings if rating.model == model]
        evaluators = collections.Counter(rating.id for rating in own).values()
        score, interval = mean_by_case([(rating.id, rating.h) for rating in own], resamples, seed)
        found[model] = HumanScore(
            score=score,
            interval=interval,
            criteria={
                name: sum(rating.criteria[place] for rating in own) / len(own) for place, name in enumerate(CRITERIA)
            },
            cases=len(evaluators),
            ratings=len(own),
            least_evaluators=min(evaluators),
            most_evaluators=max(evaluators),
        )
    return found


@dataclass(frozen=True)
class JudgeScore:
    """How an MLLM judge rates one model's critiques.

    Attributes:
        score: MLLMScore, the mean of `overall_quality`, 1 to 5 (S16).
        interval: 95% bootstrap interval over cases; None with a single case.
        criteria: Mean of each criterion, 1 to 5.
        n: Cases with a verdict.
    """

    score: float
    interval: Interval | None
    criteria: Mapping[str, float]
    n: int


def judge_scores(
    verdicts: Mapping[str, Mapping[str, Mapping[str, int]]], resamples: int = DEFAULT_RESAMPLES, seed: int = 0
) -> dict[str, JudgeScore]:
    """MLLMScore by model (S16).

    Args:
        verdicts: By case and model, the four criteria and `overall_quality`.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.
    """
    found = {}
    for model in sorted({model for verdict in verdicts.values() for model in verdict}):
        own = {case_id: verdict[model] for case_id, verdict in verdicts.items() if model in verdict}
        overall = [(case_id, float(scores[OVERALL])) for case_id, scores in own.items()]
        score, interval = mean_by_case(overall, resamples, seed)
        criteria = {name: float(np.mean([scores[name] for scores in own.values()])) for name in CRITERIA}
        found[model] = JudgeScore(score, interval, criteria, len(own))
    return found


# -- Agreement --------------------------------------------------------------------------------------------------------


def kappa(one: Sequence[int], two: Sequence[int], labels: Sequence[int], quadratic: bool = False) -> Statistic:
    """Cohen's kappa of two raters (Cohen 1960, and 1968 with quadratic weights), by scikit-learn.

    The weights are those of the whole scale: a value that nobody gave still has its place on it.

    Args:
        one: One rater's values.
        two: The other's, of the same items in the same order.
        labels: All values of the scale, in order.
        quadratic: Whether disagreements weigh by their squared distance.

    Raises:
        ValueError: The lengths differ, or a value is not on the scale.

    >>> kappa([0, 0, 1, 1], [0, 1, 1, 1], (0, 1))
    Statistic(value=0.5, n=4, reason=None)
    """
    if len(one) != len(two):
        raise ValueError(f"{len(one)} and {len(two)} values: give one of each rater for every item")
    strange = sorted((set(one) | set(two)) - set(labels))
    if strange:
        raise ValueError(f"value {strange[0]!r} is not on the scale: use {', '.join(map(str, labels))}")
    if not one:
        return Statistic(None, 0, "no item rated by both")
    if len(set(one) | set(two)) == 1:
        return Statistic(None, len(one), f"both gave {one[0]} to every item")
    from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]

    weights = "quadratic" if quadratic else None
    return Statistic(float(cohen_kappa_score(one, two, labels=list(labels), weights=weights)), len(one))


def _rank_correlation(one: Sequence[float], two: Sequence[float], function: str) -> Statistic:
    if len(one) != len(two):
        raise ValueError(f"{len(one)} and {len(two)} values: give one of each side for every item")
    if len(one) < 2:
        return Statistic(None, len(one), f"{len(one)} item(s); 2 are needed")
    if len(set(one)) == 1 or len(set(two)) == 1:
        return Statistic(None, len(one), "one side gives the same value to every item")
    from scipy import stats

    return Statistic(float(getattr(stats, function)(one, two).statistic), len(one))


def spearman(one: Sequence[float], two: Sequence[float]) -> Statistic:
    """Spearman's rho; ties share their mean rank.

    Raises:
        ValueError: The lengths differ.
    """
    return _rank_correlation(one, two, "spearmanr")


def kendall(one: Sequence[float], two: Sequence[float]) -> Statistic:
    """Kendall's tau-b.

    Raises:
        ValueError: The lengths differ.
    """
    return _rank_correlation(one, two, "kendalltau")


@dataclass(frozen=True)
class EvaluatorPair:
    """How far two evaluators agree.

    Attributes:
        evaluators: Their names.
        quadratic_kappa: Quadratic weighted kappa of H.
        criteria: Cohen's kappa of each criterion.
        n: Critiques that both rated.
    """

    evaluators: tuple[str, str]
    quadratic_kappa: Statistic
    criteria: Mapping[str, Statistic]
    n: int


def evaluator_agreement(ratings: Sequence[Rating]) -> list[EvaluatorPair]:
    """Agreement of each pair of evaluators, over the critiques that both rated.

    Args:
        ratings: At most one of each evaluator for a critique.
    """
    by_evaluator: dict[str, dict[Critique, Rating]] = collections.defaultdict(dict)
    for rating in ratings:
        by_evaluator[rating.evaluator][rating.critique] = rating
    pairs = []
    for first, second in itertools.combinations(sorted(by_evaluator), 2):
        shared = sorted(by_evaluator[first].keys() & by_evaluator[second].keys())
        one = [by_evaluator[first][critique] for critique in shared]
        two = [by_evaluator[second][critique] for critique in shared]
        criteria = {
            name: kappa([own.criteria[place] for own in one], [own.criteria[place] for own in two], (0, 1))
            for place, name in enumerate(CRITERIA)
        }
        weighted = kappa([own.h for own in one], [own.h for own in two], SCALE, quadratic=True)
        pairs.append(EvaluatorPair((first, second), weighted, criteria, len(shared)))
    return pairs


def ranks(scores: Mapping[str, float]) -> dict[str, float]:
    """Rank by name, 1 for the highest; ties share their mean rank."""
    from scipy import stats

    values = stats.rankdata([-score for score in scores.values()])
    return dict(zip(scores, map(float, values), strict=True))


@dataclass(frozen=True)
class JudgedModel:
    """One model in the eyes of both sides, over the critiques that both rated.

    Attributes:
        human: Mean over critiques of the evaluators' mean H.
        judge: Mean of `overall_quality`.
        human_rank: Its rank by people, 1 for the best.
        judge_rank: Its rank by the judge.
        n: Critiques.
    """

    human: float
    judge: float
    human_rank: float
    judge_rank: float
    n: int


@dataclass(frozen=True)
class JudgeAgreement:
    """How far an MLLM judge agrees with people, over the critiques that both rated.

    Attributes:
        models: Scores and ranks by model.
        spearman: Spearman's rho of the models' mean scores.
        kendall: Kendall's tau-b of the same.
        item_spearman: Spearman's rho of mean H and `overall_quality`, over critiques.
        quadratic_kappa: Quadratic weighted kappa of `overall_quality` and each evaluator's H.
        mean_quadratic_kappa: Mean of those that are defined; its n counts evaluators.
        n: Critiques that both rated.
        only_human: Critiques that only people rated.
        only_judge: Critiques that only the judge rated.
    """

    models: Mapping[str, JudgedModel]
    spearman: Statistic
    kendall: Statistic
    item_spearman: Statistic
    quadratic_kappa: Mapping[str, Statistic]
    mean_quadratic_kappa: Statistic
    n: int
    only_human: int
    only_judge: int


def _mean_statistic(found: Sequence[Statistic]) -> Statistic:
    values = [one.value for one in found if one.value is not None]
    if not values:
        return Statistic(None, 0, "defined for no evaluator")
    return Statistic(float(np.mean(values)), len(values))


def judge_agreement(ratings: Sequence[Rating], overall: Mapping[Critique, int]) -> JudgeAgreement:
    """Agreement of people and the judge (the statistics are our choice; the paper compares the two columns by eye).

    Args:
        ratings: People's ratings.
        overall: The judge's `overall_quality`, 1 to 5, by critique.
    """
    h: dict[Critique, list[int]] = collections.defaultdict(list)
    for rating in ratings:
        h[rating.critique].append(rating.h)
    joined = sorted(h.keys() & overall.keys())
    mean_h = {critique: Fraction(sum(h[critique]), len(h[critique])) for critique in joined}  # exact, so that ties tie
    models = sorted({model for _, model in joined})
    own = {model: [critique for critique in joined if critique[1] == model] for model in models}
    human = {model: float(sum(mean_h[critique] for critique in own[model]) / len(own[model])) for model in models}
    judge = {model: sum(overall[critique] for critique in own[model]) / len(own[model]) for model in models}
    human_ranks, judge_ranks = ranks(human), ranks(judge)
    kappas = {}
    for evaluator in sorted({rating.evaluator for rating in ratings}):
        shared = [rating for rating in ratings if rating.evaluator == evaluator and rating.critique in overall]
        kappas[evaluator] = kappa(
            [rating.h for rating in shared], [overall[rating.critique] for rating in shared], SCALE, quadratic=True
        )
    by_human, by_judge = [human[model] for model in models], [judge[model] for model in models]
    return JudgeAgreement(
        models={
            model: JudgedModel(human[model], judge[model], human_ranks[model], judge_ranks[model], len(own[model]))
            for model in models
        },
        spearman=spearman(by_human, by_judge),
        kendall=kendall(by_human, by_judge),
        item_spearman=spearman([float(mean_h[c]) for c in joined], [float(overall[c]) for c in joined]),
        quadratic_kappa=kappas,
        mean_quadratic_kappa=_mean_statistic(list(kappas.values())),
        n=len(joined),
        only_human=len(h.keys() - overall.keys()),
        only_judge=len(overall.keys() - h.keys()),
    )
