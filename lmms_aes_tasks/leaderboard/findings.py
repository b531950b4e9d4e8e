"""What a verification finds, and the findings that two values which should be equal and are not give rise to."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterator, Mapping
from typing import Any

from lmms_aes_tasks.board.schema import Finding, Metric, TaskResult
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.leaderboard.results import TOLERANCE

_LISTED = 20
"""Findings of one kind about one task that are listed one by one; the rest is counted."""
_MOST = 500
"""Findings of a kind that are listed at all."""


class Findings:
    """What was found so far; of many alike, the first few and how many more."""

    def __init__(self) -> None:
        self._found: list[Finding] = []
        self._counts: collections.Counter[tuple[str, str]] = collections.Counter()

    def add(self, kind: str, where: str, message: str, alike: str = "") -> None:
        """Keep a finding; those with the same `alike` in one task are listed up to a number."""
        key = (kind, alike or "the rest")
        self._counts[key] += 1
        if self._counts[key] <= (_LISTED if alike else _MOST):
            self._found.append(
                Finding(kind=kind, where=printable(where, 500), message=printable(message, 1_500))  # type: ignore[arg-type]
            )

    def all(self) -> list[Finding]:
        """Errors first, then flags, then notes, each in the order found."""
        more = [
            Finding(kind=kind, where=alike, message=f"and {count - most} more of these")  # type: ignore[arg-type]
            for (kind, alike), count in self._counts.items()
            if count > (most := _MOST if alike == "the rest" else _LISTED)
        ]
        order = {"error": 0, "flag": 1, "note": 2}
        return sorted([*self._found, *more], key=lambda finding: order[finding.kind])

    @property
    def has_error(self) -> bool:
        """Whether anything is wrong."""
        return any(finding.kind == "error" for finding in self._found)


# -- Values that should be equal ---------------------------------------------------------------------------------------


def _same(one: Any, two: Any) -> bool:
    """Equal values; numbers within the tolerance, and a truth value is no number."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return math.isclose(one, two, rel_tol=0, abs_tol=TOLERANCE)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return set(one) == set(two) and all(_same(one[key], two[key]) for key in one)
    return type(one) is type(two) and bool(one == two)


def shown(value: Any) -> str:
    """A value of a stranger's in a message."""
    return printable(repr(value), 120)


def record_differences(given: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[str]:
    """Where a record differs from the one that was made anew, as messages."""
    for key in [*made, *(key for key in given if key not in made)]:
        if key not in given:
            yield f"{key} is missing"
        elif key not in made:
            yield f"{printable(key, 60)} does not belong in the record"
        elif not _same(given[key], made[key]):
            yield f"{key} is {shown(given[key])}, and {shown(made[key])} recomputed"


_VALUES = ("value", "n", "numerator", "denominator", "per_item_sha256", "low", "high", "unit", "higher_is_better")


def _metric_differences(given: Metric, made: Metric) -> Iterator[tuple[str, Any, Any]]:
    for name in (*_VALUES, "reason"):
        one, two = getattr(given, name), getattr(made, name)
        if not _same(one, two):
            yield name, one, two


def compare_metrics(given: Mapping[str, Metric], made: Mapping[str, Metric], where: str, found: Findings) -> list[str]:
    """Hold figures against recomputed ones.

    Returns:
        Names of those that are equal.
    """
    equal = []
    for name in [*made, *(name for name in given if name not in made)]:
        if name not in given:
            found.add("error", f"{where}.{name}", "the figure is missing")
            continue
        if name not in made:
            found.add("error", f"{where}.{name}", f"no figure of this task: it has {', '.join(made)}")
            continue
        differences = list(_metric_differences(given[name], made[name]))
        for part, one, two in differences:
            found.add("error", f"{where}.{name}.{part}", f"is {shown(one)}, and {shown(two)} recomputed")
        if not differences:
            equal.append(name)
    return equal


def compare_fields(given: TaskResult, made: TaskResult, found: Findings) -> None:
    """Hold the fields of a result against recomputed ones, but for those with checks of their own."""
    skipped = {"metrics", "breakdowns", "file", "decoding", "images", "prompts", "task", "parser"}
    for name in sorted(set(TaskResult.model_fields) - skipped):
        one, two = getattr(given, name), getattr(made, name)
        if not _same(one, two):
            found.add("error", f"tasks.{given.task}.{name}", f"is {shown(one)}, and {shown(two)} recomputed")


def compare_breakdowns(given: TaskResult, made: TaskResult, found: Findings) -> None:
    """Hold every figure of every breakdown against recomputed ones."""
    base = f"tasks.{given.task}.breakdowns"
    for name in sorted(set(given.breakdowns) | set(made.breakdowns)):
        ours, theirs = made.breakdowns.get(name, {}), given.breakdowns.get(name, {})
        for group in sorted(set(ours) | set(theirs)):
            where = f"{base}.{name}.{group}"
            if group not in theirs:
                found.add("error", where, "the group is missing")
            elif group not in ours:
                found.add("error", where, "no group of this task's items")
            else:
                compare_metrics(theirs[group], ours[group], where, found)
