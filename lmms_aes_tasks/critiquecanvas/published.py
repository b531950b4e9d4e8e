"""CritiqueCanvas: Tables 3, S5 and S6 of AesCanvas as rows of the board.

A name that may or may not be the same model in two tables stays two rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.published import (
    UNKNOWN_N,
    figure_metric,
    percent_metric,
    published_json,
    published_row,
)
from lmms_aes_tasks.board.schema import BoardRow, Metric

_FIGURES = Path(__file__).parent / "published.json"
_N_JUDGED = 100
"""Critiques rated in AesCanvas, Tables 4 and S6."""


def same_name(name: str) -> str:
    """A name without case, spaces and punctuation: `Qwen3-VLFT` and `Qwen3-VL-FT` are one model, typeset twice.

    `InternVL` and `InternVL3.5-8B` are not: that both mean one model is likely, but no table says it.
    """
    return "".join(char for char in name.lower() if char.isalnum())


def _critique_metrics(row: Mapping[str, Any], n: int) -> dict[str, Metric]:
    names = ("rouge_l", "meteor", "bert_f1", "sbert_cos", "clip_cos")
    return {"bleu": percent_metric(row["bleu"], n)} | {name: figure_metric(row[name], n, "fraction") for name in names}


def _style_metrics(row: Mapping[str, Any], n: int) -> dict[str, Metric]:
    """Table S5; form, not quality: only following a focused prompt has a better direction."""
    return {
        "avg_length": figure_metric(row["avg_length"], n, "words", None),
        "len_ref": figure_metric(row["len_ref"], n, "ratio", None),
        "dim_hits": figure_metric(row["dim_hits"], n, "dimensions", None),
        "density": figure_metric(row["density"], n, "per 100 words", None),
        "prompt_align": percent_metric(row["prompt_align"], UNKNOWN_N),  # how many prompts are focused is not printed
    }


def _judge_metrics(row: Mapping[str, Any]) -> dict[str, Metric]:
    return {
        "human_rating": figure_metric(row["human"], _N_JUDGED, "rating"),
        "judge_rating": figure_metric(row["mllm"], _N_JUDGED, "rating"),
    }


def _by_name(rows: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {same_name(row["model"]): row for row in rows}


def published_rows() -> list[BoardRow]:
    """Tables 3, S5 and S6, merged where the name is the same (`same_name`).

    Table S5 calls the groups a little differently; which of its groups is which of Table 3's follows from the models
    that are in both.
    """
    content = published_json(_FIGURES)
    n = content["n_samples"]
    main, style, judged = (_by_name(content[part]) for part in ("rows", "style_rows", "judge_rows"))
    groups = {row["group"]: main[name]["group"] for name, row in style.items() if name in main}
    rows = []
    for name in dict.fromkeys([*main, *style, *judged]):
        parts: list[tuple[str, dict[str, Metric]]] = []
        if name in main:
            parts.append(("3", _critique_metrics(main[name], n)))
        if name in style:
            parts.append(("S5", _style_metrics(style[name], n)))
        if name in judged:
            parts.append(("S6", _judge_metrics(judged[name])))
        first = next(part[name] for part in (main, style, judged) if name in part)
        group = first.get("group", "")
        tables = ", ".join(table for table, _ in parts)
        rows.append(
            published_row(
                "critiquecanvas",
                "critiquecanvas",
                first["model"],
                group=groups.get(group, group),
                source=f"AesCanvas, Table{'s' if len(parts) > 1 else ''} {tables}",
                n=n,
                metrics={metric: figure for _, figures in parts for metric, figure in figures.items()},
            )
        )
    return rows
