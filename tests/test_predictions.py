"""Responses as people have them: lists, tables, numbers in any spelling, empty errors, samples without records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from lmms_aes_tasks.cli.app import app
from lmms_aes_tasks.critiquecanvas.ratings import read_ratings
from lmms_aes_tasks.predictions import (
    Prediction,
    PredictionError,
    as_in_data,
    placed,
    read_predictions,
)
from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.utils.answers import parse_set
from lmms_aes_tasks.utils.permutations import trial_permutations
from lmms_aes_tasks.utils.ratings import CRITERIA
from lmms_aes_tasks.vab.responses import read_responses, read_trials
from lmms_aes_tasks.vab.rows import read_tasks
from lmms_aes_tasks.vab.votes import read_votes
from tests.cli.conftest import error_of as error_of

NAN = float("nan")
ROWS = [{"id": "a", "response": "Yes"}, {"id": "b", "response": ""}]


def scored(*arguments: Any) -> dict[str, Any]:
    more = [] if "fineartbench" in arguments else ["--resamples", "100"]
    result = CliRunner().invoke(app, [*map(str, arguments), "--json", *more])
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout.strip().splitlines()[-1])
    return content


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return path


# -- Files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", "\n".join(map(json.dumps, ROWS))),
        ("p.json", json.dumps(ROWS)),
        ("p.jsonl", json.dumps(ROWS, indent=1)),
        ("p.json", json.dumps({"model": "m", "predictions": ROWS})),
        ("p.json", "\n".join(map(json.dumps, ROWS))),
        ("P.CSV", "\ufeffid,response\na,Yes\nb,\n"),
        ("p.tsv", "id\tresponse\tscore\na\tYes\t1\nb\t\t0\n"),
    ],
)
def test_every_kind_of_file_gives_the_same(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    read = read_predictions(tmp_path / name)
    assert [(item.id, item.response) for item in read] == [("a", "Yes"), ("b", "")]


def test_one_object_is_one_response(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(ROWS[0]))
    assert [item.id for item in read_predictions(tmp_path / "p.json")] == ["a"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"id": "a", "response": NAN}, "response is NaN, an empty cell of pandas."),
        ({"id": NAN, "response": ""}, "id is nan. Give a text."),
        ({"id": None, "response": ""}, "id is None. Give a text."),
        ({"id": "nan", "response": ""}, "id is 'nan'. Give a text."),
        ({"id": "a", "response": ["x"]}, "response is of type list."),
    ],
)
def test_unsound_items_are_named(tmp_path: Path, item: dict[str, Any], message: str) -> None:
    with pytest.raises(PredictionError) as error:
        read_predictions(lines(tmp_path / "p.jsonl", [item]))
    assert message in str(error.value)


@pytest.mark.parametrize("spelling", [7, "7", 7.0, "7.0"])
@pytest.mark.parametrize("in_data", ["7", "7.0"])
def test_ids_in_any_spelling_are_the_datas(tmp_path: Path, spelling: Any, in_data: str) -> None:
    read = read_predictions(lines(tmp_path / "p.jsonl", [{"id": spelling, "response": "Yes"}]))
    assert [item.id for item in as_in_data(read, [in_data, "8"])] == [in_data]


def test_an_id_that_two_could_be_stays() -> None:
    read = [Prediction("7.00", ""), Prediction("7", ""), Prediction("x", "")]
    assert [item.id for item in as_in_data(read, ["7", "7.0", "x"])] == ["7.00", "7", "x"]


def test_a_table_of_excel_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.xlsx").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(PredictionError, match="it is a ZIP archive, as files of Excel are"):
        read_predictions(tmp_path / "p.xlsx")


# -- Samples of lmms-eval ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"id": "a", "empty": True}, ""),
        ({"id": "a", "rule": "empty"}, ""),
        ({"id": "a", "empty": False}, "None"),
        ({"id": "a", "rule": "none"}, "None"),  # a reply of one word that no rule read
        ({"id": "a"}, "None"),
        ({"id": "t#0", "prompt_type": "pick_best", "rule": parse_set("", "pick_best", ["A", "B"]).rule}, ""),
        ({"id": "t#0", "prompt_type": "pick_best", "rule": "strict"}, "None"),
    ],
)
def test_the_word_none_is_an_empty_reply_where_the_record_says_so(
    tmp_path: Path, record: dict[str, Any], expected: str
) -> None:
    path = lines(tmp_path / "s.jsonl", [{"doc_id": 0, "record": record, "filtered_resps": [["None"]]}])
    assert [item.response for item in read_predictions(path)] == [expected]


def case_data(folder: Path, golds: str) -> Path:
    folder.mkdir()
    Image.new("RGB", (8, 8)).save(folder / "a.png")
    cases = [
        {"id": f"c{n}", "image": "a.png", "question": "Q?", "options": ["Yes", "No"], "gold": gold}
        for n, gold in enumerate(golds)
    ]
    (folder / "cases.json").write_text(json.dumps(cases))
    return folder


def predict_only(targets: list[str], replies: list[str]) -> list[dict[str, Any]]:
    """Lines as lmms-eval 0.7.3 writes them with --predict_only; ranks deliver them out of order."""
    rows = [
        {"doc_id": n, "target": target, "filtered_resps": reply, "token_counts": [None], "bypass": [[target], [reply]]}
        for n, (target, reply) in enumerate(zip(targets, replies, strict=True))
    ]
    return rows[::-1]


def test_predict_only_is_scored_by_place(tmp_path: Path, error_of: Callable[..., str]) -> None:
    data = case_data(tmp_path / "data", "ABA")
    path = lines(tmp_path / "s.jsonl", predict_only(["A", "B", "A"], ["Yes", "No", "No"]))
    content = scored("score", "contextcanvas", path, "--data", data)
    assert (content["gold_from"], content["metrics"]["accuracy"]["value"]) == ("the data", pytest.approx(2 / 3))
    for given, why in (
        ((), "the data is not at hand"),
        (("--data", case_data(tmp_path / "more", "ABAB")), "there are 3 samples and 4 documents"),
        (("--data", case_data(tmp_path / "other", "AAA")), "place 1 (c1) has another right answer than the sample"),
    ):
        message = error_of("score", "contextcanvas", path, *given)
        assert "samples of --predict_only hold no record" in message
        assert why in message
        assert "LMMS_AES_EMBEDDINGS=off" in message


def test_predict_only_of_a_demo_needs_no_data(tmp_path: Path) -> None:
    from lmms_aes_tasks.sources import load, read_card

    golds = load(read_card("contextcanvas_demo"))["gold"]
    path = lines(tmp_path / "x_samples_contextcanvas_demo.jsonl", predict_only(golds, golds))
    assert scored("score", "contextcanvas", path)["metrics"]["accuracy"]["value"] == 1.0


def test_predict_only_of_critiques(tmp_path: Path) -> None:
    from lmms_aes_tasks.sources import load, read_card

    cases = load(read_card("critiquecanvas_demo"))
    references = [row["reference"] for row in cases if row["domain"] == "painting"]
    path = lines(tmp_path / "x_samples_critiquecanvas_painting.jsonl", predict_only(references, references))
    content = scored("score", "critiquecanvas", path, "--data", "critiquecanvas_demo", "--metrics", "lexical")
    assert content["metrics"]["bleu"]["value"] == pytest.approx(1.0)
    assert content["metrics"]["bleu"]["n"] == 9


def test_predict_only_of_sets(tmp_path: Path, error_of: Callable[..., str]) -> None:
    tasks = lines(
        tmp_path / "tasks.jsonl",
        [
            {"task_id": f"t{n}", "domain": "d", "substyle": "s", "n_images": 3, "ground_truth_best": best}
            | {"ground_truth_worst": worst}
            for n, (best, worst) in enumerate(("AB", "CA"))
        ],
    )
    shown = [
        "ABC"[trial_permutations(f"t{n}", 3)[t].index("ABC".index(b))]
        for n, b in ((0, "A"), (1, "C"))
        for t in range(3)
    ]
    path = tmp_path / "x_samples_vab_top1.jsonl"
    lines(path, predict_only(shown, [f"BEST: {name}" for name in shown]))
    assert scored("score", "vab", path, "--tasks", tasks)["overall"]["top1"]["pass_pow_3"] == 1.0
    assert "samples of --predict_only" in error_of("score", "vab", path)
    assert "samples of --predict_only" in error_of(
        "score", "vab", lines(tmp_path / "s.jsonl", predict_only(["A"], ["A"]))
    )


def pair(number: int, winner: str, **changes: Any) -> dict[str, Any]:
    methods = {"method_left": "x", "method_right": "y"}
    return {"id": number, "content_index": 1, "style_index": number, "winner": winner} | methods | changes


@pytest.mark.parametrize("kind", ["authors", "csv", "jsonl", "list", "predict_only"])
def test_fineartbench_takes_every_kind(tmp_path: Path, kind: str) -> None:
    human = tmp_path / "human.json"
    human.write_text(json.dumps([pair(n, "left") for n in range(1, 11)]))
    replies = ["{'winner': 0}"] * 7 + ["{'winner': 1}"] * 3
    winners = ["left"] * 7 + ["right"] * 3
    path = tmp_path / "p.jsonl"
    if kind == "authors":
        path = tmp_path / "p.json"
        path.write_text(json.dumps([pair(n, winner, id=float(n)) for n, winner in enumerate(winners, 1)]))
    elif kind == "csv":
        path = tmp_path / "p.csv"
        rows = [f"{n}.0,1,{n},x,y,{winner}" for n, winner in enumerate(winners, 1)]
        path.write_text("\n".join(("id,content_index,style_index,method_left,method_right,winner", *rows)))
    elif kind == "predict_only":
        lines(path, predict_only(["left"] * 10, replies))
    else:
        rows_ = [{"id": f"global-{n}", "response": reply} for n, reply in enumerate(replies, 1)]
        path = tmp_path / ("p.json" if kind == "list" else "p.jsonl")
        path.write_text(json.dumps(rows_) if kind == "list" else "\n".join(map(json.dumps, rows_)))
    content = scored("score", "fineartbench", "--mode", "global", "--human", human, "--predictions", path)
    assert content["pair_agreement"]["value"] == pytest.approx(0.7)


def test_a_judge_or_a_replay_says_that_it_takes_no_places(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", predict_only(["A"], ["Yes"]))
    with pytest.raises(PredictionError, match="--predict_only hold no record"):
        read_predictions(path)
    read = read_predictions(path, by_position=True)
    assert [item.id for item in placed(read, [("c0", "A")], path)] == ["c0"]


# -- Sets: errors, numbers --------------------------------------------------------------------------------------------

TASK = {
    "task_id": "t1",
    "domain": "p",
    "substyle": "x",
    "n_images": 2,
    "ground_truth_best": "A",
    "ground_truth_worst": "B",
}


def trial_rows(**changes: Any) -> list[dict[str, Any]]:
    return [
        {"task_id": "t1", "prompt_type": "pick_best", "trial": trial, "response": "BEST: A"} | changes
        for trial in range(3)
    ]


@pytest.mark.parametrize("error", ["", " ", None, NAN, [], {}, False, "None"])
@pytest.mark.parametrize("field", ["error", "derived_from"])
def test_an_empty_error_is_none(tmp_path: Path, error: Any, field: str) -> None:
    tasks = read_tasks(lines(tmp_path / "t.jsonl", [TASK]))
    if field == "derived_from" and error is False:
        return
    read = read_responses([lines(tmp_path / "r.jsonl", trial_rows(**{field: error}))], tasks)
    assert (len(read.trials["top1"]), read.failed) == (3, 0)


def test_rows_left_out_are_counted_and_said(tmp_path: Path) -> None:
    rows = trial_rows()
    rows[1] |= {"error": "Timeout", "response": None}
    tasks, path = lines(tmp_path / "t.jsonl", [TASK]), lines(tmp_path / "r.jsonl", rows)
    read = read_responses([path], read_tasks(tasks), allow_incomplete=True)
    assert (len(read.trials["top1"]), read.failed) == (2, 1)
    shown = CliRunner().invoke(
        app, ["score", "vab", str(path), "--tasks", str(tasks), "--allow-incomplete", "--resamples", "100"]
    )
    assert "1 row(s) with an error were left out." in shown.output


@pytest.mark.parametrize("spell", [int, str, float, lambda n: f"{n}.0"])
def test_whole_numbers_in_any_spelling(tmp_path: Path, spell: Callable[[int], Any]) -> None:
    task = TASK | {"task_id": spell(7), "n_images": spell(2)}
    rows = [row | {"task_id": spell(7), "trial": spell(row["trial"])} for row in trial_rows()]
    tasks = read_tasks(lines(tmp_path / "t.jsonl", [task]))
    assert list(tasks) == ["7"]
    plain = [row | {"task_id": "7"} for row in trial_rows()]
    expected = read_trials([lines(tmp_path / "p.jsonl", plain)], tasks)
    assert read_trials([lines(tmp_path / "r.jsonl", rows)], tasks) == expected
    (tmp_path / "r.json").write_text(json.dumps(rows))
    assert read_trials([tmp_path / "r.json"], tasks) == expected
    head = "task_id,prompt_type,trial,response"
    cells = [f"{row['task_id']},pick_best,{row['trial']},BEST: A" for row in rows]
    (tmp_path / "r.csv").write_text("\n".join((head, *cells)))
    assert read_trials([tmp_path / "r.csv"], tasks) == expected


@pytest.mark.parametrize("trial", [3, "3", -1, 0.5, "x", True, None, NAN])
def test_trials_that_are_none(tmp_path: Path, trial: Any) -> None:
    with pytest.raises(PredictionError, match="use a number from 0 to 2"):
        read_trials([lines(tmp_path / "r.jsonl", trial_rows(trial=trial))], {"t1": TASK})


# -- Ratings and votes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spell", [int, str, float, lambda n: f"{n}.0", bool, lambda n: str(bool(n)).upper()])
def test_ratings_in_any_spelling(tmp_path: Path, spell: Callable[[int], Any]) -> None:
    values = dict(zip(CRITERIA, map(spell, (1, 0, 1, 1)), strict=True))
    rows = [{"id": "c1", "model": "m", "evaluator": "e"} | values]
    (rating,) = read_ratings(lines(tmp_path / "r.jsonl", rows))
    assert rating.criteria == (1, 0, 1, 1)
    for name, tab in (("r.csv", ","), ("R.TSV", "\t")):
        (tmp_path / name).write_text(tab.join(rows[0]) + "\n" + tab.join(map(str, rows[0].values())) + "\n")
        assert read_ratings(tmp_path / name) == [rating]


@pytest.mark.parametrize("value", [2, "2", 0.5, "", None, NAN, "yes", [1]])
def test_ratings_that_are_none(tmp_path: Path, value: Any) -> None:
    row = {"id": "c1", "model": "m", "evaluator": "e"} | dict.fromkeys(CRITERIA, 1) | {CRITERIA[0]: value}
    with pytest.raises(SourceError, match="use 0 or 1"):
        read_ratings(lines(tmp_path / "r.jsonl", [row]))


def test_votes_of_a_table(tmp_path: Path) -> None:
    head = "task_id,annotator,scores,best,worst,ranking"
    rows = ['7.0,1,"{""A"": 9, ""B"": 2}",A,,', '7,2,"{""A"": 1, ""B"": 2}",,,"[""B"", ""A""]"']
    (tmp_path / "v.csv").write_text("\n".join((head, *rows)))
    first, second = read_votes(tmp_path / "v.csv")
    assert (first.task_id, first.annotator, first.best, first.scores["A"]) == ("7", "1", "A", 9.0)
    assert (second.task_id, second.best, second.worst) == ("7", "B", "A")
