"""What the score commands draw: bars and points stand at the values of the oracles."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from PIL import Image

from tests.cli.conftest import call

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ORACLE = json.loads((Path(__file__).parents[1] / "data/vab.json").read_text("utf-8"))["scoring"]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Figures in place of being closed."""
    figures: list[Any] = []
    close = plt.close
    monkeypatch.setattr(plt, "close", figures.append)
    yield figures
    close("all")


@pytest.fixture
def run(tmp_path: Path) -> list[Any]:
    for name in ("tasks", "responses"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in ORACLE[name]))
    return ["score", "vab", tmp_path / "responses.jsonl", "--tasks", tmp_path / "tasks.jsonl", "--resamples", 100]


def test_bars_stand_at_the_authors_values(run: list[Any], kept: list[Any], tmp_path: Path) -> None:
    assert call(*run, "--plot", tmp_path / "scores.png").exit_code == 0
    assert Image.open(tmp_path / "scores.png").size == (1650, 690)
    left, right = kept[0].axes
    assert [axis.get_title() for axis in (left, right)] == ["ap@1", "pass^3"]
    expected = ORACLE["expected"]
    sizes = ["all", *sorted(expected["avg_pass_at_1_by_n_images"], key=int)]
    assert [label.get_text() for label in left.get_xticklabels()] == sizes
    heights = [bar.get_height() for bar in left.patches]
    for index, question in enumerate(("pick_best", "pick_worst", "pick_best_and_worst_both")):
        assert heights[index * len(sizes)] == pytest.approx(100 * expected["avg_pass_at_1"][question], abs=1e-9)
        for place, size in enumerate(sizes[1:], 1):
            value = expected["avg_pass_at_1_by_n_images"][size][question]
            assert heights[index * len(sizes) + place] == pytest.approx(100 * value, abs=1e-9)
    best = right.patches[0].get_height()
    assert best == pytest.approx(100 * expected["pick_best"]["accuracy"], abs=1e-9)


def test_a_plot_is_refused_before_work(run: list[Any], error_of: Callable[..., str], tmp_path: Path) -> None:
    assert "use a name that ends in .png, .svg, .pdf" in error_of(*run, "--plot", tmp_path / "scores.txt")
    assert "leave out --compare" in error_of(*run, "--plot", tmp_path / "scores.png", "--compare", run[2])


def test_points_stand_at_the_ranks(kept: list[Any], tmp_path: Path) -> None:
    from lmms_aes_tasks.cli.fineartbench import draw_ranks

    rankings = {
        "human_elo": {"a$b$": 1510.0, "c": 1490.0, "d": 1500.0},
        "model_elo": {"a$b$": 1400.0, "c": 1500.0, "d": 1600.0},
    }
    draw_ranks(tmp_path / "ranks.svg", rankings, "$x$")
    assert "<svg" in (tmp_path / "ranks.svg").read_text("utf-8")
    (axis,) = kept[0].axes
    # by hand: experts a, d, c; the model d, c, a
    assert {tuple(points.get_offsets()[0]) for points in axis.collections} == {(1, 3), (2, 1), (3, 2)}
