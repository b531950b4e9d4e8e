"""Metrics that need encoders: computed where data and encoders are at hand, and kept item by item.

A record then holds its values, rounded; the figure is their mean. So a verifier without encoders can add them up, and
one with encoders can hold each against its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lmms_aes_tasks.board.digests import per_item_sha256
from lmms_aes_tasks.board.schema import Metric
from lmms_aes_tasks.utils.embedding_values import mean_value

if TYPE_CHECKING:
    from lmms_aes_tasks.board.benchmark import Task
    from lmms_aes_tasks.board.fingerprint import LocalData

NOT_COMPUTED = "not computed: "
"""How the reason begins why a figure is null."""


@dataclass(frozen=True)
class LateValues:
    """What encoders gave.

    Attributes:
        values: By metric and id.
        missing: Why a metric was not computed, by metric.
        encoders: Identity of the encoder by metric: name and commit, or `local@` and a digest; no path.
        problems: Items that have no value, such as one whose image does not decode, with the reason.
    """

    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    encoders: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class LateMetrics(Protocol):
    """The metrics of a benchmark that need encoders.

    Attributes:
        names: Their names.
        low: The lowest value that there can be.
        high: The highest.
        tolerance: How far two machines' values of one item may lie apart.
    """

    names: tuple[str, ...]
    low: float
    high: float
    tolerance: float

    def compute(self, task: Task, answers: Mapping[str, str], local: LocalData) -> LateValues:
        """Values of those metrics whose encoders are at hand.

        Args:
            task: The task.
            answers: What was read of each response, by id.
            local: The data sets at hand.
        """

    def of_record(self, record: Mapping[str, Any]) -> dict[str, float]:
        """The values that a record holds.

        Raises:
            ValueError: One is no number in range.
        """


def library_name(metric: str) -> str:
    """Under which name `versions.libraries` has a metric's encoder."""
    return f"encoder:{metric}"


def mean_metric(values: Mapping[str, float]) -> Metric:
    """The mean of a metric's values by id."""
    return Metric(value=mean_value(values.values()), n=len(values), per_item_sha256=per_item_sha256(values.items()))


def differences(
    metric: str, given: Mapping[str, float], ours: Mapping[str, float], tolerance: float
) -> Sequence[tuple[str, str]]:
    """Ids whose values differ, or are there on one side alone, with what they are."""
    apart = []
    for item_id in sorted(set(given) | set(ours)):
        one, two = given.get(item_id), ours.get(item_id)
        if one is None or two is None or abs(one - two) > tolerance:
            apart.append((item_id, f"record: {metric} is {one}, and {two} recomputed"))
    return apart
