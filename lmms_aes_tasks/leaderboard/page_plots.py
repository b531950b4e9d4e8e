"""The page's plots: Matplotlib draws them, and what it writes becomes SVG that lives inside the page.

Inside the page, text stays text, colours follow the reader's light or dark theme through classes, and the strict
content policy holds: no style attribute, no script, no reference to anything outside.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from lmms_aes_tasks.board.schema import BoardRow, Metric, Status
from lmms_aes_tasks.leaderboard.page_tables import current, group_order, status_class, variant_of
from lmms_aes_tasks.leaderboard.page_text import Family, number, short, shown, variant_label

if TYPE_CHECKING:
    from markupsafe import Markup

CRITIQUE_METRICS = ("bleu", "rouge_l", "meteor", "bert_f1", "sbert_cos", "clip_cos")
"""The six metrics of AesCanvas, Table 3, that its Figure 4b takes the mean percentile over."""

_MOST = 40
"""Models in one plot; more are unreadable, and the table has them all."""
_NAME_WIDTH = 30
_ROOM = 10.0
"""Percent that a figure written left of its point takes."""
_WIDTH = 580
"""Width of a plot that shares a line with another, in points; about what it gets on a wide screen."""

# Drawn in colours that stand for classes of page.css; `_themed` puts the class in the colour's place.
_INKS = {
    "#000001": "ink",
    "#000002": "muted",
    "#000003": "grid",
    "#000004": "surface",
    "#000011": "recomputed",
    "#000012": "self-reported",
    "#000013": "published",
    **{f"#00002{place}": f"step-{place}" for place in range(6)},
}
_COLOUR = {name: colour for colour, name in _INKS.items()}
_MARKER: dict[Status, str] = {"recomputed": "o", "self-reported": "s", "published": "D"}


@dataclass(frozen=True)
class Plot:
    """A plot as the page holds it.

    Attributes:
        id: Its element's id.
        title: Heading.
        caption: What is drawn, and how to read it.
        svg: The drawing, safe to put into the page as it is.
    """

    id: str
    title: str
    caption: str
    svg: Markup


@dataclass(frozen=True)
class _Point:
    label: str
    status: Status
    x: float
    y: float = 0.0
    low: float | None = None
    high: float | None = None
    text: str = ""


# -- From Matplotlib's SVG to ours -------------------------------------------------------------------------------------


def _local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


def _themed(element: ElementTree.Element) -> None:
    """Style attribute to presentation attributes, and our stand-in colours to classes."""
    style = dict(part.split(":", 1) for part in element.attrib.pop("style", "").split(";") if ":" in part)
    classes = []
    for key, value in ((key.strip(), value.strip()) for key, value in style.items()):
        if key in {"fill", "stroke"} and value in _INKS:
            classes.append(f"{key}-{_INKS[value]}")
        elif key not in {"font-family", "font"}:
            element.set(key, value)
    if classes:
        element.set("class", " ".join(classes))


def inline_svg(source: str, plot: str, title: str, description: str, tips: Mapping[str, str]) -> Markup:
    """Matplotlib's SVG as an element of an HTML page.

    Args:
        source: What Matplotlib wrote.
        plot: Prefix of every id, so that several plots share a page.
        title: Accessible name.
        description: Accessible description.
        tips: Text that appears over a group of the drawing, by the group's id.
    """
    from markupsafe import Markup

    root = ElementTree.fromstring(source)
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in {"metadata", "style"}:
                parent.remove(child)
    text = [(name, content) for name, content in (("title", title), ("desc", description)) if content]
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(key): value for key, value in element.attrib.items()}
        _themed(element)
        own = element.attrib.pop("id", None)
        if own is not None and own in tips:
            tip = ElementTree.Element("title")
            tip.text = tips[own]
            element.insert(0, tip)
        if own is not None and element.tag in {"path", "clipPath"}:  # what else has an id is referenced by nothing
            element.set("id", f"{plot}-{own}")
        if element.get("href", "").startswith("#"):
            element.set("href", f"#{plot}-{element.attrib['href'][1:]}")
        if element.get("clip-path", "").startswith("url(#"):
            element.set("clip-path", f"url(#{plot}-{element.attrib['clip-path'][5:]}")
    for place, (name, content) in enumerate(text):
        child = ElementTree.Element(name, id=f"{plot}-{name}")
        child.text = content
        root.insert(place, child)
    view = root.attrib["viewBox"]
    root.attrib = {
        "viewBox": view,
        "class": "plot",
        "role": "img",
        "aria-labelledby": " ".join(f"{plot}-{name}" for name, _ in text),
    }
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))  # escaped by ElementTree


def _drawn(
    plot: str, title: str, caption: str, size: tuple[float, float], draw: Callable[[Any], Mapping[str, str]]
) -> Plot:
    """Draw on axes of `size` points, and take the result into the page."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    ink, muted, grid = _COLOUR["ink"], _COLOUR["muted"], _COLOUR["grid"]
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": plot,
        "text.parse_math": False,  # a name with two dollar signs is a name
        "font.size": 11,
        "text.color": ink,
        "axes.edgecolor": grid,
        "axes.labelcolor": muted,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": grid,
        "grid.linewidth": 0.8,
        "xtick.color": grid,
        "ytick.color": grid,
        "xtick.labelcolor": muted,
        "ytick.labelcolor": ink,
        "legend.frameon": False,
        "legend.fontsize": 10,
        "legend.labelcolor": muted,
    }
    buffer = io.StringIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a script that Matplotlib's font lacks is drawn by the reader's browser
        figure, axes = plt.subplots(figsize=(size[0] / 72, size[1] / 72), layout="constrained")
        try:
            tips = draw(axes)
            figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
        finally:
            plt.close(figure)
    return Plot(plot, title, caption, inline_svg(buffer.getvalue(), plot, title, caption, tips))


# -- Points ------------------------------------------------------------------------------------------------------------


def _labels(rows: Sequence[BoardRow], family: Family) -> list[str]:
    """A name a row; where a model is there several times, with what sets the run apart."""

    def apart_by(row: BoardRow) -> tuple[str, ...]:
        return (variant_label(variant_of(row, family)) or "main", row.prompt or "", row.decoding or "", row.key)

    names = [shown(row.model) for row in rows]
    labels = []
    for row, name in zip(rows, names, strict=True):
        same = [other for other, its in zip(rows, names, strict=True) if its == name and other is not row]
        others = [apart_by(other) for other in same]
        extra = next((mine for place, mine in enumerate(apart_by(row)) if any(o[place] != mine for o in others)), "")
        if row.status == "published" and any(o.status != "published" for o in same):
            extra = "published"
        labels.append(f"{name} · {shown(extra)}" if same and extra else name)
    return labels


def _points(rows: Sequence[BoardRow], family: Family, x: str, y: str | None = None) -> list[_Point]:
    """Rows that have the metrics, in percent where they are shares."""
    kept = [
        row
        for row in current(rows)
        if all(_value(row.metrics.get(name)) is not None for name in (x, y) if name is not None)
    ]
    points = []
    for row, label in zip(kept, _labels(kept, family), strict=True):
        metric = row.metrics[x]
        scale = 100 if metric.unit == "fraction" else 1
        has = metric.low is not None and metric.high is not None
        points.append(
            _Point(
                label,
                row.status,
                scale * _defined(metric),
                0.0 if y is None else (100 if row.metrics[y].unit == "fraction" else 1) * _defined(row.metrics[y]),
                scale * metric.low if has and metric.low is not None else None,
                scale * metric.high if has and metric.high is not None else None,
                number(_defined(metric), metric.unit),
            )
        )
    return points


def _value(metric: Metric | None) -> float | None:
    return None if metric is None else metric.value


def _defined(metric: Metric) -> float:
    assert metric.value is not None
    return metric.value


def _legend(axes: Any, points: Sequence[_Point], **place: Any) -> None:
    """Name the statuses that are drawn; without a `place` below the axes, where room is made for it."""
    for status, marker in _MARKER.items():
        if any(point.status == status for point in points):
            style = {"color": _COLOUR[status], "markersize": 6, "linestyle": "none"}
            axes.plot([], [], marker, label=status, **style)
    if place:
        axes.legend(**place)
    else:
        axes.figure.legend(loc="outside lower center", ncols=3)


def _tip(point: _Point) -> str:
    ends = "" if point.low is None or point.high is None else f" [{point.low:.2f}, {point.high:.2f}]"
    return f"{point.label} ({point.status}): {point.text}{ends}"


# -- Kinds of plots ----------------------------------------------------------------------------------------------------


def dot_plot(
    plot: str, title: str, caption: str, points: Sequence[_Point], unit: str, line: tuple[float, str] | None = None
) -> Plot:
    """One line a model: its figure with its interval, or with its distance to a reference `line`."""
    ordered = sorted(points, key=lambda point: point.x)[-_MOST:]

    def draw(axes: Any) -> dict[str, str]:
        tips = {}
        for place, point in enumerate(ordered):
            colour = _COLOUR[point.status]
            if line is not None:
                axes.plot([line[0], point.x], [place, place], color=_COLOUR["grid"], linewidth=2.5)
            if point.low is not None and point.high is not None:
                axes.plot([point.low, point.high], [place, place], color=colour, linewidth=1.6)
            tips[f"tip-{place}"] = _tip(point)
            axes.plot(point.x, place, _MARKER[point.status], color=colour, markersize=6.5, gid=f"tip-{place}")
            ends = [end for end in (point.x, point.low, point.high) if end is not None]
            # away from the line, but never over the model's name
            left = line is not None and min(ends) > _ROOM and point.x < line[0]
            axes.annotate(
                point.text,
                (min(ends) if left else max(ends), place),
                xytext=(-7 if left else 7, 0),
                textcoords="offset points",
                ha="right" if left else "left",
                va="center",
                fontsize=9.5,
                color=_COLOUR["muted"],
            )
        if line is not None:
            axes.axvline(line[0], color=_COLOUR["ink"], linewidth=1.1, linestyle=(0, (4, 3)))
            axes.annotate(
                line[1],
                (line[0], 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=10,
            )
        axes.set(xlim=(0, 104), ylim=(-0.7, len(ordered) - 0.3), xlabel=unit)
        axes.set_yticks(range(len(ordered)), [short(point.label, _NAME_WIDTH) for point in ordered])
        axes.grid(axis="y", visible=False)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        _legend(axes, ordered)
        return tips

    return _drawn(plot, title, caption, (_WIDTH, 20 * len(ordered) + 100), draw)


_OFFSETS = [
    (dx * reach, dy * reach)
    for reach in (1.0, 1.7, 2.6)
    for dx, dy in ((8, 0), (0, 10), (0, -10), (-8, 0), (7, 8), (7, -8), (-7, 8), (-7, -8))
]
"""Where a label may stand beside its point, in the order of preference, in points."""


def _place_labels(axes: Any, points: Sequence[_Point]) -> None:
    """Write each point's name where it covers no other name and no point; a name that fits nowhere is left out.

    The names left out are still in the tip of their point, and in the table.
    """
    from matplotlib.transforms import Bbox

    figure = axes.figure
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    pixels = [axes.transData.transform((point.x, point.y)) for point in points]
    reach = 5 * figure.dpi / 72
    taken = [Bbox([[x - reach, y - reach], [x + reach, y + reach]]) for x, y in pixels]
    inside = axes.get_window_extent(renderer)
    leader = {"arrowstyle": "-", "color": _COLOUR["muted"], "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
    for point, own in sorted(zip(points, list(taken), strict=True), key=lambda pair: -pair[0].y):
        for dx, dy in _OFFSETS:
            text = axes.annotate(
                short(point.label, 28),
                (point.x, point.y),
                xytext=(dx, dy),
                textcoords="offset points",
                fontsize=9.5,
                ha="left" if dx > 0 else "right" if dx < 0 else "center",
                va="bottom" if dy > 0 else "top" if dy < 0 else "center",
                arrowprops=leader if abs(dx) + abs(dy) > 16 else None,
            )
            text.set_in_layout(False)
            box = text.get_tightbbox(renderer) if text.arrow_patch is None else Bbox(text.get_window_extent(renderer))
            room = inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
            if room and not any(box.overlaps(other) for other in taken if other is not own):
                taken.append(box)
                break
            text.remove()


def scatter_plot(
    plot: str,
    title: str,
    caption: str,
    points: Sequence[_Point],
    axes_labels: tuple[str, str],
    curves: Sequence[tuple[str, Callable[[float], float]]] = (),
    size: tuple[float, float] = (_WIDTH, 420),
) -> Plot:
    """One figure against another, both in percent, with names beside the points."""
    shown_points = sorted(points, key=lambda point: -point.x)[:_MOST]

    def draw(axes: Any) -> dict[str, str]:
        def span(values: list[float]) -> tuple[float, float]:
            margin = max(4.0, 0.12 * (max(values) - min(values)))
            return max(-2.0, min(values) - margin), min(104.0, max(values) + margin)

        axes.set(xlabel=axes_labels[0], ylabel=axes_labels[1])
        axes.set(xlim=span([point.x for point in shown_points]), ylim=span([point.y for point in shown_points]))
        axes.tick_params(length=0, labelcolor=_COLOUR["muted"])
        grid = [axes.get_xlim()[0] + k * (axes.get_xlim()[1] - axes.get_xlim()[0]) / 60 for k in range(61)]
        for (name, curve), dashes in zip(curves, ((1, 2), (5, 3)), strict=False):
            style = {"color": _COLOUR["muted"], "linewidth": 1, "linestyle": (0, dashes)}
            axes.plot(grid, [curve(x) for x in grid], label=name, **style)
        tips = {}
        for place, point in enumerate(shown_points):
            tips[f"tip-{place}"] = (
                f"{point.label} ({point.status}): {axes_labels[0]} {point.x:.2f}, {axes_labels[1]} {point.y:.2f}"
            )
            axes.plot(
                point.x, point.y, _MARKER[point.status], color=_COLOUR[point.status], markersize=7.5, gid=f"tip-{place}"
            )
        _legend(axes, shown_points, loc="upper center", bbox_to_anchor=(0.45, -0.12), ncols=3)
        _place_labels(axes, shown_points)
        return tips

    return _drawn(plot, title, caption, size, draw)


def stacked_plot(plot: str, title: str, caption: str, shares: Mapping[str, Mapping[str, float]]) -> Plot:
    """One bar a model, divided among groups; `shares` are percents by group by model."""
    models = list(shares)[:_MOST]
    groups = group_order(group for own in shares.values() for group in own)

    def draw(axes: Any) -> dict[str, str]:
        tips = {}
        for place, model in enumerate(reversed(models)):
            left = 0.0
            for step, group in enumerate(groups):
                share = shares[model].get(group)
                if share is None:
                    continue
                gid = f"tip-{place}-{step}"
                tips[gid] = f"{model}, {group}: {share:.2f}%"
                colour = _COLOUR[f"step-{min(step, 5)}"]
                edge = {"edgecolor": _COLOUR["surface"], "linewidth": 1.5}
                (bar,) = axes.barh(place, share, 0.66, left, color=colour, **edge)
                bar.set_gid(gid)
                if share >= 7:
                    ink = _COLOUR["surface"] if step < 3 else _COLOUR["ink"]
                    axes.text(
                        left + share / 2, place, f"{share:.1f}", ha="center", va="center", fontsize=9.5, color=ink
                    )
                left += share
        for step, group in enumerate(groups):
            axes.barh(0, 0, color=_COLOUR[f"step-{min(step, 5)}"], label=short(shown(group), 16))
        axes.set(xlim=(0, 100.5), ylim=(-0.6, len(models) - 0.4), xlabel="% of answers that were read")
        axes.set_yticks(range(len(models)), [short(model, _NAME_WIDTH) for model in reversed(models)])
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.figure.legend(loc="outside lower center", ncols=6, title="position")
        return tips

    return _drawn(plot, title, caption, (_WIDTH, 30 * len(models) + 120), draw)


# -- The plots of the page ---------------------------------------------------------------------------------------------


def gold_yes_rate(task: str) -> float:
    """The share of Yes among the gold labels of a ContextCanvas task's two-option cases, in percent."""
    from lmms_aes_tasks.leaderboard.tasks import known_tasks
    from lmms_aes_tasks.sources import read_card

    known = known_tasks().get(task)
    return round(100 * read_card("contextcanvas" if known is None else known.card).expected["gold_yes_rate"], 2)


def context_plots(rows: Sequence[BoardRow], family: Family) -> list[Plot]:
    """Accuracy with its intervals, and the Yes rate against the gold rate."""
    plots = []
    if points := _points(rows, family, "accuracy"):
        caption = "Accuracy over all cases. A bar is the 95% interval; the papers print none."
        plots.append(dot_plot(f"{family.task}-accuracy", "Accuracy", caption, points, "accuracy, %"))
    if points := _points(rows, family, "yes_rate"):
        gold = gold_yes_rate(family.task)
        caption = (
            f"Share of Yes on the two-option cases, against {gold:.2f}% in the gold labels. Right of the line a model "
            "accepts too much, left of the line it rejects too much. Meeting the line does not make the answers right."
        )
        line = (gold, f"gold {gold:.2f}%")
        plots.append(dot_plot(f"{family.task}-yes-rate", "Yes rate against gold", caption, points, "Yes rate, %", line))
    return plots


def selection_plots(rows: Sequence[BoardRow], family: Family) -> list[Plot]:
    """ap@1 against pass^3, and where the chosen image stood."""
    plots = []
    if points := _points(rows, family, "ap@1", "pass^3"):
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
            if (value := _value(metrics.get("share"))) is not None
        }
        for row, label in zip(kept, _labels(kept, family), strict=True)
    }
    if shares := {label: own for label, own in shares.items() if own}:
        caption = (
            "Where the chosen image (of TB-1 the best) stood in the set. Orders are shuffled, so a model without a "
            "preference for a place has the shares that the sizes of the sets give; later places are rarer, for not "
            "every set has them."
        )
        plots.append(stacked_plot(f"{family.task}-position", "Chosen position", caption, shares))
    return plots


def _critique_percentiles(rows: Sequence[BoardRow]) -> dict[str, float]:
    from lmms_aes_tasks.utils.percentile import mean_percentiles

    figures = {
        row.key: {name: value for name in CRITIQUE_METRICS if (value := _value(row.metrics.get(name))) is not None}
        for row in rows
    }
    return mean_percentiles(figures, CRITIQUE_METRICS)


def cross_points(rows: Sequence[BoardRow]) -> list[_Point]:
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
            if row.task == "critiquecanvas" and all(_value(row.metrics.get(m)) is not None for m in CRITIQUE_METRICS)
        }
        contexts = {
            (row.model, row.revision): row
            for row in own
            if row.task == "contextcanvas" and _value(row.metrics.get("accuracy")) is not None
        }
        ranks = _critique_percentiles(list(critiques.values()))
        for model, critique in critiques.items():
            if model in contexts and critique.key in ranks:
                accuracy = 100 * _defined(contexts[model].metrics["accuracy"])
                points.append(_Point(shown(critique.model), contexts[model].status, ranks[critique.key], accuracy))
    return points


def cross_plot(rows: Sequence[BoardRow]) -> Plot | None:
    """AesCanvas's Figure 4b; None without a model in both benchmarks."""
    points = cross_points(rows)
    if not points:
        return None
    caption = (
        "ContextCanvas accuracy against the mean percentile over the six CritiqueCanvas metrics, for models in both, "
        "after Figure 4b of AesCanvas. Percentiles are among the papers' rows, or among runs, never across; 0 is the "
        "lowest and 100 the highest of them."
    )
    labels = ("mean critique percentile", "ContextCanvas accuracy, %")
    return scatter_plot(
        "critique-and-context", "Critique metrics against suitability", caption, points, labels, size=(820, 440)
    )


_PLOTS: dict[str, Callable[[Sequence[BoardRow], Family], list[Plot]]] = {
    "contextcanvas": context_plots,
    "vab": selection_plots,
}


def plots_of(benchmark: str, rows: Sequence[BoardRow], family: Family) -> list[Plot]:
    """The plots of a table."""
    return _PLOTS[benchmark](rows, family) if benchmark in _PLOTS else []
