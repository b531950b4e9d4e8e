"""Two entries side by side: paired differences with intervals, exact McNemar tests with Bonferroni's correction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.benchmark import Item, MetricFacts
from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.late import library_name
from lmms_aes_tasks.board.schema import Entry, TaskResult, Unit
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.leaderboard.reading import named, read_entry, task_rows
from lmms_aes_tasks.leaderboard.results import decoding_text, prompt_text
from lmms_aes_tasks.utils.significance import DEFAULT_RESAMPLES, mcnemar_exact
from lmms_aes_tasks.utils.sums import difference_of_sums

MAX_GROUPS = 30
"""A breakdown with more groups has few items in each, and costs every test its power: it is left out, and named."""


@dataclass(frozen=True)
class Difference:
    """One metric of one task, or of one group of it, in both entries.

    Attributes:
        task: Name of the task.
        metric: Name of the metric.
        breakdown: Breakdown; null overall.
        group: Group of the breakdown; null overall.
        n: Items that enter it, in both.
        first: Value of the first entry over these items.
        second: Value of the second.
        difference: Second minus first.
        low: Lower end of the 95% percentile bootstrap interval of the difference, over items; null with fewer than 2.
        high: Upper end.
        only_first: Items that only the first has right; null where items are not right or wrong.
        only_second: Items that only the second has right.
        p: Exact two-sided McNemar test of these.
        p_bonferroni: The same times the number of tests in the whole comparison, at most 1.
        unit: What it is measured in.
        higher_is_better: Null where neither direction is better.
    """

    task: str
    metric: str
    breakdown: str | None
    group: str | None
    n: int
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    only_first: int | None
    only_second: int | None
    p: float | None
    p_bonferroni: float | None
    unit: Unit
    higher_is_better: bool | None


@dataclass(frozen=True)
class Comparison:
    """Two entries compared.

    Attributes:
        first: Model and day of the first.
        second: Of the second.
        differences: What was compared.
        not_comparable: Why a task was not, by task.
        stated: What differs beside the model, by task: prompt, decoding, parser, …
        left_out: Breakdowns with too many groups, by task.
        tests: McNemar tests, by which each p was multiplied; intervals are not adjusted.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    first: str
    second: str
    differences: list[Difference]
    not_comparable: dict[str, str]
    stated: dict[str, list[str]]
    left_out: dict[str, list[str]]
    tests: int
    resamples: int
    seed: int
    level: float = field(default=0.95)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


# -- Whether two results are about the same ---------------------------------------------------------------------------


def comparability(version: str) -> str:
    """The part N of a task's version N-X: results with the same N are comparable, X is the interface."""
    return version.split("-", 1)[0]


def _refusal(one: TaskResult, other: TaskResult) -> str | None:
    """Why two results of a task cannot be compared, from what their entries say."""
    if one.benchmark != other.benchmark:
        return f"the benchmark is {one.benchmark} in the first and {other.benchmark} in the second"
    if one.benchmark not in registry.names():
        return f"the benchmark {one.benchmark} is not known; known are {', '.join(registry.names())}"
    if comparability(one.version) != comparability(other.version):
        return f"the task's version is {one.version} in the first and {other.version} in the second"
    if one.data_sha256 and other.data_sha256 and one.data_sha256 != other.data_sha256:
        return f"the data differ: {one.data_sha256[:8]} in the first and {other.data_sha256[:8]} in the second"
    if one.ids_sha256 != other.ids_sha256:
        return f"the answered ids differ: {one.n} items in the first and {other.n} in the second"
    return None


def _stated(one: TaskResult, other: TaskResult) -> list[str]:
    """What differs and does not forbid a comparison."""
    shown: list[tuple[str, Any, Any]] = [
        ("version", one.version, other.version),
        ("prompt", prompt_text(one), prompt_text(other)),
        ("decoding", decoding_text(one), decoding_text(other)),
        ("parser", one.parser, other.parser),
        *(
            (f"images.{name}", one.images.get(name), other.images.get(name))
            for name in sorted(set(one.images) | set(other.images))
        ),
    ]
    found = [
        f"{name}: {first} in the first, {second} in the second" for name, first, second in shown if first != second
    ]
    if any(use.sha256 is None for use in [*one.prompts, *other.prompts]):
        found.append("prompt: at least one is none of ours, and its text is not known")
    if one.data_sha256 is None or other.data_sha256 is None:
        found.append("data: no fingerprint in at least one of the entries; ids and gold labels agree")
    return found


def _other_means(one: Entry, other: Entry, task: str) -> list[str]:
    """Encoders, or another means of scoring, that differ: their figures are not of one scale."""
    benchmark = registry.benchmark(one.tasks[task].benchmark)
    late = benchmark.late
    names = [*benchmark.resources, *(library_name(metric) for metric in (late.names if late is not None else ()))]
    means = [(name, one.versions.libraries.get(name), other.versions.libraries.get(name)) for name in names]
    return [
        f"{name}: {first} in the first, {second} in the second: do not compare its figures"
        for name, first, second in means
        if first and second and first != second
    ]


# -- Differences ------------------------------------------------------------------------------------------------------


def _pairs(first: Sequence[Item], second: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Items joined by id.

    Raises:
        LeaderboardError: Ids, gold labels or groups differ, although the entries say the same ids.
    """
    ones, others = ({item.id: item for item in items} for items in (first, second))
    if set(ones) != set(others):
        differing = sorted(set(ones) ^ set(others))
        raise LeaderboardError(f"{len(differing)} id(s) are in one of the two only, such as {printable(differing[0])}")
    for item_id in sorted(ones):
        if ones[item_id].gold != others[item_id].gold:
            raise LeaderboardError(
                f"what is right differs: of {printable(item_id)} it is {ones[item_id].gold!r} in the first and "
                f"{others[item_id].gold!r} in the second"
            )
    return [(ones[item_id], others[item_id]) for item_id in sorted(ones)]


def _difference(
    pairs: Sequence[tuple[Item, Item]],
    task: str,
    metric: str,
    facts: MetricFacts,
    place: tuple[str | None, str | None],
    resamples: int,
    seed: int,
) -> Difference | None:
    """One metric over pairs of items; None when no item enters it, or it is not defined in both."""
    entering = [(one.sums[metric], two.sums[metric]) for one, two in pairs if metric in one.sums and metric in two.sums]
    if facts.of_sums is None or not entering:
        return None
    first, second = (np.array([pair[side] for pair in entering], dtype=np.float64) for side in (0, 1))
    difference = difference_of_sums(first, second, facts.of_sums, resamples, seed)
    if difference.value is None or difference.first is None or difference.second is None:
        return None
    interval = difference.interval
    only_first = only_second = p = None
    if facts.right_wrong:
        only_first = int(np.sum((first[:, 0] == 1) & (second[:, 0] == 0)))
        only_second = int(np.sum((first[:, 0] == 0) & (second[:, 0] == 1)))
        p = mcnemar_exact(only_first, only_second)
    return Difference(
        task=task,
        metric=metric,
        breakdown=place[0],
        group=place[1],
        n=len(entering),
        first=difference.first,
        second=difference.second,
        difference=difference.value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        only_first=only_first,
        only_second=only_second,
        p=p,
        p_bonferroni=None,
        unit=facts.unit,
        higher_is_better=facts.higher_is_better,
    )


def _group_order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isascii() and name.isdigit() else (1 << 62, name)


def _grouped(
    pairs: Sequence[tuple[Item, Item]],
) -> tuple[dict[str, dict[str, list[tuple[Item, Item]]]], list[str]]:
    """Pairs by breakdown and group; breakdowns of one group say nothing new, those of too many are named."""
    found: dict[str, dict[str, list[tuple[Item, Item]]]] = {}
    for pair in pairs:
        for breakdown, group in pair[0].groups.items():
            found.setdefault(breakdown, {}).setdefault(group, []).append(pair)
    many = [name for name, groups in found.items() if len(groups) > MAX_GROUPS]
    return {name: groups for name, groups in found.items() if 1 < len(groups) <= MAX_GROUPS}, many


def _task_differences(
    task: str, benchmark: str, pairs: Sequence[tuple[Item, Item]], resamples: int, seed: int
) -> tuple[list[Difference], list[str]]:
    grouped, many = _grouped(pairs)
    places: list[tuple[tuple[str | None, str | None], Sequence[tuple[Item, Item]]]] = [((None, None), pairs)]
    for breakdown, groups in grouped.items():
        places += [((breakdown, group), groups[group]) for group in sorted(groups, key=_group_order)]
    made = [
        _difference(own, task, metric, facts, place, resamples, seed)
        for place, own in places
        for metric, facts in registry.benchmark(benchmark).metrics.items()
    ]
    return [one for one in made if one is not None], [f"{name}: more than {MAX_GROUPS} groups" for name in many]


def bonferroni(differences: Iterable[Difference]) -> tuple[list[Difference], int]:
    """Each p times the number of tests, at most 1 (Bonferroni), and that number."""
    found = list(differences)
    tests = sum(one.p is not None for one in found)
    return [one if one.p is None else replace(one, p_bonferroni=min(1.0, one.p * tests)) for one in found], tests


def _name(entry: Entry) -> str:
    revision = f"@{entry.model.revision}" if entry.model.revision else ""
    return f"{entry.model.id}{revision} ({entry.date})"


def _entry(folder: Path) -> Entry:
    with named(folder):
        return read_entry(folder)[0]


def _items(folder: Path, entry: Entry, task: str) -> list[Item]:
    """The independent items of a task of an entry.

    Raises:
        LeaderboardError: A record is not sound.
    """
    with named(folder):
        rows = sorted(task_rows(folder, entry, task), key=lambda row: row.id)
    where = f"{folder}, {task}"
    try:
        return registry.benchmark(entry.tasks[task].benchmark).compared(rows)
    except KeyError as error:
        raise LeaderboardError(f"{where}: a record lacks {error}. Build the entry again.") from None
    except (ValueError, TypeError) as error:
        raise LeaderboardError(f"{where}: a record is not sound ({error}). Build the entry again.") from None


def compare_entries(
    first: Path, second: Path, resamples: int = DEFAULT_RESAMPLES, seed: int = 0, tasks: Sequence[str] | None = None
) -> Comparison:
    """Compare two entries on every task that both have.

    Args:
        first: Folder of an entry.
        second: Folder of another; differences are second minus first.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
        tasks: Only these; every common one when not given.

    Raises:
        LeaderboardError: An entry is not sound, or they have no task in common.
    """
    one, other = _entry(first), _entry(second)
    common = [name for name in sorted(one.tasks) if name in other.tasks and (tasks is None or name in tasks)]
    if not common:
        raise LeaderboardError(
            f"nothing to compare: {first} has {', '.join(sorted(one.tasks))} and {second} has "
            f"{', '.join(sorted(other.tasks))}. Give two entries with a task in common."
        )
    differences: list[Difference] = []
    refused: dict[str, str] = {}
    stated: dict[str, list[str]] = {}
    left_out: dict[str, list[str]] = {}
    for task in common:
        reason = _refusal(one.tasks[task], other.tasks[task])
        if reason is None:
            benchmark = one.tasks[task].benchmark
            read = [_items(folder, entry, task) for folder, entry in ((first, one), (second, other))]
            try:
                pairs = _pairs(*read)
            except LeaderboardError as error:
                reason = str(error)
        if reason is not None:
            refused[task] = reason
            continue
        found, many = _task_differences(task, benchmark, pairs, resamples, seed)
        differences += found
        differing = _stated(one.tasks[task], other.tasks[task]) + _other_means(one, other, task)
        for kept, what in ((stated, differing), (left_out, many)):
            if what:
                kept[task] = what
    corrected, tests = bonferroni(differences)
    return Comparison(_name(one), _name(other), corrected, refused, stated, left_out, tests, resamples, seed)
