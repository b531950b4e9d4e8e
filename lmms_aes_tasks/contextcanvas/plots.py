"""Plots of ContextCanvas on the page."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_aes_tasks.board.benchmark import Family
from lmms_aes_tasks.board.plots import Plot, dot_plot, row_points
from lmms_aes_tasks.board.schema import BoardRow
from lmms_aes_tasks.sources import read_card


def gold_yes_rate(task: str) -> float:
    """The share of Yes among the gold labels of a task's two-option cases, in percent."""
    card = read_card("contextcanvas_demo" if task.endswith("_demo") else "contextcanvas")
    return round(100 * card.expected["gold_yes_rate"], 2)


def suitability_plots(rows: Sequence[BoardRow], family: Family) -> list[Plot]:
    """Accuracy with its intervals, and the Yes rate against the gold rate."""
    plots = []
    if points := row_points(rows, family, "accuracy"):
        caption = "Accuracy over all cases. A bar is the 95% interval; the papers print none."
        plots.append(dot_plot(f"{family.task}-accuracy", "Accuracy", caption, points, "accuracy, %"))
    if points := row_points(rows, family, "yes_rate"):
        gold = gold_yes_rate(family.task)
        caption = (
            f"Share of Yes on the two-option cases, against {gold:.2f}% in the gold labels. Right of the line a model "
            "accepts too much, left of the line it rejects too much. Meeting the line does not make the answers right."
        )
        line = (gold, f"gold {gold:.2f}%")
        plots.append(dot_plot(f"{family.task}-yes-rate", "Yes rate against gold", caption, points, "Yes rate, %", line))
    return plots
