"""From runs to the page: build, verify, merge, compare, export, page, on real entries, with their figures in all."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from lxml import html

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.schema import VERIFICATION_FILE, Board, BoardRow, Entry
from lmms_aes_tasks.critiquecanvas.items import EMBEDDING_METRICS
from lmms_aes_tasks.critiquecanvas.plots import cross_plots, cross_points
from lmms_aes_tasks.leaderboard.build import EntryRequest, build
from lmms_aes_tasks.leaderboard.compare import Comparison, compare_entries
from lmms_aes_tasks.leaderboard.export_forms import Source
from lmms_aes_tasks.leaderboard.exports import FORMATS
from lmms_aes_tasks.leaderboard.headlines import best_row, headline_of
from lmms_aes_tasks.leaderboard.merge import merge_submissions, write_board
from lmms_aes_tasks.leaderboard.page import write_site
from lmms_aes_tasks.leaderboard.page_tables import best_cells, entry_page, families_of
from lmms_aes_tasks.leaderboard.page_text import words_of
from lmms_aes_tasks.leaderboard.published_rows import published_rows
from lmms_aes_tasks.leaderboard.reading import read_board
from lmms_aes_tasks.leaderboard.verify import verify_entry, write_verification
from tests.encoders import EncoderFolders
from tests.leaderboard import runs
from tests.leaderboard.conftest import TASKS

FINEART = "fineartbench_2afc_global"
MODELS = {"Org/Good": 0.8, "Org/Weak": 0.3}


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory, encoder_folders: EncoderFolders) -> Path:
    """Two verified entries of the demo tasks, and of some pairs of FineArtBench, with real, tiny encoders."""
    root = tmp_path_factory.mktemp("whole")
    pairs = runs.fineartbench_documents("global", runs.drawn_pairs(400))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in encoder_folders.environment.items():
            patch.setenv(name, value)
        for number, (model, accuracy) in enumerate(MODELS.items()):
            reply = runs.oracle(accuracy, number)
            answers = runs.demo_answers(*TASKS, reply=reply)
            answers[FINEART] = [(pair, reply(FINEART)(pair)) for pair in pairs]
            run = root / "runs" / str(number)
            runs.write_run(run / ".__model", answers)
            folder = root / "in" / model.replace("/", "__") / "v1" / "run"
            build([run], folder, EntryRequest(model, "v1", "A. Evaluator", allow_incomplete=True))
            found = verify_entry(folder)
            errors = [finding.message for finding in found.findings if finding.kind == "error"]
            assert errors == ["400 items of 5000: a run with --limit, or cut"]
            # a verifier refuses the cut task alone; here it stands on the board as partial
            kept = [finding for finding in found.findings if finding.kind != "error"]
            done = found.model_copy(update={"status": "recomputed", "findings": kept})
            write_verification(done, folder / VERIFICATION_FILE)
    return root / "in"


@pytest.fixture(scope="module")
def board(submissions: Path) -> Board:
    path = submissions.parent / "board.json"
    write_board(merge_submissions(submissions, published_rows()), path)
    return read_board(path)


@pytest.fixture(scope="module")
def pages(board: Board, submissions: Path) -> Path:
    folder = submissions.parent / "site"
    write_site(board, folder)
    return folder


def own(board: Board, task: str | None = None) -> list[BoardRow]:
    return [row for row in board.rows if row.entry is not None and task in (None, row.task)]


def svg_tips(document: Any, plot: str) -> list[str]:
    """The texts over a plot's points."""
    (svg,) = document.xpath(f"//*[local-name()='svg'][contains(@aria-labelledby, '{plot}-title')]")
    return [text for text in svg.xpath(".//*[local-name()='g']/*[local-name()='title']/text()") if text]


def test_the_board_has_the_entries_figures(board: Board, submissions: Path) -> None:
    rows = own(board)
    assert {(row.model, row.task) for row in rows} == {(model, task) for model in MODELS for task in (*TASKS, FINEART)}
    assert {row.status for row in rows} == {"recomputed"}
    for row in rows:
        entry = Entry.model_validate_json((submissions / str(row.entry) / "entry.json").read_text("utf-8"))
        result = entry.tasks[row.task]
        assert (row.metrics, row.breakdowns, row.n) == (result.metrics, result.breakdowns, result.n)
        assert row.n_expected == (5000 if row.task == FINEART else row.n)
        headline = headline_of(row.benchmark, row.task)
        assert headline in row.metrics


def test_the_page_knows_every_name_that_build_writes(board: Board) -> None:
    for row in own(board):
        words = words_of(row.benchmark)
        assert set(row.metrics) <= set(words.metrics), row.task
        assert set(row.breakdowns) <= set(words.breakdowns), row.task
        for groups in row.breakdowns.values():
            assert {name for metrics in groups.values() for name in metrics} <= set(words.metrics)
        for name, metric in row.metrics.items():
            facts = words.metrics[name]
            assert (metric.unit, metric.higher_is_better) == (facts.unit, facts.higher_is_better), name
    for benchmark in registry.benchmarks():
        rows = [row for row in own(board) if row.benchmark == benchmark.name]
        for family, members in families_of(words_of(benchmark.name), rows):
            assert all(family.headline in row.metrics for row in members), family.task


def test_every_table_has_the_figures(board: Board, pages: Path) -> None:
    for row in own(board):
        document = html.parse(str(pages / f"{row.benchmark}.html"))
        text = " ".join(document.getroot().text_content().split())
        printed = {name: f"{100 * metric.value:.2f}" for name, metric in row.metrics.items()
                   if metric.value is not None and metric.unit == "fraction"}  # fmt: skip
        missing = {name for name, figure in printed.items() if figure.replace("-", "−") not in text}
        assert missing == set(), row.task
        page = html.parse(str(pages / str(entry_page(row)))).getroot().text_content()
        assert all(figure.replace("-", "−") in page for figure in printed.values())
    text = html.parse(str(pages / "fineartbench.html")).getroot().text_content()
    for row in own(board, FINEART):
        assert f"{row.metrics['artist_elo_rho_official'].value:.3f}".replace("-", "−") in text
    assert "partial: 400 of 5,000 items" in text


def test_baselines_get_no_star(board: Board) -> None:
    rows = own(board, "contextcanvas_demo")
    assert {row.backend for row in rows} == {"aes_baseline"}
    assert best_cells(rows, ["accuracy"]) == set()
    assert best_row(rows, "contextcanvas_demo") is None
    models = [row.model_copy(update={"backend": "qwen3_vl"}) for row in rows]
    (place,) = best_cells(models, ["accuracy"])
    best = best_row(models, "contextcanvas_demo")
    assert best is not None
    assert (rows[place[0]].model, best.model) == ("Org/Good", "Org/Good")


def test_the_plots_of_contextcanvas(board: Board, pages: Path) -> None:
    document = html.parse(str(pages / "contextcanvas.html"))
    for metric, plot in (("accuracy", "accuracy"), ("yes_rate", "yes-rate")):
        tips = svg_tips(document, f"contextcanvas_demo-{plot}")
        for row in own(board, "contextcanvas_demo"):
            figure = row.metrics[metric]
            assert None not in (figure.value, figure.low, figure.high)
            value, low, high = (100 * float(end or 0) for end in (figure.value, figure.low, figure.high))
            assert f"{row.model} (recomputed): {value:.2f} [{low:.2f}, {high:.2f}]" in tips
    assert "against 50.00% in the gold labels" in document.getroot().text_content()  # the demo's own rate


@pytest.mark.parametrize("question", ["tb1", "top1", "bot1"])
def test_the_plots_of_vab(board: Board, pages: Path, question: str) -> None:
    document = html.parse(str(pages / "vab.html"))
    task = f"vab_{question}_demo"
    order, position = svg_tips(document, f"{task}-order"), svg_tips(document, f"{task}-position")
    for row in own(board, task):
        ap, power = (100 * float(row.metrics[name].value or 0) for name in ("ap@1", "pass^3"))
        assert f"{row.model} (recomputed): ap@1, % {ap:.2f}, pass^3, % {power:.2f}" in order
        shares = {place: metrics["share"] for place, metrics in row.breakdowns["chosen_position"].items()}
        assert sum(float(share.value or 0) for share in shares.values()) == pytest.approx(1)
        for place, share in shares.items():
            assert f"{row.model}, {place}: {100 * float(share.value or 0):.2f}%" in position


def test_figure_4b_takes_what_build_writes(board: Board) -> None:
    """Demo rows are not in it; the same rows under the names of the whole tasks are."""
    renamed = [
        row.model_copy(update={"task": row.task.removesuffix("_demo")})
        for row in own(board)
        if row.task in {"contextcanvas_demo", "critiquecanvas_demo"}
    ]
    points = {point.label: point for point in cross_points(renamed)}
    assert set(points) == set(MODELS)
    for row in own(board, "contextcanvas_demo"):
        assert points[row.model].y == pytest.approx(100 * float(row.metrics["accuracy"].value or 0))
    # two models: each metric gives one of them 0 and the other 100
    assert sum(point.x for point in points.values()) == pytest.approx(100)
    (drawn,) = cross_plots(renamed)
    assert "Org/Good (recomputed): mean critique percentile" in drawn.svg


@pytest.fixture(scope="module")
def comparison(submissions: Path) -> Comparison:
    weak, good = (submissions / f"Org__{name}/v1/run" for name in ("Weak", "Good"))
    return compare_entries(weak, good, resamples=200)


def test_the_comparison_has_the_figures_of_both(board: Board, comparison: Comparison) -> None:
    assert comparison.not_comparable == {}
    rows = {(row.model, row.task): row for row in own(board)}
    overall = [one for one in comparison.differences if one.group is None]
    assert {one.task for one in overall} == {*TASKS, FINEART}
    for one in overall:
        first, second = (rows[model, one.task].metrics[one.metric].value for model in ("Org/Weak", "Org/Good"))
        assert (one.first, one.second) == (pytest.approx(first, abs=1e-9), pytest.approx(second, abs=1e-9))
    critiques = {one.metric for one in overall if one.task == "critiquecanvas_demo"}
    assert set(EMBEDDING_METRICS) <= critiques


@pytest.mark.parametrize("name", FORMATS)
def test_every_export_has_the_figures(board: Board, name: str) -> None:
    datasets = {benchmark.name: f"org/{benchmark.name}" for benchmark in registry.benchmarks()}
    made = FORMATS[name](Source(board.rows, datasets=datasets))
    text = "\n".join(document.text for document in made.documents)
    row = next(row for row in own(board, FINEART) if row.model == "Org/Good")
    headline = row.metrics[str(headline_of(row.benchmark, row.task))].value
    assert headline is not None
    assert (f"{headline:.3f}" if name == "latex" else repr(headline)) in text
    for model in MODELS:
        assert model in text or model.replace("/", "__") in {document.name.split(".")[0] for document in made.documents}
    for document in made.documents:
        if document.name.endswith(".json"):
            json.loads(document.text)
        elif document.name.endswith(".yaml"):
            yaml.safe_load(document.text)
        elif document.name.endswith(".csv"):
            lines = list(csv.DictReader(io.StringIO(document.text)))
            assert {line["breakdown"] for line in lines} >= {"", "chosen_position", "domain", "n_options", "artist"}
