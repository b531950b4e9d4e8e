"""The small parts that benchmarks put their figures and documents together from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lmms_aes_tasks.board.benchmark import MetricFacts
from lmms_aes_tasks.board.digests import per_item_sha256
from lmms_aes_tasks.board.schema import Metric
from lmms_aes_tasks.board.text import is_plain, printable
from lmms_aes_tasks.utils.reply_facts import Replied, count_replies
from lmms_aes_tasks.utils.significance import Interval, wilson_interval

MAX_ID_CHARS = 1_000
MAX_GROUP_CHARS = 200
"""A group of a breakdown is a name in the entry's form."""
NOTHING_ENTERS = "no item enters it"


def share_metric(facts: MetricFacts, value: float | None, n: int, interval: Interval | None = None) -> Metric:
    """A share with its numerator and denominator, which are whole numbers."""
    if value is None:
        return Metric(value=None, n=n, higher_is_better=facts.higher_is_better, reason=NOTHING_ENTERS)
    return Metric(
        value=value,
        n=n,
        numerator=float(round(value * n)),
        denominator=float(n),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        higher_is_better=facts.higher_is_better,
    )


def counted_metric(facts: MetricFacts, count: int, n: int) -> Metric:
    """A share of independent items with its Wilson interval."""
    return share_metric(facts, count / n if n else None, n, wilson_interval(count, n) if n else None)


def item_metric(
    facts: MetricFacts,
    value: float | None,
    items: Iterable[tuple[str, Any]],
    *,
    n: int | None = None,
    interval: Interval | None = None,
    reason: str = NOTHING_ENTERS,
) -> Metric:
    """A figure that is no share, with the digest of what it is computed from, item by item.

    Args:
        facts: Of the metric.
        value: The figure; None where it is not defined.
        items: Id and value of every item.
        n: Items that enter it; all of them when not given.
        interval: Its 95% interval.
        reason: Why the value is None.
    """
    values = list(items)
    return Metric(
        value=value,
        n=len(values) if n is None else n,
        per_item_sha256=per_item_sha256(values),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        unit=facts.unit,
        higher_is_better=facts.higher_is_better,
        reason=reason[:2_000] if value is None else None,
    )


REPLY_FACTS: Mapping[str, MetricFacts] = {
    "failed_requests": MetricFacts(
        "Failed requests", "requests without a reply, which count as wrong", unit="count", higher_is_better=False
    ),
    "reasoning_rate": MetricFacts("Reasoning", "share of replies that reasoning was taken off", higher_is_better=None),
}
"""Facts of the metrics that every task has; a benchmark's own stand before them."""


def reply_metrics(items: Iterable[tuple[str, Replied]]) -> dict[str, Metric]:
    """The metrics of `REPLY_FACTS`, from items by their ids."""
    given = list(items)
    counts = count_replies(item for _, item in given)
    failed = [(item_id, item.reply.failed) for item_id, item in given]
    return {
        "failed_requests": item_metric(REPLY_FACTS["failed_requests"], float(counts.failed), failed),
        "reasoning_rate": share_metric(REPLY_FACTS["reasoning_rate"], counts.reasoning_rate, counts.replies),
    }


def by_group(items: Iterable[Any], key: Callable[[Any], str]) -> dict[str, list[Any]]:
    """Items by group, groups in alphabetical order, items in theirs."""
    ordered = sorted(items, key=key)
    return {name: list(members) for name, members in itertools.groupby(ordered, key)}


# -- Fields of a record -----------------------------------------------------------------------------------------------


def plain_text(record: Mapping[str, Any], name: str, longest: int = MAX_ID_CHARS, empty: bool = True) -> str:
    """A stranger's text that goes into a document: visible characters, no markup.

    Raises:
        ValueError: It is none.
    """
    value = record.get(name)
    if not isinstance(value, str) or len(value) > longest or not is_plain(value) or not (value or empty):
        raise ValueError(
            f"{name} is {printable(repr(value), 80)}: give a text of up to {longest} visible characters without < and >"
        )
    return value


def number_within(record: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """A stranger's whole number.

    Raises:
        ValueError: It is none, or out of range.
    """
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is {printable(repr(value), 80)}: give a whole number from {least} to {most}")
    return value


def text_field(record: Mapping[str, Any], name: str) -> str:
    """A text of a record that was verified.

    Raises:
        KeyError: It is missing.
        ValueError: It is no text.
    """
    value = record[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}: give a text")
    return value


def number_field(record: Mapping[str, Any], name: str) -> int:
    """A whole number of a record that was verified; as `text_field`."""
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} is {value!r}: give a whole number")
    return value


def label_field(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of labels of a record that was verified; as `text_field`."""
    value = record[name]
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise ValueError(f"{name} is {value!r}: give a list of labels")
    return tuple(value)
