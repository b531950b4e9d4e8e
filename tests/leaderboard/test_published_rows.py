"""The papers' rows: held against the files of their figures, and the files' percents against fractions by hand."""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

import pytest

from lmms_aes_tasks.board.schema import Board, BoardRow
from lmms_aes_tasks.critiquecanvas.published import same_name
from lmms_aes_tasks.leaderboard.published_rows import published_rows

ROWS = published_rows()
PACKAGE = Path(__file__).parents[2] / "lmms_aes_tasks"


def raw(name: str) -> dict[str, Any]:
    benchmark, _, part = name.partition("_")
    path = PACKAGE / benchmark / ("published_" * bool(part) + (part or "published") + ".json")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def row(benchmark: str, model: str, task: str | None = None) -> BoardRow:
    (found,) = [r for r in ROWS if (r.benchmark, r.model) == (benchmark, model) and task in (None, r.task)]
    return found


def test_every_row_is_marked_and_named_once() -> None:
    assert len({(r.key, r.task) for r in ROWS}) == len(ROWS)
    for r in ROWS:
        assert r.status == "published"
        assert r.key == f"published/{r.benchmark}/{r.model}/{r.task}"
        assert r.source
        assert r.metrics
        assert (r.entry, r.signature, r.prompt, r.decoding, r.version, r.backend, r.date) == (None,) * 7
    counts = collections.Counter(r.benchmark for r in ROWS)
    # 17 models; 12 with metrics and 2 style rows under another name; 19 pairs of model and question; 18 at two levels
    assert counts == {"contextcanvas": 17, "critiquecanvas": 14, "vab": 19, "fineartbench": 36}


def test_they_survive_the_form_of_a_board() -> None:
    board = Board(plugin="0", rows=ROWS)
    assert Board.model_validate_json(board.model_dump_json()) == board


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "yes_rate", "yes_f1", "no_f1"])
def test_contextcanvas_percents_become_fractions(metric: str) -> None:
    for published in raw("contextcanvas")["rows"]:
        figure = row("contextcanvas", published["model"]).metrics[metric]
        assert figure.value == pytest.approx(published[metric] / 100, abs=1e-12)
        assert figure.unit == "fraction"
        assert figure.n == (301 if metric == "accuracy" else 291)
        assert figure.higher_is_better is (None if metric == "yes_rate" else True)


def test_contextcanvas_by_hand() -> None:
    best = row("contextcanvas", "Claude Opus 5")
    assert best.metrics["accuracy"].value == 0.9169
    assert best.group == "Closed-source MLLMs"
    assert best.source == "AesCanvas, Tables 2 and S4"
    assert not best.findings
    assert [f.message for f in row("contextcanvas", "Qwen3.7-Plus").findings] == [
        "the model that difficulty was screened with"
    ]


def test_the_audits_are_breakdowns() -> None:
    audited = row("contextcanvas", "ArtQuant-APDD")
    assert audited.source == "AesCanvas, Tables 2 and S4; audits: S7 to S9"
    pairs = audited.breakdowns["counterfactual"]
    assert pairs["edit"]["accuracy"].value == pytest.approx(0.7222, abs=1e-12)
    net = pairs["net correct update"]["ncu"]
    assert (net.value, net.low, net.high, net.n) == (0.0278, -0.0833, 0.1389, 36)
    assert net.numerator == 3 - 2
    assert net.numerator / 36 == pytest.approx(0.0278, abs=5e-5)
    assert audited.breakdowns["visual information"]["image"]["accuracy"].value == 0.27
    grounding = audited.breakdowns["grounding"]["audited cases"]
    assert (grounding["ega"].value, grounding["unsupported"].value) == (0.0, 1.0)
    assert grounding["unsupported"].n == 27  # of the right answers, 27 of 100
    assert grounding["unsupported"].higher_is_better is False


def test_critiquecanvas_bleu_is_a_percent_and_the_others_are_not() -> None:
    gemini = row("critiquecanvas", "Gemini 3.1 Pro")
    assert gemini.metrics["bleu"].value == pytest.approx(0.0715, abs=1e-12)
    assert gemini.metrics["sbert_cos"].value == pytest.approx(0.848, abs=1e-12)
    assert gemini.metrics["prompt_align"].value == pytest.approx(0.908, abs=1e-12)
    assert gemini.metrics["avg_length"].value == 166.58
    assert gemini.metrics["avg_length"].unit == "words"
    assert (gemini.metrics["human_rating"].value, gemini.metrics["judge_rating"].value) == (4.1, 4.5)
    assert gemini.metrics["human_rating"].unit == "rating"
    assert gemini.metrics["human_rating"].n == 100
    assert gemini.source == "AesCanvas, Tables 3, S5, S6"


def test_names_merge_only_when_they_are_the_same_name() -> None:
    assert same_name("Qwen3-VLFT") == same_name("Qwen3-VL-FT")
    tuned = row("critiquecanvas", "Qwen3-VLFT")
    assert tuned.metrics["bleu"].value == pytest.approx(0.1223, abs=1e-12)
    assert tuned.metrics["density"].value == 10.96
    assert tuned.metrics["judge_rating"].value == 2.5
    style_only, metrics_only = row("critiquecanvas", "ArtQuant"), row("critiquecanvas", "ArtQuant-APDD")
    assert set(style_only.metrics) == {"avg_length", "len_ref", "dim_hits", "density", "prompt_align"}
    assert style_only.source == "AesCanvas, Table S5"
    assert "avg_length" not in metrics_only.metrics
    assert metrics_only.source == "AesCanvas, Tables 3, S6"
    assert "bleu" not in row("critiquecanvas", "InternVL3.5-8B").metrics
    # Table S5 calls this group Aesthetic Models; ArtiMuse, in both, says which of Table 3 it is
    assert style_only.group == metrics_only.group == "Aesthetic-specific Models"


def test_vab_rows_hold_what_the_text_says() -> None:
    sonnet = row("vab", "Claude Sonnet 4.6")
    assert sonnet.task == "vab_tb1"
    assert {name: metric.value for name, metric in sonnet.metrics.items()} == {"pass^3": 0.265}
    tuned = row("vab", "Kallisti-35B-A3B", "vab_top1")
    assert {name: metric.value for name, metric in tuned.metrics.items()} == {"ap@1": 0.513, "pass^3": 0.295}
    experts = row("vab", "Human experts", "vab_tb1")
    assert experts.metrics["accuracy"].value == pytest.approx(0.689, abs=1e-12)
    assert experts.breakdowns["n_images"]["4"]["accuracy"].value == pytest.approx(0.436, abs=1e-12)
    assert experts.group == "Human baseline"
    assert row("vab", "Q-Instruct", "vab_bot1").metrics["accuracy"].value == 0.515
    assert row("vab", "Q-Instruct", "vab_bot1").group == "Reward models"


def test_vab_holds_every_figure_of_the_file() -> None:
    figures = sum(
        len([key for key in published if key.split("_")[0] in {"top1", "bot1", "tb1"}])
        for published in raw("vab")["rows"]
    )
    assert sum(len(r.metrics) for r in ROWS if r.benchmark == "vab") == figures


def test_fineartbench_rho_with_p() -> None:
    gemini = row("fineartbench", "Gemini 1.5-flash", "fineartbench_2afc_global_artcot")
    rho, p = gemini.metrics["artist_bt_rho_official"], gemini.metrics["artist_bt_p_official"]
    assert (rho.value, rho.unit) == (0.741, "rho")
    assert (p.value, p.unit, p.reason) == (None, "p", "p < 0.001: the paper prints no more")
    task = row("fineartbench", "GPT-4o", "fineartbench_2afc_instance_cot")
    assert task.metrics["task_elo_rho_official"].value == 0.299
    assert task.metrics["task_elo_p_official"].value == 0.097
    (note,) = task.findings
    assert (note.kind, note.where) == ("note", "task_bt_rho_official")
    assert note.message == (
        "Task Bradley–Terry ρ: rounding decides ranks in the authors' fit; their code gave the same predictions up to "
        "0.011 more or less on another machine"
    )
    assert gemini.findings == []
    assert row("fineartbench", "CLIP-IQA", "fineartbench_2afc_global").group == "Conventional models"
    assert row("fineartbench", "Random guess", "fineartbench_2afc_global").group == "Random baseline"
