"""`--use_cache` of the real command line: failed requests are asked again, and so is other data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.e2e.conftest import run_harness
from tests.loopback import Reply, Server

pytestmark = pytest.mark.harness

NO_COMMIT = {"GIT_DIR": "/nowhere"}
"""The cache's key holds the commit of a repository around the environment, which may move while a test runs."""


def test_a_second_run_asks_for_what_failed(server: Server, tmp_path: Path) -> None:
    healthy = False

    def reply(body: dict[str, Any]) -> str | Reply:
        if healthy or len(server.requests) % 2:
            return '{"answer": "B"}'
        return Reply(b'{"error": {"message": "too long at /srv/models/m", "code": 400}}', 400)

    server.reply = reply
    model = ("--model", "openai", "--model_args")
    arguments = f"model_version=m,base_url={server.address},num_concurrent=1,max_retries=1"
    run = (*model, arguments, "--tasks", "contextcanvas_demo", "--limit", "6", "--use_cache", str(tmp_path / "cache"))
    first = run_harness(tmp_path / "first", *run, environment=server.environment | NO_COMMIT)
    failed = [sample for sample in first.samples("contextcanvas_demo") if "LMMS_EVAL" in str(sample["filtered_resps"])]
    assert 0 < len(failed) < 6, first.output[-3000:]
    healthy = True
    asked = len(server.requests)
    second = run_harness(tmp_path / "second", *run, environment=server.environment | NO_COMMIT)
    assert len(server.requests) - asked == len(failed), second.output[-3000:]
    assert all("LMMS_EVAL" not in str(sample["filtered_resps"]) for sample in second.samples("contextcanvas_demo"))
    asked = len(server.requests)
    third = run_harness(tmp_path / "third", *run, environment=server.environment | NO_COMMIT)
    assert len(server.requests) == asked, third.output[-3000:]


def vab_data(folder: Path, order: list[int], shade: int = 0) -> Path:
    """Eight sets of three pictures; the best and the worst go round."""
    (folder / "vab").mkdir(parents=True)
    rows = []
    for number in range(8):
        for place, name in enumerate("abc"):
            colour = (number * 30, place * 80, shade if number == 0 else 0)
            Image.new("RGB", (40, 40), colour).save(folder / f"vab/{number}{name}.png")
        best, worst = "ABC"[number % 3], "ABC"[(number + 1) % 3]
        images = [f"{number}{name}.png" for name in "abc"]
        row = {"task_id": f"set{number}", "domain": "photography", "substyle": "portrait", "images": images}
        rows.append(row | {"ground_truth_best": best, "ground_truth_worst": worst})
    (folder / "vab/tasks.json").write_text(json.dumps([rows[number] for number in order]))
    return folder


def test_other_sets_and_other_pictures_are_asked_about(tmp_path: Path) -> None:
    states = {
        "first": vab_data(tmp_path / "one", list(range(8))),
        "again": tmp_path / "one",
        "reordered": vab_data(tmp_path / "two", [7, *range(7)]),
        "repainted": vab_data(tmp_path / "three", list(range(8)), shade=200),
    }
    hits = {}
    for name, data in states.items():
        finished = run_harness(
            tmp_path / f"out-{name}", "--model", "aes_baseline", "--model_args", "strategy=oracle", "--tasks",
            "vab_top1_greedy", "--use_cache", str(tmp_path / "cache"),
            environment={"LMMS_AES_DATA": str(data)} | NO_COMMIT,
        )  # fmt: skip
        assert finished.metrics("vab_top1_greedy")["ap@1"] == 1, name
        hits[name] = "24/24 cache hits" in finished.output
    assert hits == {"first": False, "again": True, "reordered": False, "repainted": False}
