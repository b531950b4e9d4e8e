"""What an entry's page holds: its rows of the board, and what is computed of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lmms_aes_tasks.board.rows import group_order
from lmms_aes_tasks.board.schema import Board, BoardRow, Status
from lmms_aes_tasks.board.text import number, shown
from lmms_aes_tasks.leaderboard.page_tables import Cell, Column, benchmarks_of, cell_of, columns_of, entry_page
from lmms_aes_tasks.leaderboard.page_text import STATUS_TEXT, Words, benchmark_file, split_name
from lmms_aes_tasks.leaderboard.submissions import FOLDER_OF_SUBMISSIONS


@dataclass(frozen=True)
class MetricView:
    """A figure of an entry's page."""

    column: Column
    cell: Cell
    n: int


@dataclass(frozen=True)
class GroupTable:
    """A breakdown of an entry's page: a row a group, a column a metric."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class TaskView:
    """One task of an entry's page: its row, and what is computed of it."""

    row: BoardRow
    benchmark: str
    href: str
    status_text: str
    status_meaning: str
    parsed: str
    metrics: tuple[MetricView, ...]
    breakdowns: tuple[GroupTable, ...]


@dataclass(frozen=True)
class EntryView:
    """An entry's page: one of its rows, for what all share, its status, and its tasks."""

    row: BoardRow
    organisation: str
    name: str
    href: str
    status: Status
    status_text: str
    status_meaning: str
    verify: str
    rerun: str
    tasks: tuple[TaskView, ...]


def _group_tables(row: BoardRow, words: Words) -> tuple[GroupTable, ...]:
    tables = []
    for name, groups in row.breakdowns.items():
        columns = columns_of(groups.values(), words)
        rows = tuple(
            (group, tuple(cell_of(groups[group], column.metric) for column in columns)) for group in group_order(groups)
        )
        tables.append(GroupTable(words.breakdown_label(name), columns, rows))
    return tuple(tables)


def _task_view(row: BoardRow, words: Words) -> TaskView:
    text, meaning = STATUS_TEXT[row.status]
    return TaskView(
        row=row,
        benchmark=words.title,
        href=benchmark_file(words),
        status_text=text,
        status_meaning=meaning,
        parsed="" if row.parse_rate is None else number(row.parse_rate, "fraction"),
        metrics=tuple(
            MetricView(column, cell_of(row.metrics, column.metric), row.metrics[column.metric].n)
            for column in columns_of([row.metrics], words)
        ),
        breakdowns=_group_tables(row, words),
    )


def commands(entry: str, rows: Sequence[BoardRow]) -> tuple[str, str]:
    """The commands that verify an entry and run its model again, quoted for a POSIX shell."""
    first = rows[0]
    arguments = f"pretrained={first.model}" + (f",revision={first.revision}" if first.revision else "")
    rerun = [
        *("lmms-eval", "--model", first.backend or "BACKEND", "--model_args", arguments),
        *("--tasks", ",".join(row.task for row in rows), "--log_samples", "--output_path", "runs"),
    ]
    verify = ["lmms-aes", "leaderboard", "verify", f"{FOLDER_OF_SUBMISSIONS}/{entry}"]
    return shlex.join(map(shown, verify)), shlex.join(map(shown, rerun))


def _weakest(rows: Iterable[BoardRow]) -> Status:
    """An entry is recomputed when every task of it is."""
    return "self-reported" if any(row.status == "self-reported" for row in rows) else "recomputed"


def entries_of(board: Board) -> list[EntryView]:
    """Every entry of the board, in its order."""
    words = {benchmark.name: benchmark for benchmark, _ in benchmarks_of(board)}
    order = list(words)
    grouped: dict[str, list[BoardRow]] = {}
    for row in board.rows:
        if row.entry is not None:
            grouped.setdefault(row.entry, []).append(row)
    views = []
    for entry, rows in grouped.items():
        rows.sort(key=lambda row: (order.index(row.benchmark), row.task))
        first, status = rows[0], _weakest(rows)
        verify, rerun = commands(entry, rows)
        organisation, name = split_name(shown(first.model))
        views.append(
            EntryView(
                row=first,
                organisation=organisation,
                name=name,
                href=entry_page(first) or "",
                status=status,
                status_text=STATUS_TEXT[status][0],
                status_meaning=STATUS_TEXT[status][1],
                verify=verify,
                rerun=rerun,
                tasks=tuple(_task_view(row, words[row.benchmark]) for row in rows),
            )
        )
    return views
