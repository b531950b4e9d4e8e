"""Every sub-command, in process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_aes_tasks.cli import doctor
from lmms_aes_tasks.task_folders import TASKS_PATH
from tests.cli.conftest import call

CASES = Path(__file__).parents[1] / "data/answers.jsonl"


def test_start_up_imports_nothing_heavy() -> None:
    code = "import sys; import lmms_aes_tasks.cli.app; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for module in ("torch", "lmms_eval", "transformers", "datasets", "numpy", "scipy", "pyarrow", "nltk", "PIL"):
        assert f"'{module}'" not in loaded


def test_help_names_every_command() -> None:
    shown = call("--help").output
    for name in ("doctor", "tasks-path", "parse", "runs", "tiny-model", "data", "score"):
        assert name in shown
    for command in ("doctor", "tasks-path", "parse", "runs", "tiny-model", "data import", "data check", "data list"):
        assert call(*command.split(), "--help").exit_code == 0
    assert "--resamples" in call("score", "contextcanvas", "--help").output


def test_tasks_path_and_version() -> None:
    assert call("tasks-path").output == f"{TASKS_PATH}\n"
    assert (TASKS_PATH / "contextcanvas/contextcanvas.yaml").is_file()
    assert call("--version").output.startswith("lmms-aes-tasks 0.")


# -- parse ------------------------------------------------------------------------------------------------------------


def test_parse_agrees_with_every_case() -> None:
    result = call("parse", text=CASES.read_text("utf-8"))
    assert result.exit_code == 0
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    parsed = [json.loads(line) for line in result.output.splitlines()]
    assert len(parsed) == len(cases) == 129
    for case, answer in zip(cases, parsed, strict=True):
        assert answer["parsed"] == case["expected"], case
        assert isinstance(answer["rule"], str)
        assert set(answer) == ({"parsed", "rule", "strict"} if case["kind"] == "vab" else {"parsed", "rule"})
        assert answer.get("strict") == case.get("strict"), case


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "lmms-aes: line 1: not JSON ("),
        ('{"kind": "\udcff"}', "lmms-aes: line 1: not JSON ("),
        ("3", "lmms-aes: line 1: kind is None. Use one of option, winner, vab."),
        ('{"kind": []}', "lmms-aes: line 1: kind is []. Use one of option, winner, vab."),
        (
            '{"kind": "option"}',
            "lmms-aes: line 1: text is None. A line of kind option needs text, options [[id, text], …].",
        ),
        ('{"kind": "option", "text": "A"}', "lmms-aes: line 1: 'options'. A line of kind option needs"),
        ('{"kind": "option", "text": "A", "options": ["A"]}', "lmms-aes: line 1: not enough values"),
        (
            '{"kind": "vab", "text": "A", "labels": ["A"], "prompt_type": "best"}',
            "lmms-aes: line 1: unknown prompt type 'best': use one of pick_best, pick_worst, "
            "pick_best_and_worst. A line",
        ),
        ('{"kind": "option", "text": ' + "[" * 900 + "]" * 900 + "}", "lmms-aes: line 1: text is [[["),
        ('{"kind": ' + "[" * 900 + "]" * 900 + "}", "lmms-aes: line 1: kind is [[["),
        ('{"kind": "option", "text": "A", "options": ' + "[" * 900 + "]" * 900 + "}", "lmms-aes: line 1: "),
    ],
)
def test_parse_errors(line: str, message: str, error_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.encode("utf-8", "surrogateescape"))))
    assert error_of("parse").startswith(message)


def test_parse_takes_null_for_the_empty_reply_and_the_deepest_nesting() -> None:
    lines = [
        {"kind": "option", "text": None, "options": [["A", "Yes"], ["B", "No"]]},
        {"kind": "winner", "text": None},
        {"kind": "vab", "text": None, "labels": ["A"], "prompt_type": "pick_best"},
        {"kind": "winner", "text": '{"winner": ' * 600 + "1" + "}" * 600},
    ]
    result = call("parse", text="\n".join(map(json.dumps, lines)))
    assert [json.loads(line)["rule"] for line in result.output.splitlines()] == ["empty"] * 3 + ["object"]


# -- data and score ---------------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two two-option cases and a three-way one."""
    folder = tmp_path / "data"
    folder.mkdir()
    Image.new("RGB", (4, 4), "red").save(folder / "a.png")
    three = ["Yes", "No", "Cannot be decided"]
    cases = [
        {"id": "1", "question": "Q", "options": ["Yes", "No"], "gold": "A", "images": ["a.png"]},
        {"id": "2", "question": "Q", "options": ["Yes", "No"], "gold": "B", "images": ["a.png"]},
        {"id": "3", "question": "Q", "options": three, "gold": "C", "images": ["a.png", "a.png"]},
    ]
    (folder / "cases.json").write_text(json.dumps(cases))
    return folder


def predictions(path: Path, *pairs: tuple[Any, Any]) -> Path:
    path.write_text("\n".join(json.dumps({"id": id_, "response": response}) for id_, response in pairs))
    return path


def test_import_then_check(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path / "root"))
    imported = call("data", "import", "contextcanvas", data)
    assert imported.exit_code == 0, imported.output
    target = tmp_path / "root/contextcanvas/contextcanvas.parquet"
    assert f"{target}: 3 records, 4 images" in imported.output
    assert "taken as" in imported.output
    checked = json.loads(call("data", "check", "contextcanvas", "--json").output)
    assert checked["file"] == str(target)
    assert checked["counts"] == {"cases": 3, "two_option": 2, "three_way": 1, "images": 1, "gold_yes_rate": 0.5}
    assert checked["expected"]["cases"] == 301
    table = call("data", "check", "contextcanvas").output
    assert "301" in table
    assert "0.3814" in table
    assert "The counts differ from the published ones" in table


def test_check_of_a_raw_folder_lists_its_problems(data: Path, error_of: Callable[..., str]) -> None:
    (data / "a.png").write_bytes(b"")
    message = error_of("data", "check", "contextcanvas", "--data", data)
    assert "4 problem(s). Correct them:" in message


def test_import_needs_a_place(data: Path, error_of: Callable[..., str]) -> None:
    assert error_of("data", "import", "contextcanvas", data) == (
        "lmms-aes: where to? Set LMMS_AES_DATA to a folder for all benchmarks' data, or give --to FOLDER\n"
    )
    assert error_of("data", "import", "contextcanvas_demo", data) == (
        "lmms-aes: contextcanvas_demo is generated and takes no import: run `lmms-aes data check contextcanvas_demo`\n"
    )


def test_score_of_predictions_made_elsewhere(data: Path, tmp_path: Path) -> None:
    path = predictions(tmp_path / "p.jsonl", ("1", "Yes."), (2, '{"answer": "A"}'), ("3", None))
    result = call("score", "contextcanvas", path, "--data", data, "--json", "--resamples", 200)
    assert result.exit_code == 0, result.output
    content = json.loads(result.output)
    assert content["n"] == 3
    assert content["rules"] == {"empty": 1, "json": 1, "option_text": 1}
    # by hand: 1 of 3 right; both two-option cases answered Yes; Yes F1 = 2·1/(2+1); No F1 = 0
    expected = {
        "accuracy": 1 / 3,
        "macro_f1": 1 / 3,
        "yes_rate": 1.0,
        "yes_f1": 2 / 3,
        "no_f1": 0.0,
        "parse_rate": 2 / 3,
    }
    assert {name: metric["value"] for name, metric in content["metrics"].items()} == pytest.approx(expected, abs=1e-12)
    assert {name: metric["n"] for name, metric in content["metrics"].items()} == {
        "accuracy": 3,
        "macro_f1": 2,
        "yes_rate": 2,
        "yes_f1": 2,
        "no_f1": 2,
        "parse_rate": 3,
    }
    for metric in content["metrics"].values():
        assert set(metric) == {"value", "low", "high", "n"}
        assert metric["low"] <= metric["value"] <= metric["high"]
    shown = call("score", "contextcanvas", path, "--data", data, "--resamples", 200).output
    assert "33.33" in shown
    assert "option_text" in shown


def sample(case: str, response: str) -> dict[str, Any]:
    record = {"id": case, "gold": "B", "options": [["A", "Yes"], ["B", "No"]], "answer": "not trusted", "rule": "json"}
    return {"doc_id": 0, "filtered_resps": response, "record": record}


def test_score_of_a_samples_file_needs_no_data(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(sample("x", "No")) + "\n" + json.dumps(sample("y", "Yes")))
    content = json.loads(call("score", "contextcanvas", path, "--json", "--resamples", 100).output)
    assert content["gold_from"] == "the samples file"
    assert content["metrics"]["accuracy"]["value"] == 0.5


def test_a_samples_file_is_held_against_the_data_at_hand(
    data: Path, tmp_path: Path, error_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    data.rename(tmp_path / "contextcanvas")
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(sample("2", "No")))
    assert error_of("score", "contextcanvas", path) == (
        f"lmms-aes: {path}: ids do not match. Answer each case once.\n  2 missing: 1, 3\n"
    )
    content = json.loads(call("score", "contextcanvas", path, "--allow-incomplete", "--json").output)
    assert (content["n"], content["gold_from"], content["metrics"]["accuracy"]["value"]) == (1, "the data", 1.0)
    path.write_text(json.dumps(sample("1", "No")))  # gold B there, A in the data
    assert error_of("score", "contextcanvas", path) == (
        f"lmms-aes: {path}: gold labels or options differ from the data in 1 case(s):\n"
        "  - 1: 'B' there, 'A' in the data\n"
    )
    path.write_text(json.dumps(sample("demo-01", "No")))  # of another set
    assert json.loads(call("score", "contextcanvas", path, "--json").output)["gold_from"] == "the samples file"


def test_score_errors_list_every_id(data: Path, tmp_path: Path, error_of: Callable[..., str]) -> None:
    path = predictions(tmp_path / "p.jsonl", ("1", "Yes"), ("1", "No"), ("9", "Yes"), ("8", ""))
    assert error_of("score", "contextcanvas", path, "--data", data) == (
        f"lmms-aes: {path}: ids do not match. Answer each case once.\n"
        "  1 repeated: 1\n  2 not in the data: 8, 9\n  2 missing: 2, 3\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", " holds no predictions. Write one JSON object a line."),
        ("{", ", line 1: not JSON ("),
        ("[]", " holds no predictions. Write one JSON object a line."),
        ("[3]", ", line 1: no fields id and response. Write one such JSON object a line, or give a samples file."),
        ('{"id": 1.5, "response": ""}', ", line 1: id is 1.5. Give a text."),
        ('{"id": "1", "response": 3}', ", line 1: response is of type int. Give the model's text."),
        ("[" * 100_000, ", line 1: not JSON ("),
        ('{"record": {}, "filtered_resps": ""}', ", line 1: its record has no id."),
        ('{"record": {"id": "1"}, "filtered_resps": [3]}', ", line 1: filtered_resps holds no text."),
        ('{"record": {"id": "1"}, "filtered_resps": "A"}', ": the record of 1 has no options and gold."),
    ],
)
def test_files_that_are_no_predictions(
    content: str, message: str, tmp_path: Path, error_of: Callable[..., str]
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(content)
    assert error_of("score", "contextcanvas", path).startswith(f"lmms-aes: {path}{message}")


def test_a_missing_predictions_file(tmp_path: Path, error_of: Callable[..., str]) -> None:
    path = tmp_path / "none.jsonl"
    assert error_of("score", "contextcanvas", path) == (
        f"lmms-aes: {path} is not a file. Name a JSONL file of responses.\n"
    )


# -- runs -------------------------------------------------------------------------------------------------------------


def results_file(folder: Path) -> Path:
    """What lmms-eval writes for a local model path: a hidden folder."""
    path = folder / ".__m" / "20260101_000000_results.json"
    path.parent.mkdir(parents=True)
    values = {
        "alias": "t",
        "accuracy,none": 0.5,
        "accuracy_stderr,none": "N/A",
        "record,none": [],
        "macro_f1,none": None,
        "incomplete_tasks,none": 3.0,
    }
    content = {
        "results": {"group": {" ": " ", "alias": "group"}, "t": values},
        "config": {"model": "qwen3_vl", "model_args": "pretrained=./m"},
        "n-samples": {"t": {"original": 9, "effective": 4}},
    }
    path.write_text(json.dumps(content))
    return path


def test_runs_finds_hidden_folders(tmp_path: Path) -> None:
    path = results_file(tmp_path)
    samples = path.with_name("20260101_000000_samples_t.jsonl")
    samples.write_text("")
    (found,) = json.loads(call("runs", tmp_path, "--json").output)
    assert found == {
        "model": "qwen3_vl (pretrained=./m)",
        "task": "t",
        "n": 4,
        "metrics": {"accuracy": 0.5, "macro_f1": None, "incomplete_tasks": 3.0},
        "results": str(path),
        "samples": str(samples),
    }
    shown = call("runs", tmp_path).output
    assert "50.00" in shown
    assert "–" in shown
    assert "300.00" not in shown  # a count is no percentage
    assert str(samples) in shown


def test_runs_shows_each_figure_in_its_unit(tmp_path: Path) -> None:
    values = {"missing_pairs,none": 3.0, "artist_elo_rho_official,none": 0.55, "accuracy_2afc,none": 0.5}
    content = {
        "results": {"fineartbench_base": {"alias": "fineartbench_base", **values}},
        "config": {"model": "qwen3_vl", "model_args": ""},
        "n-samples": {"fineartbench_base": {"original": 9, "effective": 9}},
    }
    (tmp_path / "20260101_000000_results.json").write_text(json.dumps(content))
    cells = [cell.strip() for cell in re.split(r"[│┃\n]", call("runs", tmp_path).output)]
    shown = dict(zip(cells[cells.index("model") :], cells[cells.index("qwen3_vl") :], strict=False))
    assert shown["missing_pairs"] == "3"
    assert shown["artist_elo_rho_official"] == "0.550"


def test_runs_shows_no_filler_of_predict_only(tmp_path: Path) -> None:
    path = results_file(tmp_path)
    content = json.loads(path.read_text())
    content["results"] = {"t": {"alias": "t", "bypass,none": 999, "bypass_stderr,none": "N/A"}}
    path.write_text(json.dumps(content))
    (found,) = json.loads(call("runs", tmp_path, "--json").output)
    assert found["metrics"] == {}
    shown = call("runs", tmp_path).output
    assert "bypass" not in shown
    assert "999" not in shown


def test_runs_fails_when_a_run_left_nothing(tmp_path: Path, error_of: Callable[..., str]) -> None:
    results_file(tmp_path)
    assert error_of("runs", "--expect", 2, tmp_path) == (
        f"lmms-aes: 1 run(s) in {tmp_path}, 2 expected: read lmms-eval's output above (it exits 0 even when it fails)\n"
    )
    assert error_of("runs", tmp_path / "no") == (
        f"lmms-aes: {tmp_path / 'no'} is not a folder. Name an output folder of lmms-eval.\n"
    )
    (tmp_path / "x_results.json").write_text("{}")
    assert "not a results file of lmms-eval (KeyError(" in error_of("runs", tmp_path)


# -- doctor -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "status", "remedy"),
    [
        (doctor.check_filelock("3.29.0"), "ok", ""),
        (doctor.check_filelock("4.0.1"), "bad", "pip install 'filelock<4'"),
        (doctor.check_filelock(None), "bad", "pip install 'filelock<4'"),
        (doctor.check_lmms_eval("0.7.3"), "ok", ""),
        (doctor.check_lmms_eval(None), "bad", "pip install 'lmms-eval>=0.7.3,<0.8'"),
        (
            doctor.check_lmms_eval("0.8.0"),
            "warn",
            'if tasks do not appear by name, add --include_path "$(lmms-aes tasks-path)", '
            "or pip install 'lmms-eval>=0.7.3,<0.8'",
        ),
        (doctor.check_torch("2.14.1", "0.29.1"), "ok", ""),
        (doctor.check_torch("2.13.0+cpu", "0.29.1"), "bad", "pip install 'torchvision==0.28.*'"),
        (doctor.check_torch("2.14.1", None), "bad", "pip install 'lmms-aes-tasks[qwen3-vl]'"),
        (doctor.check_torch(None, None), "bad", "pip install torch torchvision"),
        (
            doctor.check_package("no-such-package", "no_such_module", "for --model qwen3_vl", "qwen3-vl"),
            "warn",
            "for --model qwen3_vl: pip install 'lmms-aes-tasks[qwen3-vl]'",
        ),
    ],
)
def test_known_bad_versions_have_their_remedy(check: doctor.Check, status: str, remedy: str) -> None:
    assert (check.status, check.remedy) == (status, remedy)


def test_doctor_of_this_installation() -> None:
    result = call("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(result.output)}
    assert result.exit_code == 0
    assert {"python", "lmms-eval", "filelock", "torch", "decord", "WordNet", "data: contextcanvas", "devices"} <= set(
        checks
    )
    assert checks["registration"]["status"] == "ok"
    assert checks["data: contextcanvas"]["status"] == "warn"
    for check in checks.values():
        assert set(check) == {"name", "status", "found", "remedy"}
        assert (check["remedy"] == "") == (check["status"] == "ok"), check
    assert "remedy" in call("doctor").output


def test_doctor_fails_when_a_run_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda package: "4.0" if package == "filelock" else "2.0")
    assert call("doctor").exit_code == 1


def test_doctor_says_how_to_get_a_gated_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    check = doctor.check_data("vab")
    assert (check.status, check.found) == ("warn", "BakeLab/Visual-Aesthetic-Benchmark was not loaded yet")
    assert check.remedy == (
        "accept its terms at https://huggingface.co/datasets/BakeLab/Visual-Aesthetic-Benchmark and log in with "
        "`hf auth login`; then run the task"
    )


def test_doctor_sees_data(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    data.rename(tmp_path / "contextcanvas")
    check = doctor.check_data("contextcanvas")
    assert (check.status, check.found) == ("ok", str(tmp_path / "contextcanvas/cases.json"))
