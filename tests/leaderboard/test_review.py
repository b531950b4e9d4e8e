"""Pull requests with entries: which folders change, what is said of them, and the workflows that say it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import Metric
from lmms_aes_tasks.leaderboard import comment
from lmms_aes_tasks.leaderboard.review import MAX_REVIEW_CHARS, Changed, cell, changed_entries, review
from tests.leaderboard.entries import submit

ROOT = Path(__file__).parents[2]
INSIDE = "leaderboard/submissions/"


def test_changed_paths_become_entries() -> None:
    paths = [
        "README.md",
        "lmms_aes_tasks/leaderboard/submissions/x",
        f"{INSIDE}.gitkeep",
        f"{INSIDE}README.md",
        f"{INSIDE}org__b/v1/run/entry.json",
        f"{INSIDE}org__a/v1/run/responses/vab_top1.jsonl.zst",
        f"{INSIDE}org__a/v1/run/entry.json",
        f"{INSIDE}org__c/v1/run/verification.json",
    ]
    assert changed_entries(paths) == Changed(("org__a/v1/run", "org__b/v1/run"), ("org__c/v1/run",))
    assert changed_entries([]) == Changed((), ())


@pytest.mark.parametrize(
    "path",
    [
        "run.py",
        "org__a/entry.json",
        "org__a/v1/entry.json",
        "org__a/v1/run/more/entry.json",
        "org__a/v1/run/responses/a/b.jsonl.zst",
        "org__a/v1/run/responses/.hidden",
        "org__a/../run/entry.json",
        "org__a/v1/$(id)/entry.json",
        "org__a/v1/run\n/entry.json",
        "a/v1/run/entry.json",
        "org__a/v1//entry.json",
    ],
)
def test_a_path_that_does_not_belong_is_named(path: str) -> None:
    with pytest.raises(LeaderboardError) as error:
        changed_entries([INSIDE + path])
    shown = path.replace("\n", "\\n")
    assert str(error.value) == (
        f"pull request: 1 problem(s). Correct them:\n  - {INSIDE}{shown} does not belong there; put entry.json and "
        "responses/ into leaderboard/submissions/<org>__<model>/<revision>/<run>/"
    )


def test_an_entry_does_not_bring_its_own_verification(tmp_path: Path) -> None:
    folder = submit(tmp_path, verified=True)
    paths = [f"{INSIDE}org__model/abc123/run1/{name}" for name in ("entry.json", "verification.json")]
    with pytest.raises(LeaderboardError) as error:
        changed_entries(paths, tmp_path)
    assert str(error.value) == (
        "pull request: 1 problem(s). Correct them:\n  - org__model/abc123/run1/verification.json is for a maintainer "
        "to write, after a review; take it out"
    )
    (folder / "verification.json").unlink()  # an entry that changes loses the verification that it had
    assert changed_entries(paths, tmp_path).entries == ("org__model/abc123/run1",)
    assert changed_entries([*paths, f"{INSIDE}org__gone/v1/run/entry.json"], tmp_path).entries == (
        "org__model/abc123/run1",
    )


def test_a_review_says_who_is_first_and_what_is_not_sound(tmp_path: Path) -> None:
    base, head = tmp_path / "base", tmp_path / "head"
    base.mkdir()
    submit(head, "one")
    submit(head, "bad")
    (head / "org__model/abc123/bad/entry.json").write_text('{"a": NaN} @everyone `x` | <b>')
    found = review(base, head, Changed(("org__model/abc123/bad", "org__model/abc123/one"), ("org__c/v1/run",)))
    assert "- `contextcanvas`: the first entry of this task" in found
    assert "Not sound:" in found
    assert "- only the verification of `org__c/v1/run` changes" in found
    assert review(base, head, Changed((), ())) == "## Leaderboard\n\nNo entry changes.\n"


def test_an_entry_that_changes_is_not_set_beside_itself(tmp_path: Path) -> None:
    base, head = tmp_path / "base", tmp_path / "head"
    submit(base, "one", metrics={"accuracy": Metric(value=1.0, n=4)})
    submit(base, "two", answers="ABBB", model="org/rival", metrics={"accuracy": Metric(value=0.75, n=4)})
    submit(head, "one", answers="ABAB")
    found = review(base, head, Changed(("org__model/abc123/one",), ()), resamples=100)
    assert "Beside the best entry so far, `org__rival/abc123/two`:" in found


def test_a_new_entry_is_not_set_beside_a_run_with_a_limit(tmp_path: Path) -> None:
    base, head = tmp_path / "base", tmp_path / "head"
    # 4 of 301 items against 4 of 4: the cut run has the higher figure and the later day
    cut = {"n_expected": 301, "metrics": {"accuracy": Metric(value=1.0, n=4)}}
    submit(base, "cut", model="org/cut", date="2026-03-05", **cut)
    submit(base, "whole", model="org/whole", answers="ABBB", metrics={"accuracy": Metric(value=0.75, n=4)})
    submit(head, "one", answers="ABAB")
    found = review(base, head, Changed(("org__model/abc123/one",), ()), resamples=100)
    assert "Beside the best entry so far, `org__whole/abc123/whole`:" in found
    assert "org__cut" not in found


def test_a_review_fits_a_comment(tmp_path: Path) -> None:
    base, head = tmp_path / "base", tmp_path / "head"
    base.mkdir()
    head.mkdir()
    found = review(base, head, Changed(tuple(f"org__m{i}/v/run" for i in range(1_000)), ()))
    assert len(found) < MAX_REVIEW_CHARS + 20
    assert found.endswith("… (cut)\n")


@given(st.text(max_size=200))
def test_a_cell_holds_no_markup(text: str) -> None:
    made = cell(text)
    assert "\n" not in made
    assert "|" not in made
    assert made.count("`") in {0, 2}


@given(st.binary(max_size=300))
def test_a_comment_stays_inside_its_fence(content: bytes) -> None:
    lines = comment.fenced(content).split("\n")
    fence = lines[0].removesuffix("text")
    assert set(fence) == {"`"}
    assert [line for line in lines[1:] if line.strip().startswith(fence)] == [fence]


def test_a_long_comment_is_cut() -> None:
    made = comment.fenced(b"x" * 100_000)
    assert len(made) < 65_000
    assert made.endswith("(The rest is in the job's summary.)")


def test_the_commenter_needs_nothing_but_the_standard_library() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", ROOT / "lmms_aes_tasks/leaderboard/comment.py"],
        input=b"@all\x1b[31m ```",
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == (
        "Comparison of the entries in this pull request, made by the base branch's code:\n\n"
        "````text\n@all[31m ```\n````\n"
    )


def test_the_template_of_a_pull_request_is_the_checklist_of_its_sender() -> None:
    template = (ROOT / ".github/PULL_REQUEST_TEMPLATE/leaderboard.md").read_text()
    checklist = (ROOT / "leaderboard/PULL_REQUEST_CHECKLIST.md").read_text()
    items = template[template.index("- [ ]") :]
    assert items in checklist
    assert items.count("- [ ]") >= 5


# -- Workflows --------------------------------------------------------------------------------------------------------


def workflow(name: str) -> dict[Any, Any]:
    found = yaml.safe_load((ROOT / ".github/workflows" / name).read_text())
    assert isinstance(found, dict)
    return found


def steps(found: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in found["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", ["leaderboard.yml", "leaderboard_comment.yml"])
def test_no_workflow_pastes_strangers_text_into_a_script(name: str) -> None:
    found = workflow(name)
    assert found["permissions"] == {}
    for step in steps(found):
        assert "${{" not in step.get("run", ""), step["name"]
        assert "@v" in step.get("uses", "@v"), step["name"]
    for job in found["jobs"].values():
        assert job["timeout-minutes"] <= 30


def test_the_check_runs_the_base_with_a_token_that_only_reads() -> None:
    found = workflow("leaderboard.yml")
    assert found[True] == {"pull_request": {"paths": ["leaderboard/submissions/**"]}}  # YAML reads `on` as true
    (job,) = found["jobs"].values()
    assert job["permissions"] == {"contents": "read"}
    checkouts = {step["with"]["path"]: step["with"] for step in job["steps"] if "checkout" in step.get("uses", "")}
    assert set(checkouts) == {"base", "head"}
    assert checkouts["base"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert all(one["persist-credentials"] is False for one in checkouts.values())
    for step in job["steps"]:
        if "install" in step.get("run", ""):
            assert "head" not in step["run"]
    text = " ".join(step.get("run", "") for step in job["steps"])
    for command in ("changed", "verify", "merge", "review"):
        assert f"lmms-aes leaderboard {command} " in text
    assert "secrets" not in (ROOT / ".github/workflows/leaderboard.yml").read_text()


def test_the_comment_is_written_by_a_job_that_runs_no_code_of_the_pull_request() -> None:
    found = workflow("leaderboard_comment.yml")
    assert found[True] == {"workflow_run": {"workflows": [workflow("leaderboard.yml")["name"]], "types": ["completed"]}}
    (job,) = found["jobs"].values()
    assert job["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "write"}
    for step in job["steps"]:
        if "checkout" in step.get("uses", ""):
            assert "ref" not in step["with"]  # the default branch, as always for workflow_run
            assert step["with"]["persist-credentials"] is False
    assert "python3 -I lmms_aes_tasks/leaderboard/comment.py" in " ".join(step.get("run", "") for step in job["steps"])
