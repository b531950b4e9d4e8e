"""FineArtBench through the real harness: recorded predictions give the authors' figures; ArtCoT's rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_aes_tasks.utils.alignment import task_alignment
from tests import fineartbench_data
from tests.e2e.conftest import Server, run_harness
from tests.utils.test_alignment import sides

pytestmark = pytest.mark.harness

ORACLE = json.loads((Path(__file__).parents[1] / "data/fineartbench.json").read_text("utf-8"))
REPLIES = {"L": "{'winner': 0}", "R": "{'winner': 1}", ".": "no answer"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real JSON files in the authors' layout, and one small image behind every painting and content."""
    folder = tmp_path_factory.mktemp("fineartbench")
    root = folder / "fineartbench"
    for name, place in (
        ("2AFC_global_N_5000", "2AFC"),
        ("2AFC_instance_N_5000", "2AFC"),
        ("global_annotation", "human_annotation"),
        ("instance_annotation", "human_annotation"),
        ("content_style_combination", "base"),
    ):
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / place / f"{name}.json").write_text(json.dumps(fineartbench_data.read(f"{name}.json")))
    small = folder / "small.jpg"
    Image.new("RGB", (8, 8), (200, 30, 30)).save(small)
    (root / "base/images").mkdir()
    combination = fineartbench_data.read("content_style_combination.json")
    wanted = set()
    for mode in ("global", "instance"):
        for pair in fineartbench_data.read(f"2AFC_{mode}_N_5000.json"):
            content = pair["content_index"]
            place = combination[str(content)].index(pair["style_index"]) + 1
            wanted.add(root / f"base/images/{content}.png")
            wanted |= {
                root / f"painting/{pair[side]}/content_{content}_style_{place}.jpg"
                for side in ("method_left", "method_right")
            }
    for path in wanted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.hardlink_to(small)
    return folder


def responses(folder: Path, case: dict[str, Any]) -> Path:
    path = folder / f"{case['mode']}.jsonl"
    rows = [
        {"id": f"{case['mode']}-{i}", "response": REPLIES[letter]} for i, letter in enumerate(case["predictions"], 1)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def both(folder: Path) -> Path:
    """The first case of each mode in one file."""
    cases = [next(case for case in ORACLE if case["mode"] == mode) for mode in ("global", "instance")]
    path = folder / "both.jsonl"
    path.write_text("\n".join(responses(folder, case).read_text() for case in cases))
    return path


@pytest.mark.parametrize("ranks", [1, 2])
def test_recorded_predictions_give_the_authors_figures(ranks: int, data: Path, tmp_path: Path) -> None:
    finished = run_harness(
        tmp_path / "out",
        *("--model", "aes_replay", "--model_args", f"responses={both(tmp_path)}", "--tasks", "fineartbench_2afc"),
        ranks=ranks,
        environment={"LMMS_AES_DATA": str(data)},
    )
    for mode, level in (("global", "artist"), ("instance", "task")):
        expected = next(case for case in ORACLE if case["mode"] == mode)["expected"]
        metrics = finished.metrics(f"fineartbench_2afc_{mode}")
        assert metrics[f"{level}_elo_rho_official"] == pytest.approx(expected["elo_rho"], abs=1e-9)
        assert metrics[f"{level}_bt_rho_official"] == pytest.approx(expected["bt_rho_exact_differences"], abs=1e-9)
        human = fineartbench_data.read(f"{mode}_annotation.json")
        letters = next(case for case in ORACLE if case["mode"] == mode)["predictions"]
        pairs = [
            (own["winner"], {"L": "left", "R": "right"}[letter]) for own, letter in zip(human, letters, strict=True)
        ]
        decided = [theirs == ours for theirs, ours in pairs if theirs in ("left", "right")]
        assert metrics["pair_agreement"] == pytest.approx(sum(decided) / len(decided), abs=1e-12)
        assert metrics["left_rate"] == pytest.approx(letters.count("L") / len(letters), abs=1e-12)
        assert metrics["parse_rate"] == 1.0
        assert metrics["missing_pairs"] == 0.0
    case = next(case for case in ORACLE if case["mode"] == "instance")
    found = task_alignment(*sides(case), "aligned")
    assert finished.metrics("fineartbench_2afc_instance")["task_bt_rho_aligned"] == pytest.approx(
        found.bt_rho, abs=1e-9
    )


def test_missing_recorded_answers_are_an_error_before_the_run(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "few.jsonl"
    path.write_text(json.dumps({"id": "global-1", "response": "{'winner': 0}"}))
    finished = run_harness(
        tmp_path / "out",
        *("--model", "aes_replay", "--model_args", f"responses={path}"),
        *("--tasks", "fineartbench_2afc_global", "--limit", "3"),
        environment={"LMMS_AES_DATA": str(data)},
    )
    assert f"{path}: no response for 2 document(s): global-2, global-3" in finished.output
    assert not list((tmp_path / "out").rglob("*_results.json"))


def test_a_recorded_artcot_run_is_the_same_run(data: Path, tmp_path: Path) -> None:
    steps = ("analyzer", "critic", "summarizer")
    replies = [["{'winner': 1}", "no", "{'winner': 0}"], ["{'winner': 0}", "no", "I would rather not say"]]
    texts = [
        json.dumps({"rounds": [{"step": s, "reply": r} for s, r in zip(steps, own, strict=True)]}) for own in replies
    ]
    path = tmp_path / "recorded.jsonl"
    path.write_text("\n".join(json.dumps({"id": f"global-{i}", "response": t}) for i, t in enumerate(texts, 1)))
    finished = run_harness(
        tmp_path / "out",
        *("--model", "aes_replay", "--model_args", f"responses={path}"),
        *("--tasks", "fineartbench_2afc_global_artcot", "--limit", "2"),
        environment={"LMMS_AES_DATA": str(data)},
    )
    records = {own["record"]["id"]: own for own in finished.samples("fineartbench_2afc_global_artcot")}
    for number, (text, winner) in enumerate(zip(texts, ["left", ""], strict=True), 1):
        sample = records[f"global-{number}"]
        assert json.loads(sample["filtered_resps"]) == json.loads(text)
        assert (sample["record"]["winner"], sample["record"]["rounds"]) == (winner, 3)


def test_artcot_with_a_simple_model_and_without_a_step(data: Path, tiny_model: Path, tmp_path: Path) -> None:
    tasks = ("fineartbench_2afc_global_artcot", "fineartbench_2afc_instance_artcot_no_critic")
    finished = run_harness(
        tmp_path / "out",
        *("--model", "qwen3_vl", "--model_args", f"pretrained={tiny_model},device=cpu,device_map=cpu"),
        *("--force_simple", "--tasks", ",".join(tasks), "--limit", "1", "--gen_kwargs", "max_new_tokens=8"),
        environment={"LMMS_AES_DATA": str(data)},
    )
    for task, steps in zip(tasks, (["analyzer", "critic", "summarizer"], ["analyzer", "summarizer"]), strict=True):
        (sample,) = finished.samples(task)
        assert [own["step"] for own in json.loads(sample["filtered_resps"])["rounds"]] == steps


def test_artcot_asks_three_times_and_keeps_every_round(data: Path, server: Server, tmp_path: Path) -> None:
    replies = {0: "ANALYSIS {'style_winner': 0}", 1: "REFLECTION", 2: "I would rather not say"}

    def text_of(body: dict[str, Any]) -> str:
        return next(part["text"] for part in body["messages"][-1]["content"] if part["type"] == "text")

    server.reply = lambda body: replies[text_of(body).count("Earlier step")]
    finished = run_harness(
        tmp_path / "out",
        *(*server.model, "--tasks", "fineartbench_2afc_global_artcot", "--limit", "2"),
        environment=server.environment | {"LMMS_AES_DATA": str(data)},
    )
    assert len(server.requests) == 6
    for body in server.requests:
        assert [part["type"] for part in body["messages"][-1]["content"]] == ["image_url", "text"]
    second = [text_of(body) for body in server.requests if text_of(body).count("Earlier step") == 1]
    assert len(second) == 2
    assert all("Earlier step 1 (analyzer) was answered:\nANALYSIS {'style_winner': 0}\n" in text for text in second)
    third = [text_of(body) for body in server.requests if text_of(body).count("Earlier step") == 2]
    assert all("ANALYSIS" in text and "REFLECTION" in text for text in third)
    samples = finished.samples("fineartbench_2afc_global_artcot")
    assert len(samples) == 2
    for sample in samples:
        rounds = json.loads(sample["filtered_resps"])["rounds"]
        assert [own["reply"] for own in rounds] == list(replies.values())
        # a last reply that is no dict counts as unparsed, and its text is kept
        assert (sample["record"]["winner"], sample["record"]["rule"], sample["record"]["rounds"]) == ("", "none", 3)
    assert finished.metrics("fineartbench_2afc_global_artcot")["parse_rate"] == 0.0
