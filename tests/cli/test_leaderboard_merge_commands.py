"""`leaderboard merge`, `compare`, `export`, `changed` and `review`, in process."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import BoardRow, Metric
from lmms_aes_tasks.cli.leaderboard import app
from lmms_aes_tasks.leaderboard.reading import read_board
from tests.leaderboard.entries import entry_of, result, submit, vab_rows, write_entry


def call(*arguments: Any) -> Result:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def refused(*arguments: Any) -> str:
    """The message; the command's entry point ends in code 2 with it, as for every LeaderboardError."""
    with pytest.raises(LeaderboardError) as error:
        call(*arguments)
    return str(error.value)


def test_merge_writes_a_board_and_says_what_is_in_it(tmp_path: Path) -> None:
    submit(tmp_path / "in", "old", answers="ABAB", date="2026-01-01", verified=True)
    submit(tmp_path / "in", "new", answers="ABAA", date="2026-02-01", verified=True)
    submit(tmp_path / "in", "new", answers="ABAA", model="rival/model")
    board = tmp_path / "board.json"
    found = call("merge", tmp_path / "in", "-o", board, "--no-published")
    assert found.stdout == f"{board}: 3 row(s) of 3 entries, 2 recomputed, 1 superseded; 0 published\n"
    assert found.stderr == (
        "flag: org__model/abc123/new/contextcanvas: every response is the same as in rival__model/abc123/new, which is "
        "another model\n"
        "flag: rival__model/abc123/new/contextcanvas: every response is the same as in org__model/abc123/new, which is "
        "another model\n"
    )
    first = board.read_bytes()
    call("merge", tmp_path / "in", "-o", board, "--no-published")
    assert board.read_bytes() == first
    assert len(read_board(board).rows) == 3


def test_merge_adds_the_papers_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = BoardRow(key="published/vab/x", status="published", model="x", benchmark="vab", task="vab_top1", metrics={})
    monkeypatch.setattr("lmms_aes_tasks.leaderboard.published_rows.published_rows", lambda: [row])
    submit(tmp_path / "in")
    call("merge", tmp_path / "in", "-o", tmp_path / "board.json")
    assert read_board(tmp_path / "board.json").rows[1:] == [row]


def test_merge_refuses_and_writes_nothing(tmp_path: Path) -> None:
    submit(tmp_path / "in")
    (tmp_path / "in/notes.txt").touch()
    assert refused("merge", tmp_path / "in", "-o", tmp_path / "board.json", "--no-published") == (
        f"{tmp_path / 'in'}: 1 problem(s); nothing was written. Correct them:\n  - notes.txt is a file; only folders "
        "(<org>__<model>) belong here"
    )
    assert not (tmp_path / "board.json").exists()


def test_compare_prints_a_table(tmp_path: Path) -> None:
    one, two = submit(tmp_path, "one", answers="ABAB"), submit(tmp_path, "two", answers="AABB", parser="3")
    shown = " ".join(call("compare", one, two, "--resamples", "100").stdout.replace("│", " ").split())
    assert "first: org/model@abc123 (2026-03-01)" in shown
    assert "accuracy all 4 100.00 50.00 -50.00" in shown
    assert "2/0 0.5000 0.5000" in shown  # two discordant pairs, one test
    assert "differs: parser: 2 in the first, 3 in the second" in shown
    assert "1 McNemar test(s), by which each p is multiplied (Bonferroni)." in shown


def test_compare_writes_json(tmp_path: Path) -> None:
    one, two = submit(tmp_path, "one", answers="ABAB"), submit(tmp_path, "two", answers="AABB")
    read = json.loads(call("compare", one, two, "--json", "--resamples", "100", "--seed", "3").stdout)
    (difference,) = read["differences"]
    assert (difference["difference"], difference["only_first"], difference["p"]) == (-0.5, 2, 0.5)
    assert (read["seed"], read["resamples"]) == (3, 100)
    assert refused("compare", one, tmp_path / "none").startswith(
        f"{tmp_path / 'none'}: entry.json: no such file in the entry."
    )


def test_compare_says_what_is_not_comparable(tmp_path: Path) -> None:
    one, two = submit(tmp_path, "one"), submit(tmp_path, "two", version="2-A")
    shown = call("compare", one, two).stdout
    assert "not comparable: contextcanvas: the task's version is 1-A in the first and 2-A in the second" in shown
    assert "0 McNemar test(s)" in shown


def vab_entry(root: Path, value: float = 1 / 3) -> Path:
    folder = root / "org__model/abc123/run"
    metrics = {"pass^3": Metric(value=value, n=3), "incomplete_tasks": Metric(value=0.0, n=3, unit="count")}
    rows = vab_rows({"t1": (True,) * 3})
    write_entry(folder, entry_of({"vab_top1": result(folder, "vab_top1", "vab", rows, metrics=metrics)}))
    return folder


@pytest.mark.parametrize("of", ["folder", "entry.json", "board"])
def test_export_takes_a_board_or_an_entry(tmp_path: Path, of: str) -> None:
    folder = vab_entry(tmp_path / "in")
    board = tmp_path / "board.json"
    call("merge", tmp_path / "in", "-o", board, "--no-published")
    source = {"folder": folder, "entry.json": folder / "entry.json", "board": board}[of]
    out = tmp_path / "out.yaml"
    assert call("export", source, "--format", "hf-eval-results", "-o", out).stdout == f"wrote {out}\n"
    (entry,) = yaml.safe_load(out.read_text())
    assert (entry["dataset"]["task_id"], repr(entry["value"])) == ("vab_top1", repr(1 / 3))
    eee = call("export", source, "--format", "eee", "-o", tmp_path / "eee.json")
    assert eee.stderr == ("left out: org__model/abc123/run/vab_top1/incomplete_tasks: count has no upper bound\n")
    version = json.loads((tmp_path / "eee.json").read_text())["eval_library"]["version"]
    assert version == ("unknown" if of == "board" else "0.7.3")
    call("export", source, "--format", "csv", "-o", tmp_path / "board.csv")
    with (tmp_path / "board.csv").open(newline="") as file:
        assert [line["metric"] for line in csv.DictReader(file)] == ["pass^3", "incomplete_tasks"]
    call("export", source, "--format", "latex", "-o", tmp_path / "board.tex")
    assert "\\begin{tabular}{lrrr}" in (tmp_path / "board.tex").read_text()
    call("export", source, "--format", "model-index", "-o", tmp_path / "card.yaml")
    assert yaml.safe_load((tmp_path / "card.yaml").read_text())["model-index"][0]["name"] == "org/model"


def test_several_models_make_a_folder(tmp_path: Path) -> None:
    submit(tmp_path / "in", model="org/a", answers="ABAB")
    submit(tmp_path / "in", model="org/b", answers="AAAB")
    call("merge", tmp_path / "in", "-o", tmp_path / "board.json", "--no-published")
    made = call(
        "export", tmp_path / "board.json", "--format", "hf-eval-results", "-o", tmp_path / "out",
        "--dataset", "contextcanvas=org/context",
    )  # fmt: skip
    assert made.stdout == f"wrote {tmp_path / 'out/org__a.yaml'}\nwrote {tmp_path / 'out/org__b.yaml'}\n"


def test_export_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    assert refused("export", folder, "--format", "xml", "-o", tmp_path / "x") == (
        "--format is 'xml': use one of hf-eval-results, model-index, eee, csv, latex"
    )
    assert refused("export", folder, "--format", "csv", "-o", tmp_path / "x", "--dataset", "vab") == (
        "--dataset is 'vab': give BENCHMARK=ORG/NAME, with one of contextcanvas, critiquecanvas, fineartbench, vab"
    )
    assert "has no data set on the Hub" in refused(
        "export", folder, "--format", "hf-eval-results", "-o", tmp_path / "x"
    )
    (tmp_path / "board.json").write_text('{"plugin": "1", "rows": [NaN]}')
    assert "not sound JSON" in refused("export", tmp_path / "board.json", "--format", "csv", "-o", tmp_path / "x")


def test_changed_and_review(tmp_path: Path) -> None:
    base, head = tmp_path / "base", tmp_path / "head"
    submit(base, "one", model="org/best", answers="ABAB", verified=True, metrics={"accuracy": Metric(value=1.0, n=4)})
    submit(head, "one", model="org/new", answers="ABAA", metrics={"accuracy": Metric(value=0.75, n=4)})
    paths = tmp_path / "paths"
    inside = "leaderboard/submissions/org__new/abc123/one/"
    paths.write_bytes(f"README.md\0{inside}entry.json\0{inside}responses/contextcanvas.jsonl.zst\0".encode())
    assert call("changed", paths, "--head", head).stdout == "org__new/abc123/one\n"
    shown = call("review", base, head, paths, "--resamples", "100").stdout
    assert "### `org__new/abc123/one`" in shown
    assert "Beside the best entry so far, `org__best/abc123/one`:" in shown
    assert "| `accuracy` | `all` | 4 | 100.00 | 75.00 | -25.00 |" in shown
    paths.write_text("leaderboard/submissions/run.py\n")
    with pytest.raises(LeaderboardError):
        call("changed", paths)
