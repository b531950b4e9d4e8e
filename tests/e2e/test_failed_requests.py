"""A server that fails every second request: counted, named, not published; then only what failed is asked again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import BIN, run_harness
from tests.e2e.test_caches import NO_COMMIT
from tests.loopback import Reply, Server

pytestmark = pytest.mark.harness

GREEDY = {"contextcanvas_demo": 28, "critiquecanvas_demo": 27}
SAMPLED = {"vab_top1_demo": 45, "vab_bot1_demo": 45, "vab_tb1_demo": 45}
ANSWER = '<think>Light?</think>{"answer": "B"}\nBEST: A\nWORST: B'


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(BIN / "lmms-aes"), *map(str, arguments)], capture_output=True, text=True, check=False)


def test_a_run_of_failures_is_finished_and_then_published(server: Server, tmp_path: Path) -> None:
    """Two launches of the harness: all demo tasks with failures, then the same command when the server is well."""
    healthy = False

    def reply(body: dict[str, Any]) -> str | Reply:
        if healthy or len(server.requests) % 2:
            return ANSWER
        return Reply(b'{"error": {"message": "too long at worker /srv/models/m on gpu-7.internal", "code": 400}}', 400)

    server.reply = reply
    model = f"model_version=m,base_url={server.address},num_concurrent=1,max_retries=1"
    tasks = ",".join([*GREEDY, "vab_demo"])
    run = ("--model", "openai", "--model_args", model, "--tasks", tasks, "--use_cache", str(tmp_path / "cache"))
    environment = server.environment | NO_COMMIT | {"LMMS_AES_EMBEDDINGS": "off"}

    first = run_harness(tmp_path / "first", *run, environment=environment)
    failed = {}
    for task, n in (GREEDY | SAMPLED).items():
        samples = first.samples(task)
        failed[task] = sum("LMMS_EVAL" in str(sample["filtered_resps"]) for sample in samples)
        assert 0 < failed[task] < n == len(samples)
        assert first.metrics(task)["failed_requests"] == failed[task]
        assert first.metrics(task)["reasoning_rate"] == 1.0  # lmms-eval leaves the marks to us
        assert sum(sample["record"]["failed"] for sample in samples) == failed[task]
        assert "internal" not in json.dumps([sample["record"] for sample in samples])
        assert first.output.count(f"lmms-aes-tasks: {task}: {failed[task]} of {n} requests failed.") == 1
        refused = command(
            "leaderboard", "build", first.folder, "--task", task, "-o", tmp_path / "no", "--model-id", "a/b"
        )
        assert refused.returncode == 2
        assert f"{failed[task]} of {n} requests of {task} failed" in refused.stderr
        assert not (tmp_path / "no").exists()
    assert first.metrics("critiquecanvas_demo")["empty_rate"] == 0.0

    healthy = True
    asked = len(server.requests)
    second = run_harness(tmp_path / "second", *run, environment=environment)
    # what is sampled at temperature 1 is never cached
    again = sum(failed[task] for task in GREEDY) + sum(SAMPLED.values())
    assert len(server.requests) - asked == again, second.output[-3000:]
    assert "requests failed" not in second.output
    assert {second.metrics(task)["failed_requests"] for task in GREEDY | SAMPLED} == {0.0}
    made = command("leaderboard", "build", second.folder, "-o", tmp_path / "entry", "--model-id", "a/b")
    assert made.returncode == 0, made.stderr
    verified = command("leaderboard", "verify", tmp_path / "entry", "--no-write", "--json")
    assert verified.returncode == 0, verified.stdout
    assert json.loads(verified.stdout)["status"] == "recomputed"
