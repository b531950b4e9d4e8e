"""What every export takes and gives, and what they share: which rows are exported, and under which names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.rows import is_partial
from lmms_aes_tasks.board.schema import BoardRow, Entry

if TYPE_CHECKING:
    from lmms_aes_tasks.sources import SourceCard

NAME = "lmms-aes-tasks"


@dataclass(frozen=True)
class Source:
    """What is exported.

    Attributes:
        rows: Rows of a board or of an entry.
        entries: The entries that are at hand, by path; they tell more than rows do.
        datasets: Data set on the Hub by benchmark.
        source_url: A page to name as the source of the figures.
    """

    rows: Sequence[BoardRow]
    entries: Mapping[str, Entry] = field(default_factory=dict)
    datasets: Mapping[str, str] = field(default_factory=dict)
    source_url: str | None = None


@dataclass(frozen=True)
class ExportFile:
    """One file that was made.

    Attributes:
        name: File name.
        text: Content.
    """

    name: str
    text: str


@dataclass(frozen=True)
class Export:
    """What an export made.

    Attributes:
        documents: The files.
        notes: What was left out, and why.
    """

    documents: list[ExportFile]
    notes: list[str]


# -- What is exported of runs -----------------------------------------------------------------------------------------


DEMO = "_demo"


def card_of(row: BoardRow) -> SourceCard | None:
    """The card of a row's data (a demo has its own); None for a benchmark that is none of ours."""
    from lmms_aes_tasks.records import SourceError
    from lmms_aes_tasks.sources import read_card

    try:
        return read_card(f"{row.benchmark}{DEMO}" if row.task.endswith(DEMO) else row.benchmark)
    except SourceError:
        return None


def title_of(row: BoardRow) -> str:
    """Printed name of a row's data set."""
    card = card_of(row)
    return row.benchmark if card is None else card.title


def dataset_of(row: BoardRow, source: Source) -> str | None:
    """The data set of a row on the Hub; None where none is known, and for a demo."""
    if row.task.endswith(DEMO):
        return None
    if row.benchmark in source.datasets:
        return source.datasets[row.benchmark]
    card = card_of(row)
    return None if card is None else card.hub_id or None


def runs_of(source: Source) -> list[BoardRow]:
    """Rows of runs that no newer run stands for."""
    return [row for row in source.rows if row.entry is not None and not row.superseded]


def rows_by_model(source: Source) -> dict[str, list[BoardRow]]:
    """Rows by model, one a task: a whole run before a partial one, a recomputed one before others, then the newest."""

    def rank(row: BoardRow) -> tuple[bool, bool, str, str]:
        return not is_partial(row), row.status == "recomputed", row.date or "", row.key

    best: dict[tuple[str, str], BoardRow] = {}
    for row in runs_of(source):
        held = best.get((row.model, row.task))
        if held is None or rank(row) > rank(held):
            best[row.model, row.task] = row
    found: dict[str, list[BoardRow]] = {}
    for (model, _), row in sorted(best.items()):
        found.setdefault(model, []).append(row)
    return found


def passed_over(source: Source, models: Mapping[str, Sequence[BoardRow]]) -> list[str]:
    """Runs that a format with room for one a task does not hold."""
    kept = {row.key for rows in models.values() for row in rows}
    left = [row.key for row in runs_of(source) if row.key not in kept]
    return [f"{key}: another run of the same model and task is exported" for key in left]


def required(documents: list[ExportFile], notes: list[str], what: str) -> Export:
    """An export that holds something.

    Raises:
        LeaderboardError: It is empty; the notes say why.
    """
    if not documents:
        raise LeaderboardError("\n  - ".join([f"nothing to export as {what}. Give a run that has it:", *notes]))
    return Export(documents, notes)
