"""Scores of choices from sets (Visual Aesthetic Benchmark): ap@1, pass^3, order flips, chosen positions, baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.utils.permutations import TRIALS
from lmms_aes_tasks.utils.reply_facts import PLAIN_REPLY, ReplyFacts
from lmms_aes_tasks.utils.significance import Interval
from lmms_aes_tasks.utils.sums import Floats, SumScore, difference_of_sums, mean_items, ratio, score_of_sums

QUESTIONS = ("top1", "bot1", "tb1")
"""Best, worst, best and worst (the paper's Top-1, Bot-1, TB-1)."""

SelectionScore = SumScore
"""A score of choices; its n counts trials (ap@1 and parse rates) or complete tasks (pass^3, order flips)."""


@dataclass(frozen=True)
class Trial:
    """One choice from one set in one order.

    Attributes:
        task_id: The set.
        trial: Which of its orders, from 0.
        n_images: Images in the set.
        answer: Labels chosen, as given (not as shown): (best,), (worst,), or (best, worst); None when not read.
        gold: The right labels, in the same form.
        positions: Where the chosen images were shown, from 0, in the same form; None when not read.
        strict: Whether the authors' own rule read it.
        domain: Group of the set.
        substyle: Finer group.
        reply: Facts of the reply; one whose request failed has no answer.
    """

    task_id: str
    trial: int
    n_images: int
    answer: tuple[str, ...] | None
    gold: tuple[str, ...]
    positions: tuple[int, ...] | None = None
    strict: bool = True
    domain: str = ""
    substyle: str = ""
    reply: ReplyFacts = PLAIN_REPLY

    def __str__(self) -> str:
        return f"{self.task_id}#{self.trial}"

    @property
    def correct(self) -> bool:
        """Whether everything asked was read and is right."""
        return self.answer == self.gold


def part(trials: Iterable[Trial], index: int) -> list[Trial]:
    """The same trials with one part of the answer alone: 0 the best, 1 the worst of TB-1."""

    def cut(values: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if values is None else values[index : index + 1]

    return [
        Trial(
            t.task_id,
            t.trial,
            t.n_images,
            cut(t.answer),
            t.gold[index : index + 1],
            None if t.positions is None else t.positions[index : index + 1],
            t.strict,
            t.domain,
            t.substyle,
            t.reply,
        )
        for t in trials
    ]


def by_task(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    """Trials by task, tasks by id, trials by number: whatever order they come in."""
    found: dict[str, list[Trial]] = {}
    for trial in sorted(trials, key=lambda item: (item.task_id, item.trial)):
        found.setdefault(trial.task_id, []).append(trial)
    return found


def is_complete(trials: Sequence[Trial]) -> bool:
    """Whether a task has each of its trials once."""
    return [trial.trial for trial in trials] == list(range(TRIALS))


def incomplete_tasks(trials: Iterable[Trial]) -> list[str]:
    """Ids of tasks that lack a trial, or have one twice: they are left out of pass^3 and of order flips."""
    return [task_id for task_id, own in by_task(trials).items() if not is_complete(own)]


@dataclass(frozen=True)
class TaskTable:
    """Per-task sums, the form in which scores are computed and resampled.

    Attributes:
        right: Right trials of each task.
        count: Trials of each task.
        complete: Whether the task has all its trials.
        stable: Whether the same images were chosen in all of them.
    """

    right: Floats
    count: Floats
    complete: npt.NDArray[np.bool_]
    stable: npt.NDArray[np.bool_]

    @property
    def right_of_count(self) -> Floats:
        """What each task adds to ap@1, of shape (tasks, 2)."""
        return np.stack([self.right, self.count], axis=-1)


def task_table(trials: Iterable[Trial]) -> TaskTable:
    """Per-task sums of trials, ordered by task id."""
    tasks = list(by_task(trials).values())
    return TaskTable(
        right=np.array([sum(t.correct for t in own) for own in tasks], dtype=np.float64),
        count=np.array([len(own) for own in tasks], dtype=np.float64),
        complete=np.array([is_complete(own) for own in tasks], dtype=np.bool_),
        stable=np.array(
            [len({t.answer for t in own}) == 1 and own[0].answer is not None for own in tasks], dtype=np.bool_
        ),
    )


def ap_at_1(trials: Iterable[Trial], resamples: int = 0, seed: int = 0) -> SelectionScore:
    """ap@1: the share of trials answered right (section 3.1); resampled by tasks, not by trials."""
    table = task_table(trials)
    score = score_of_sums(table.right_of_count, ratio, resamples, seed)
    return replace(score, n=int(table.count.sum()))


def pass_pow_3(trials: Iterable[Trial], resamples: int = 0, seed: int = 0) -> SelectionScore:
    """pass^3: the share of complete tasks answered right in all three trials (section 3.1)."""
    table = task_table(trials)
    passed = (table.right == TRIALS)[table.complete]
    return score_of_sums(mean_items(passed), ratio, resamples, seed)


def order_flip_rate(trials: Iterable[Trial], resamples: int = 0, seed: int = 0) -> SelectionScore:
    """Share of complete tasks whose chosen image is not the same in all three orders (ours, beyond the paper).

    A task in which an answer was not read has not chosen the same image three times: it counts as flipped.
    """
    table = task_table(trials)
    flipped = (~table.stable)[table.complete]
    return score_of_sums(mean_items(flipped), ratio, resamples, seed)


def parse_rate(trials: Iterable[Trial], strict: bool = False) -> SelectionScore:
    """Share of trials whose answer was read; with `strict`, by the authors' own rule."""
    return score_of_sums(mean_items([t.answer is not None and (t.strict or not strict) for t in trials]), ratio)


def random_baseline(sizes: Sequence[int], question: str) -> dict[str, float | None]:
    """Exact scores of uniform guessing over tasks of these sizes.

    1/n and (1/n)^3 for the best or the worst; 1/(n(n-1)) and its cube for both, which for two images is 1/2 and 1/8.

    Args:
        sizes: Images of each task.
        question: One of `QUESTIONS`.

    Raises:
        ValueError: The question is none of these.
    """
    if question not in QUESTIONS:
        raise ValueError(f"unknown question {question!r}: use one of {', '.join(QUESTIONS)}")
    if not sizes:
        return {"ap_at_1": None, "pass_pow_3": None}
    n = np.asarray(sizes, dtype=np.float64)
    chance = 1 / n if question != "tb1" else np.where(n == 2, 0.5, 1 / (n * (n - 1)))
    return {"ap_at_1": float(np.mean(chance)), "pass_pow_3": float(np.mean(chance**TRIALS))}


@dataclass(frozen=True)
class PositionTest:
    """How often each position was chosen, and whether that is more uneven than chance.

    Attributes:
        counts: Choices by set size and position.
        chi_square: Sum over set sizes of the statistic against the uniform distribution; None without choices.
        degrees: Its degrees of freedom, the sum of (size - 1).
        p: Upper tail; None without choices. The three orders of a task are not independent, so read it as a guide.
    """

    counts: Mapping[int, list[int]]
    chi_square: float | None
    degrees: int
    p: float | None


def position_test(trials: Iterable[Trial]) -> PositionTest:
    """Distribution of the position of the (first) chosen image over what was read, with a chi-square test."""
    from scipy import stats

    counts: dict[int, list[int]] = {}
    for trial in trials:
        if trial.positions is not None:
            counts.setdefault(trial.n_images, [0] * trial.n_images)[trial.positions[0]] += 1
    if not counts:
        return PositionTest({}, None, 0, None)
    statistic = sum(float(stats.chisquare(observed).statistic) for observed in counts.values())
    degrees = sum(size - 1 for size in counts)
    return PositionTest(dict(sorted(counts.items())), statistic, degrees, float(stats.chi2.sf(statistic, degrees)))


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same tasks.

    Attributes:
        difference: Second minus first.
        interval: 95% percentile bootstrap interval of the difference, over tasks; None with fewer than 2 tasks.
        n: Tasks that both have.
        only_first: Tasks that only the first passed (pass^3 alone, else None).
        only_second: Tasks that only the second passed.
        p: Exact two-sided McNemar test of these; None for ap@1.
    """

    difference: float | None
    interval: Interval | None
    n: int
    only_first: int | None = None
    only_second: int | None = None
    p: float | None = None


def compare(
    first: Iterable[Trial], second: Iterable[Trial], resamples: int = 0, seed: int = 0
) -> dict[str, Comparison]:
    """Paired differences of ap@1 and pass^3 over the tasks that both runs have."""
    from lmms_aes_tasks.utils.significance import mcnemar_exact

    ones, twos = by_task(first), by_task(second)
    shared = [task_id for task_id in ones if task_id in twos]
    one = task_table(trial for task_id in shared for trial in ones[task_id])
    two = task_table(trial for task_id in shared for trial in twos[task_id])
    if not shared:
        return {"ap_at_1": Comparison(None, None, 0), "pass_pow_3": Comparison(None, None, 0)}
    ap = difference_of_sums(one.right_of_count, two.right_of_count, ratio, resamples, seed)
    both = one.complete & two.complete
    passed, others = (one.right == TRIALS)[both], (two.right == TRIALS)[both]
    steps = others.astype(np.float64) - passed.astype(np.float64)
    power = score_of_sums(mean_items(steps), ratio, resamples, seed)
    lost, won = int(np.sum(passed & ~others)), int(np.sum(others & ~passed))
    return {
        "ap_at_1": Comparison(ap.value, ap.interval, ap.n),
        "pass_pow_3": Comparison(power.value, power.interval, power.n, lost, won, mcnemar_exact(lost, won)),
    }
