"""What the page's tables hold: plain values, ready to be written by a template that computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.benchmark import Benchmark, Family
from lmms_aes_tasks.board.rows import current, group_order, is_baseline, is_partial, status_class
from lmms_aes_tasks.board.schema import Board, BoardRow, Metric
from lmms_aes_tasks.board.text import number, shown, variant_label
from lmms_aes_tasks.leaderboard.page_text import (
    STATUS_TEXT,
    Words,
    direction,
    interval,
    slug,
    split_name,
    unit_suffix,
    words_of,
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
    """A row: the board's, and what is computed of it.

    Attributes:
        row: The board's row.
        organisation: Of the model, with its slash; empty where its name has none.
        name: The rest of the model's name.
        href: The entry's page; None for a published row.
        status_text: The status as it is shown.
        status_meaning: What it means.
        variant: Printed name of the task's variant; empty for the main task.
        partial: How many items of how many; empty for a whole run.
        notes: What a published row says of itself.
        cells: Its figures.
    """

    row: BoardRow
    organisation: str
    name: str
    href: str | None
    status_text: str
    status_meaning: str
    variant: str
    partial: str
    notes: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Section:
    """Rows of one status class, which compete with each other and with nobody else; `metric` is what sorts them."""

    title: str
    metric: str
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


def entry_page(row: BoardRow) -> str | None:
    """Where a row's own page is, below the site's root; None for a published row."""
    return None if row.entry is None else f"entries/{slug(row.model, row.entry)}.html"


# -- Families ----------------------------------------------------------------------------------------------------------


def benchmarks_of(board: Board) -> list[tuple[Words, list[BoardRow]]]:
    """The board's benchmarks with their rows: those that are installed here first, then any other by name."""
    rows: dict[str, list[BoardRow]] = {}
    for row in board.rows:
        rows.setdefault(row.benchmark, []).append(row)
    installed = [benchmark.name for benchmark in registry.benchmarks() if benchmark.name in rows]
    return [(words_of(name), rows[name]) for name in [*installed, *sorted(set(rows) - set(installed))]]


def family_of(benchmark: str, task: str) -> Family:
    """The table that a task belongs to."""
    if benchmark in registry.names():
        return registry.benchmark(benchmark).family_of(task)
    return Benchmark().family_of(task)


def families_of(words: Words, rows: Sequence[BoardRow]) -> list[tuple[Family, list[BoardRow]]]:
    """Rows by family; the benchmark's own ones first, those with no row left out."""
    declared = registry.benchmark(words.name).families if words.known else ()
    found: dict[str, tuple[Family, list[BoardRow]]] = {family.task: (family, []) for family in declared}
    for row in rows:
        family = family_of(row.benchmark, row.task)
        found.setdefault(family.task, (family, []))[1].append(row)
    return [(family, members) for family, members in found.values() if members]


# -- Columns, best, partial --------------------------------------------------------------------------------------------


def columns_of(rows: Iterable[Mapping[str, Metric]], words: Words) -> tuple[Column, ...]:
    """A column for every metric of some rows, but p-values of a correlation stand under it."""
    first: dict[str, Metric] = {}
    for metrics in rows:
        for name, metric in metrics.items():
            if metric.unit != "p" or name.replace("_p_", "_rho_") not in metrics or "_p_" not in name:
                first.setdefault(name, metric)
    columns = []
    for name in sorted(first, key=words.metric_place):
        arrow, better = direction(first[name])
        label, meaning = words.metric_label(name), words.metric_meaning(name)
        columns.append(Column(name, label, meaning, unit_suffix(first[name]), arrow, better))
    return tuple(columns)


def _comparison(row: BoardRow) -> tuple[str, str]:
    """Rows with the same key compete: one class, one comparability number N of the task's version N-X."""
    return status_class(row), (row.version or "").split("-")[0]


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
    return (p.reason or "").split(":")[0]


def cell_of(metrics: Mapping[str, Metric], name: str, best: bool = False) -> Cell:
    """A metric as a cell."""
    metric = metrics.get(name)
    if metric is None or metric.value is None:
        reason = "not reported" if metric is None else metric.reason or "not defined"
        return Cell(reason=reason)
    return Cell(number(metric.value, metric.unit), metric.value, interval(metric), _p_text(metrics, name), best=best)


def _row_view(row: BoardRow, family: Family, cells: Sequence[Cell]) -> RowView:
    text, meaning = STATUS_TEXT[row.status]
    organisation, name = split_name(shown(row.model))
    return RowView(
        row=row,
        organisation=organisation,
        name=name,
        href=entry_page(row),
        status_text=text,
        status_meaning=meaning,
        variant=variant_label(family.variant(row.task)),
        partial=f"{row.n:,} of {row.n_expected:,} items" if is_partial(row) else "",
        notes=tuple(finding.message for finding in row.findings) if row.status == "published" else (),
        cells=tuple(cells),
    )


def sorting_metric(rows: Sequence[BoardRow], metrics: Sequence[str], headline: str) -> str:
    """The metric that rows of one class are sorted by: the headline, else the first column with a better direction.

    A paper may print figures of one protocol alone, and its rows then have no headline.
    """

    def has(name: str) -> bool:
        given = [row.metrics[name] for row in rows if name in row.metrics]
        return any(metric.value is not None and metric.higher_is_better is not None for metric in given)

    return headline if has(headline) else next(filter(has, metrics), headline)


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
        sorted_by = sorting_metric([rows[i] for i in places], [c.metric for c in columns], family.headline)
        views = [
            _row_view(
                rows[i],
                family,
                [cell_of(rows[i].metrics, c.metric, (i, c.metric) in best) for c in columns],
            )
            for i in sorted(places, key=lambda i: (i not in standing, _order(rows[i], sorted_by)))
        ]
        if views:
            sections.append(Section(title, sorted_by, tuple(views)))
    return tuple(sections)


# -- Breakdowns --------------------------------------------------------------------------------------------------------


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
        tuple(groups),
        tuple(_row_view(row, family, _tinted(line, low, high)) for row, line in zip(own, cells, strict=True)),
    )


def breakdowns_of(rows: Sequence[BoardRow], family: Family, words: Words) -> tuple[Breakdown, ...]:
    """Every breakdown that some row has: a table a metric."""
    named = list(dict.fromkeys(name for row in rows for name in row.metrics))
    sorted_by = {
        kind: sorting_metric(
            [row for row in rows if status_class(row) == kind], sorted(named, key=words.metric_place), family.headline
        )
        for kind in _SECTIONS
    }
    ordered = sorted(rows, key=lambda row: (row.status == "published", _order(row, sorted_by[status_class(row)])))
    found = []
    for name in dict.fromkeys(name for row in ordered for name in row.breakdowns):
        own = [row for row in ordered if row.breakdowns.get(name)]
        columns = columns_of((metrics for row in own for metrics in row.breakdowns[name].values()), words)
        tables = tuple(_breakdown_table(own, family, name, column) for column in columns)
        if tables:
            found.append(Breakdown(name, words.breakdown_label(name), tables))
    return tuple(found)


def family_view(family: Family, rows: Sequence[BoardRow], words: Words) -> FamilyView:
    """A family's table and breakdowns."""
    columns = columns_of((row.metrics for row in rows), words)
    return FamilyView(
        id=family.task,
        family=family,
        columns=columns,
        sections=_sections(rows, family, columns),
        has_variants=any(family.variant(row.task) for row in rows),
        breakdowns=breakdowns_of(rows, family, words),
        rows=tuple(rows),
    )
