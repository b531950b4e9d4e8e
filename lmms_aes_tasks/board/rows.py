"""What is asked of rows of a board wherever they are ordered, drawn or exported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmms_aes_tasks.board.schema import BoardRow


def is_baseline(row: BoardRow) -> bool:
    """Whether a row is no model's: a run of `aes_baseline`, whose oracle reads the labels, or a paper's baseline."""
    return row.backend == "aes_baseline" or row.group.lower().endswith("baseline")


def is_partial(row: BoardRow) -> bool:
    """Whether a run answered fewer items than the whole task has (`--limit`)."""
    return row.n is not None and row.n_expected is not None and row.n < row.n_expected


def current(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Rows that stand for their model: neither superseded nor partial."""
    return [row for row in rows if not row.superseded and not is_partial(row)]


def status_class(row: BoardRow) -> str:
    """Rows of one class are compared: the papers' with each other, and runs with each other."""
    return "published" if row.status == "published" else "run"


def group_order(names: Iterable[str]) -> list[str]:
    """Groups of a breakdown in reading order: by number where all are numbers, else as first met."""
    unique = list(dict.fromkeys(names))
    return sorted(unique, key=float) if all(name.isascii() and name.isdigit() for name in unique) else unique
