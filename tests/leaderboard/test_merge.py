"""Entries become a board: identity, order, status, duplicates, hostile folders."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import Board, BoardRow, Finding, Metric, PromptUse
from lmms_aes_tasks.leaderboard.merge import board_of, board_text, merge_submissions, write_board
from lmms_aes_tasks.leaderboard.reading import read_board, task_rows
from lmms_aes_tasks.leaderboard.results import decoding_text
from lmms_aes_tasks.leaderboard.safe_reading import strict_json
from lmms_aes_tasks.leaderboard.submissions import find_entry
from tests.leaderboard.entries import FLAG, context_rows, digest, entry_of, result, submit, write_entry


def rows(root: Path) -> list[BoardRow]:
    return merge_submissions(root).rows


def problems(root: Path) -> str:
    with pytest.raises(LeaderboardError) as error:
        merge_submissions(root)
    return str(error.value)


def test_a_row_says_what_the_entry_says(tmp_path: Path) -> None:
    submit(tmp_path)
    (row,) = rows(tmp_path)
    assert row.model_dump() == {
        "key": "org__model/abc123/run1/contextcanvas",
        "status": "self-reported",
        "model": "org/model",
        "group": "",
        "revision": "abc123",
        "backend": "qwen3_vl",
        "evaluator": "somebody",
        "benchmark": "contextcanvas",
        "task": "contextcanvas",
        "version": "1-A",
        "prompt": f"contextcanvas-1@{digest('prompt')[:8]}",
        "decoding": "do_sample=false max_new_tokens=800 temperature=0",
        "date": "2026-03-01",
        "source": None,
        "n": 4,
        "n_expected": 4,
        "parse_rate": 1.0,
        "metrics": {"accuracy": Metric(value=0.5, n=4, numerator=2, denominator=4).model_dump()},
        "breakdowns": {},
        "signature": "task:contextcanvas|v:1-A|n:4",
        "entry": "org__model/abc123/run1",
        "findings": [],
        "superseded": False,
    }


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    runs = [("b", "AAAA"), ("a", "BBBB"), ("c", "ABAB")]
    for run, answers in runs:
        submit(tmp_path / "in", run, answers=answers)
    board = tmp_path / "board.json"
    write_board(merge_submissions(tmp_path / "in"), board)
    first = board.read_bytes()
    write_board(merge_submissions(tmp_path / "in"), board)
    assert board.read_bytes() == first
    for run, answers in reversed(runs):
        submit(tmp_path / "copy", run, answers=answers)
    assert board_text(merge_submissions(tmp_path / "copy")).encode() == first


def test_a_board_keeps_every_value(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 123456789.12345679]
    metrics = {f"m{i}": Metric(value=value, n=3, low=value, high=value) for i, value in enumerate(values)}
    metrics["none"] = Metric(value=None, n=0, reason="no “case” — 无")
    submit(tmp_path / "in", metrics=metrics, breakdowns={"domain": {"a": metrics}}, evaluator="Zoë 😀")
    board = merge_submissions(tmp_path / "in")
    write_board(board, tmp_path / "board.json")
    read = read_board(tmp_path / "board.json")
    assert read == board
    assert [repr(read.rows[0].metrics[f"m{i}"].value) for i in range(len(values))] == [repr(value) for value in values]


@settings(max_examples=50, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20).filter(lambda t: t.isprintable()))
def test_any_value_survives_the_round_trip(value: float, text: str) -> None:
    metric = Metric(value=value, n=1)
    row = BoardRow(
        key="k", status="published", model=f"m{text}", benchmark="vab", task="vab", metrics={"accuracy": metric}
    )
    board = Board(plugin="1", rows=[row])
    assert Board.model_validate(strict_json(board_text(board).encode(), "board")) == board


# -- Status -----------------------------------------------------------------------------------------------------------


def test_only_a_verification_of_this_very_entry_counts(tmp_path: Path) -> None:
    folder = submit(tmp_path, verified=True)
    assert [(row.status, row.findings) for row in rows(tmp_path)] == [("recomputed", [])]
    entry = folder / "entry.json"
    before = digest(entry.read_bytes())
    entry.write_bytes(entry.read_bytes() + b"\n")  # the same content, and other bytes
    (row,) = rows(tmp_path)
    assert row.status == "self-reported"
    assert row.findings == [
        Finding(
            kind="flag",
            where="verification.json",
            message=f"it is of an entry with SHA-256 {before[:8]}…, and this one has "
            f"{digest(entry.read_bytes())[:8]}…: the entry was changed since; verify it again",
        )
    ]


@pytest.mark.parametrize(
    "changes",
    [{"status": None}, {"recomputed": {}}, {"recomputed": {"contextcanvas": []}}, {"recomputed": {"vab": ["x"]}}],
)
def test_a_task_of_which_nothing_was_recomputed_is_self_reported(tmp_path: Path, changes: dict[str, Any]) -> None:
    submit(tmp_path, verified=changes)
    assert rows(tmp_path)[0].status == "self-reported"


def test_flags_and_what_was_not_recomputed_are_shown_with_their_task(tmp_path: Path) -> None:
    other = Finding(kind="note", where="responses/vab_top1.jsonl.zst", message="of another file")
    submit(
        tmp_path,
        verified={"findings": [FLAG, other], "not_recomputed": {"contextcanvas": ["macro_f1", "bert_f1"]}},
    )
    note = Finding(kind="note", where="contextcanvas", message="not recomputed: bert_f1, macro_f1")
    assert rows(tmp_path)[0].findings == [FLAG, other, note]  # vab_top1 is no task of this entry


def test_an_entry_that_its_verification_refuses_is_refused(tmp_path: Path) -> None:
    submit(tmp_path, verified={"status": None, "findings": [Finding(kind="error", where="c1", message="wrong\x1b[0m")]})
    assert problems(tmp_path) == (
        f"{tmp_path}: 1 problem(s); nothing was written. Correct them:\n  - org__model/abc123/run1: its verification "
        "refuses it (c1: wrong\\x1b[0m); correct the entry or take it out"
    )


# -- Identity and order -----------------------------------------------------------------------------------------------


def test_the_newest_verified_run_stands_and_comes_first(tmp_path: Path) -> None:
    submit(tmp_path, "old", answers="AAAA", date="2026-01-01", verified=True)
    submit(tmp_path, "new", answers="AAAB", date="2026-02-01", verified=True)
    submit(tmp_path, "newest", answers="AABB", date="2026-03-01")
    found = [(row.entry.rpartition("/")[2], row.superseded) for row in rows(tmp_path) if row.entry]
    assert found == [("new", False), ("old", True), ("newest", True)]


def test_without_a_verified_run_the_newest_stands(tmp_path: Path) -> None:
    submit(tmp_path, "z", answers="AAAA", date="2026-01-01")
    submit(tmp_path, "a", answers="AAAB", date="2026-02-01")
    assert {row.key: row.superseded for row in rows(tmp_path)} == {
        "org__model/abc123/a/contextcanvas": False,
        "org__model/abc123/z/contextcanvas": True,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "2-A"},
        {"prompts": [PromptUse(id="contextcanvas-1", sha256=digest("another"), n=4)]},
        {"prompts": [PromptUse(id="other", n=4)]},
        {"decoding": {"temperature": 0.7}},
        {"images": {"image_fit": "none"}},
        {"parser": "3"},
        {"revision": "def456"},
        {"revision": None},
        {"answers": "AAB"},  # a run with --limit
    ],
    ids=str,
)
def test_what_differs_stays_apart(tmp_path: Path, changes: dict[str, Any]) -> None:
    submit(tmp_path, "one", answers="AAAA")
    submit(tmp_path, "two", **({"answers": "AAAB"} | changes))
    assert [row.superseded for row in rows(tmp_path)] == [False, False]


def test_two_prompts_whose_text_is_not_known_are_not_taken_for_one(tmp_path: Path) -> None:
    for run, answers in (("one", "AAAA"), ("two", "AAAB")):
        submit(tmp_path, run, answers=answers, prompts=[PromptUse(id="other", n=4)])
    assert [row.superseded for row in rows(tmp_path)] == [False, False]


def test_published_rows_stand_last_in_their_own_order(tmp_path: Path) -> None:
    submit(tmp_path)
    published = [
        BoardRow(key=f"published/{name}", status="published", model=name, benchmark="a", task="a", metrics={})
        for name in ("z", "a")
    ]
    board = merge_submissions(tmp_path, published)
    assert [row.key for row in board.rows] == ["org__model/abc123/run1/contextcanvas", "published/z", "published/a"]
    with pytest.raises(LeaderboardError) as error:
        merge_submissions(tmp_path, [published[0], published[0]])
    assert str(error.value) == (
        "board: 1 problem(s). Correct them:\n  - two rows have the key 'published/z'; give each its own"
    )


def test_the_order_in_which_entries_come_does_not_matter(tmp_path: Path) -> None:
    for run, answers in (("one", "AAAA"), ("two", "BBBB"), ("three", "AABB")):
        submit(tmp_path, run, answers=answers)
    found = [find_entry(tmp_path / "org__model/abc123" / run, f"org__model/abc123/{run}") for run in ("one", "two")]
    assert board_of(found) == board_of(found[::-1])


# -- Duplicates -------------------------------------------------------------------------------------------------------


def test_the_same_entry_twice_is_refused(tmp_path: Path) -> None:
    shutil.copytree(submit(tmp_path, "one"), tmp_path / "org__model/abc123/two")
    assert problems(tmp_path) == (
        f"{tmp_path}: 1 problem(s); nothing was written. Correct them:\n  - org__model/abc123/two holds the same entry "
        "as org__model/abc123/one; keep one"
    )


def test_the_same_responses_with_other_scores_are_refused_however_they_are_compressed(tmp_path: Path) -> None:
    submit(tmp_path, "one", date="2026-01-01")
    submit(tmp_path, "two", level=19, metrics={"accuracy": Metric(value=0.75, n=4)})
    assert problems(tmp_path) == (
        f"{tmp_path}: 1 problem(s); nothing was written. Correct them:\n  - org__model/abc123/one and "
        "org__model/abc123/two hold the same responses to contextcanvas with other scores (accuracy 0.5 and 0.75); "
        "verify both, and keep the right one"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": {"accuracy": Metric(value=0.75, n=4)}, "parser": "3"},  # read by another parser
        {"metrics": {"accuracy": Metric(value=0.75, n=4)}, "version": "2-A"},
        {"metrics": {"accuracy": Metric(value=None, n=0, reason="not computed")}},
        {"metrics": {"accuracy": Metric(value=0.50001, n=4)}},  # an encoder on another machine
    ],
    ids=str,
)
def test_the_same_responses_may_be_there_twice_with_reason(tmp_path: Path, changes: dict[str, Any]) -> None:
    submit(tmp_path, "one", date="2026-01-01")
    submit(tmp_path, "two", **changes)
    assert len(rows(tmp_path)) == 2


def test_the_responses_of_another_model_are_flagged(tmp_path: Path) -> None:
    submit(tmp_path, "one", model="org/model")
    submit(tmp_path, "one", model="rival/model")
    assert {row.key: [finding.message for finding in row.findings] for row in rows(tmp_path)} == {
        "org__model/abc123/one/contextcanvas": [
            "every response is the same as in rival__model/abc123/one, which is another model"
        ],
        "rival__model/abc123/one/contextcanvas": [
            "every response is the same as in org__model/abc123/one, which is another model"
        ],
    }


# -- Hostile folders --------------------------------------------------------------------------------------------------


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    (tmp_path / "README.md").write_text("Entries.")
    (tmp_path / ".gitkeep").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "no_model").mkdir()
    (tmp_path / "org__model/empty").mkdir()
    (tmp_path / "org__model/link").symlink_to("/etc")
    (tmp_path / "org__model/abc123/bad\x1b[31mname").mkdir()
    (folder / "run.py").touch()
    (folder / "responses/more.jsonl.zst").touch()
    (folder / "responses/link").symlink_to("/etc/passwd")
    submit(tmp_path, "moved", model="org/other")
    (tmp_path / "org__other").rename(tmp_path / "org__third")
    assert problems(tmp_path) == (
        f"{tmp_path}: 9 problem(s); nothing was written. Correct them:\n"
        "  - no_model: name the folder <org>__<model>, of letters, digits, . _ and -\n"
        "  - notes.txt is a file; only folders (<org>__<model>) belong here\n"
        "  - org__model/link is a link; put the file itself there\n"
        "  - org__model/abc123/bad\\x1b[31mname: name the folder run, of letters, digits, . _ and -\n"
        "  - org__model/empty/ holds no run; remove it\n"
        "  - org__model/abc123/run1: responses/link is a symbolic link. An entry holds regular files only.\n"
        "  - org__model/abc123/run1: run.py does not belong in an entry, which holds entry.json, verification.json and "
        "responses/. Take it away.\n"
        "  - org__model/abc123/run1: responses/more.jsonl.zst is named by no task of entry.json. Take it away, or "
        "build the entry again.\n"
        "  - org__third/abc123/moved: model.id is 'org/other'; put it under org__other/"
    )


def test_a_day_to_come_is_refused(tmp_path: Path) -> None:
    submit(tmp_path, date="2999-01-01")
    assert "run1: date is '2999-01-01', which is to come; give the day of the run" in problems(tmp_path)


def test_a_path_must_agree_with_its_entry(tmp_path: Path) -> None:
    submit(tmp_path, revision=None)
    (tmp_path / "org__model/unknown").rename(tmp_path / "org__model/v2")
    folder = submit(tmp_path, "day", date="2026-02-30")
    entry = json.loads((folder / "entry.json").read_text())
    entry["tasks"]["vab_top1"] = entry["tasks"]["contextcanvas"]
    (folder / "entry.json").write_text(json.dumps(entry))
    assert problems(tmp_path).split("\n")[1:] == [
        "  - org__model/abc123/day: date is '2026-02-30'; give a day that exists",
        "  - org__model/abc123/day: tasks.vab_top1 is about 'contextcanvas'; make them agree",
        "  - org__model/abc123/day: tasks.vab_top1 names responses/contextcanvas.jsonl.zst; name "
        "responses/vab_top1.jsonl.zst",
        "  - org__model/v2/run1: model.revision is None; put it under unknown/",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"date": 1, "date": 2}', "not sound JSON (the key 'date' is there twice)"),
        ('{"date": NaN}', "not sound JSON (NaN is no number of JSON; write null)"),
        ('{"date": -Infinity}', "not sound JSON (-Infinity is no number of JSON"),
        ("[" * 100_000, "nested deeper than 24 levels"),
        ("\ufeff{}", "not sound JSON (Unexpected UTF-8 BOM"),
        ("{}", "problem(s). Build the entry again."),
        ('{"status": "recomputed"}', "status: Input should be 'self-reported'"),
    ],
)
def test_an_entry_that_is_not_sound_is_named(tmp_path: Path, text: str, said: str) -> None:
    folder = submit(tmp_path)
    (folder / "entry.json").write_text(text)
    assert "org__model/abc123/run1: entry.json: " in problems(tmp_path)
    assert said in problems(tmp_path)


def test_numbers_as_texts_and_infinite_numbers_are_refused(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    entry = json.loads((folder / "entry.json").read_text())
    metric = entry["tasks"]["contextcanvas"]["metrics"]["accuracy"]
    metric |= {"value": "0.5", "low": 0.1, "n": True}
    (folder / "entry.json").write_text(json.dumps(entry))
    found = problems(tmp_path)
    for name, said in (("value", "valid number"), ("n", "valid integer")):
        assert f"tasks.contextcanvas.metrics.accuracy.{name}: Input should be a {said}" in found
    (folder / "entry.json").write_text(json.dumps(entry).replace('"low": 0.1', '"low": 1e999'))
    assert "not sound JSON (the number 1e999 is too large or too long)" in problems(tmp_path)


def test_links_and_other_files_are_not_read(tmp_path: Path) -> None:
    folder = submit(tmp_path / "in")
    secret = tmp_path / "secret.json"
    shutil.copy(folder / "entry.json", secret)
    (folder / "entry.json").unlink()
    (folder / "entry.json").symlink_to(secret)
    assert "run1: entry.json: entry.json is a symbolic link. Put the file itself there." in problems(tmp_path / "in")
    (folder / "entry.json").unlink()
    os.mkfifo(folder / "entry.json")
    assert "run1: entry.json is no regular file. An entry holds regular files only." in problems(tmp_path / "in")
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path)
    assert "org__model/abc123/run1 is a link" in problems(tmp_path / "in")


def _rewritten(folder: Path, content: bytes, **facts: Any) -> None:
    """Put other responses in place, and have the entry name them."""
    (folder / "responses/contextcanvas.jsonl.zst").write_bytes(content)
    entry = json.loads((folder / "entry.json").read_text())
    entry["tasks"]["contextcanvas"]["file"] |= {"sha256": digest(content), **facts}
    (folder / "entry.json").write_text(json.dumps(entry))


@pytest.mark.parametrize(
    ("content", "facts", "said"),
    [
        (b"x" * (1 << 24), {"content_bytes": 1_000}, "decompresses to more than the 1000 bytes that the entry says"),
        (b'{"id": "a", "response": "", "record": {"id": "b"}}\n', {}, "line 1: its record is of another id"),
        (b'{"id": "a", "response": "", "record": {"id": "a"}}\n' * 2, {"rows": 2}, "line 2: the id a is there twice"),
        (b'{"id": "a", "response": "", "record": {"id": "a"}}\n', {"rows": 2}, "has 1 rows and the entry says 2"),
        (
            b'{"id": "a", "response": 1, "record": {"id": "a"}}\n',
            {},
            "line 1: response is no text",
        ),
        (
            b'{"id": "a", "response": ""}\n',
            {},
            "line 1: holds id, response; a row has id,",
        ),
        (b'{"id": "a", "id": "b"}\n', {}, "line 1: not sound JSON (the key 'id' is there twice)"),
    ],
    ids=["bomb", "other id", "twice", "rows", "number", "no record", "key twice"],
)
def test_responses_that_are_not_sound_are_named(
    tmp_path: Path, content: bytes, facts: dict[str, Any], said: str
) -> None:
    folder = submit(tmp_path)
    _rewritten(folder, zstandard.compress(content), **({"content_bytes": len(content), "rows": 1} | facts))
    assert said in problems(tmp_path)


def test_responses_must_be_the_file_that_the_entry_names(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    path = folder / "responses/contextcanvas.jsonl.zst"
    named = digest(path.read_bytes())
    path.write_bytes(path.read_bytes() + b"\0")
    assert f"its SHA-256 is {digest(path.read_bytes())[:8]}… and the entry says {named[:8]}…" in problems(tmp_path)
    path.unlink()
    assert "run1: responses/contextcanvas.jsonl.zst: no such file in the entry." in problems(tmp_path)
    _rewritten(folder, b"no zstd")
    assert "responses/contextcanvas.jsonl.zst does not decompress" in problems(tmp_path)
    (folder / "responses").rename(tmp_path.parent / f"{tmp_path.name}_elsewhere")
    (folder / "responses").symlink_to(tmp_path.parent / f"{tmp_path.name}_elsewhere")
    assert "org__model/abc123/run1: responses is a symbolic link" in problems(tmp_path)
    entry = find_entry(folder, "a/b/c").entry
    with pytest.raises(LeaderboardError) as error:
        list(task_rows(folder, entry, "contextcanvas"))
    assert str(error.value) == (
        "responses/contextcanvas.jsonl.zst: responses is a symbolic link. Put the file itself there."
    )


def test_several_zstd_frames_are_one_file(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    lines = [json.dumps(one).encode() + b"\n" for one in context_rows({"c1": "A", "c2": "B"}, {"c1": "A", "c2": "B"})]
    frames = b"".join(map(zstandard.compress, lines))
    _rewritten(folder, frames, rows=2, content_bytes=sum(map(len, lines)))
    entry = find_entry(folder, "a/b/c").entry
    assert [row.id for row in task_rows(folder, entry, "contextcanvas")] == ["c1", "c2"]


def test_an_old_board_stays_when_something_is_wrong(tmp_path: Path) -> None:
    board = tmp_path / "board.json"
    board.write_text("old")
    submit(tmp_path / "in")
    (tmp_path / "in/notes.txt").touch()
    with pytest.raises(LeaderboardError):
        write_board(merge_submissions(tmp_path / "in"), board)
    assert board.read_text() == "old"
    assert problems(tmp_path / "none") == f"{tmp_path / 'none'} is not a folder. Name the folder of submissions."


def test_an_empty_folder_gives_an_empty_board(tmp_path: Path) -> None:
    (tmp_path / ".gitkeep").touch()
    assert rows(tmp_path) == []


def test_texts_that_are_long_are_cut_and_told_apart(tmp_path: Path) -> None:
    made = [
        result(
            tmp_path,
            "contextcanvas",
            "contextcanvas",
            context_rows({"c1": "A"}, {"c1": "A"}),
            decoding={"until": stops},
        )
        for stops in (["x" * 500, "a"], ["x" * 500, "b"])
    ]
    first, second = map(decoding_text, made)
    assert len(first) < 320
    assert first != second
    write_entry(tmp_path, entry_of({"contextcanvas": made[0]}))
    assert find_entry(tmp_path, "org__model/abc123/run").entry.tasks["contextcanvas"] == made[0]
