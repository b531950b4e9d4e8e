"""Visual Aesthetic Benchmark: the figures in the paper's text as rows of the board."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.published import UNKNOWN_N, Groups, percent_metric, published_json, published_row
from lmms_aes_tasks.board.schema import BoardRow, Finding

_FIGURES = Path(__file__).parent / "published.json"

_VAB_METRICS = {"ap1": "ap@1", "pass3": "pass^3", "": "accuracy"}
"""The file's suffix to our metric. Experts and reward models answer a set once: theirs is a plain accuracy."""


def _vab_group(row: Mapping[str, Any]) -> str:
    if row["model"] == "Human experts":
        return "Human baseline"
    return "Reward models" if row.get("kind") == "reward model" else "MLLMs"


def _human_by_size(content: Mapping[str, Any]) -> dict[str, Groups]:
    """Experts' TB-1 by size of the set. The best model's figures beside them name no model, so they are no row."""
    sizes = {str(row["k"]): {"accuracy": percent_metric(row["human_tb1"], UNKNOWN_N)} for row in content["by_k"]}
    return {"n_images": sizes}


def published_rows() -> list[BoardRow]:
    """The figures in the text of sections 4.2, 4.3 and 5: one row a model and question, with what the text gives."""
    content = published_json(_FIGURES)
    source = content["source"].split(" (")[0]
    rows = []
    for row in content["rows"]:
        for question in ("top1", "bot1", "tb1"):
            metrics = {
                metric: percent_metric(row[key], content["n_tasks"])
                for suffix, metric in _VAB_METRICS.items()
                if (key := f"{question}_{suffix}".rstrip("_")) in row
            }
            if not metrics:
                continue
            human = row["model"] == "Human experts"
            rows.append(
                published_row(
                    "vab",
                    f"vab_{question}",
                    row["model"],
                    group=_vab_group(row),
                    source=source,
                    n=content["n_tasks"],
                    metrics=metrics,
                    breakdowns=_human_by_size(content) if human and question == "tb1" else {},
                    findings=[Finding(kind="note", where="model", message=row["note"])] if "note" in row else [],
                )
            )
    return rows
