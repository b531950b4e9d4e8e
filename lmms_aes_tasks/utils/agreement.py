"""Agreement of annotators, by scores and by direct comparison (Visual Aesthetic Benchmark, section 2)."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_aes_tasks.utils.significance import Interval, mcnemar_exact, wilson_interval


@dataclass(frozen=True)
class Vote:
    """One annotator's judgement of one set.

    Attributes:
        task_id: The set.
        annotator: Who.
        scores: Score by label, higher is better.
        best: Label chosen as best in direct comparison.
        worst: Label chosen as worst; None for sets of two.
        ranking: Labels from best to worst, when a whole ranking was given; else None.
    """

    task_id: str
    annotator: str
    scores: Mapping[str, float]
    best: str
    worst: str | None = None
    ranking: tuple[str, ...] | None = None


def _top(scores: Mapping[str, float], sign: int = 1) -> str | None:
    """The label with the highest (or, with -1, lowest) score; None when it is shared."""
    extreme = max(sign * value for value in scores.values())
    labels = [label for label, value in scores.items() if sign * value == extreme]
    return labels[0] if len(labels) == 1 else None


def _places(vote: Vote) -> dict[str, int]:
    """Place of each label in direct comparison: of a whole ranking, else best, the rest, worst."""
    if vote.ranking is not None:
        return {label: place for place, label in enumerate(vote.ranking)}
    worst = vote.worst
    if worst is None and len(vote.scores) == 2:
        worst = next(label for label in vote.scores if label != vote.best)
    return {label: 0 if label == vote.best else 2 if label == worst else 1 for label in vote.scores}


def kendall_tau(vote: Vote) -> float:
    """Tau = (C - D) / (n choose 2) between an annotator's scores and the same annotator's direct comparison.

    A pair that either side ties is neither concordant nor discordant (tau-a). Where only the best and the worst were
    named, the images between are tied: our reading.
    """
    places = _places(vote)
    total = 0
    for one, two in itertools.combinations(vote.scores, 2):
        by_score = np.sign(vote.scores[one] - vote.scores[two])
        by_place = np.sign(places[two] - places[one])
        total += int(by_score * by_place)
    return total / math.comb(len(vote.scores), 2)


def is_self_consistent(vote: Vote) -> bool:
    """Whether the image scored highest, alone, is the one chosen as best."""
    return _top(vote.scores) == vote.best


def _majority(choices: Sequence[str | None], needed: int) -> bool:
    counts = collections.Counter(choice for choice in choices if choice is not None)
    return bool(counts) and max(counts.values()) >= needed


def entropy(choices: Sequence[str]) -> float:
    """H = -Σ p log2 p of the shares of choices, in bits; 0 when all agree."""
    shares = [count / len(choices) for count in collections.Counter(choices).values()]
    # the exact sum: the order in which the choices came must not part two entropies that are equal
    return abs(math.fsum(share * math.log2(share) for share in shares))


@dataclass(frozen=True)
class MajorityRow:
    """Reproducibility of one kind of label under both protocols.

    Attributes:
        scoring: Share of tasks where a majority agrees by scores.
        ranking: The same by direct comparison.
        only_scoring: Tasks reproducible by scores alone.
        only_ranking: Tasks reproducible by comparison alone.
        p: Exact two-sided McNemar test.
        n: Tasks.
    """

    scoring: float
    ranking: float
    only_scoring: int
    only_ranking: int
    p: float
    n: int


def _needed(task_id: str, votes: int, majority: int | None) -> int:
    """Votes that make a majority of a task: more than half, or the number that was asked for."""
    least = votes // 2 + 1
    if majority is not None and not least <= majority <= votes:
        raise ValueError(
            f"a majority of {majority} for task {task_id!r}, which has {votes} votes: use {least} to {votes}"
        )
    return least if majority is None else majority


def majority_rows(tasks: Mapping[str, Sequence[Vote]], majority: int | None = None) -> dict[str, MajorityRow]:
    """Majority accuracies for best, worst, and both (Table 2).

    Args:
        tasks: Votes by task.
        majority: Votes that make a majority; more than half of a task's votes (5 of 8) when None.

    Raises:
        ValueError: The number is no majority of a task's votes, or more than all of them.
    """
    outcomes: dict[str, list[tuple[bool, bool]]] = {"best": [], "worst": [], "best_and_worst": []}
    for task_id, votes in tasks.items():
        needed = _needed(task_id, len(votes), majority)
        scored = (
            _majority([_top(v.scores) for v in votes], needed),
            _majority([_top(v.scores, -1) for v in votes], needed),
        )
        places = [_places(vote) for vote in votes]
        last = [max(own, key=lambda label, own=own: own[label]) for own in places]  # type: ignore[misc]
        ranked = _majority([v.best for v in votes], needed), _majority(last, needed)
        outcomes["best"].append((scored[0], ranked[0]))
        outcomes["worst"].append((scored[1], ranked[1]))
        outcomes["best_and_worst"].append((all(scored), all(ranked)))
    rows = {}
    for name, pairs in outcomes.items():
        only_scoring = sum(s and not r for s, r in pairs)
        only_ranking = sum(r and not s for s, r in pairs)
        rows[name] = MajorityRow(
            scoring=sum(s for s, _ in pairs) / len(pairs),
            ranking=sum(r for _, r in pairs) / len(pairs),
            only_scoring=only_scoring,
            only_ranking=only_ranking,
            p=mcnemar_exact(only_scoring, only_ranking),
            n=len(pairs),
        )
    return rows


@dataclass(frozen=True)
class Concentration:
    """How far annotators agree on the best image under one protocol (Table 3).

    Attributes:
        entropy: Mean entropy over tasks, in bits.
        entropy_interval: Its 95% interval by normal approximation; None for a single task.
        unanimous: Share of tasks in which all agree.
        unanimous_interval: Its Wilson interval.
    """

    entropy: float
    entropy_interval: Interval | None
    unanimous: float
    unanimous_interval: Interval


def concentration(entropies: Sequence[float]) -> Concentration:
    """Mean entropy and share of unanimous tasks."""
    values = np.asarray(entropies, dtype=np.float64)
    mean = float(values.mean())
    interval = None
    if len(values) > 1:
        half = 1.959963984540054 * float(values.std(ddof=1)) / math.sqrt(len(values))
        interval = Interval(mean - half, mean + half)
    agreed = int(np.sum(values == 0))
    return Concentration(mean, interval, agreed / len(values), wilson_interval(agreed, len(values)))


@dataclass(frozen=True)
class AnnotationStudy:
    """Section 2 of the paper over one set of votes.

    Attributes:
        tasks: Number of sets.
        votes: Number of judgements.
        kendall_tau: Mean over judgements (Table 1).
        self_consistency: Share of judgements whose top score is the chosen best (Table 1).
        majority: Reproducibility by kind of label (Table 2).
        scoring: Concentration of the best image by scores (Table 3).
        ranking: The same by direct comparison.
        wilcoxon_p: Signed-rank test of the paired entropies; None when they are all equal.
        tied_tops: Judgements whose highest score is shared: they name no best by score, and are left out of entropies.
    """

    tasks: int
    votes: int
    kendall_tau: float
    self_consistency: float
    majority: Mapping[str, MajorityRow]
    scoring: Concentration
    ranking: Concentration
    wilcoxon_p: float | None
    tied_tops: int


def annotation_study(votes: Sequence[Vote], majority: int | None = None) -> AnnotationStudy:
    """All figures of section 2.

    Args:
        votes: At least one.
        majority: Votes that make a majority; more than half of a task's votes (5 of 8) when None.

    Raises:
        ValueError: There are no votes, no task has a best image by score, or the number is no majority.
    """
    from scipy import stats

    if not votes:
        raise ValueError("no votes: give at least one")
    tasks: dict[str, list[Vote]] = {}
    for vote in votes:
        tasks.setdefault(vote.task_id, []).append(vote)
    pairs = []
    for own in tasks.values():
        tops = [top for vote in own if (top := _top(vote.scores)) is not None]
        if tops:
            pairs.append((entropy(tops), entropy([vote.best for vote in own])))
    if not pairs:
        raise ValueError("every vote has its highest score twice: no task has a best image by score")
    by_score, by_choice = zip(*pairs, strict=True)
    # the test ranks differences and leaves out those of 0: what rounding parts must tie, and be 0
    differences = np.round(np.subtract(by_score, by_choice), 12)
    p = float(stats.wilcoxon(differences).pvalue) if np.any(differences) else None
    return AnnotationStudy(
        tasks=len(tasks),
        votes=len(votes),
        kendall_tau=float(np.mean([kendall_tau(vote) for vote in votes])),
        self_consistency=float(np.mean([is_self_consistent(vote) for vote in votes])),
        majority=majority_rows(tasks, majority),
        scoring=concentration(by_score),
        ranking=concentration(by_choice),
        wilcoxon_p=p,
        tied_tops=sum(_top(vote.scores) is None for vote in votes),
    )
