"""The papers' own rows as rows of the board, with status `published`."""

from __future__ import annotations

from lmms_aes_tasks.board.schema import BoardRow
from lmms_aes_tasks.contextcanvas import published as contextcanvas
from lmms_aes_tasks.critiquecanvas import published as critiquecanvas
from lmms_aes_tasks.fineartbench import published as fineartbench
from lmms_aes_tasks.vab import published as vab


def published_rows() -> list[BoardRow]:
    """Every row of the papers, by benchmark, in the papers' order."""
    return [row for part in (contextcanvas, critiquecanvas, vab, fineartbench) for row in part.published_rows()]
