"""ContextCanvas through the real harness: a real model, an API, no data, a user's YAML, an installed wheel."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from lmms_aes_tasks.cli.app import app
from lmms_aes_tasks.task_folders import TASKS_PATH
from tests.e2e.conftest import Finished, Launched, Server, run_harness

pytestmark = pytest.mark.harness

TASK = "contextcanvas_demo"


def score_again(finished: Finished) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["score", "contextcanvas", str(finished.samples_file(TASK)), "--json"])
    assert result.exit_code == 0, result.output
    content = json.loads(result.output)
    values = {name: metric["value"] for name, metric in content["metrics"].items()}
    return values | {name: content[name] for name in ("failed_requests", "reasoning_rate")}


def test_the_baseline_runs_and_its_samples_are_enough_to_score_it_again(launched: Launched) -> None:
    one_rank = launched(1)
    metrics = one_rank.metrics(TASK)
    records = one_rank.records(TASK)
    assert len(records) == 28
    right = sum(record["answer"] == record["gold"] for record in records)
    assert metrics["accuracy"] == right / 28
    assert 0 < right < 28
    assert metrics["parse_rate"] == 1.0
    assert score_again(one_rank) == metrics
    result = CliRunner().invoke(app, ["score", "contextcanvas", str(one_rank.samples_file(TASK)), "--json"])
    (prompt,) = json.loads(result.output)["prompts"].items()
    assert prompt[0].startswith("contextcanvas-1 sha256:")
    assert prompt[1] == 28
    assert one_rank.results()["versions"][TASK] == "1-A"
    assert "reads the gold labels" in one_rank.output
    assert "prompt contextcanvas-1, sha256 " in one_rank.output


def test_the_command_line_with_a_real_model(tiny_model: Path, tmp_path: Path) -> None:
    finished = run_harness(
        tmp_path / "out",
        *("--model", "qwen3_vl", "--model_args", f"pretrained={tiny_model},device=cpu,device_map=cpu"),
        *("--gen_kwargs", "max_new_tokens=8", "--tasks", TASK),
    )
    metrics = finished.metrics(TASK)
    own = {"accuracy", "macro_f1", "yes_rate", "yes_f1", "no_f1", "parse_rate"}
    assert set(metrics) == own | {"failed_requests", "reasoning_rate"}
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in metrics.values())
    records = finished.records(TASK)
    assert len({record["id"] for record in records}) == 28
    assert len({record["text"] for record in records}) > 1  # random weights still see the documents differ
    assert score_again(finished) == metrics


def test_tasks_are_listed(tmp_path: Path) -> None:
    finished = run_harness(tmp_path / "out", "--tasks", "list_subtasks")
    for name in ("contextcanvas", TASK, "critiquecanvas", "critiquecanvas_painting", "critiquecanvas_demo"):
        assert f"|{name} " in finished.output
    tags = run_harness(tmp_path / "out", "--tasks", "list")
    for name in ("contextcanvas", TASK, "lmms_aes"):
        assert f" - {name}\n" in tags.output


def test_no_data_ends_in_one_message_and_a_failure(tmp_path: Path) -> None:
    finished = run_harness(tmp_path / "out", "--model", "aes_baseline", "--tasks", "contextcanvas")
    assert finished.code == 1
    assert finished.output.count("no data ($LMMS_AES_DATA is not set)") == 1
    assert "Traceback" not in finished.output
    assert "RetryError" not in finished.output
    assert finished.output.rstrip().endswith("To try the suite without data, run the task contextcanvas_demo.")


def test_a_built_wheel_registers_by_name_too(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(root)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    environment = {"PYTHONPATH": str(site)}
    where = [sys.executable, "-c", "import lmms_aes_tasks; print(lmms_aes_tasks.__file__)"]
    found = subprocess.run(where, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(site))
    arguments = ("--model", "aes_baseline", "--tasks", TASK, "--limit", "3")
    finished = run_harness(tmp_path / "out", *arguments, environment=environment, cwd=tmp_path)
    assert len(finished.records(TASK)) == 3
    data_file = finished.results()["configs"][TASK]["dataset_kwargs"]["data_files"]["test"]
    assert data_file.startswith(str(site))


def test_an_api_model_gets_images_and_text_in_order(server: Server, tmp_path: Path) -> None:
    finished = run_harness(
        tmp_path / "out",
        *(*server.model, "--tasks", TASK),
        environment=server.environment,
    )
    metrics = finished.metrics(TASK)
    assert (metrics["parse_rate"], metrics["yes_rate"]) == (1.0, 1.0)
    assert {record["rule"] for record in finished.records(TASK)} == {"object"}
    assert len(server.requests) == 28
    parts = [request["messages"][-1]["content"] for request in server.requests]
    paired = [part for part in parts if len(part) == 5]
    assert len(paired) == 1
    assert [item["type"] for item in paired[0]] == ["text", "image_url", "text", "image_url", "text"]
    for part in parts:
        for item in part:
            if item["type"] == "image_url":
                content = base64.b64decode(item["image_url"]["url"].split(",", 1)[1])
                image = Image.open(io.BytesIO(content))
                assert (image.size, image.mode) == ((448, 448), "RGB")
    sent = sorted(part[-1]["text"] for part in parts)
    assert sent == sorted(sample["input"] for sample in finished.samples(TASK))  # what is logged is what was sent
    for request in server.requests:
        assert request["temperature"] == 0
        assert request.get("max_tokens", request.get("max_completion_tokens")) == 800


def test_a_users_yaml_sets_fit_sheet_and_prompt(server: Server, tmp_path: Path) -> None:
    """The way docs/contextcanvas.md describes: a YAML that includes ours, and --include_path."""
    (tmp_path / "theirs.txt").write_text("THEIRS {question} / {options}")
    mine = tmp_path / "tasks"
    mine.mkdir()
    settings = {
        "image_fit": "stretch",
        "image_size": 64,
        "contact_sheet": True,
        "prompt_file": str(tmp_path / "theirs.txt"),
    }
    config = {
        "include": str(TASKS_PATH / "contextcanvas/contextcanvas_demo.yaml"),
        "task": "my_contextcanvas",
        "output_type": "generate_until",
        "lmms_eval_specific_kwargs": {"default": settings},
    }
    (mine / "my.yaml").write_text(json.dumps(config))  # JSON is YAML
    finished = run_harness(
        tmp_path / "out",
        *(*server.model, "--tasks", "my_contextcanvas", "--include_path", str(mine)),
        environment=server.environment,
    )
    assert finished.metrics("my_contextcanvas")["parse_rate"] == 1.0
    assert "prompt file:theirs.txt, sha256 " in finished.output
    assert len(server.requests) == 28
    for request in server.requests:
        image, text = request["messages"][-1]["content"]  # one image each: the pair is a contact sheet
        assert Image.open(io.BytesIO(base64.b64decode(image["image_url"]["url"].split(",", 1)[1]))).size == (64, 64)
        assert "THEIRS " in text["text"]
