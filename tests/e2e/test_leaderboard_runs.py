"""Entries of real runs of the harness, on one rank and on three: built, verified, and the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_aes_tasks.leaderboard.build import EntryRequest, build
from lmms_aes_tasks.leaderboard.verify import verify_entry
from tests.e2e.conftest import Launched

pytestmark = pytest.mark.harness

TASKS = {"contextcanvas_demo", "critiquecanvas_demo", "vab_top1_demo", "vab_bot1_demo", "vab_tb1_demo"}


def test_one_rank_and_three(launched: Launched, tmp_path: Path) -> None:
    entries = {}
    for ranks in (1, 3):
        finished = launched(ranks)
        folder = tmp_path / f"ranks{ranks}"
        entries[ranks] = build([finished.folder], folder, EntryRequest("Org/Model"))
        found = verify_entry(folder)
        assert found.status == "recomputed", found.findings
        (flag,) = (own for own in found.findings if own.kind != "note")  # the oracle copies references
        assert (flag.kind, flag.where) == ("flag", "critiquecanvas_demo")
        assert "critiques equal their reference" in flag.message
        assert set(found.recomputed) >= TASKS
    one, three = (entries[ranks].tasks for ranks in (1, 3))
    for task in TASKS:
        assert one[task] == three[task]
        assert [prompt.id for prompt in one[task].prompts if prompt.id == "other"] == []
