"""Every task, on 1, 2 and 3 ranks and with limits: the same figures and the same records."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Launched

pytestmark = pytest.mark.harness

VAB = ("vab_top1_demo", "vab_bot1_demo", "vab_tb1_demo")
TASKS = ("contextcanvas_demo", "critiquecanvas_demo", *VAB)
SIZES = {"contextcanvas_demo": 28, "critiquecanvas_demo": 27}


@pytest.mark.parametrize("limit", [None, 7])
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_change_nothing(ranks: int, limit: int | None, launched: Launched) -> None:
    alone, several = launched(1, limit), launched(ranks, limit)
    for task in TASKS:
        assert several.metrics(task) == alone.metrics(task)
        assert several.records(task) == alone.records(task)
        assert len(alone.records(task)) == (limit or SIZES.get(task, 45))


def test_a_limit_smaller_than_the_ranks(launched: Launched) -> None:
    alone, several = launched(1, 2), launched(3, 2)
    for task in TASKS:
        assert several.metrics(task) == alone.metrics(task)
        assert several.records(task) == alone.records(task)
        assert len(alone.records(task)) == 2


def test_an_incomplete_task_is_counted_and_said(launched: Launched) -> None:
    """Seven trials are two complete tasks and a third with one trial."""
    finished = launched(1, 7)
    for task in VAB:
        records = finished.records(task)
        complete = {r["task_id"] for r in records if sum(o["task_id"] == r["task_id"] for o in records) == 3}
        right = [all(r["answer"] == r["gold"] for r in records if r["task_id"] == task_id) for task_id in complete]
        assert len(right) == 2
        metrics = finished.metrics(task)
        assert metrics["incomplete_tasks"] == 1.0
        assert metrics["pass^3"] == sum(right) / 2
        assert metrics["ap@1"] == sum(r["answer"] == r["gold"] for r in records) / 7
    assert finished.output.count("vab: 1 task(s) lack one of their 3 trials and are left out of pass^3") == 3


def test_the_runs_are_shown_group_rows_and_all(launched: Launched) -> None:
    from typer.testing import CliRunner

    from lmms_aes_tasks.cli.app import app

    result = CliRunner().invoke(app, ["runs", str(launched(1).folder), "--expect", "5"])
    assert result.exit_code == 0, result.output
    for task in TASKS:
        assert task in result.output
        assert "parse_rate (%)" in result.output or "bleu (%)" in result.output
