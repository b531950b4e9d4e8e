"""Requests that failed, reasoning that was taken off, and null replies: in records, figures, samples and entries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lmms_aes_tasks import contextcanvas, critiquecanvas, fineartbench, registry, vab
from lmms_aes_tasks.board.errors import BuildError
from lmms_aes_tasks.critiquecanvas.items import item_of_record
from lmms_aes_tasks.leaderboard.build import EntryRequest, build
from lmms_aes_tasks.leaderboard.tasks import known_tasks
from lmms_aes_tasks.leaderboard.verify import verify_entry
from lmms_aes_tasks.predictions import read_predictions
from lmms_aes_tasks.utils.answers import parse_option, parse_set, parse_winner
from lmms_aes_tasks.utils.reply_facts import ReplyCounts, ReplyFacts, facts_of_record, reply_facts, reply_remarks
from tests.cli.conftest import call
from tests.leaderboard import runs
from tests.leaderboard.conftest import edit_lines, read_lines

FAILED = "[LMMS_EVAL_REQUEST_FAILED after 2 retries] too long at worker /srv/models/m on gpu-7.internal: BEST: A"
BUDGET = "[LMMS_EVAL_BUDGET_EXCEEDED]"
OPTIONS = [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}]


def case(case_id: str, gold: str = "A") -> dict[str, Any]:
    return {"id": case_id, "options": OPTIONS, "gold": gold}


def trial(number: int, task_id: str = "t") -> dict[str, Any]:
    task = {"task_id": task_id, "n_images": 2, "ground_truth_best": "A", "ground_truth_worst": "B", "domain": "d"}
    own = {"id": f"{task_id}#{number}", "trial": number, "permutation": [0, 1], "substyle": "s"}
    return task | own | {"question": "top1", "prompt_type": "pick_best"}


def critique(critique_id: str) -> dict[str, Any]:
    texts = {"instruction": "Judge the light.", "reference": "Soft light falls from the left."}
    return {"id": critique_id, "domain": "painting", "source": "critiquecanvas_demo"} | texts


def pair(number: int) -> dict[str, Any]:
    methods = {"method_left": "m1", "method_right": "m2", "human": "left"}
    return {"id": f"global-{number}", "number": number, "content_index": 1, "style_index": 2} | methods


def transcript(*replies: str) -> str:
    return json.dumps({"rounds": [{"step": str(place), "reply": text} for place, text in enumerate(replies)]})


# -- one reply --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [FAILED, BUDGET])
def test_a_failed_request_is_no_answer_and_its_text_is_kept_nowhere(text: str) -> None:
    assert parse_option(text, [("A", "Yes"), ("B", "No")]).rule == "failed"
    assert parse_set(text, "pick_best", ["A", "B"]).rule == "failed"
    assert parse_winner(text).rule == "failed"
    found = [
        contextcanvas.process_results(case("c"), [text]),
        vab.process_results(trial(0), [text]),
        fineartbench.process_results_global(pair(1), [text]),
        fineartbench.process_results_instance(pair(1), [transcript(text, "{'winner': 0}")]),
        fineartbench.process_results_instance(pair(1), [transcript("A scene.", text, "{'winner': 0}")]),
        critiquecanvas.process_results(critique("c"), [text]),
    ]
    for results in found:
        record = results["record"]
        assert (record["failed"], record["reasoning"], record["reasoning_cut"]) == (True, False, False)
        assert record.get("rule", "failed") == "failed"
        assert record.get("answer") is record.get("parsed") is record.get("winner") or record["winner"] == ""
        assert results.get("score", 0.0) == 0.0
        assert "LMMS_EVAL" not in json.dumps(record)
        assert "internal" not in json.dumps(record)
    assert (found[-1]["record"]["words"], found[-1]["clip_cos"].text) == (0, "")


def test_a_failed_round_ends_artcot_and_its_text_goes_into_no_prompt() -> None:
    doc = pair(1) | {"style_prompt": "ink"}
    for replies in ([FAILED], ["A scene.", BUDGET]):
        visuals, text, last, outputs, info = fineartbench.doc_to_text(
            doc, {"prompt": "artcot"}, previous_output=replies, round_idx=len(replies)
        )
        assert (visuals, text, last, outputs, info) == (None, None, True, replies, None)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("B", (False, False, False)),
        (None, (False, False, False)),
        ("<think></think>B", (False, False, False)),
        ("<think>A?</think>B", (False, True, False)),
        ("◁think▷A or", (False, True, True)),
        ("The log: [LMMS_EVAL_BUDGET_EXCEEDED]", (False, False, False)),
        (BUDGET, (True, False, False)),
    ],
)
def test_facts_of_a_reply(text: str | None, facts: tuple[bool, bool, bool]) -> None:
    assert reply_facts(text) == ReplyFacts(*facts)
    assert facts_of_record(reply_facts(text).as_record()) == ReplyFacts(*facts)


def test_facts_of_rounds_and_of_unsound_records() -> None:
    assert reply_facts("<think>a</think>b", "[THINK]c") == ReplyFacts(False, True, True)
    read = fineartbench.process_results_global(pair(1), [transcript("<think>a</think>b", "{'winner': 0}")])["record"]
    assert (read["winner"], read["reasoning"], read["reasoning_cut"]) == ("left", True, False)
    with pytest.raises(ValueError, match=r"reasoning_cut are \[False, None, 1\]: give true or false"):
        facts_of_record({"failed": False, "reasoning_cut": 1})


# -- figures, by hand -------------------------------------------------------------------------------------------------


def test_suitability_counts_failed_requests_as_wrong() -> None:
    """Four cases of gold A: right, right after a thought, wrong, failed."""
    replies = ["A", "<think>B?</think>A", "B", FAILED]
    items = [contextcanvas.process_results(case(f"c{n}"), [text])["accuracy"] for n, text in enumerate(replies)]
    assert contextcanvas.aggregate_accuracy(items) == 2 / 4
    assert contextcanvas.aggregate_parse_rate(items) == 3 / 4
    assert contextcanvas.aggregate_failed_requests(items) == 1.0
    assert contextcanvas.aggregate_reasoning_rate(items) == 1 / 3
    assert contextcanvas.aggregate_reasoning_rate(items[3:]) is None


def test_choices_count_failed_requests_as_wrong() -> None:
    """Two sets: all three right; two right and one failed, whose choice so changes with the order."""
    replies = ["BEST: A"] * 5 + [FAILED]
    items = [
        vab.process_results(trial(n % 3, f"t{n // 3}"), [text])["failed_requests"] for n, text in enumerate(replies)
    ]
    assert vab.aggregate_ap_at_1(items) == 5 / 6
    assert vab.aggregate_pass_pow_3(items) == 1 / 2
    assert vab.aggregate_order_flip_rate(items) == 1 / 2
    assert (vab.aggregate_failed_requests(items), vab.aggregate_reasoning_rate(items)) == (1.0, 0.0)


def test_pairs_count_failed_requests_as_no_answer() -> None:
    replies = ["{'winner': 0}", "{'winner': 1}", transcript(FAILED, "{'winner': 0}")]
    items = [
        fineartbench.process_results_global(pair(n), [text])["reasoning_rate"] for n, text in enumerate(replies, 1)
    ]
    assert [item.judgement("model").winner for item in items] == ["left", "right", ""]
    assert fineartbench.aggregate_pair_agreement(items) == 1 / 3
    assert fineartbench.aggregate_left_rate(items) == 1 / 2  # of those answered
    assert fineartbench.aggregate_failed_requests(items) == 1.0


def test_critiques_leave_failed_requests_out_of_style_and_count_them_in_quality() -> None:
    """The reference itself (6 words, Lighting), four words that break off, an empty one, and a failed request."""
    replies = ["Soft light falls from the left.", "Soft light falls left", "", FAILED]
    found = [critiquecanvas.process_results(critique(f"c{n}"), [text]) for n, text in enumerate(replies)]
    items = [results["bleu"] for results in found]
    values = {
        name: getattr(critiquecanvas, f"aggregate_{name}")(items)
        for name in ("rouge_l", "avg_length", "len_ref", "dim_hits", "density", "empty_rate", "truncated_rate")
    }
    second = 2 * 1 * (4 / 6) / (1 + 4 / 6)
    assert values == {
        "rouge_l": pytest.approx((1 + second) / 4, abs=1e-12),
        "avg_length": pytest.approx(10 / 3, abs=1e-12),
        "len_ref": pytest.approx(10 / 18, abs=1e-12),
        "dim_hits": pytest.approx(2 / 3, abs=1e-12),
        "density": pytest.approx(100 * 2 / 10, abs=1e-12),
        "empty_rate": pytest.approx(1 / 3, abs=1e-12),
        "truncated_rate": pytest.approx(1 / 3, abs=1e-12),
    }
    assert critiquecanvas.aggregate_prompt_align(items) == 2 / 4
    assert critiquecanvas.aggregate_wordless_rate(items) == 0.0
    assert critiquecanvas.aggregate_failed_requests(items) == 1.0
    assert item_of_record(json.loads(json.dumps(found[3]["record"]))) == items[3]
    figures = registry.benchmark("critiquecanvas").figures(known_tasks()["critiquecanvas_demo"], items).metrics
    assert {name: figures[name].value for name in values} == values
    assert {name: figures[name].n for name in ("rouge_l", "prompt_align", "avg_length", "empty_rate")} == {
        "rouge_l": 4,
        "prompt_align": 4,
        "avg_length": 3,
        "empty_rate": 3,
    }
    assert (figures["failed_requests"].value, figures["failed_requests"].n) == (1.0, 4)
    assert (figures["reasoning_rate"].value, figures["reasoning_rate"].n) == (0.0, 3)
    assert critiquecanvas.aggregate_avg_length(items[3:]) is None


# -- what is said -----------------------------------------------------------------------------------------------------


def test_remarks() -> None:
    assert reply_remarks("t", ReplyCounts(10, 0, 10, 5)) == []  # half is not more than half
    assert reply_remarks("t", ReplyCounts(0, 0, 0, 0)) == []
    assert reply_remarks("contextcanvas", ReplyCounts(10, 4, 6, 4)) == [
        "contextcanvas: 4 of 10 requests failed. They have no answer and count as wrong; such a run cannot be "
        "published. Run the same command again (where it has --use_cache DIR and the task is decoded greedily, only "
        "what failed is asked again).",
        "contextcanvas: 4 of 6 replies ended inside their reasoning, before an answer. Run it with more tokens: "
        "--gen_kwargs max_new_tokens=8192",
    ]


# -- runs -------------------------------------------------------------------------------------------------------------

TASKS = ("contextcanvas_demo", "critiquecanvas_demo", "vab_top1_demo", "fineartbench_2afc_global")


def answers(name: str, change: Callable[[int, str], str | None]) -> dict[str, list[tuple[Mapping[str, Any], Any]]]:
    """A run of a task by the oracle with replies changed by their place."""
    if name.startswith("fineartbench"):
        rows = [row | {"winner": row["winner"] or "left"} for row in runs.drawn_pairs(60)]
        given = [(doc, "{'winner': 0}") for doc in runs.fineartbench_documents("global", rows)]
    else:
        given = runs.demo_answers(name)[name]
    return {name: [(doc, change(place, text)) for place, (doc, text) in enumerate(given)]}


def samples_of(folder: Path) -> Path:
    (found,) = folder.rglob("*_samples_*.jsonl")
    return found


def harness_figures(folder: Path, name: str) -> dict[str, Any]:
    (found,) = folder.rglob("*_results.json")
    values = json.loads(found.read_text("utf-8"))["results"][name]
    return {key.removesuffix(",none"): value for key, value in values.items() if key.endswith(",none")}


@pytest.mark.parametrize("name", TASKS)
def test_a_run_with_failed_requests_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    given = answers(name, lambda place, text: FAILED if place % 3 == 1 else text)
    runs.write_run(tmp_path / "out/m", given)
    n = len(given[name])
    failed = len(range(1, n, 3))
    assert harness_figures(tmp_path / "out", name)["failed_requests"] == failed
    for allow_incomplete in (False, True) if "demo" in name else (True,):
        request = EntryRequest("Org/Model", "abc123", allow_incomplete=allow_incomplete)
        with pytest.raises(BuildError) as raised:
            build([tmp_path / "out"], tmp_path / "entry", request)
        first = given[name][1][0]["id"]
        assert str(raised.value) == (
            f"{samples_of(tmp_path / 'out')}: {failed} of {n} requests of {name} failed ({first} …): such a run is not "
            "published. Run the same command again (where it has --use_cache DIR and the task is decoded greedily, "
            "only what failed is asked again), and build from the results of that run."
        )
        assert not (tmp_path / "entry").exists()


@pytest.mark.parametrize("name", TASKS[:3])
def test_null_replies_are_empty_in_the_run_in_the_samples_and_in_an_entry(name: str, tmp_path: Path) -> None:
    given = answers(name, lambda place, text: None if place % 2 else text)
    runs.write_run(tmp_path / "out/m", given)
    path = samples_of(tmp_path / "out")
    # as lmms-eval writes them
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    lines = [line | {"filtered_resps": str(line["filtered_resps"])} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    empty = [not text for _, text in given[name]]
    assert sum(empty) >= len(empty) // 2
    assert [item.response == "" for item in read_predictions(path)] == empty
    build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", "abc123"))  # refused where figures differ
    assert verify_entry(tmp_path / "entry").status == "recomputed"
    assert {line["response"] for line in read_lines(tmp_path / "entry", name)} >= {""}


def test_the_word_none_is_a_reply() -> None:
    record = critiquecanvas.process_results(critique("c"), ["None"])["record"]
    assert (record["words"], record["empty"]) == (1, False)


@pytest.mark.parametrize("name", TASKS[:3])
def test_an_entry_that_holds_a_mark_is_refused(name: str, tmp_path: Path) -> None:
    runs.write_run(tmp_path / "out/m", answers(name, lambda _, text: text))
    build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", "abc123"))
    assert verify_entry(tmp_path / "entry").status == "recomputed"
    edit_lines(tmp_path / "entry", name, lambda lines: lines[0].update(response=FAILED))
    found = verify_entry(tmp_path / "entry")
    assert found.status is None
    assert any(
        own.kind == "error" and own.message.startswith("its request failed: no reply, but lmms-eval's mark")
        for own in found.findings
    )
    assert "internal" not in json.dumps(found.model_dump())


def test_reasoning_is_in_records_figures_and_entries(tmp_path: Path) -> None:
    name = "contextcanvas_demo"
    given = answers(name, lambda place, text: f"<think>B or A</think>{text}" if place % 4 == 0 else text)
    runs.write_run(tmp_path / "out/m", given)
    entry = build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", "abc123"))
    metric = entry.tasks[name].metrics["reasoning_rate"]
    assert (metric.value, metric.numerator, metric.denominator, metric.higher_is_better) == (0.25, 7, 28, None)
    records = [line["record"] for line in read_lines(tmp_path / "entry", name)]
    assert sum(record["reasoning"] for record in records) == 7
    edit_lines(tmp_path / "entry", name, lambda lines: lines[0]["record"].update(reasoning_cut=True))
    findings = verify_entry(tmp_path / "entry").findings
    assert any(own.message == "record: reasoning_cut is True, and False recomputed" for own in findings)


# -- settings ---------------------------------------------------------------------------------------------------------

DEFAULT_TAGS = '[["<think>", "</think>"], ["<analysis>", "</analysis>"]]'


@pytest.mark.parametrize(
    ("tags", "recorded"),
    [
        (DEFAULT_TAGS, None),  # marks that we take off ourselves make no difference
        ("none", None),
        ("not JSON", None),
        ('[["<think>", "</think>"], ["<musing>", "</musing>"]]', ["<musing>", "</musing>"]),
        ('[["/home/ada/", "</musing>"]]', None),  # nothing local goes out
    ],
)
def test_reasoning_tags_are_a_setting(tags: str, recorded: list[str] | None, tmp_path: Path) -> None:
    name = "contextcanvas_demo"
    config = {"resolved_cli_args": {"reasoning_tags": tags}}
    runs.write_run(tmp_path / "out/m", answers(name, lambda _, text: text), config=config)
    entry = build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", "abc123"))
    assert entry.tasks[name].decoding.get("reasoning_tags") == recorded
    assert verify_entry(tmp_path / "entry").status == "recomputed"


# -- score ------------------------------------------------------------------------------------------------------------


def scored(*arguments: object) -> tuple[dict[str, Any], str]:
    """What `score` writes as JSON and as text."""
    both = [call("score", *map(str, arguments), *more) for more in (["--json"], [])]
    assert [result.exit_code for result in both] == [0, 0], both[0].stderr
    return json.loads(both[0].stdout), both[1].stdout


def test_score_reports_them_from_samples_and_from_responses(tmp_path: Path) -> None:
    """28 cases: every second failed (14), every fourth from the first empty (7)."""
    name = "contextcanvas_demo"
    given = answers(name, lambda place, text: FAILED if place % 2 else ("" if place % 4 == 0 else text))
    runs.write_run(tmp_path / "out/m", given)
    plain = tmp_path / "plain.jsonl"
    lines = [{"id": document["id"], "response": text} for document, text in given[name]]
    plain.write_text("".join(json.dumps(line) + "\n" for line in lines))
    from lmms_aes_tasks.sources import canonical_file, read_card

    data = canonical_file(read_card(name))
    for arguments in ([samples_of(tmp_path / "out")], [plain, "--data", data]):
        content, text = scored("contextcanvas", *arguments, "--resamples", 100)
        assert (content["failed_requests"], content["rules"]["failed"], content["rules"]["empty"]) == (14, 14, 7)
        assert content["remarks"][0].startswith("contextcanvas: 14 of 28 requests failed.")
        assert "failed requests (count)" in text
        assert "warning: contextcanvas: 14 of 28 requests failed." in text
        assert content["metrics"]["accuracy"]["value"] == harness_figures(tmp_path / "out", name)["accuracy"]


def test_score_of_critiques_choices_and_pairs(tmp_path: Path) -> None:
    cut = "<think>The light"
    for name, change in (
        ("critiquecanvas_demo", lambda place, text: FAILED if place == 0 else cut if place < 20 else text),
        ("vab_top1_demo", lambda place, text: FAILED if place == 0 else "" if place == 1 else text),
        ("fineartbench_2afc_global", lambda place, text: FAILED if place == 0 else "" if place == 1 else text),
    ):
        runs.write_run(tmp_path / name, answers(name, change))
    content, text = scored(
        "critiquecanvas", samples_of(tmp_path / "critiquecanvas_demo"), "--metrics", "style,lexical", "--resamples", 100
    )
    assert (content["failed_requests"], content["reasoning_rate"]) == (1, pytest.approx(19 / 26))
    assert content["remarks"][1].startswith("critiquecanvas: 19 of 26 replies ended inside their reasoning")
    assert content["metrics"]["empty_rate"] | {"low": 0, "high": 0} == {
        "value": pytest.approx(19 / 26), "low": 0, "high": 0, "n": 26
    }  # fmt: skip
    assert "--gen_kwargs max_new_tokens=8192" in text
    content, text = scored("vab", samples_of(tmp_path / "vab_top1_demo"), "--resamples", 100)
    assert content["failed_requests"] == 1
    assert (content["rules"]["top1"]["failed"], content["rules"]["top1"]["empty"]) == (1, 1)
    assert "Parsing rules" in text
    assert "failed requests: 1;" in text
    rows = [row | {"winner": row["winner"] or "left"} for row in runs.drawn_pairs(60)]
    (tmp_path / "human.json").write_text(json.dumps(rows))
    samples = samples_of(tmp_path / "fineartbench_2afc_global")
    content, text = scored(
        "fineartbench", "--mode", "global", "--human", tmp_path / "human.json", "--predictions", samples,
        "--protocol", "aligned",
    )  # fmt: skip
    assert (content["failed_requests"], content["rules"]) == (1, {"empty": 1, "failed": 1, "object": 58})
    assert "failed requests: 1;" in text
    assert "empty 1, failed 1, object 58" in text
