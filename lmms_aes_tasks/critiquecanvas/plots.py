"""The plot across CritiqueCanvas and ContextCanvas, after Figure 4b of AesCanvas."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_aes_tasks.board.plots import Plot, Point, defined_value, metric_value, scatter_plot
from lmms_aes_tasks.board.rows import current, status_class
from lmms_aes_tasks.board.schema import BoardRow
from lmms_aes_tasks.board.text import shown

CRITIQUE_METRICS = ("bleu", "rouge_l", "meteor", "bert_f1", "sbert_cos", "clip_cos")
"""The six metrics of AesCanvas, Table 3, that its Figure 4b takes the mean percentile over."""


def _critique_percentiles(rows: Sequence[BoardRow]) -> dict[str, float]:
    from lmms_aes_tasks.utils.percentile import mean_percentiles

    figures = {
        row.key: {
            name: value for name in CRITIQUE_METRICS if (value := metric_value(row.metrics.get(name))) is not None
        }
        for row in rows
    }
    return mean_percentiles(figures, CRITIQUE_METRICS)


def cross_points(rows: Sequence[BoardRow]) -> list[Point]:
    """Points of AesCanvas's Figure 4b: mean percentile over the six critique metrics, and ContextCanvas accuracy.

    The percentile is among rows of one status class (the papers' rows, or runs), those of CritiqueCanvas that have all
    six metrics (`percentile.percentiles`; our reading, for the paper gives neither formula nor figures). A model is
    drawn when it is in both benchmarks by the same name, and, of runs, the same revision; of several runs the latest,
    by date then key, that is neither superseded nor partial.
    """
    points = []
    tasks = ("contextcanvas", "critiquecanvas")
    standing = [row for task in tasks for row in current([row for row in rows if row.task == task])]
    standing.sort(key=lambda row: (row.date or "", row.key))
    for kind in ("run", "published"):
        own = [row for row in standing if status_class(row) == kind]
        critiques = {
            (row.model, row.revision): row
            for row in own
            if row.task == "critiquecanvas"
            and all(metric_value(row.metrics.get(m)) is not None for m in CRITIQUE_METRICS)
        }
        contexts = {
            (row.model, row.revision): row
            for row in own
            if row.task == "contextcanvas" and metric_value(row.metrics.get("accuracy")) is not None
        }
        ranks = _critique_percentiles(list(critiques.values()))
        for model, critique in critiques.items():
            if model in contexts and critique.key in ranks:
                accuracy = 100 * defined_value(contexts[model].metrics["accuracy"])
                points.append(Point(shown(critique.model), contexts[model].status, ranks[critique.key], accuracy))
    return points


def cross_plots(rows: Sequence[BoardRow]) -> list[Plot]:
    """AesCanvas's Figure 4b; empty without a model in both benchmarks."""
    points = cross_points(rows)
    if not points:
        return []
    caption = (
        "ContextCanvas accuracy against the mean percentile over the six CritiqueCanvas metrics, for models in both, "
        "after Figure 4b of AesCanvas. Percentiles are among the papers' rows, or among runs, never across; 0 is the "
        "lowest and 100 the highest of them."
    )
    labels = ("mean critique percentile", "ContextCanvas accuracy, %")
    title = "Critique metrics against suitability"
    return [scatter_plot("critique-and-context", title, caption, points, labels, size=(820, 440))]
