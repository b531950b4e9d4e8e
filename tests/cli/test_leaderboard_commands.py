"""`lmms-aes leaderboard build`, `verify` and `schema`: options, exit codes, what is printed and written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lmms_aes_tasks.board.schema import Entry, Verification
from lmms_aes_tasks.cli.app import run
from tests.cli.conftest import call
from tests.leaderboard import runs

ONE = "contextcanvas_demo"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    runs.write_run(tmp_path / "out" / ".__model", runs.demo_answers(ONE, "vab_top1_demo"))
    return tmp_path / "out"


def test_build_and_verify(out: Path, tmp_path: Path) -> None:
    entry = tmp_path / "entry"
    made = call(
        "leaderboard", "build", out, "-o", entry, "--model-id", "Org/Model", "--evaluator", "Me", "--revision", "1"
    )
    assert made.exit_code == 0, made.output
    for text in ("Org/Model", ONE, "28 of 28", "45 of 45", "status self-reported. Check it with"):
        assert text in made.output
    found = call("leaderboard", "verify", entry)
    assert found.exit_code == 0, found.output
    assert "status recomputed" in found.output
    written = Verification.model_validate_json((entry / "verification.json").read_text("utf-8"))
    assert written.status == "recomputed"
    as_json = call("leaderboard", "verify", entry, "--json", "--no-write")
    assert as_json.exit_code == 0
    assert json.loads(as_json.output) == written.model_dump(mode="json")


def test_build_of_one_task_as_json(out: Path, tmp_path: Path) -> None:
    arguments = ("leaderboard", "build", out, "-o", tmp_path / "entry", "--model-id", "Org/Model", "--task", ONE)
    made = call(*arguments, "--json")
    assert made.exit_code == 0, made.output
    assert set(Entry.model_validate(json.loads(made.stdout)).tasks) == {ONE}


def test_what_differs_ends_in_1(out: Path, tmp_path: Path) -> None:
    entry = tmp_path / "entry"
    assert call("leaderboard", "build", out, "-o", entry, "--model-id", "Org/Model").exit_code == 0
    content = json.loads((entry / "entry.json").read_text())
    content["tasks"][ONE]["metrics"]["accuracy"]["value"] = 0.99
    (entry / "entry.json").write_text(json.dumps(content))
    found = call("leaderboard", "verify", entry, "--out", tmp_path / "mine.json")
    assert found.exit_code == 1, found.output
    assert f"error: tasks.{ONE}.metrics.accuracy.value: is 0.99, and 0.75 recomputed" in found.output
    assert "not verified: see the errors" in found.output
    assert not (entry / "verification.json").exists()
    assert json.loads((tmp_path / "mine.json").read_text())["status"] is None
    as_json = call("leaderboard", "verify", entry, "--no-write", "--json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.output)["findings"][0]["where"] == f"tasks.{ONE}.metrics.accuracy.value"


def test_what_is_not_sound_ends_in_2(out: Path, tmp_path: Path, error_of: Callable[..., str]) -> None:
    entry = tmp_path / "entry"
    build = ("leaderboard", "build", out, "-o", entry)
    assert call(*build, "--model-id", "Org/Model").exit_code == 0
    message = error_of(*build, "--model-id", "Org/Model")
    assert message == f"lmms-aes: {entry} is there already. Name another folder, or replace it with --force.\n"
    assert call(*build, "--model-id", "Org/Model", "--force").exit_code == 0
    assert "--model-id is 'Model': use ORG/NAME" in error_of(*build, "--model-id", "Model", "--force")
    (entry / "notes.txt").write_text("")
    assert error_of("leaderboard", "verify", entry).startswith("lmms-aes: notes.txt does not belong in an entry")
    (entry / "notes.txt").unlink()
    (entry / "entry.json").write_text('{"a": NaN}')
    assert error_of("leaderboard", "verify", entry).startswith("lmms-aes: entry.json: not sound JSON (NaN is no numb")
    assert "is not a folder" in error_of("leaderboard", "verify", tmp_path / "nowhere")


def test_what_is_not_sound_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lmms-aes", "leaderboard", "verify", str(tmp_path), "--json"])
    with pytest.raises(SystemExit) as error:
        run()
    assert error.value.code == 2
    shown = capsys.readouterr()
    content = json.loads(shown.out)
    assert (content["status"], content["sound"]) == (None, False)
    assert content["findings"][0]["message"].endswith("`lmms-aes leaderboard build` wrote.")
    assert "holds no entry.json" in shown.err


def test_an_incomplete_run(tmp_path: Path, error_of: Callable[..., str]) -> None:
    runs.write_run(tmp_path / "out", {ONE: runs.demo_answers(ONE)[ONE][:5]}, config={"limit": 5})
    build = ("leaderboard", "build", tmp_path / "out", "-o", tmp_path / "entry", "--model-id", "Org/Model")
    assert "23 missing" in error_of(*build)
    assert not (tmp_path / "entry").exists()
    assert call(*build, "--allow-incomplete").exit_code == 0
    assert call("leaderboard", "verify", tmp_path / "entry", "--no-write").exit_code == 1


@pytest.mark.parametrize("form", ["entry", "verification", "board"])
def test_schema(form: str, error_of: Callable[..., str]) -> None:
    shown = call("leaderboard", "schema", form)
    assert shown.exit_code == 0
    content = json.loads(shown.output)
    assert content["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert content["properties"]["schema_version"]["const"] == "1"
    assert "form is 'x': use one of entry, verification, board" in error_of("leaderboard", "schema", "x")
