"""`lmms-aes score vab` and `lmms-aes analyze`, against the authors' figures and with bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmms_aes_tasks.utils.permutations import trial_permutations
from lmms_aes_tasks.vab.task import process_results
from tests.cli.conftest import call

ORACLE = json.loads((Path(__file__).parents[1] / "data/vab.json").read_text("utf-8"))["scoring"]
QUESTION = {"pick_best": "top1", "pick_worst": "bot1", "pick_best_and_worst_both": "tb1", "pick_best_and_worst": "tb1"}


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return lines(tmp_path / "tasks.jsonl", ORACLE["tasks"])


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    return lines(tmp_path / "responses.jsonl", ORACLE["responses"])


def scored(*arguments: Any) -> dict[str, Any]:
    result = call("score", "vab", *arguments, "--json", "--resamples", 100)
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.output)
    return content


def figures(expected: dict[str, Any]) -> list[tuple[tuple[str, ...], float]]:
    """Every number of an authors' table, with the path at which ours stands."""
    found = [
        (("overall", "top1", "pass_pow_3"), expected["pick_best"]["accuracy"]),
        (("overall", "bot1", "pass_pow_3"), expected["pick_worst"]["accuracy"]),
    ]
    both = {"accuracy_both": "pass_pow_3", "accuracy_best": "best_pass_pow_3", "accuracy_worst": "worst_pass_pow_3"}
    found += [(("overall", "tb1", both[name]), value) for name, value in expected["pick_best_and_worst"].items()]
    found += [(("overall", QUESTION[name], "ap_at_1"), value) for name, value in expected["avg_pass_at_1"].items()]
    for theirs, ours, metric in (
        ("by_domain", "by_domain", "pass_pow_3"),
        ("by_n_images", "by_n_images", "pass_pow_3"),
        ("avg_pass_at_1_by_domain", "by_domain", "ap_at_1"),
        ("avg_pass_at_1_by_n_images", "by_n_images", "ap_at_1"),
    ):
        for group, values in expected[theirs].items():
            found += [((ours, group, QUESTION[name], metric), value) for name, value in values.items()]
    return found


def at(content: dict[str, Any], path: tuple[str, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def test_the_authors_scores_and_baseline(tasks: Path, responses: Path) -> None:
    content = scored("--tasks", tasks, "--responses", responses)
    expected, baseline = figures(ORACLE["expected"]), figures(ORACLE["random_baseline"])
    assert len(expected) == 56
    assert len(baseline) == 54
    for path, value in expected:
        assert at(content, path) == pytest.approx(value, abs=1e-12), path
    for path, value in baseline:
        assert at(content["random_baseline"], path) == pytest.approx(value, abs=1e-12), path


def test_every_part_has_the_same_shape(tasks: Path, responses: Path) -> None:
    content = scored("--tasks", tasks, responses)  # as an argument, too
    groups = {"overall", "by_domain", "by_substyle", "by_n_images"}
    substyles = {task["substyle"] for task in ORACLE["tasks"]}
    for part in (content, content["random_baseline"], content["intervals"], content["n"]):
        assert groups <= set(part)
        assert set(part["by_substyle"]) == substyles
        assert list(part["by_n_images"]) == ["2", "3", "4", "5", "6"]
        assert set(part["overall"]) == {"top1", "bot1", "tb1"}
    for question in ("top1", "bot1", "tb1"):
        value, (low, high) = (at(part, ("overall", question, "ap_at_1")) for part in (content, content["intervals"]))
        assert low <= value <= high
        assert content["n"]["overall"][question] == {"tasks": 48, "trials": 144, "incomplete_tasks": 0}
        assert content["reading"][question]["strict_parse_rate"] == 1.0
    shown = call("score", "vab", "--tasks", tasks, responses, "--resamples", 100).output
    for text in ("Top-1 ap@1", "TB-1 pass^3", "By domain", "By substyle", "By number of images", "chi-square", "81.25"):
        assert text in shown


def authors_file(path: Path) -> Path:
    """The same responses in the form of the authors' result file: derived rows, mapped answers, one list."""
    truth = {task["task_id"]: task for task in ORACLE["tasks"]}
    rows = []
    for row in ORACLE["responses"]:
        task = truth[row["task_id"]]
        best, worst = {"best": task["ground_truth_best"]}, {"worst": task["ground_truth_worst"]}
        gold = {"pick_best": best, "pick_worst": worst, "pick_best_and_worst": best | worst}[row["prompt_type"]]
        rows.append(
            {
                "task_id": row["task_id"],
                "prompt_type": row["prompt_type"],
                "trial": row["trial"],
                "permutation": trial_permutations(row["task_id"], task["n_images"])[row["trial"]],
                "model_response": row["response"],
                "parsed_answer": {"best": "not trusted"},
                "ground_truth": gold,
                "correct": True,
                **{name: task[name] for name in ("domain", "substyle", "n_images")},
            }
        )
    derived = [
        r | {"prompt_type": "pick_best_and_worst", "derived_from": "pick_best"} for r in rows if r["n_images"] == 2
    ]
    path.write_text(json.dumps({"metadata": {"model": "m"}, "summary": {}, "results": rows + derived}))
    return path


def test_the_authors_result_file_needs_nothing_beside_it(tasks: Path, responses: Path, tmp_path: Path) -> None:
    assert scored(authors_file(tmp_path / "m.json")) == scored("--tasks", tasks, "--responses", responses)


def samples(folder: Path) -> Path:
    """The same responses as our tasks' samples files, in lmms-eval's layout."""
    folder.mkdir()
    by_question: dict[str, list[dict[str, Any]]] = {"top1": [], "bot1": [], "tb1": []}
    truth = {task["task_id"]: task for task in ORACLE["tasks"]}
    asked = [(QUESTION[row["prompt_type"]], row) for row in ORACLE["responses"]]
    pairs = [(q, row) for q, row in asked if q == "top1" and truth[row["task_id"]]["n_images"] == 2]
    for question, row in [*asked, *(("tb1", row) for _, row in pairs)]:
        task = truth[row["task_id"]]
        doc = task | {
            "id": f"{row['task_id']}#{row['trial']}",
            "trial": row["trial"],
            "question": question,
            "prompt_type": row["prompt_type"],
            "permutation": trial_permutations(row["task_id"], task["n_images"])[row["trial"]],
        }
        record = process_results(doc, [row["response"]])["record"]
        by_question[question].append({"doc_id": 0, "filtered_resps": row["response"], "record": record})
    for question, rows in by_question.items():
        lines(folder / f"20260101_samples_vab_{question}.jsonl", rows)
    return folder


def test_samples_files_need_nothing_beside_them(tasks: Path, responses: Path, tmp_path: Path) -> None:
    folder = samples(tmp_path / "run")
    expected = scored("--tasks", tasks, "--responses", responses)
    assert scored(folder) == expected
    one = scored(folder / "20260101_samples_vab_top1.jsonl")
    assert one["overall"]["top1"] == expected["overall"]["top1"]
    assert one["overall"]["bot1"] == {"ap_at_1": None, "pass_pow_3": None}  # not asked


def test_a_folder_of_several_runs_is_no_score(tmp_path: Path, error_of: Callable[..., str]) -> None:
    folder = samples(tmp_path / "run")
    (folder / "20260101_samples_vab_top1_demo.jsonl").write_text("")
    message = error_of("score", "vab", folder)
    assert message.startswith(
        f"lmms-aes: {folder} holds 2 runs (by folder, date and variant), which are not one score."
    )
    assert message.count("\n  - ") == 4
    (folder / "20260101_samples_vab_top1_demo.jsonl").unlink()
    (folder / "20260102_samples_vab_top1.jsonl").write_text("")
    assert "holds 2 runs" in error_of("score", "vab", folder)


def test_samples_that_contradict_the_tasks_are_listed(tmp_path: Path, error_of: Callable[..., str]) -> None:
    file = samples(tmp_path / "run") / "20260101_samples_vab_top1.jsonl"
    rows = [dict(task) for task in ORACLE["tasks"]]
    rows[0] |= {"ground_truth_best": rows[0]["ground_truth_worst"], "ground_truth_worst": rows[0]["ground_truth_best"]}
    rows[2]["n_images"] += 1
    path = lines(tmp_path / "t.jsonl", rows)
    one, three = ORACLE["tasks"][0], ORACLE["tasks"][2]
    assert error_of("score", "vab", file, "--tasks", path).splitlines()[1:] == [
        f"  - {one['task_id']}: ground_truth_best is 'A' in the responses and 'B' in the tasks",
        f"  - {one['task_id']}: ground_truth_worst is 'B' in the responses and 'A' in the tasks",
        f"  - {three['task_id']}: n_images is 6 in the responses and 7 in the tasks",
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"ground_truth": {"best": "Q"}}, "ground_truth_best is 'Q'; use one of A, B"),
        ({"ground_truth": None}, "ground_truth_best is None; use one of A, B"),
        ({"n_images": 1}, "1 images; give 2 to 26"),
        ({"n_images": "2.5"}, "'2.5' images; give 2 to 26"),
        ({"domain": 7}, "domain is 7; give a text"),
    ],
)
def test_the_authors_file_is_checked_like_any_other(
    changes: dict[str, Any], problem: str, tmp_path: Path, error_of: Callable[..., str]
) -> None:
    content = json.loads(authors_file(tmp_path / "m.json").read_text())
    task = content["results"][0]["task_id"]
    own = [row for row in content["results"] if row["task_id"] == task and row["prompt_type"] == "pick_best"]
    content["results"] = [row | {"permutation": None} | changes for row in own if "derived_from" not in row]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content))
    assert f"  - {task}: {problem}" in error_of("score", "vab", path)


@pytest.mark.parametrize("error", [None, "", "  ", False, []], ids=repr)
def test_an_empty_error_is_none(tasks: Path, tmp_path: Path, error: Any) -> None:
    rows = [row | {"error": error, "derived_from": None} for row in ORACLE["responses"]]
    assert scored(lines(tmp_path / "r.jsonl", rows), "--tasks", tasks)["n"]["overall"]["top1"]["tasks"] == 48


def test_two_images_alone_give_tb1_but_best_of_a_mixed_run_does_not(tmp_path: Path) -> None:
    pairs = [task for task in ORACLE["tasks"] if task["n_images"] == 2]
    ids = {task["task_id"] for task in pairs}
    best = [row for row in ORACLE["responses"] if row["prompt_type"] == "pick_best"]
    only = lines(tmp_path / "r.jsonl", [row for row in best if row["task_id"] in ids])
    content = scored("--tasks", lines(tmp_path / "t.jsonl", pairs), only)
    assert content["overall"]["tb1"]["pass_pow_3"] == content["overall"]["top1"]["pass_pow_3"]
    mixed = scored("--tasks", lines(tmp_path / "all.jsonl", ORACLE["tasks"]), lines(tmp_path / "b.jsonl", best))
    assert mixed["overall"]["tb1"]["ap_at_1"] is None


def test_the_data_itself_can_say_what_the_tasks_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.colours import write_colour_tasks

    ids = write_colour_tasks(tmp_path / "vab", [3, 3])
    rows = [
        {"task_id": i, "prompt_type": "pick_worst", "trial": t, "response": "WORST: A"} for i in ids for t in range(3)
    ]
    path = lines(tmp_path / "r.jsonl", rows)
    content = scored("--responses", path, "--data", tmp_path / "vab")
    assert content["n"]["overall"]["bot1"]["tasks"] == 2
    file = tmp_path / "vab/tasks.json"
    records = json.loads(file.read_text())
    for record in records:  # as the data may be written: other spellings, no count
        record["gt_best"] = record.pop("ground_truth_best").lower()
        del record["n_images"]
    file.write_text(json.dumps(records))
    assert scored("--responses", path, "--data", file) == content
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    assert scored("--responses", path) == scored(path) == content


# -- bad input --------------------------------------------------------------------------------------------------------


def test_missing_repeated_and_unknown_are_all_listed(tasks: Path, tmp_path: Path, error_of: Callable[..., str]) -> None:
    rows = [row for row in ORACLE["responses"] if row["prompt_type"] == "pick_worst"]
    first, second = rows[0]["task_id"], rows[3]["task_id"]
    path = lines(tmp_path / "r.jsonl", [*rows[1:3], rows[3], rows[3], *rows[4:]])
    assert error_of("score", "vab", path, "--tasks", tasks) == (
        f"lmms-aes: {path}: 2 problem(s).\n  - bot1, {first}: trial 0 missing\n  - bot1, {second}: trial 0 repeated\n"
    )
    path = lines(tmp_path / "u.jsonl", [*rows, rows[0] | {"task_id": "else"}])
    assert error_of("score", "vab", path, "--tasks", tasks) == (
        f"lmms-aes: {path}: 1 problem(s).\n  - else: not one of the tasks\n"
    )


def test_incomplete_runs_are_taken_when_asked_for(tasks: Path, tmp_path: Path) -> None:
    rows = [row for row in ORACLE["responses"] if row["prompt_type"] == "pick_worst"][:7]
    path = lines(tmp_path / "r.jsonl", rows)
    content = scored(path, "--tasks", tasks, "--allow-incomplete")
    assert content["n"]["overall"]["bot1"] == {"tasks": 3, "trials": 7, "incomplete_tasks": 1}
    sizes = [next(t["n_images"] for t in ORACLE["tasks"] if t["task_id"] == rows[i]["task_id"]) for i in (0, 3, 6)]
    baseline = content["random_baseline"]["overall"]["bot1"]
    assert baseline["pass_pow_3"] == pytest.approx(sum(1 / n**3 for n in sizes[:2]) / 2)  # over the complete tasks
    assert baseline["ap_at_1"] == pytest.approx((3 / sizes[0] + 3 / sizes[1] + 1 / sizes[2]) / 7)
    shown = call("score", "vab", path, "--tasks", tasks, "--allow-incomplete", "--resamples", 100).output
    assert "1 incomplete task(s) are left out of pass^3 and order flips." in shown


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prompt_type": "best"}, "prompt_type is 'best'; use one of pick_best, pick_worst, pick_best_and_worst"),
        ({"trial": 3}, "trial is 3; use a number from 0 to 2"),
        ({"trial": True}, "trial is True; use a number from 0 to 2"),
        ({"task_id": [7]}, "task_id is [7]; give a text"),
        ({"prompt_type": ["x"]}, "prompt_type is ['x']; use one of pick_best, pick_worst, pick_best_and_worst"),
        ({"response": ["A"]}, "the response is of type list; give the model's text"),
    ],
)
def test_unsound_rows_are_named(
    row: dict[str, Any],
    message: str,
    tasks: Path,
    tmp_path: Path,
    error_of: Callable[..., str],
) -> None:
    path = lines(tmp_path / "r.jsonl", [ORACLE["responses"][0] | row])
    assert error_of("score", "vab", path, "--tasks", tasks) == (
        f"lmms-aes: {path}: 1 problem(s).\n  - r.jsonl, row 1: {message}\n"
    )


def test_a_wrong_permutation_is_named(tmp_path: Path, error_of: Callable[..., str]) -> None:
    path = authors_file(tmp_path / "m.json")
    content = json.loads(path.read_text())
    content["results"][0]["permutation"] = [0, 0]
    content["results"][1] |= {"error": "Timeout: x"}
    path.write_text(json.dumps(content))
    message = error_of("score", "vab", path)
    assert (
        message
        == f"lmms-aes: {path}: 1 problem(s).\n  - m.json, row 1: permutation is [0, 0]; give an order of 0 to 1\n"
    )
    content["results"][0]["permutation"] = [0, 1]
    path.write_text(json.dumps(content))
    task = content["results"][1]["task_id"]
    message = error_of("score", "vab", path)
    assert message == f"lmms-aes: {path}: 1 problem(s).\n  - bot1, {task}: trial 0 missing\n"  # a failed call


def test_unsound_tasks_are_all_listed(responses: Path, tmp_path: Path, error_of: Callable[..., str]) -> None:
    good = ORACLE["tasks"][2]
    rows = [
        good,
        good,
        good | {"task_id": "a", "n_images": 1},
        good | {"task_id": "b", "n_images": 27},
        good | {"task_id": "c", "ground_truth_best": "Z"},
        good | {"task_id": "d", "ground_truth_worst": good["ground_truth_best"]},
        {"task_id": "e"},
        good | {"task_id": "f", "domain": None},
    ]
    path = lines(tmp_path / "t.jsonl", rows)
    assert error_of("score", "vab", responses, "--tasks", path).splitlines() == [
        f"lmms-aes: {path}: 7 problem(s).",
        f"  - task 2 ({good['task_id']!r}): the id is already that of another task",
        "  - task 3 ('a'): 1 images; give 2 to 26",
        "  - task 4 ('b'): 27 images; give 2 to 26",
        "  - task 5 ('c'): ground_truth_best is 'Z'; use one of A, B, C, D, E, F",
        "  - task 6 ('d'): best and worst are both 'C'; give two labels",
        "  - task 7: no field domain, substyle, n_images, ground_truth_best, ground_truth_worst",
        "  - task 8 ('f'): domain is None; give a text",
    ]


def test_what_is_missing_is_said(responses: Path, tasks: Path, tmp_path: Path, error_of: Callable[..., str]) -> None:
    assert error_of("score", "vab") == (
        "lmms-aes: no responses: name samples files, JSONL, or the authors' result file\n"
    )
    assert "nothing says what the tasks are" in error_of("score", "vab", responses)
    both = error_of("score", "vab", responses, "--tasks", tasks, "--data", tmp_path)
    assert both == "lmms-aes: --tasks and --data both say what the tasks are: give one\n"
    folder = tmp_path / "empty"
    folder.mkdir()
    assert "no samples file of vab there" in error_of("score", "vab", folder)
    empty = lines(tmp_path / "none.jsonl", [])
    assert "no responses." in error_of("score", "vab", empty, "--tasks", tasks)


# -- comparison -------------------------------------------------------------------------------------------------------


def test_compare_two_decodings(tasks: Path, responses: Path, tmp_path: Path) -> None:
    # the second run answers the first task's three trials of Bot-1 wrongly, which the first run has right
    task = next(task for task in ORACLE["tasks"] if task["task_id"] == ORACLE["responses"][0]["task_id"])
    wrong = []
    for row in ORACLE["responses"]:
        if (row["task_id"], row["prompt_type"]) == (task["task_id"], "pick_worst"):
            order = trial_permutations(task["task_id"], 2)[row["trial"]]
            shown = "AB"[order.index("AB".index(task["ground_truth_best"]))]
            row = row | {"response": f"WORST: {shown}"}
        wrong.append(row)
    other = lines(tmp_path / "other.jsonl", wrong)
    result = call("score", "vab", responses, "--tasks", tasks, "--compare", other, "--json", "--resamples", 500)
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)["compare"]
    assert found["top1"]["ap_at_1"]["difference"] == 0.0
    assert found["bot1"]["ap_at_1"]["difference"] == pytest.approx(-3 / 144, abs=1e-12)
    power = found["bot1"]["pass_pow_3"]
    assert power["difference"] == pytest.approx(-1 / 48, abs=1e-12)
    assert (power["only_first"], power["only_second"], power["mcnemar_p"]) == (1, 0, 1.0)
    assert power["low"] <= power["difference"] <= power["high"]
    shown = call("score", "vab", responses, "--tasks", tasks, "--compare", other, "--resamples", 100).output
    assert "Paired differences" in shown
    assert "-2.08" in shown


# -- analyze ----------------------------------------------------------------------------------------------------------


def test_analyze_votes(tmp_path: Path) -> None:
    def one(task: str, who: str, scores: list[int], best: str, worst: str) -> dict[str, Any]:
        return {
            "task_id": task,
            "annotator": who,
            "scores": dict(zip("ABC", scores, strict=True)),
            "best": best,
            "worst": worst,
        }

    rows = [one("t1", who, scores, "A", "C") for who, scores in (("x", [9, 5, 1]), ("y", [1, 5, 9]), ("z", [9, 5, 1]))]
    rows += [{"task_id": "t2", "annotator": who, "scores": {"A": 2, "B": 1}, "ranking": ["B", "A"]} for who in "xyz"]
    path = lines(tmp_path / "v.jsonl", rows)
    study = json.loads(call("analyze", "votes", path, "--majority", 2, "--json").output)
    # tau: 1, -1, 1 in the first task and -1 three times in the second; consistent: two of six
    assert study["kendall_tau"] == pytest.approx((1 - 1 + 1 - 3) / 6)
    assert study["self_consistency"] == pytest.approx(2 / 6)
    assert study["majority"]["best"]["scoring"] == study["majority"]["best"]["ranking"] == 1.0
    assert study["ranking"]["unanimous"] == 1.0
    assert study["scoring"]["unanimous"] == 0.5
    assert "Kendall" in call("analyze", "votes", path, "--majority", 2).output


def test_unsound_votes_are_all_listed(tmp_path: Path, error_of: Callable[..., str]) -> None:
    good = {"task_id": "t", "annotator": "x", "scores": {"A": 1, "B": 2, "C": 3}, "best": "A", "worst": "B"}
    rows = [
        good,
        good,
        good | {"annotator": ""},
        good | {"annotator": "a", "scores": {"A": 1}},
        good | {"annotator": "b", "scores": {"A": 1, "B": "high", "C": 2}},
        good | {"annotator": "c", "best": "Z"},
        good | {"annotator": "d", "worst": "A"},
        good | {"annotator": "e", "worst": None},
        good | {"annotator": "f", "ranking": ["A", "B"]},
        good | {"annotator": "g", "ranking": ["B", "A", "C"]},
        good | {"annotator": "h", "scores": {"A": 1, "B": 2}},
        good | {"annotator": "i", "best": ["A"]},
    ]
    path = lines(tmp_path / "v.jsonl", rows)
    assert error_of("analyze", "votes", path).splitlines() == [
        f"lmms-aes: {path}: 11 problem(s).",
        "  - vote 2: 'x' has judged 't' already in vote 1",
        "  - vote 3: annotator is ''; give a text",
        "  - vote 4: scores is {'A': 1}; give a score by label, of at least 2 images",
        "  - vote 5: the score of B is 'high'; give a number",
        "  - vote 6: best is 'Z'; use one of A, B, C",
        "  - vote 7: worst is 'A'; use one of A, B, C other than the best",
        "  - vote 8: worst is missing; of 3 images both best and worst are asked",
        "  - vote 9: ranking is ['A', 'B']; give each of A, B, C once, best first",
        "  - vote 10: ranking ['B', 'A', 'C'] does not begin with best 'A' and end with worst 'B'",
        "  - vote 11: labels A, B differ from those before in 't'",
        "  - vote 12: best is ['A']; use one of A, B, C",
    ]
    assert error_of("analyze", "votes", tmp_path / "none.jsonl") == (
        f"lmms-aes: {tmp_path / 'none.jsonl'} is not a file. Name a .parquet, .jsonl, .json, .csv, .tsv file.\n"
    )
    empty = lines(tmp_path / "e.jsonl", [])
    assert "no votes" in error_of("analyze", "votes", empty)


def test_analyze_consensus() -> None:
    rows = json.loads(call("analyze", "consensus", "--candidates", 2, "--samples", 50_000, "--json").output)
    assert [row["threshold"] for row in rows] == [6, 7, 8, 9, 10]
    assert rows[-1]["probability"] == 2 / 1024  # all ten agree on one of two
    assert abs(rows[0]["monte_carlo"] - rows[0]["probability"]) <= 2 * rows[0]["half_width"]
    assert "Monte Carlo" in call("analyze", "consensus", "--candidates", 3).output
