"""Other formats: read back by their own libraries, or by hand; every value is kept."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import EvalResultEntry, ModelCardData, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results
from jsonschema import Draft7Validator

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import BoardRow, Metric
from lmms_aes_tasks.leaderboard.every_eval_ever import every_eval_ever
from lmms_aes_tasks.leaderboard.export_forms import Export, Source
from lmms_aes_tasks.leaderboard.export_hub import hf_eval_results, model_index
from lmms_aes_tasks.leaderboard.export_tables import CSV_COLUMNS, csv_table, latex_tables, latex_text
from lmms_aes_tasks.leaderboard.headlines import best_row, headline_of
from lmms_aes_tasks.leaderboard.submissions import find_entry, rows_of
from tests.leaderboard.entries import entry_of, result, vab_rows, write_entry

THIRD = 1 / 3
SCHEMA = json.loads((Path(__file__).parents[1] / "data/every_eval_ever.schema.json").read_text())


def made(**changes: Any) -> BoardRow:
    """A row of VAB Top-1."""
    fields: dict[str, Any] = {
        "key": "org__model/abc/run/vab_top1",
        "status": "recomputed",
        "model": "org/model",
        "revision": "abc",
        "backend": "qwen3_vl",
        "evaluator": "somebody",
        "benchmark": "vab",
        "task": "vab_top1",
        "version": "1-A",
        "prompt": "vab-best-1@01234567",
        "decoding": "temperature=0",
        "date": "2026-03-01",
        "n": 1200,
        "parse_rate": 1.0,
        "metrics": {
            "ap@1": Metric(value=0.1 + 0.2, n=1200, low=0.25, high=0.35),
            "pass^3": Metric(value=THIRD, n=400, numerator=400 / 3, denominator=400),
            "order_flip_rate": Metric(value=0.5, n=400, higher_is_better=False),
            "incomplete_tasks": Metric(value=2.0, n=400, unit="count", higher_is_better=False),
            "rho": Metric(value=-0.25, n=9, unit="rho"),
            "left": Metric(value=0.5, n=9, higher_is_better=None),
            "none": Metric(value=None, n=0, reason="not computed"),
        },
        "signature": "task:vab_top1|v:1-A",
        "entry": "org__model/abc/run",
    }
    return BoardRow(**{**fields, **changes})


PAPER = made(key="published/vab/Human", model="Human", status="published", entry=None, revision=None, date=None)


def only(export: Export) -> str:
    (document,) = export.documents
    return document.text


# -- Headlines --------------------------------------------------------------------------------------------------------


def test_the_headline_of_each_task_of_ours_is_a_metric_of_its_yaml_and_higher_is_better() -> None:
    from lmms_eval.utils import load_yaml_config

    from lmms_aes_tasks.task_folders import TASKS_PATH

    seen = set()
    for path in sorted(TASKS_PATH.glob("*/*.yaml")):
        config = load_yaml_config(yaml_path=str(path), mode="simple")
        if not isinstance(config.get("task"), str):
            continue  # a group
        benchmark = config["metadata"]["benchmark"]
        higher = {metric["metric"]: metric["higher_is_better"] for metric in config["metric_list"]}
        assert higher[headline_of(benchmark, config["task"])] is True, path.name
        seen.add(benchmark)
    assert seen >= {"contextcanvas", "fineartbench", "vab"}
    assert headline_of("another", "another") is None


def test_the_best_row_is_the_highest_headline_of_recomputed_rows() -> None:
    def row(key: str, value: float | None, **changes: Any) -> BoardRow:
        return made(key=key, metrics={"pass^3": Metric(value=value, n=3)}, **changes)

    rows = [row("a", 0.5), row("b", 0.9, status="self-reported"), row("c", 0.7, superseded=True), row("d", None), PAPER]
    best = best_row(rows, "vab_top1")
    assert best is not None
    assert best.key == "a"
    assert best_row(rows, "vab_bot1") is None
    newest = best_row([*rows, row("e", 0.5, date="2026-04-01")], "vab_top1")
    assert newest is not None
    assert newest.key == "e"
    # 0.1 + 0.2 is 0.3 but for the last digit, which a machine decides: equal figures, and the newest is the best
    last_digit = [row("old", 0.1 + 0.2, date="2026-01-01"), row("new", 0.3, date="2026-02-01")]
    newest = best_row(last_digit, "vab_top1")
    assert newest is not None
    assert newest.key == "new"


def test_a_run_with_a_limit_is_not_the_best_and_is_not_exported_in_place_of_a_whole_one() -> None:
    def of(n: int, value: float, date: str) -> BoardRow:
        metrics = {"accuracy": Metric(value=value, n=n, numerator=value * n, denominator=n)}
        return made(
            key=f"run-{n}", status="self-reported", benchmark="contextcanvas", task="contextcanvas", date=date,
            n=n, n_expected=301, metrics=metrics,
        )  # fmt: skip

    rows = [of(301, 0.7, "2026-03-01"), of(3, 1.0, "2026-03-02")]
    for order in (rows, rows[::-1]):
        best = best_row(order, "contextcanvas")
        assert best is not None
        assert best.key == "run-301"
        export = hf_eval_results(Source(order, datasets={"contextcanvas": "org/cases"}))
        assert [result["value"] for result in yaml.safe_load(only(export))] == [0.7]
    assert best_row([of(3, 1.0, "2026-03-02")], "contextcanvas") is None


# -- Hugging Face -----------------------------------------------------------------------------------------------------


def test_eval_results_are_read_back_by_the_library() -> None:
    export = hf_eval_results(Source([made(), PAPER], source_url="https://example.org/board"))
    assert [document.name for document in export.documents] == ["org__model.yaml"]
    text = only(export)
    (entry,) = parse_eval_result_entries(yaml.safe_load(text))
    assert entry == EvalResultEntry(
        dataset_id="BakeLab/Visual-Aesthetic-Benchmark",
        task_id="vab_top1",
        value=THIRD,
        date="2026-03-01",
        source_url="https://example.org/board",
        source_name="lmms-aes-tasks leaderboard",
        notes="recomputed, pass^3, task:vab_top1|v:1-A",
    )
    assert repr(entry.value) == repr(THIRD)
    assert "verifyToken" not in text
    assert export.notes == []


def test_eval_results_hold_one_result_a_task_and_say_what_they_leave_out() -> None:
    context = made(
        key="k/c", benchmark="contextcanvas", task="contextcanvas", metrics={"accuracy": Metric(value=1.0, n=2)}
    )
    undefined = made(key="k/t", task="vab_tb1")
    undefined = undefined.model_copy(update={"metrics": {"pass^3": Metric(value=None, n=0, reason="no complete task")}})
    rows = [
        made(key="k/old", date="2026-01-01"),
        made(key="k/new"),
        made(key="k/claimed", date="2026-05-01", status="self-reported"),
        made(key="k/superseded", date="2026-06-01", superseded=True),
        context,
        undefined,
    ]
    export = hf_eval_results(Source(rows))
    assert [one["dataset"]["task_id"] for one in yaml.safe_load(only(export))] == ["vab_top1"]
    assert export.notes == [
        "k/c: contextcanvas has no data set on the Hub; name one with --dataset",
        "k/t: has no pass^3",
        "k/old: another run of the same model and task is exported",
        "k/claimed: another run of the same model and task is exported",
    ]
    named = hf_eval_results(Source([context], datasets={"contextcanvas": "org/context"}))
    assert yaml.safe_load(only(named))[0]["dataset"] == {"id": "org/context", "task_id": "contextcanvas"}
    with pytest.raises(LeaderboardError) as error:
        hf_eval_results(Source([context]))
    assert str(error.value) == (
        "nothing to export as hf-eval-results. Give a run that has it:\n  - k/c: contextcanvas has no data set on the "
        "Hub; name one with --dataset"
    )


def test_a_demo_is_no_result_of_the_benchmark() -> None:
    demo = made(key="k/d", task="vab_top1_demo")
    with pytest.raises(LeaderboardError) as error:
        hf_eval_results(Source([demo], datasets={"vab": "org/set"}))
    assert str(error.value).endswith("\n  - k/d: a demo's data is generated, and on no Hub")
    (result,) = yaml.safe_load(only(model_index(Source([demo]))))["model-index"][0]["results"]
    assert result["dataset"]["type"] == "vab"
    log = json.loads(only(every_eval_ever(Source([demo]))))
    assert log["evaluation_results"][0]["source_data"]["source_type"] == "other"


def test_model_index_is_read_back_by_the_library() -> None:
    row = made()
    export = model_index(Source([row, PAPER]))
    data = yaml.safe_load(only(export))
    name, results = model_index_to_eval_results(data["model-index"])
    assert name == "org/model"
    assert {one.metric_type: repr(one.metric_value) for one in results} == {
        name: repr(metric.value) for name, metric in row.metrics.items() if metric.value is not None
    }
    first = results[0]
    assert (first.task_type, first.task_name, first.dataset_type, first.dataset_config) == (
        "image-text-to-text",
        "vab_top1",
        "BakeLab/Visual-Aesthetic-Benchmark",
        "vab_top1",
    )
    assert first.metric_args == {
        "n": 1200,
        "low": 0.25,
        "high": 0.35,
        "unit": "fraction",
        "status": "recomputed",
        "signature": "task:vab_top1|v:1-A",
    }
    card = ModelCardData(**data)  # what the Hub's library makes of a card with this metadata
    assert card.eval_results == results


def test_several_models_give_several_files() -> None:
    rows = [made(), made(key="other", model="rival/model", entry="rival__model/abc/run")]
    for exporter in (hf_eval_results, model_index):
        assert [one.name for one in exporter(Source(rows)).documents] == ["org__model.yaml", "rival__model.yaml"]
    assert [one.name for one in every_eval_ever(Source(rows)).documents] == [
        "org__model__abc__run.json",
        "rival__model__abc__run.json",
    ]


# -- Every Eval Ever --------------------------------------------------------------------------------------------------


def _no_numbers_as_texts(text: str) -> Any:
    def refuse(name: str) -> Any:
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def test_every_eval_ever_validates_and_keeps_values() -> None:
    row = made()
    export = every_eval_ever(Source([row, PAPER]))
    log = _no_numbers_as_texts(only(export))
    Draft7Validator.check_schema(SCHEMA)
    Draft7Validator(SCHEMA).validate(log)
    results = {one["metric_config"]["metric_name"]: one for one in log["evaluation_results"]}
    assert {name: repr(one["score_details"]["score"]) for name, one in results.items()} == {
        "ap@1": "0.30000000000000004",
        "pass^3": repr(THIRD),
        "order_flip_rate": "0.5",
        "rho": "-0.25",
    }
    assert results["ap@1"]["score_details"]["uncertainty"] == {
        "num_samples": 1200,
        "confidence_interval": {"lower": 0.25, "upper": 0.35, "confidence_level": 0.95},
    }
    bounds = {
        name: (one["metric_config"]["min_score"], one["metric_config"]["max_score"]) for name, one in results.items()
    }
    assert bounds["rho"] == (-1, 1)
    assert bounds["ap@1"] == (0, 1)
    assert results["order_flip_rate"]["metric_config"]["lower_is_better"] is True
    assert results["pass^3"]["metric_config"]["metric_id"] == "vab.pass^3"
    assert results["pass^3"]["source_data"] == {
        "dataset_name": "Visual Aesthetic Benchmark",
        "source_type": "hf_dataset",
        "hf_repo": "BakeLab/Visual-Aesthetic-Benchmark",
        "samples_number": 1200,
    }
    assert export.notes == [
        "org__model/abc/run/vab_top1/incomplete_tasks: count has no upper bound",
        "org__model/abc/run/vab_top1/left: neither direction is better",
        "org__model/abc/run/vab_top1/none: not computed",
    ]
    assert log["source_metadata"]["additional_details"]["left_out"] == "; ".join(export.notes)
    assert log["retrieved_timestamp"] == "1772323200"  # date -u -d 2026-03-01 +%s
    assert only(every_eval_ever(Source([row]))) == only(export)


def test_an_entry_tells_every_eval_ever_more_than_its_rows(tmp_path: Path) -> None:
    rows = vab_rows({"t1": (True,) * 3})
    one = result(
        tmp_path,
        "vab_top1",
        "vab",
        rows,
        metrics={"pass^3": Metric(value=1.0, n=1)},
        decoding={"temperature": 0.7, "top_p": 1, "max_new_tokens": 64, "do_sample": True, "until": []},
    )
    write_entry(tmp_path, entry_of({"vab_top1": one}))
    found = find_entry(tmp_path, "org__model/abc123/run")
    log = json.loads(only(every_eval_ever(Source(rows_of(found), {found.path: found.entry}))))
    Draft7Validator(SCHEMA).validate(log)
    assert log["eval_library"] == {
        "name": "lmms-eval",
        "version": "0.7.3",
        "additional_details": {"lmms-aes-tasks": "0.1.0", "torch": "2.9.0"},
    }
    (only_result,) = log["evaluation_results"]
    assert only_result["generation_config"]["generation_args"] == {"temperature": 0.7, "top_p": 1, "max_tokens": 64}


@pytest.mark.parametrize("tokens", [0, 2.5, "64", True])
def test_settings_that_the_form_does_not_take_stay_texts(tmp_path: Path, tokens: Any) -> None:
    rows = vab_rows({"t1": (True,) * 3})
    metrics = {"pass^3": Metric(value=1.0, n=1)}
    one = result(tmp_path, "vab_top1", "vab", rows, metrics=metrics, decoding={"max_new_tokens": tokens})
    write_entry(tmp_path, entry_of({"vab_top1": one}))
    found = find_entry(tmp_path, "org__model/abc123/run")
    log = json.loads(only(every_eval_ever(Source(rows_of(found), {found.path: found.entry}))))
    Draft7Validator(SCHEMA).validate(log)
    assert "generation_args" not in log["evaluation_results"][0]["generation_config"]


def test_the_hand_made_schema_refuses_what_the_form_refuses() -> None:
    log = json.loads(only(every_eval_ever(Source([made()]))))
    validator = Draft7Validator(SCHEMA)
    for change in (
        lambda log: log.pop("eval_library"),
        lambda log: log.update(extra=1),
        lambda log: log["evaluation_results"][0]["metric_config"].pop("max_score"),
        lambda log: log["evaluation_results"][0]["score_details"].update(score="0.5"),
        lambda log: log["source_metadata"].update(evaluator_relationship="self"),
        lambda log: log["model_info"]["additional_details"].update(parameters=7),
        lambda log: log["evaluation_results"][0]["source_data"].update(source_type="paper"),
    ):
        wrong = json.loads(json.dumps(log))
        change(wrong)
        assert not validator.is_valid(wrong)


# -- CSV --------------------------------------------------------------------------------------------------------------


def test_csv_keeps_every_figure_and_runs_no_formula() -> None:
    row = made(
        model="org/model",
        evaluator='=HYPERLINK("http://example.org";"x")',
        prompt="@cmd",
        decoding='+1, "2"\nx',
        signature="-2+3",
        breakdowns={"domain": {"=art": {"ap@1": Metric(value=1e-07, n=3)}}},
    )
    text = only(csv_table(Source([row, PAPER])))
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(lines[0]) == CSV_COLUMNS
    assert len(lines) == 2 * 7 + 1
    by_name = {line["metric"]: line for line in lines if line["key"] == row.key and not line["breakdown"]}
    for name, metric in row.metrics.items():
        read = by_name[name]["metric_value"]
        assert (float(read) if read else None) == metric.value
    assert by_name["ap@1"]["metric_value"] == "0.30000000000000004"
    assert by_name["rho"]["metric_value"] == "-0.25"  # a number is no formula
    assert by_name["order_flip_rate"]["metric_higher_is_better"] == "false"
    assert by_name["left"]["metric_higher_is_better"] == ""
    assert {name: by_name["ap@1"][name] for name in ("evaluator", "prompt", "decoding", "signature")} == {
        "evaluator": '\'=HYPERLINK("http://example.org";"x")',
        "prompt": "'@cmd",
        "decoding": '\'+1, "2"\nx',
        "signature": "'-2+3",
    }
    (group,) = [line for line in lines if line["breakdown"]]
    assert (group["breakdown"], group["breakdown_group"], group["metric"], group["metric_value"]) == (
        "domain",
        "'=art",
        "ap@1",
        "1e-07",
    )


# -- LaTeX ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b & 5% #1 $x$ {y}", r"a\_b \& 5\% \#1 \$x\$ \{y\}"),
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        (
            '~^<>|"`',
            r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}\textquotedbl{}\textasciigrave{}",
        ),
        ("^^5cinput\n\\end", r"\textasciicircum{}\textasciicircum{}5cinput \textbackslash{}end"),
        ("Zoë ρ", "Zoë ρ"),
    ],
)
def test_latex_finds_no_command_in_a_text(text: str, shown: str) -> None:
    assert latex_text(text) == shown


def test_latex_has_a_table_a_benchmark_and_the_best_of_each_column_bold() -> None:
    metrics = ("a_b", 0.5), ("a_b", 0.50001), ("a_b", 0.25)
    rows = [
        made(
            key=f"k{i}",
            model=f"org/m_{i}",
            status=status,
            n=n,
            metrics={
                name: Metric(value=value, n=3),
                "flips": Metric(value=0.1 * (i + 1), n=3, higher_is_better=False),
                "words": Metric(value=100.0 + i, n=3, unit="words", higher_is_better=None),
                "rho": Metric(value=-0.25, n=3, unit="rho"),
            },
        )
        for i, ((name, value), status, n) in enumerate(
            zip(metrics, ("recomputed", "self-reported", "published"), (3, 3, None), strict=True)
        )
    ]
    bare = made(key="k8", model="org/bare", metrics={})
    hidden = made(key="k9", model="org/hidden", superseded=True)
    other = made(key="c", benchmark="contextcanvas", task="contextcanvas", metrics={"accuracy": Metric(value=1.0, n=2)})
    text = only(latex_tables(Source([*rows, bare, hidden, other])))
    assert text.count("\\begin{tabular}") == 2
    assert text.count("\\toprule") == text.count("\\bottomrule") == 2
    assert "hidden" not in text
    body = [line for line in text.split("\n") if line.startswith("org/")]
    assert body == [
        r"org/model & 100.00 & 1200 \\",  # alone: nothing to be better than
        r"org/m\_0 & 50.00 & \textbf{10.00} & 100.00 & \textbf{$-$0.250} & 3 \\",
        r"org/m\_1$^{s}$ & \textbf{50.00} & 20.00 & 101.00 & \textbf{$-$0.250} & 3 \\",
        r"org/m\_2$^{p}$ & 25.00 & 30.00 & 102.00 & \textbf{$-$0.250} & -- \\",
    ]
    assert r"Model & a\_b & flips & words & rho & $n$ \\" in text
