"""The site as files: every row there, marks right, foreign text harmless, writing safe. The browser's view is apart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from lxml import html
from typer.testing import CliRunner, Result

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import Board, BoardRow, Metric
from lmms_aes_tasks.board.text import number, shown
from lmms_aes_tasks.cli.leaderboard_page import page as page_command
from lmms_aes_tasks.contextcanvas.plots import gold_yes_rate
from lmms_aes_tasks.critiquecanvas.plots import cross_points
from lmms_aes_tasks.leaderboard.page import (
    MARKER,
    site_files,
    write_files,
    write_site,
)
from lmms_aes_tasks.leaderboard.page_entries import commands, entries_of
from lmms_aes_tasks.leaderboard.page_tables import best_cells, entry_page
from lmms_aes_tasks.leaderboard.page_text import slug
from lmms_aes_tasks.leaderboard.reading import read_board
from tests.leaderboard.board_example import HOSTILE_NAMES, board, figure, run, share

PAGES = {"contextcanvas", "critiquecanvas", "vab", "fineartbench"}


def tree(text: str) -> Any:
    return html.document_fromstring(text)


def texts(elements: Any) -> list[str]:
    return [" ".join(element.text_content().split()) for element in elements]


def row_of(document: Any, model: str, table: int = 0) -> Any:
    for row in document.xpath("//table[contains(@class, 'main')]")[table].xpath(".//tr[contains(@class, 'row')]"):
        if row.xpath("string(./th//bdi)") == model:
            return row
    raise AssertionError(model)


def cell(document: Any, model: str, label: str, table: int = 0) -> Any:
    heads = texts(document.xpath("//table[contains(@class, 'main')]")[table].xpath("./thead/tr/th"))
    (place,) = [i for i, head in enumerate(heads) if head.startswith(label)]
    return row_of(document, model, table)[place]


# -- What is on the pages ----------------------------------------------------------------------------------------------


def test_every_row_is_on_its_page(whole: Board, site: dict[str, str]) -> None:
    assert {f"{name}.html" for name in PAGES} | {"index.html", "page.css", "page.js"} <= set(site)
    for name in PAGES:
        rows = tree(site[f"{name}.html"]).xpath("//table[contains(@class, 'main')]//tr[contains(@class, 'row')]")
        expected = sorted(row.model for row in whole.rows if row.benchmark == name)
        assert sorted(row.xpath("string(./th//bdi)") for row in rows) == expected


def test_the_papers_rows_are_apart_and_marked(site: dict[str, str]) -> None:
    for name in PAGES:
        for body in tree(site[f"{name}.html"]).xpath("//table[contains(@class, 'main')]/tbody"):
            statuses = {row.get("data-status") for row in body.xpath("./tr[contains(@class, 'row')]")}
            assert statuses == {"published"} or "published" not in statuses
            for row in body.xpath("./tr[contains(@class, 'row')]"):
                (badge,) = row.xpath("./td[@class='status']/span")
                assert row.get("data-status") in badge.text
                assert badge.text.startswith("✔") == (row.get("data-status") == "recomputed")
                source = row.xpath("string(./td[@class='setup'])")
                assert bool(re.search(r"Table|text of sections", source)) == (row.get("data-status") == "published")


def test_figures_with_their_intervals(site: dict[str, str]) -> None:
    document = tree(site["contextcanvas.html"])
    published = cell(document, "Claude Opus 5", "Accuracy")
    assert published.get("data-value") == "0.9169"
    assert published.xpath("string(.//strong)") == "91.69"
    own = cell(document, "aurora-lab/Aurora-VL-72B", "Accuracy")
    # 241 of 301, 80.07%; 1.96 standard errors are 4.51 points
    assert own.xpath("string(.//strong)") == "80.07"
    assert own.xpath("string(./small)") == "[75.55, 84.58]"


def test_what_is_missing_says_why(site: dict[str, str]) -> None:
    document = tree(site["contextcanvas.html"])
    (none,) = cell(document, "kestrel/kestrel-vision-3-nano", "Macro-F1").xpath("./span")
    assert none.get("title") == "no case with the gold label Yes was answered"
    assert none.text_content() == "–none: no case with the gold label Yes was answered"
    assert cell(document, "GPT-5.2", "Parsed").text_content() == "–none: not reported"


def test_correlations_are_plain_and_have_their_p(site: dict[str, str]) -> None:
    document = tree(site["fineartbench.html"])
    own = cell(document, "CLIP Score", "Artist Elo ρ, official")
    assert texts([own]) == ["−0.024p = 0.945"]
    assert own.get("data-value") == "-0.024"
    heads = texts(document.xpath("//table[contains(@class, 'main')]")[1].xpath("./thead/tr/th"))
    assert {"Task Elo ρ, official ↑, higher is better", "Task Elo ρ, aligned ↑, higher is better"} <= set(heads)


def test_breakdowns(site: dict[str, str]) -> None:
    document = tree(site["vab.html"])
    captions = {region.get("aria-label") for region in document.xpath("//details//div[contains(@class, 'scroll')]")}
    for breakdown in ("Domain", "Substyle", "Images in the set"):
        for metric in ("ap@1", "pass^3"):
            assert f"Table: {breakdown}, {metric}, TB-1: the best and the worst" in captions
    sizes = document.xpath("//div[starts-with(@aria-label, 'Table: Images in the set, pass^3, TB-1')]")[0]
    assert texts(sizes.xpath(".//thead//th")) == ["Model", "2", "3", "4", "5", "6"]
    critiques = tree(site["critiquecanvas.html"]).xpath("//div[@aria-label='Table: Domain, SBERT-Cos, Critiques']")
    assert texts(critiques[0].xpath(".//thead//th"))[1:] == ["photography", "painting", "virtual imagery"]


def test_plots_are_there_with_names_and_descriptions(site: dict[str, str]) -> None:
    wanted = {
        "contextcanvas.html": ["contextcanvas-accuracy", "contextcanvas-yes-rate"],
        "vab.html": ["vab_tb1-order", "vab_tb1-position", "vab_top1-order", "vab_top1-position"],
        "index.html": ["critique-and-context"],
    }
    for name, plots in wanted.items():
        document = tree(site[name])
        for plot in plots:
            (svg,) = document.xpath(f"//figure[@id='{plot}']//svg")
            assert svg.get("role") == "img"
            named = svg.get("aria-labelledby").split()
            assert [document.get_element_by_id(own).tag for own in named] == ["title", "desc"]
            assert not svg.xpath(".//*[@style] | .//style | .//script | .//image | .//foreignObject")
    assert gold_yes_rate("contextcanvas") == 38.14
    assert gold_yes_rate("contextcanvas_demo") == 50.0
    assert "gold 38.14%" in texts(tree(site["contextcanvas.html"]).xpath("//figure//*[local-name() = 'text']"))


def test_ids_are_unique_and_references_lead_somewhere(site: dict[str, str]) -> None:
    for name, text in site.items():
        if not name.endswith(".html"):
            continue
        document = tree(text)
        ids = document.xpath("//@id")
        assert len(ids) == len(set(ids)), name
        for reference in document.xpath("//*[local-name() = 'use']/@href | //a[starts-with(@href, '#')]/@href"):
            assert reference[1:] in ids
        for listed in document.xpath("//@aria-labelledby"):
            assert set(listed.split()) <= set(ids)


def test_an_entrys_page(whole: Board, site: dict[str, str]) -> None:
    (row,) = [r for r in whole.rows if r.model == "kestrel/kestrel-vision-3-nano"]
    path = entry_page(row)
    assert path is not None
    document = tree(site[path])
    text = " ".join(document.text_content().split())
    assert row.signature is not None
    assert row.signature in text
    for finding in row.findings:
        assert finding.message in text
        assert finding.where in text
    folder = "kestrel__kestrel-vision-3-nano/main/2026-09-14"
    assert f"lmms-aes leaderboard verify leaderboard/submissions/{folder}" in text
    assert (
        "lmms-eval --model qwen3_vl --model_args pretrained=kestrel/kestrel-vision-3-nano,revision=9f2c1ab4 "
        "--tasks contextcanvas --log_samples --output_path runs"
    ) in text
    assert [href for href in document.xpath("//link/@href | //script/@src") if not href.startswith("data:")] == [
        "../page.css",
        "../page.js",
    ]


def test_an_entry_is_recomputed_when_all_of_it_is() -> None:
    metrics = {"accuracy": share(0.5, 10)}
    rows = [
        run("a/b", "c", "recomputed", "contextcanvas", "contextcanvas", metrics=metrics),
        run("a/b", "c", "self-reported", "vab_tb1", "vab", metrics=metrics),
    ]
    assert [entry.status for entry in entries_of(Board(plugin="0", rows=rows))] == ["self-reported"]
    assert [entry.status for entry in entries_of(Board(plugin="0", rows=rows[:1]))] == ["recomputed"]


def test_an_unknown_benchmark_and_a_demo_get_tables_of_their_own() -> None:
    rows = [
        run("a/b", "c", "recomputed", "index", "index", metrics={"some_score": figure(1.5, 3, "ratio")}),
        run("a/b", "c", "recomputed", "vab_tb1", "vab", metrics={"pass^3": share(0.5, 400)}),
        run("a/b", "c", "recomputed", "vab_tb1_demo", "vab", metrics={"pass^3": share(1.0, 4)}),
    ]
    files = site_files(Board(plugin="0", rows=rows))
    unknown = tree(files["benchmark-index.html"])
    assert cell(unknown, "a/b", "some score").text_content() == "1.500"
    assert texts(tree(files["vab.html"]).xpath("//h2")) == [
        "TB-1: the best and the worst",
        "TB-1: the best and the worst (demo on generated data)",
    ]


def test_an_empty_board_is_a_page(tmp_path: Path) -> None:
    assert "index.html" in write_site(Board(plugin="0", rows=[]), tmp_path / "site")


# -- Best --------------------------------------------------------------------------------------------------------------


def context(model: str, accuracy: float, flips: float, **rest: Any) -> BoardRow:
    rest = {"n": 1000, "status": "recomputed"} | rest
    metrics = {
        "accuracy": share(accuracy, 1000),
        "order_flip_rate": share(flips, 1000, False),
        "yes_rate": share(accuracy, 1000, None),
        "parse_rate": share(1.0, 1000),
    }
    status = rest.pop("status")
    return run(f"o/{model}", "e", status, "contextcanvas", "contextcanvas", metrics=metrics, **rest)


def test_best_by_hand() -> None:
    published = [
        BoardRow(
            key=f"published/{name}",
            status="published",
            model=name,
            group=group,
            benchmark="contextcanvas",
            task="contextcanvas",
            metrics={"accuracy": share(value, 1000)},
        )
        for name, group, value in (
            ("paper", "MLLMs", 0.95),
            ("other", "MLLMs", 0.1),
            ("people", "Human baseline", 0.99),
        )
    ]
    rows = [
        context("a", 0.7, 0.2),
        context("b", 0.8, 0.3, status="self-reported"),
        context("twin", 0.8, 0.5),
        context("partial", 1.0, 0.0, n=20),
        context("old", 0.9, 0.1, superseded=True),
        context("next", 0.6, 0.9, version="2-A"),
        *published,
    ]
    found = {
        (rows[i].model, name) for i, name in best_cells(rows, ["accuracy", "order_flip_rate", "yes_rate", "parse_rate"])
    }
    assert found == {("o/b", "accuracy"), ("o/twin", "accuracy"), ("o/a", "order_flip_rate"), ("paper", "accuracy")}


def test_best_on_the_page(site: dict[str, str]) -> None:
    document = tree(site["contextcanvas.html"])
    best = document.xpath("//table[contains(@class, 'main')]//td[contains(@class, 'best')]")
    models = {(own.xpath("string(../th//bdi)"), own.xpath("string(.//strong)")) for own in best}
    assert ("Claude Opus 5", "91.69") in models
    assert {model for model, _ in models} == {"Claude Opus 5", "aurora-lab/Aurora-VL-72B"}
    assert all(own.xpath(".//span[@class='vh']")[0].text == " (best)" for own in best)
    aside = row_of(document, "kestrel/kestrel-vision-3-nano")
    assert "partial: 20 of 301 items" in aside.text_content()
    old = document.xpath("//table[contains(@class, 'main')]//tr[@data-superseded]")
    assert len(old) == 1
    assert "superseded by a newer run" in old[0].text_content()


# -- Figure 4b ---------------------------------------------------------------------------------------------------------


def critique(model: str, *values: float, **rest: Any) -> BoardRow:
    names = ("bleu", "rouge_l", "meteor", "bert_f1", "sbert_cos", "clip_cos")
    metrics = {name: figure(value, 6000, "fraction") for name, value in zip(names, values, strict=False)}
    return run(model, "e", "recomputed", "critiquecanvas", "critiquecanvas", metrics=metrics, **rest)


def test_mean_percentiles_by_hand() -> None:
    def accuracy(model: str, value: float, **rest: Any) -> BoardRow:
        metrics = {"accuracy": share(value, 100)}
        return run(model, "e", "self-reported", "contextcanvas", "contextcanvas", metrics=metrics, **rest)

    rows = [
        critique("o/a", 0.1, 0.1, 0.1, 0.3, 0.3, 0.3),  # 0 three times, 100 three times
        critique("o/b", 0.2, 0.2, 0.2, 0.2, 0.2, 0.2),  # 50 always
        critique("o/c", 0.3, 0.3, 0.3, 0.1, 0.1, 0.2),  # 100, 100, 100, 0, 0, and tied with b below: 25
        critique("o/lacks", 0.9, 0.9),
        accuracy("o/a", 0.4),
        accuracy("o/a", 0.6, date="2026-12-01", name="later"),
        accuracy("o/c", 0.2),
        accuracy("o/lacks", 0.9),
    ]
    points = {point.label: (point.x, point.y) for point in cross_points(rows)}
    # clip_cos: a 100; b and c tied at the bottom, each (0 + 1) / 2 places of 2, hence 25
    assert points["o/a"] == pytest.approx((50.0, 60.0))
    assert points["o/c"] == pytest.approx(((300 + 25) / 6, 20.0))
    assert set(points) == {"o/a", "o/c"}


def test_the_papers_figure_has_the_models_of_both_tables() -> None:
    points = {point.label: (point.x, point.y) for point in cross_points(board().rows) if point.status == "published"}
    assert set(points) == {
        *("Gemini 3.1 Pro", "GPT-5.2", "LLaVA-OneVision", "ArtQuant-APDD", "ArtiMuse", "AesExpert", "Q-SiT")
    }
    # last in BLEU, ROUGE-L, METEOR, BERT-F1, SBERT-Cos and CLIPScore of Table 3
    assert points["Q-SiT"] == pytest.approx((0.0, 19.6))
    # of the 11 others below it in Table 3: BLEU 9, ROUGE-L 10, METEOR 7, BERT-F1 11, SBERT-Cos 9, CLIPScore 11
    assert points["LLaVA-OneVision"][0] == pytest.approx(100 * (9 + 10 + 7 + 11 + 9 + 11) / 6 / 11)


# -- Foreign text ------------------------------------------------------------------------------------------------------


def test_foreign_text_makes_no_element_and_no_attribute(hostile: dict[str, str]) -> None:
    for name, text in hostile.items():
        if not name.endswith(".html"):
            continue
        document = tree(text)
        scripts = document.xpath("//script")
        assert [s.get("src") for s in scripts] == ["../" * name.count("/") + "page.js"], name
        assert not scripts[0].text
        assert not document.xpath("//img | //textarea | //b | //iframe | //object | //style | //*[@style]"), name
        assert not [key for element in document.iter() for key in element.attrib if key.lower().startswith("on")]
        for reference in document.xpath("//@href | //@src"):
            icon = reference.startswith("data:image/svg+xml,")
            own = re.fullmatch(r"((\.\./)?(entries/)?[\w-]+\.(html|css|js))?(#[\w-]+)?", reference)
            assert icon or own, reference
        assert "\u202e" not in text
        assert "49" not in texts(document.xpath("//bdi"))


def test_foreign_names_are_shown_as_they_are(hostile: dict[str, str]) -> None:
    names = tree(hostile["contextcanvas.html"]).xpath("//table[contains(@class, 'main')]//th[@scope='row']//bdi")
    written = [name.text_content() for name in names]
    for name in HOSTILE_NAMES:
        assert shown(name) in written
    assert tree(hostile["index.html"]).xpath("string(//h1)") == "<script>window.hacked=1</script>"


def test_every_page_has_the_policy_before_anything_it_rules(site: dict[str, str]) -> None:
    for name, text in site.items():
        if name.endswith(".html"):
            head = tree(text).xpath("//head/*")
            assert head[0].get("charset") == "utf-8"
            assert head[1].get("http-equiv") == "Content-Security-Policy"
            assert head[1].get("content") == (
                "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; "
                "form-action 'none'"
            )


def test_nothing_is_loaded_from_elsewhere(site: dict[str, str]) -> None:
    for name, text in site.items():
        assert not re.search(r"(?:src|href|url|import)\s*[=(]?\s*[\"']?(?:https?:)?//", text), name


@pytest.mark.parametrize("name", ["../../etc/passwd", "CON", "a/b\0c", "\u202egpj", "", "x" * 500, "<script>", "日本"])
def test_file_names_are_ours(name: str) -> None:
    own = slug(name, name)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{9,60}", own)
    assert own != slug(name, name + "2")


def test_shown_text_deceives_no_eye() -> None:
    assert shown("a\u202eb\u2066c\u200bd\x00e\nf\ud800") == "a\ufffdb\ufffdc\ufffdd\ufffde f?"
    assert shown("Qwen3-VL 日本 👩‍🎨") == "Qwen3-VL 日本 👩‍🎨"


def test_commands_are_quoted() -> None:
    row = run("x; rm -rf ~/$HOME`id`", "e", "self-reported", "vab_tb1", "vab", metrics={})
    verify, rerun = commands(row.entry or "", [row])
    assert verify.startswith("lmms-aes leaderboard verify 'leaderboard/submissions/x; rm -rf ~__$HOME`id`/main/")
    assert "'pretrained=x; rm -rf ~/$HOME`id`,revision=9f2c1ab4'" in rerun


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.91694, "fraction", "91.69"),
        (166.58, "words", "166.58"),
        (-0.0001, "rho", "0.000"),
        (-0.333, "rho", "−0.333"),
        (1.241, "ratio", "1.241"),
        (3.0, "count", "3"),
        (4.1, "rating", "4.10"),
    ],
)
def test_numbers(value: float, unit: str, text: str) -> None:
    assert number(value, unit) == text


# -- Reading and writing -----------------------------------------------------------------------------------------------


def written(folder: Path, content: Mapping[str, Any] | str | bytes) -> Path:
    path = folder / "board.json"
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_board_is_read_as_it_was(tmp_path: Path, whole: Board) -> None:
    assert read_board(written(tmp_path, whole.model_dump_json())) == whole


def test_no_board(tmp_path: Path) -> None:
    with pytest.raises(LeaderboardError) as error:
        read_board(tmp_path / "none.json")
    assert str(error.value) == (f"{tmp_path / 'none.json'} is not a file. Write it with `lmms-aes leaderboard merge`.")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"plugin": "1", "rows": [', "not sound JSON (Expecting value"),
        (b"\xff\xfe", "not sound JSON ('utf-8' codec can't decode byte 0xff"),
        ('{"plugin": "1", "plugin": "1", "rows": []}', "not sound JSON (the key 'plugin' is there twice)"),
        ('{"plugin": "1", "rows": [], "more": 1}', "more: Extra inputs are not permitted, and it is 1"),
        ('{"plugin": 1, "rows": []}', "plugin: Input should be a valid string, and it is 1"),
        ('{"rows": []}', "plugin: Field required, and it is {'rows': []}"),
    ],
)
def test_what_is_no_board_is_named(tmp_path: Path, content: str | bytes, expected: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(LeaderboardError) as error:
        read_board(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert expected in message
    assert "Write it with `lmms-aes leaderboard merge`." in message


def test_nan_and_texts_are_no_figures(tmp_path: Path) -> None:
    row = run("a/b", "e", "recomputed", "contextcanvas", "contextcanvas", metrics={"accuracy": share(0.5, 10)})
    content = Board(plugin="0", rows=[row]).model_dump()
    for bad, said in (
        (float("nan"), "NaN is no number of JSON"),
        (float("inf"), "Infinity is no number of JSON"),
        ("0.5", r"rows\.0\.metrics\.accuracy\.value: Input should be a valid number, and it is '0\.5'"),
    ):
        content["rows"][0]["metrics"]["accuracy"]["value"] = bad
        with pytest.raises(LeaderboardError, match=said):
            read_board(written(tmp_path, content))


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmms_aes_tasks.leaderboard.reading.MAX_BOARD_BYTES", 10)
    path = written(tmp_path, '{"plugin": "1"}')
    with pytest.raises(LeaderboardError) as error:
        read_board(path)
    assert str(error.value) == f"{path} is larger than 10 bytes. Is it the right file?"


@pytest.fixture
def small() -> Board:
    return Board(plugin="0", rows=[context("a", 0.5, 0.5)])


def test_a_site_replaces_a_site_and_leaves_nothing_behind(tmp_path: Path, site: dict[str, str], small: Board) -> None:
    folder = tmp_path / "deep" / "site"
    files = write_files(site, folder)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == set(files)
    write_site(small, folder, "Another")
    assert not (folder / "vab.html").exists()
    assert "<title>Another</title>" in (folder / "index.html").read_text()
    assert [path.name for path in folder.parent.iterdir()] == ["site"]


def test_the_same_board_gives_the_same_files(site: dict[str, str]) -> None:
    assert site_files(board()) == site


def test_a_foreign_folder_stays_as_it_is(tmp_path: Path, small: Board) -> None:
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(LeaderboardError) as error:
        write_site(small, tmp_path)
    assert str(error.value) == (
        f"{tmp_path} holds files and no {MARKER}, so it is no site of ours and stays as it is. Name another folder."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_someone_put_into_a_site_is_not_deleted(tmp_path: Path, small: Board) -> None:
    folder = tmp_path / "site"
    write_site(small, folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    with pytest.raises(LeaderboardError) as error:
        write_site(small, folder)
    assert str(error.value) == (
        f"{folder} holds 1 file(s) besides the site, which replacing it would delete. "
        "Move them, or name another folder.\n  - .git/HEAD"
    )
    assert (folder / ".git" / "HEAD").exists()


def test_a_file_is_no_folder(tmp_path: Path, small: Board) -> None:
    target = tmp_path / "file"
    target.write_text("x")
    with pytest.raises(LeaderboardError) as error:
        write_site(small, target)
    assert str(error.value) == f"{target} is a file. Name a folder for the site."


def test_a_failure_leaves_the_old_site(tmp_path: Path, small: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site"
    write_site(small, folder)
    before = (folder / "index.html").read_bytes()
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if self.name.endswith(".tmp"):
            raise OSError("disk on fire")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="disk on fire"):
        write_site(small, folder, "Another")
    assert (folder / "index.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def command(*arguments: Any) -> Result:
    app = typer.Typer()
    app.command()(page_command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command(tmp_path: Path, small: Board) -> None:
    path = written(tmp_path, small.model_dump_json())
    result = command(path, "-o", tmp_path / "site", "--title", "Ours")
    assert result.exit_code == 0
    assert result.stdout == f"{tmp_path / 'site' / 'index.html'}: 1 rows, 6 files\n"
    assert isinstance(command(tmp_path / "none", "-o", tmp_path / "site").exception, LeaderboardError)


def test_a_metric_without_a_value_and_reason_is_not_an_error() -> None:
    row = context("a", 0.5, 0.5).model_copy(update={"metrics": {"accuracy": Metric(value=None, n=0)}})
    document = tree(site_files(Board(plugin="0", rows=[row]))["contextcanvas.html"])
    assert cell(document, "o/a", "Accuracy").text_content() == "–none: not defined"


def test_the_papers_are_sorted_by_a_figure_that_they_print() -> None:
    """FineArtBench's headline is `aligned`, and Table 1 of the paper has `official` figures alone."""
    text = " ".join(tree(site_files(board())["index.html"]).text_content().split())
    card = text[text.index("Which of two stylised paintings") :]
    # Table 1: Gemini with ArtCoT has the highest artist-level Bradley–Terry ρ, 0.741, then GPT-4o, 0.721
    first, second = card.index("Gemini 1.5-flash ArtCoT 0.741"), card.index("GPT-4o ArtCoT 0.721")
    assert 0 < card.index("PapersArtist Bradley–Terry ρ, official") < first < second
