"""The one metric of a task that stands for it, where a format has room for one, and the best entry by it."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.rows import is_baseline, is_partial
from lmms_aes_tasks.board.schema import BoardRow


def headline_of(benchmark: str, task: str) -> str | None:
    """Name of the metric that stands for a task; higher is better in each. None for a task of no benchmark here."""
    if benchmark not in registry.names():
        return None
    return registry.benchmark(benchmark).family_of(task).headline or None


def headline_value(row: BoardRow) -> float | None:
    """The headline's value; None where the row has none."""
    metric = row.metrics.get(headline_of(row.benchmark, row.task) or "")
    return None if metric is None else metric.value


def _stands(row: BoardRow) -> bool:
    """Whether a row can be the best: current, whole, and of a model."""
    return not (row.superseded or is_partial(row) or is_baseline(row))


def best_row(rows: Iterable[BoardRow], task: str) -> BoardRow | None:
    """The entry with the highest headline of a task: of recomputed ones if there are any, the newest of equal ones.

    Baselines and partial runs (`--limit`) are left out.
    """
    known = [
        (row.status == "recomputed", round(value, 9), row.date or "", row.key, row)
        for row in rows
        if row.task == task and row.entry is not None and _stands(row)
        for value in (headline_value(row),)
        if value is not None
    ]
    return max(known, key=lambda candidate: candidate[:4])[4] if known else None
