"""Plots for the page: Matplotlib draws them, and what it writes becomes SVG that lives inside the page.

Inside the page, text stays text, colours follow the reader's light or dark theme through classes, and the strict
content policy holds: no style attribute, no script, no reference to anything outside.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.board.benchmark import Family
from lmms_aes_tasks.board.inline_svg import INKS, inline_svg
from lmms_aes_tasks.board.rows import current, group_order
from lmms_aes_tasks.board.schema import BoardRow, Metric, Status
from lmms_aes_tasks.board.text import number, short, shown, variant_label

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST = 40
"""Models in one plot; more are unreadable, and the table has them all."""
_NAME_WIDTH = 30
_ROOM = 10.0
"""Percent that a figure written left of its point takes."""
_WIDTH = 580
"""Width of a plot that shares a line with another, in points; about what it gets on a wide screen."""

_COLOUR = {name: colour for colour, name in INKS.items()}
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
class Point:
    """A model in a plot: its name, its place, and for one figure its interval and text."""

    label: str
    status: Status
    x: float
    y: float = 0.0
    low: float | None = None
    high: float | None = None
    text: str = ""


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


def row_labels(rows: Sequence[BoardRow], family: Family) -> list[str]:
    """A name a row; where a model is there several times, with what sets the run apart."""

    def apart_by(row: BoardRow) -> tuple[str, ...]:
        return (variant_label(family.variant(row.task)) or "main", row.prompt or "", row.decoding or "", row.key)

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


def row_points(rows: Sequence[BoardRow], family: Family, x: str, y: str | None = None) -> list[Point]:
    """Rows that have the metrics, in percent where they are shares."""
    kept = [
        row
        for row in current(rows)
        if all(metric_value(row.metrics.get(name)) is not None for name in (x, y) if name is not None)
    ]
    points = []
    for row, label in zip(kept, row_labels(kept, family), strict=True):
        metric = row.metrics[x]
        scale = 100 if metric.unit == "fraction" else 1
        has = metric.low is not None and metric.high is not None
        points.append(
            Point(
                label,
                row.status,
                scale * defined_value(metric),
                0.0 if y is None else (100 if row.metrics[y].unit == "fraction" else 1) * defined_value(row.metrics[y]),
                scale * metric.low if has and metric.low is not None else None,
                scale * metric.high if has and metric.high is not None else None,
                number(defined_value(metric), metric.unit),
            )
        )
    return points


def metric_value(metric: Metric | None) -> float | None:
    """The value of a metric that a row may lack."""
    return None if metric is None else metric.value


def defined_value(metric: Metric) -> float:
    """The value of a metric that is known to have one."""
    assert metric.value is not None
    return metric.value


def _legend(axes: Any, points: Sequence[Point], **place: Any) -> None:
    """Name the statuses that are drawn; without a `place` below the axes, where room is made for it."""
    for status, marker in _MARKER.items():
        if any(point.status == status for point in points):
            style = {"color": _COLOUR[status], "markersize": 6, "linestyle": "none"}
            axes.plot([], [], marker, label=status, **style)
    if place:
        axes.legend(**place)
    else:
        axes.figure.legend(loc="outside lower center", ncols=3)


def _tip(point: Point) -> str:
    ends = "" if point.low is None or point.high is None else f" [{point.low:.2f}, {point.high:.2f}]"
    return f"{point.label} ({point.status}): {point.text}{ends}"


# -- Kinds of plots ----------------------------------------------------------------------------------------------------


def dot_plot(
    plot: str, title: str, caption: str, points: Sequence[Point], unit: str, line: tuple[float, str] | None = None
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


def _place_labels(axes: Any, points: Sequence[Point]) -> None:
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
    points: Sequence[Point],
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
