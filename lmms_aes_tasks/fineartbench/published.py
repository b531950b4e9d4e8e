"""FineArtBench: Table 1 of the paper as rows of the board."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.published import UNKNOWN_N, figure_metric, published_json, published_row
from lmms_aes_tasks.board.schema import BoardRow, Finding, Metric

_FIGURES = Path(__file__).parent / "published.json"

_REASONING = {"Zero-shot CoT": "_cot", "ArtCoT": "_artcot"}
_LEVELS = {"artist": "fineartbench_2afc_global", "task": "fineartbench_2afc_instance"}


_ROUNDING = Finding(
    kind="note",
    where="task_bt_rho_official",
    message="Task Bradley–Terry ρ: rounding decides ranks in the authors' fit; their code gave the same predictions up "
    "to 0.011 more or less on another machine",
)
"""Largest difference among the four comparisons of docs/fineartbench.md: 0.6997 against 0.6887."""


def _p(value: float | str) -> Metric:
    if isinstance(value, str):
        return Metric(
            value=None,
            n=UNKNOWN_N,
            unit="p",
            higher_is_better=None,
            reason=f"p {value.replace('<', '< ')}: the paper prints no more",
        )
    return Metric(value=value, n=UNKNOWN_N, unit="p", higher_is_better=None)


def _fineartbench_group(row: Mapping[str, Any]) -> str:
    if row["model"] == "Random guess":
        return "Random baseline"
    return "Conventional models" if row["reasoning"] is None else "MLLMs"


def published_rows() -> list[BoardRow]:
    """Table 1: one row a model, way of reasoning and level (artist, task).

    The figures are put under the `official` protocol, which follows the authors' code; that the paper's table was made
    with it is our reading. Its title sorts rows into conventional models and MLLMs. A task-level Bradley–Terry ρ of
    theirs hangs on the machine that fitted it, and says so.
    """
    content = published_json(_FIGURES)
    paper = content["source"].split(", Table")[0]
    rows = []
    for row in content["rows"]:
        for level, task in _LEVELS.items():
            metrics = {}
            for rating in ("elo", "bt"):
                metrics[f"{level}_{rating}_rho_official"] = figure_metric(
                    row[f"{level}_{rating}_rho"], UNKNOWN_N, "rho"
                )
                metrics[f"{level}_{rating}_p_official"] = _p(row[f"{level}_{rating}_p"])
            rows.append(
                published_row(
                    "fineartbench",
                    task + _REASONING.get(row["reasoning"] or "", ""),
                    row["model"],
                    group=_fineartbench_group(row),
                    source=f"{paper}, Table 1",
                    metrics=metrics,
                    findings=[_ROUNDING] if level == "task" else [],
                )
            )
    return rows
