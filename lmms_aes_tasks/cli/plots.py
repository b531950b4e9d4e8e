"""Figures that commands draw with `--plot`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.outputs import atomic_path
from lmms_aes_tasks.predictions import PredictionError

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.ratings import JudgedModel

SUFFIXES = (".png", ".svg", ".pdf")


def check_plot_name(path: Path | None) -> None:
    """Make sure, before any work, that a figure can be written under this name.

    Raises:
        PredictionError: The suffix is none of `SUFFIXES`.
    """
    if path is not None and path.suffix.lower() not in SUFFIXES:
        raise PredictionError(f"plot is {str(path)!r}: use a name that ends in {', '.join(SUFFIXES)}")


@contextmanager
def _figure(path: Path, rows: int, columns: int, size: tuple[float, float], title: str) -> Iterator[Any]:
    """Axes of shape (rows, columns) to draw into; the file appears when it is whole."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    try:
        yield axes
        figure.suptitle(title.replace("$", r"\$"))
        figure.tight_layout()
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=path.suffix.lstrip(".").lower(), dpi=150)
    finally:
        plt.close(figure)


def draw_ranks(path: Path, rankings: Mapping[str, Mapping[str, float]], title: str) -> None:
    """Ranks by experts against ranks by the model, one panel a rating.

    Args:
        path: File to write.
        rankings: Ratings by method under `human_elo`, `model_elo`, `human_bt`, `model_bt`, as far as they exist.
        title: Text above the panels.

    Raises:
        PredictionError: There is no rating of both sides.
    """
    names = [name for name in ("elo", "bt") if f"human_{name}" in rankings and f"model_{name}" in rankings]
    if not names:
        raise PredictionError(f"{path}: nothing to draw, for neither rating is defined (--json has the reasons)")
    with _figure(path, 1, len(names), (5.2 * len(names), 5.2), title) as axes:
        for axis, name in zip(axes[0], names, strict=False):
            places = {}
            for side in ("human", "model"):
                own = rankings[f"{side}_{name}"]
                ordered = sorted(own, key=own.__getitem__, reverse=True)
                places[side] = {method: place for place, method in enumerate(ordered, 1)}
            k = len(places["human"])
            axis.plot([1, k], [1, k], color="0.8", zorder=0)
            for method, place in places["human"].items():
                point = (place, places["model"][method])
                axis.scatter(*point, color="tab:blue")
                label = method.replace("$", r"\$")
                axis.annotate(label, point, xytext=(5, 4), textcoords="offset points", fontsize=8)
            heading = {"elo": "Elo", "bt": "Bradley–Terry"}[name]
            axis.set(xlabel="rank by experts", ylabel="rank by model", title=heading)
            axis.set(xlim=(0.5, k + 2.3), ylim=(k + 0.5, 0.5), xticks=range(1, k + 1), yticks=range(1, k + 1))


def draw_selection(path: Path, shape: Mapping[str, Any], questions: Mapping[str, str], title: str) -> None:
    """ap@1 and pass^3 over the number of images, with their intervals and the exact random baseline.

    Args:
        path: File to write.
        shape: What `score vab --json` writes.
        questions: Printed name by key, of the questions to draw.
        title: Text above the panels.
    """

    def at(part: Mapping[str, Any], size: str) -> Mapping[str, Any]:
        return part["overall"] if size == "all" else part["by_n_images"][size]  # type: ignore[no-any-return]

    sizes = ["all", *shape["by_n_images"]]
    with _figure(path, 1, 2, (11, 4.6), title) as axes:
        for axis, (metric, heading) in zip(axes[0], (("ap_at_1", "ap@1"), ("pass_pow_3", "pass^3")), strict=True):
            width = 0.8 / len(questions)
            for index, (question, printed) in enumerate(questions.items()):
                shift = (index - (len(questions) - 1) / 2) * width
                for place, size in enumerate(sizes):
                    value = at(shape, size)[question].get(metric)
                    if value is None:
                        continue
                    low, high = at(shape["intervals"], size)[question][metric] or (value, value)
                    x = place + shift
                    label = printed if place == 0 else None
                    axis.bar(x, 100 * value, width * 0.9, color=f"C{index}", label=label)
                    # an interval holds its value up to rounding
                    errors = [[100 * max(0.0, value - low)], [100 * max(0.0, high - value)]]
                    axis.errorbar(x, 100 * value, errors, color="0.25", capsize=2, linewidth=1)
                    chance = at(shape["random_baseline"], size)[question].get(metric)
                    if chance is not None:
                        axis.hlines(100 * chance, x - width / 2, x + width / 2, color="black", linestyles="dotted")
            axis.set(xticks=range(len(sizes)), xticklabels=sizes, xlabel="images in the set", title=heading)
            axis.set(ylim=(0, 100), ylabel="% of trials" if metric == "ap_at_1" else "% of tasks")
            axis.plot([], [], color="black", linestyle="dotted", label="random")
        axes[0][1].legend(loc="upper left", bbox_to_anchor=(1.01, 1))


def draw_critiques(path: Path, models: Mapping[str, Mapping[str, Any]]) -> None:
    """The six reference metrics with their intervals, and how many critiques address each dimension.

    Args:
        path: File to write.
        models: What `score critiquecanvas --json` writes, by the name to print; one model or two.
    """
    printed = {
        "bleu": "BLEU",
        "rouge_l": "ROUGE-L",
        "meteor": "METEOR",
        "bert_f1": "BERT-F1",
        "sbert_cos": "SBERT-Cos",
        "clip_cos": "CLIP cosine",
    }
    first = next(iter(models.values()))
    names = [name for name in printed if name in first["metrics"]]
    dimensions = list(first["dimensions"])
    width = 0.8 / len(models)
    with _figure(path, 1, 2, (12, 4.8), "CritiqueCanvas") as axes:
        left, right = axes[0]
        for index, (model, content) in enumerate(models.items()):
            shift = (index - (len(models) - 1) / 2) * width
            for place, name in enumerate(names):
                score = content["metrics"].get(name)
                if score is None or score["value"] is None:
                    continue
                value = score["value"]
                label = model.replace("$", r"\$") if place == 0 else None
                left.bar(place + shift, value, width * 0.9, color=f"C{index}", label=label)
                if score["low"] is not None:
                    errors = [[max(0.0, value - score["low"])], [max(0.0, score["high"] - value)]]
                    left.errorbar(place + shift, value, errors, color="0.25", capsize=2, linewidth=1)
            shares = [100 * content["dimensions"].get(name, 0.0) for name in dimensions]
            right.barh([place + shift for place in range(len(dimensions))], shares, width * 0.9, color=f"C{index}")
        left.set(xticks=range(len(names)), ylabel="value (fraction)", title="Metrics, 95% interval")
        left.set_xticklabels([printed[name] for name in names], rotation=20, ha="right")
        if names:
            left.margins(y=0.25)  # room for the legend
            left.legend(loc="upper left", fontsize=8)
        right.set(yticks=range(len(dimensions)), yticklabels=dimensions, xlim=(0, 100))
        right.set(xlabel="% of critiques that address it", title="Dimensions")
        right.invert_yaxis()


def draw_judge(path: Path, models: Mapping[str, JudgedModel], title: str) -> None:
    """Scores by people against scores by the judge, a point for each model.

    Args:
        path: File to write.
        models: Scores by model.
        title: Text above the figure.
    """
    with _figure(path, 1, 1, (5.6, 5.2), title) as axes:
        axis = axes[0][0]
        axis.plot([1, 5], [1, 5], color="0.8", zorder=0)
        for model, own in models.items():
            axis.scatter(own.human, own.judge, color="tab:blue")
            label = model.replace("$", r"\$")
            point = (own.human, own.judge)
            axis.annotate(label, point, xytext=(5, 4), textcoords="offset points", fontsize=8)
        axis.set(xlabel="people, mean H", ylabel="judge, mean overall quality", xlim=(0.8, 5.2), ylim=(0.8, 5.2))
