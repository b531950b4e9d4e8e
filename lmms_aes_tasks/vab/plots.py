"""Plots of the Visual Aesthetic Benchmark on the page."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_aes_tasks.board.benchmark import Family
from lmms_aes_tasks.board.plots import Plot, metric_value, row_labels, row_points, scatter_plot, stacked_plot
from lmms_aes_tasks.board.rows import current
from lmms_aes_tasks.board.schema import BoardRow
from lmms_aes_tasks.board.text import shown


def selection_plots(rows: Sequence[BoardRow], family: Family) -> list[Plot]:
    """ap@1 against pass^3, and where the chosen image stood."""
    plots = []
    if points := row_points(rows, family, "ap@1", "pass^3"):
        caption = (
            "Right on average over three orders, against right in all three. On the dotted line the order "
            "plays no part; the dashed line is where a model would be that answers each order anew, on sets as hard."
        )
        curves = (("order plays no part", lambda x: x), ("independent answers", lambda x: 100 * (x / 100) ** 3))
        name = f"{family.task}-order"
        plots.append(scatter_plot(name, "ap@1 against pass^3", caption, points, ("ap@1, %", "pass^3, %"), curves))
    kept = [row for row in current(rows) if row.breakdowns.get("chosen_position")]
    shares = {
        label: {
            shown(group): 100 * value
            for group, metrics in row.breakdowns["chosen_position"].items()
            if (value := metric_value(metrics.get("share"))) is not None
        }
        for row, label in zip(kept, row_labels(kept, family), strict=True)
    }
    if shares := {label: own for label, own in shares.items() if own}:
        caption = (
            "Where the chosen image (of TB-1 the best) stood in the set. Orders are shuffled, so a model without a "
            "preference for a place has the shares that the sizes of the sets give; later places are rarer, for not "
            "every set has them."
        )
        plots.append(stacked_plot(f"{family.task}-position", "Chosen position", caption, shares))
    return plots
