"""Boards and entries in the formats of others: Hugging Face, Every Eval Ever, CSV, LaTeX.

Every format that holds numbers as numbers holds them exactly. The papers' own rows are figures of the papers, not of
runs: they are in CSV and LaTeX alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lmms_aes_tasks.leaderboard.every_eval_ever import every_eval_ever
from lmms_aes_tasks.leaderboard.export_forms import Export, Source
from lmms_aes_tasks.leaderboard.export_hub import hf_eval_results, model_index
from lmms_aes_tasks.leaderboard.export_tables import csv_table, latex_tables

FORMATS: Mapping[str, Callable[[Source], Export]] = {
    "hf-eval-results": hf_eval_results,
    "model-index": model_index,
    "eee": every_eval_ever,
    "csv": csv_table,
    "latex": latex_tables,
}
