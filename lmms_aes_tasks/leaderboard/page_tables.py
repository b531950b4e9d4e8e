"""What the page's tables hold: plain values, ready to be written by a template that computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lmms_aes_tasks.board.schema import Board, BoardRow, Metric
from lmms_aes_tasks.leaderboard.headlines import is_baseline
from lmms_aes_tasks.leaderboard.page_text import (
    BENCHMARKS,
    STATUS_TEXT,
    Benchmark,
    Family,
    breakdown_label,
    direction,
    interval,
    metric_label,
    metric_meaning,
    metric_place,
    number,
    shown,
    slug,
    split_name,
    unit_suffix,
    variant_label,
)

_TINTS = 9
"""Steps of the shading of a breakdown's cells."""


@dataclass(frozen=True)
class Column:
    """A column of figures: its heading, meaning, unit and better direction (arrow and words)."""

    metric: str
    label: str
    meaning: str
    unit: str
    arrow: str
    better: str


@dataclass(frozen=True)
class Cell:
    """One figure as it is shown.

    Attributes:
        text: The figure; empty when there is none.
        value: What a sort compares; None sorts last.
        interval: The 95% interval, or empty.
        extra: A p-value beside a correlation, or empty.
        reason: Why there is no figure.
        best: Whether it is the best of its column among the rows it competes with.
        tint: Shading from 0 to 8 in a breakdown; None elsewhere.
    """

    text: str = ""
    value: float | None = None
    interval: str = ""
    extra: str = ""
    reason: str = ""
    best: bool = False
    tint: int | None = None


@dataclass(frozen=True)
class RowView:
    """A row: who, under what conditions, and its cells."""

    model: str
    organisation: str
    name: str
    href: str | None
    status: str
    status_text: str
    status_meaning: str
    source: str
    group: str
    variant: str
    version: str
    prompt: str
    decoding: str
    date: str
    evaluator: str
    n: str
    partial: str
    superseded: bool
    notes: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Section:
    """Rows of one status class, which compete with each other and with nobody else."""

    title: str
    rows: tuple[RowView, ...]


@dataclass(frozen=True)
class BreakdownTable:
    """One metric of one breakdown: a column a group, a row a model."""

    metric: str
    column: Column
    groups: tuple[str, ...]
    rows: tuple[RowView, ...]


@dataclass(frozen=True)
class Breakdown:
    """A breakdown of a family of tasks."""

    name: str
    title: str
    tables: tuple[BreakdownTable, ...]


@dataclass(frozen=True)
class FamilyView:
    """A table of the board with its breakdowns."""

    id: str
    family: Family
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    has_variants: bool
    breakdowns: tuple[Breakdown, ...]
    rows: tuple[BoardRow, ...] = field(repr=False, default=())


def entry_path(row: BoardRow) -> str | None:
    """Where a row's own page is, below the site's root; None for a published row."""
    return None if row.entry is None else f"entries/{slug(row.model, row.entry)}.html"


def status_class(row: BoardRow) -> str:
    """Rows of one class are compared: the papers' with each other, and runs with each other."""
    return "published" if row.status == "published" else "run"


def variant_of(row: BoardRow, family: Family) -> str:
    """What a task adds to the family's main task: `greedy` for `vab_tb1_greedy`."""
    return row.task[len(family.task) :].lstrip("_")


# -- Families ----------------------------------------------------------------------------------------------------------


def _belongs(task: str, family: Family) -> bool:
    # a demo is another, tiny data set: its figures compare with nothing
    return task == family.task or (task.startswith(f"{family.task}_") and "demo" not in task.split("_"))


def benchmarks_of(board: Board) -> list[tuple[Benchmark, list[BoardRow]]]:
    """The board's benchmarks with their rows: those the page knows first, then any other by name."""
    rows: dict[str, list[BoardRow]] = {}
    for row in board.rows:
        rows.setdefault(row.benchmark, []).append(row)
    known = [(benchmark, rows.pop(benchmark.name)) for benchmark in BENCHMARKS if benchmark.name in rows]
    return known + [(Benchmark(name, name.replace("_", " "), ""), rows[name]) for name in sorted(rows)]


def _family_of(task: str, families: Sequence[Family]) -> Family:
    """A task's family; a demo, or a task that the page does not know, is one of its own."""
    for family in families:
        if _belongs(task, family):
            return family
        if task == f"{family.task}_demo":
            return Family(task, f"{family.title} (demo on generated data)", family.primary)
    return Family(task, task.replace("_", " "))


def families_of(benchmark: Benchmark, rows: Sequence[BoardRow]) -> list[tuple[Family, list[BoardRow]]]:
    """Rows by family; the benchmark's own ones first, those with no row left out."""
    found: dict[str, tuple[Family, list[BoardRow]]] = {family.task: (family, []) for family in benchmark.families}
    for row in rows:
        family = _family_of(row.task, benchmark.families)
        found.setdefault(family.task, (family, []))[1].append(row)
    return [(family, own) for family, own in found.values() if own]


# -- Columns, best, partial --------------------------------------------------------------------------------------------


def columns_of(rows: Iterable[Mapping[str, Metric]]) -> tuple[Column, ...]:
    """A column for every metric of some rows, but p-values of a correlation stand under it."""
    first: dict[str, Metric] = {}
    for metrics in rows:
        for name, metric in metrics.items():
            if metric.unit != "p" or name.replace("_p_", "_rho_") not in metrics or "_p_" not in name:
                first.setdefault(name, metric)
    columns = []
    for name in sorted(first, key=metric_place):
        arrow, better = direction(first[name])
        columns.append(Column(name, metric_label(name), metric_meaning(name), unit_suffix(first[name]), arrow, better))
    return tuple(columns)


def _comparison(row: BoardRow) -> tuple[str, str]:
    """Rows with the same key compete: one class, one comparability number N of the task's version N-X."""
    return status_class(row), (row.version or "").split("-")[0]


def is_partial(row: BoardRow) -> bool:
    """Whether a run answered fewer items than the whole task has (`--limit`)."""
    return row.n is not None and row.n_expected is not None and row.n < row.n_expected


def current(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Rows that stand for their model: neither superseded nor partial."""
    return [row for row in rows if not row.superseded and not is_partial(row)]


def _competes(row: BoardRow) -> bool:
    return not row.superseded and not is_partial(row) and not is_baseline(row)


def best_cells(rows: Sequence[BoardRow], metrics: Iterable[str]) -> set[tuple[int, str]]:
    """Which figures are the best: pairs of a row's place and a metric.

    Runs compete with runs and the papers' rows with the papers' rows, within one version of the task. Superseded and
    partial runs and baselines (`is_baseline`) do not compete. A column has no best where neither direction is better,
    where only one row has a figure, or where all are the same as printed; else those printed like the best are.
    """
    found: set[tuple[int, str]] = set()
    for key in dict.fromkeys(map(_comparison, rows)):
        places = [i for i, row in enumerate(rows) if _comparison(row) == key and _competes(row)]
        for name in metrics:
            figures = {
                i: (metric.value if metric.higher_is_better else -metric.value, number(metric.value, metric.unit))
                for i in places
                if (metric := rows[i].metrics.get(name)) is not None
                and metric.value is not None
                and metric.higher_is_better is not None
            }
            if len({text for _, text in figures.values()}) > 1:
                printed = max(figures.values())[1]
                found |= {(i, name) for i, (_, text) in figures.items() if text == printed}
    return found


# -- Cells and rows ----------------------------------------------------------------------------------------------------


def _p_text(metrics: Mapping[str, Metric], name: str) -> str:
    p = metrics.get(name.replace("_rho", "_p")) if "_rho" in name else None
    if p is None or p.unit != "p":
        return ""
    if p.value is not None:
        return f"p = {p.value:.3f}" if p.value >= 0.001 else "p < 0.001"
    return shown((p.reason or "").split(":")[0])


def cell_of(metrics: Mapping[str, Metric], name: str, best: bool = False) -> Cell:
    """A metric as a cell."""
    metric = metrics.get(name)
    if metric is None or metric.value is None:
        reason = "not reported" if metric is None else shown(metric.reason or "not defined")
        return Cell(reason=reason)
    return Cell(number(metric.value, metric.unit), metric.value, interval(metric), _p_text(metrics, name), best=best)


def _row_view(row: BoardRow, family: Family, cells: Sequence[Cell]) -> RowView:
    text, meaning = STATUS_TEXT[row.status]
    organisation, name = split_name(shown(row.model))
    return RowView(
        model=shown(row.model),
        organisation=organisation,
        name=name,
        href=entry_path(row),
        status=row.status,
        status_text=text,
        status_meaning=meaning,
        source=shown(row.source or ""),
        group=shown(row.group),
        variant=variant_label(variant_of(row, family)),
        version=shown(row.version or ""),
        prompt=shown(row.prompt or ""),
        decoding=shown(row.decoding or ""),
        date=shown(row.date or ""),
        evaluator=shown(row.evaluator or ""),
        n="" if row.n is None else f"{row.n:,}",
        partial=f"{row.n:,} of {row.n_expected:,} items" if is_partial(row) else "",
        superseded=row.superseded,
        notes=tuple(shown(finding.message) for finding in row.findings) if row.status == "published" else (),
        cells=tuple(cells),
    )


def _order(row: BoardRow, primary: str) -> tuple[bool, float, str]:
    metric = row.metrics.get(primary)
    if metric is None or metric.value is None:
        return True, 0.0, row.key
    value = round(metric.value, 9)  # figures of two machines that differ in the last place are equal
    return False, value if metric.higher_is_better is False else -value, row.key


_SECTIONS = {
    "run": "Runs with this package, from their responses",
    "published": "Published: figures printed in the papers, not computed here",
}


def _sections(rows: Sequence[BoardRow], family: Family, columns: Sequence[Column]) -> tuple[Section, ...]:
    best = best_cells(rows, [column.metric for column in columns])
    kept = {row.key for row in current(rows)}
    standing = {i for i, row in enumerate(rows) if row.key in kept}
    sections = []
    for name, title in _SECTIONS.items():
        places = [i for i, row in enumerate(rows) if status_class(row) == name]
        views = [
            _row_view(
                rows[i],
                family,
                [cell_of(rows[i].metrics, c.metric, (i, c.metric) in best) for c in columns],
            )
            for i in sorted(places, key=lambda i: (i not in standing, _order(rows[i], family.primary)))
        ]
        if views:
            sections.append(Section(title, tuple(views)))
    return tuple(sections)


# -- Breakdowns --------------------------------------------------------------------------------------------------------


def group_order(names: Iterable[str]) -> list[str]:
    """Groups in reading order: by number where all are numbers, else as first met."""
    unique = list(dict.fromkeys(names))
    return sorted(unique, key=float) if all(name.isascii() and name.isdigit() for name in unique) else unique


def _tinted(cells: Sequence[Cell], low: float, high: float) -> list[Cell]:
    """Shade figures from the lowest to the highest of their table."""
    span = high - low
    return [
        cell
        if cell.value is None
        else Cell(
            cell.text,
            cell.value,
            cell.interval,
            tint=round((cell.value - low) / span * (_TINTS - 1)) if span > 0 else None,
        )
        for cell in cells
    ]


def _breakdown_table(rows: Sequence[BoardRow], family: Family, name: str, column: Column) -> BreakdownTable:
    own = [row for row in rows if any(column.metric in group for group in row.breakdowns[name].values())]
    groups = group_order(
        group for row in own for group, metrics in row.breakdowns[name].items() if column.metric in metrics
    )
    cells = [[cell_of(row.breakdowns[name].get(group, {}), column.metric) for group in groups] for row in own]
    values = [cell.value for line in cells for cell in line if cell.value is not None]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    return BreakdownTable(
        column.metric,
        column,
        tuple(shown(group) for group in groups),
        tuple(_row_view(row, family, _tinted(line, low, high)) for row, line in zip(own, cells, strict=True)),
    )


def breakdowns_of(rows: Sequence[BoardRow], family: Family) -> tuple[Breakdown, ...]:
    """Every breakdown that some row has: a table a metric."""
    ordered = sorted(rows, key=lambda row: (row.status == "published", _order(row, family.primary)))
    found = []
    for name in dict.fromkeys(name for row in ordered for name in row.breakdowns):
        own = [row for row in ordered if row.breakdowns.get(name)]
        columns = columns_of(metrics for row in own for metrics in row.breakdowns[name].values())
        tables = tuple(_breakdown_table(own, family, name, column) for column in columns)
        if tables:
            found.append(Breakdown(name, breakdown_label(name), tables))
    return tuple(found)


def family_view(family: Family, rows: Sequence[BoardRow]) -> FamilyView:
    """A family's table and breakdowns."""
    columns = columns_of(row.metrics for row in rows)
    return FamilyView(
        id=family.task,
        family=family,
        columns=columns,
        sections=_sections(rows, family, columns),
        has_variants=any(variant_of(row, family) for row in rows),
        breakdowns=breakdowns_of(rows, family),
        rows=tuple(rows),
    )
