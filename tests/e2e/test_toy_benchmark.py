"""A fifth benchmark, in a package of its own: everything works for it, and no file of ours is changed for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import BIN

TOY = Path(__file__).parents[1] / "toy/toy_shades"

_TWO_RUNS = """
import sys
from lmms_eval.__main__ import cli_evaluate
for name, arguments in (("good", "strategy=oracle,accuracy=0.9,seed=1"), ("first", "strategy=first")):
    sys.argv = ["lmms-eval", "--model", "aes_baseline", "--model_args", arguments, "--tasks", "shades_demo",
                "--output_path", f"runs/{name}", "--log_samples"]
    cli_evaluate()
"""


def install(site: Path, name: str = "shades", value: str = "toy_shades.board:BENCHMARK") -> None:
    """What pip would leave of the package: its folder, and the metadata with its entry point."""
    shutil.copytree(TOY, site / "toy_shades", ignore=shutil.ignore_patterns("__pycache__"))
    metadata = site / "toy_shades-0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-shades\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text(f"[lmms_aes_tasks.benchmarks]\n{name} = {value}\n")


def run(site: Path, folder: Path, *command: str, code: int = 0) -> str:
    path = os.pathsep.join([str(site), *([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])])
    finished = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert finished.returncode == code, finished.stdout[-3000:] + finished.stderr[-3000:]
    return finished.stdout if code == 0 else finished.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(folder)
    return folder


@pytest.fixture(scope="module")
def worked(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs by the harness's own command line, an entry of each, verified, merged, and the page."""
    folder = tmp_path_factory.mktemp("worked")
    run(site, folder, sys.executable, "-c", _TWO_RUNS)
    aes = str(BIN / "lmms-aes")
    for name in ("good", "first"):
        entry = f"submissions/Org__{name}/v1/run"
        identity = ("--model-id", f"Org/{name}", "--revision", "v1")
        run(site, folder, aes, "leaderboard", "build", f"runs/{name}", "--out", entry, *identity)
        run(site, folder, aes, "leaderboard", "verify", entry)
    run(site, folder, aes, "leaderboard", "merge", "submissions", "--output", "board.json")
    run(site, folder, aes, "leaderboard", "page", "board.json", "--out", "page")
    return folder


def samples(folder: Path, name: str) -> tuple[Path, list[dict[str, Any]]]:
    (path,) = (folder / "runs" / name).rglob("*_samples_shades_demo.jsonl")
    return path, [json.loads(line)["record"] for line in path.read_text("utf-8").splitlines()]


@pytest.mark.harness
def test_run_build_and_verify(worked: Path) -> None:
    for name in ("good", "first"):
        _, records = samples(worked, name)
        right = sum(record["answer"] == record["gold"] for record in records)
        # `first` says light to all twenty, of which ten are (greys 130 to 238)
        assert (len(records), right == 10) == (20, name == "first")
        entry = json.loads((worked / f"submissions/Org__{name}/v1/run/entry.json").read_text("utf-8"))
        result = entry["tasks"]["shades_demo"]
        assert result["benchmark"] == "shades"
        assert (result["metrics"]["accuracy"]["value"], result["metrics"]["answered"]["value"]) == (right / 20, 20.0)
        assert result["n_expected"] == 20
        assert result["data_sha256"] is not None
        assert result["prompts"][0]["id"] == "shades-1"
        verified = json.loads((worked / f"submissions/Org__{name}/v1/run/verification.json").read_text("utf-8"))
        assert verified["status"] == "recomputed"
        assert verified["recomputed"] == {"shades_demo": ["accuracy", "answered"]}


@pytest.mark.harness
def test_score_compare_and_runs(site: Path, worked: Path) -> None:
    aes = str(BIN / "lmms-aes")
    path, records = samples(worked, "good")
    right = sum(record["answer"] == record["gold"] for record in records)
    scored = json.loads(run(site, worked, aes, "score", "shades", str(path), "--task", "shades_demo", "--json"))
    assert (scored["metrics"]["accuracy"]["value"], scored["n"]) == (right / 20, 20)
    assert "Shades right (%)" in run(site, worked, aes, "score", "shades", str(path), "--task", "shades_demo")
    entries = ("submissions/Org__first/v1/run", "submissions/Org__good/v1/run")
    compared = json.loads(run(site, worked, aes, "leaderboard", "compare", *entries, "--json"))
    (difference,) = compared["differences"]
    assert difference["metric"] == "accuracy"
    assert difference["difference"] == pytest.approx(right / 20 - 0.5)
    shown = run(site, worked, aes, "runs", "runs")
    assert "answered" in shown
    assert "2000.00" not in shown  # a count is no percentage


@pytest.mark.harness
def test_board_and_page(worked: Path) -> None:
    rows = json.loads((worked / "board.json").read_text("utf-8"))["rows"]
    assert [(row["model"], row["status"]) for row in rows if row["benchmark"] == "shades"] == [
        ("Org/first", "recomputed"),
        ("Org/good", "recomputed"),
    ]
    page = (worked / "page/shades.html").read_text("utf-8")
    for text in ("Shades of grey", "Light or dark (demo on generated data)", "Shades right", "Org/<wbr>", "good"):
        assert text in page or text.replace("<wbr>", "") in page
    assert "Shades of grey" in (worked / "page/index.html").read_text("utf-8")


@pytest.mark.harness
def test_data_and_doctor(site: Path, worked: Path) -> None:
    aes = str(BIN / "lmms-aes")
    checked = json.loads(run(site, worked, aes, "data", "check", "shades_demo", "--json"))
    assert checked["counts"] == {"pictures": 20, "light": 10}
    names = [check["name"] for check in json.loads(run(site, worked, aes, "doctor", "--json"))]
    assert {"data: shades", "data: shades_demo"} <= set(names)


@pytest.mark.harness
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("shadows", "toy_shades.board:BENCHMARK", "no source card for shadows: put task_yamls/<name>/card.json"),
        ("vab", "toy_shades.board:BENCHMARK", "two benchmarks are called vab. Uninstall one of the packages."),
    ],
)
def test_a_benchmark_that_is_half_there_is_an_error(tmp_path: Path, name: str, value: str, message: str) -> None:
    install(tmp_path, name, value)
    assert message in run(tmp_path, tmp_path, str(BIN / "lmms-aes"), "data", "list", code=2)


@pytest.mark.harness
def test_a_card_without_an_object_is_an_error(tmp_path: Path) -> None:
    install(tmp_path)
    card = tmp_path / "toy_shades/task_yamls/shades/card.json"
    other = tmp_path / "toy_shades/task_yamls/hues/card.json"
    other.parent.mkdir()
    other.write_text(card.read_text("utf-8").replace('"shades"', '"hues"'))
    message = run(tmp_path, tmp_path, str(BIN / "lmms-aes"), "data", "list", code=2)
    assert "a source card and no benchmark: hues. Name its object in the entry-point group" in message
