"""The papers' own rows as rows of the board, with status `published`."""

from __future__ import annotations

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.schema import BoardRow


def published_rows() -> list[BoardRow]:
    """Every row of the papers, by benchmark, in the papers' order."""
    return [row for benchmark in registry.benchmarks() for row in benchmark.published()]
