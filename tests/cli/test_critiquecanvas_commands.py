"""`score critiquecanvas` and `data fetch`, in process."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nltk
import numpy as np
import pytest
from PIL import Image
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from lmms_aes_tasks import sources
from lmms_aes_tasks.critiquecanvas import scoring as critique_scoring
from lmms_aes_tasks.critiquecanvas.items import EMBEDDING_METRICS, METRICS
from lmms_aes_tasks.critiquecanvas.scoring import read_cases, score_critiques, score_model
from lmms_aes_tasks.critiquecanvas.task import SCHEMA, process_results
from lmms_aes_tasks.records import import_file
from lmms_aes_tasks.utils.critique_style import STYLE_METRICS
from tests.cli.conftest import call
from tests.critique_texts import generated_pairs
from tests.encoders import EncoderFolders

N = 12
PAIRS = generated_pairs(N, seed=4, sentences_each=(1, 2))


@pytest.fixture(autouse=True)
def own_nltk_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that are looked in first stay on NLTK's list: each test has a list of its own."""
    monkeypatch.setattr(nltk.data, "path", list(nltk.data.path))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve records of four pictures and three domains, as they came."""
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "raw"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (40 + number, 30), (60 * number, 100, 200)).save(folder / f"{number}.png")
    rows = []
    for number, (_, reference) in enumerate(PAIRS):
        asked = "Judge the composition." if number % 3 else "Critique this."
        turns = [{"from": "human", "value": f"<image>\n{asked}"}, {"from": "gpt", "value": reference}]
        domain = ("photography", "painting", "virtual")[number % 3]
        rows.append({"id": f"c{number:02d}", "image": f"{number % 4}.png", "conversations": turns, "domain": domain})
    (folder / "rows.json").write_text(json.dumps(rows), "utf-8")
    return folder


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    rows = [{"id": f"c{number:02d}", "response": text} for number, (text, _) in enumerate(PAIRS)]
    return write(tmp_path / "mine.jsonl", rows[::-1])


@pytest.fixture
def encoders(encoder_folders: EncoderFolders, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import torch

    for name, value in encoder_folders.environment.items():
        monkeypatch.setenv(name, value)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def scored(*arguments: Any) -> dict[str, Any]:
    result = call("score", "critiquecanvas", *arguments, "--json", "--resamples", "200")
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def test_scores_are_the_libraries_and_the_harness_s(data: Path, predictions: Path) -> None:
    content = scored(predictions, "--data", data, "--metrics", "lexical,style")
    texts, references = zip(*PAIRS, strict=True)
    rouge = RougeScorer(["rougeL"], use_stemmer=True)
    bleu = BLEU(effective_order=True).corpus_score(list(texts), [list(references)]).score / 100
    assert content["metrics"]["bleu"]["value"] == pytest.approx(bleu, abs=1e-9)
    plain = [rouge.score(reference, text)["rougeL"].fmeasure for text, reference in PAIRS]
    assert content["metrics"]["rouge_l"]["value"] == pytest.approx(sum(plain) / N, abs=1e-9)
    assert list(content["metrics"]) == [name for name in METRICS if name not in EMBEDDING_METRICS]
    for name, score in content["metrics"].items():
        assert score["n"] == (8 if name == "prompt_align" else N)
        assert score["low"] <= score["value"] <= score["high"], name
    assert {part["n"] for part in content["by_domain"].values()} == {4}
    mean = sum(part["metrics"]["rouge_l"]["value"] for part in content["by_domain"].values()) / 3
    assert mean == pytest.approx(content["metrics"]["rouge_l"]["value"], abs=1e-12)
    assert (content["n_focused"], content["n_generic"]) == (8, 4)
    assert content["not_computed"] == {}
    assert content["wordnet"] == "3.0"
    assert content["references_from"] == "the data"


def test_every_metric_and_every_item(data: Path, predictions: Path, encoders: None, tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    content = scored(predictions, "--data", data, "--per-item", items)
    assert list(content["metrics"]) == list(METRICS)
    rows = [json.loads(line) for line in items.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == [f"c{number:02d}" for number in range(N)]
    for name in ("rouge_l", "meteor", *EMBEDDING_METRICS):
        mean = math.fsum(row[name] for row in rows) / N
        assert content["metrics"][name]["value"] == pytest.approx(mean, abs=1e-12)
    assert content["metrics"]["avg_length"]["value"] == sum(row["words"] for row in rows) / N
    assert set(content["encoders"]) == set(EMBEDDING_METRICS)
    canonical = tmp_path / "imported.parquet"
    import_file(data, canonical, SCHEMA)
    assert scored(predictions, "--data", canonical) == content  # images out of the Parquet file


def test_an_image_that_does_not_decode_is_named_and_the_rest_stands(
    data: Path, predictions: Path, encoders: None
) -> None:
    (data / "3.png").write_bytes(b"no picture")
    content = scored(predictions, "--data", data, "--metrics", "clip_cos,rouge_l")
    assert content["metrics"]["clip_cos"]["n"] == 9
    assert content["metrics"]["rouge_l"]["n"] == N
    assert content["problems"] == ["c03: not an image that can be read. Replace the file."] * 3
    table = call("score", "critiquecanvas", predictions, "--data", data, "--metrics", "clip_cos", "--resamples", "100")
    assert "left out of clip_cos: c03: not an image that can be read. Replace the file." in table.output


def test_encoders_that_cannot_be_had_are_said_and_the_rest_stands(data: Path, predictions: Path) -> None:
    content = scored(predictions, "--data", data, "--metrics", "rouge_l,embedding")
    assert set(content["not_computed"]) == set(EMBEDDING_METRICS)
    assert list(content["metrics"]) == ["rouge_l"]
    table = call("score", "critiquecanvas", predictions, "--data", data, "--resamples", "100")
    assert table.output.count("not computed") == 6  # three rows, three reasons
    assert "bert_f1 is not computed: microsoft/deberta-base-mnli: no such folder" in table.output


def test_a_samples_file_brings_its_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    rows = []
    for number, (text, reference) in enumerate(PAIRS):
        doc = {
            "id": f"s{number}",
            "domain": "",
            "instruction": "Judge the mood.",
            "reference": reference,
            "source": "x",
        }
        record = process_results(doc, [text])["record"]
        shown = {"input": doc["instruction"], "target": reference, "filtered_resps": [text], "record": record}
        rows.append(shown)
    samples = write(tmp_path / "samples.jsonl", rows)
    content = scored(samples, "--metrics", "lexical,style")
    assert content["references_from"] == "the samples file"
    assert content["by_domain"] == {}
    plain = BLEU(effective_order=True).corpus_score([text for text, _ in PAIRS], [[r for _, r in PAIRS]]).score / 100
    assert content["metrics"]["bleu"]["value"] == pytest.approx(plain, abs=1e-9)
    assert content["metrics"]["prompt_align"]["n"] == N


@pytest.mark.parametrize(
    ("instruction", "focused"), [("Describe this picture.", 0), ("Judge the mood.", 1)], ids=["generic", "focused"]
)
def test_the_instruction_counts_and_not_the_text_around_it(
    instruction: str, focused: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with `pre_prompt` logs more than the record's instruction; offline values are the harness's."""
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    doc = {"id": "c0", "domain": "", "instruction": instruction, "reference": "Soft light.", "source": "x"}
    record = process_results(doc, ["Hard light."])["record"]
    row = {"target": "Soft light.", "filtered_resps": ["Hard light."], "record": record}
    samples = write(tmp_path / "samples.jsonl", [row | {"input": f"Mind the lighting. {instruction}"}])
    content = scored(samples, "--metrics", "style")
    assert (content["n_focused"], content["n_generic"]) == (focused, 1 - focused)
    assert content["metrics"]["prompt_align"]["value"] == (0.0 if focused else None)  # it speaks of no mood


@pytest.mark.parametrize("focus", [None, "Color", ["Taste"]])
def test_a_focus_that_is_none_is_named(focus: Any, tmp_path: Path, error_of: Callable[..., str]) -> None:
    doc = {"id": "c0", "domain": "", "instruction": "a", "reference": "Soft light.", "source": "x"}
    record = process_results(doc, ["Hard light."])["record"] | {"focus": focus}
    row = {"input": "a", "target": "Soft light.", "filtered_resps": ["Hard light."], "record": record}
    shown = error_of("score", "critiquecanvas", write(tmp_path / "samples.jsonl", [row]))
    assert f"the record of c0: focus is {focus!r}: give a list of Content, Composition" in shown


def test_critiques_that_the_metrics_cannot_read_are_said(data: Path, tmp_path: Path) -> None:
    texts = ["🎨", "光线柔和。", *(text for text, _ in PAIRS[2:])]
    rows = [{"id": f"c{number:02d}", "response": text} for number, text in enumerate(texts)]
    predictions = write(tmp_path / "p.jsonl", rows)
    content = scored(predictions, "--data", data, "--metrics", "rouge_l,style")
    assert content["metrics"]["wordless_rate"]["value"] == pytest.approx(1 / N)
    assert [text[:4] for text in content["unread"]] == ["1 of", "1 of"]
    table = call("score", "critiquecanvas", predictions, "--data", data, "--metrics", "style", "--resamples", 100)
    assert f"warning: 1 of {N} critiques have text and no word in it" in table.output


def test_two_models_in_pairs(data: Path, predictions: Path, tmp_path: Path) -> None:
    other = write(
        tmp_path / "other.jsonl", [{"id": f"c{n:02d}", "response": PAIRS[n][1]} for n in range(N)]
    )  # the references themselves
    content = scored(predictions, "--data", data, "--compare", other, "--metrics", "lexical,style")
    differences = content["differences"]
    for name in ("bleu", "rouge_l", "avg_length", "density"):
        gap = content["second"]["metrics"][name]["value"] - content["metrics"][name]["value"]
        assert differences[name]["value"] == pytest.approx(gap, abs=1e-12)
        assert differences[name]["low"] <= differences[name]["value"] <= differences[name]["high"]
    assert content["difference"] == "second minus first"
    assert (differences["rouge_l"]["better"], differences["rouge_l"]["worse"]) == (N, 0)
    assert differences["bleu"]["better"] is None
    same = scored(predictions, "--data", data, "--compare", predictions, "--metrics", "rouge_l")["differences"][
        "rouge_l"
    ]
    assert (same["value"], same["low"], same["high"], same["better"], same["worse"]) == (0, 0, 0, 0, 0)
    table = call("score", "critiquecanvas", predictions, "--data", data, "--compare", other, "--metrics", "rouge_l")
    assert "second minus first: other.jsonl minus mine.jsonl" in table.output


def test_it_draws(data: Path, predictions: Path, tmp_path: Path) -> None:
    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        path = tmp_path / f"plot{suffix}"
        scored(predictions, "--data", data, "--metrics", "lexical", "--plot", path, "--compare", predictions)
        assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "c00", "response": "a"}], "11 missing: c01, c02"),
        (
            [{"id": f"c{n:02d}", "response": "a"} for n in range(N)] + [{"id": "c00", "response": "b"}],
            "1 repeated: c00",
        ),
        ([{"id": f"c{n:02d}", "response": "a"} for n in range(N + 1)], "1 not in the data: c12"),
    ],
)
def test_ids_that_do_not_match(
    rows: list[dict[str, Any]], message: str, data: Path, tmp_path: Path, error_of: Callable[..., str]
) -> None:
    shown = error_of("score", "critiquecanvas", write(tmp_path / "p.jsonl", rows), "--data", data)
    assert "ids do not match. Answer each case once." in shown
    assert message in shown


def test_an_incomplete_file_on_request(data: Path, tmp_path: Path) -> None:
    part = write(tmp_path / "p.jsonl", [{"id": "c00", "response": "Soft light."}, {"id": "c05", "response": None}])
    content = scored(part, "--data", data, "--metrics", "lexical,style", "--allow-incomplete")
    assert content["n"] == 2
    assert content["metrics"]["empty_rate"]["value"] == 0.5


def test_bad_use(data: Path, predictions: Path, error_of: Callable[..., str], tmp_path: Path) -> None:
    shown = error_of("score", "critiquecanvas", predictions)
    assert "c11 brings no reference and instruction. Give --data, set $LMMS_AES_DATA" in shown
    result = call("score", "critiquecanvas", predictions, "--data", data, "--metrics", "bleu,taste")
    assert result.exit_code == 2
    assert "'taste': use all, lexical, embedding, style" in result.stderr
    shown = error_of("score", "critiquecanvas", predictions, "--data", data, "--plot", tmp_path / "x.gif")
    assert "use a name that ends in .png, .svg, .pdf" in shown


def test_references_that_differ_from_the_data_are_named(
    data: Path, tmp_path: Path, error_of: Callable[..., str]
) -> None:
    rows = []
    for number, (text, reference) in enumerate(PAIRS):
        doc = {"id": f"c{number:02d}", "domain": "", "instruction": "a", "reference": reference, "source": "x"}
        record = process_results(doc, [text])["record"]
        target = "Another reference." if number == 5 else reference
        rows.append({"input": "a", "target": target, "filtered_resps": [text], "record": record})
    shown = error_of("score", "critiquecanvas", write(tmp_path / "s.jsonl", rows), "--data", data)
    assert "references differ from the data in 1 case(s):\n  - c05: the samples' reference begins 'Another ref" in shown


def test_processes_give_the_same_values(data: Path) -> None:
    cases = read_cases(data / "rows.json")
    answered = [(case, text) for case, (text, _) in zip(cases.values(), PAIRS, strict=True)] * 9
    assert len(answered) > 2 * critique_scoring._CHUNK
    assert score_critiques(answered, processes=2) == score_critiques(answered, processes=1)


def test_intervals_hold_the_plain_bootstrap(data: Path) -> None:
    """The same percentile interval by resampling here, for a mean and for corpus BLEU."""
    cases = read_cases(data / "rows.json")
    answered = [(case, text) for case, (text, _) in zip(cases.values(), PAIRS, strict=True)]
    found = score_model(answered, ("bleu", "rouge_l"))
    draw = np.random.default_rng(5)
    texts, references = zip(*PAIRS, strict=True)
    values = []
    for _ in range(400):
        chosen = draw.integers(0, N, N)
        corpus = BLEU(effective_order=True).corpus_score([texts[i] for i in chosen], [[references[i] for i in chosen]])
        values.append(corpus.score / 100)
    interval = critique_scoring.metric_score(found, "bleu", resamples=4000).interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.05)


def test_style_metrics_of_nothing_are_null(data: Path) -> None:
    cases = list(read_cases(data / "rows.json").values())[:2]
    found = score_model([(case, "") for case in cases], ("density",))
    assert critique_scoring.metric_score(found, "density", resamples=100).value is None
    assert all(critique_scoring.metric_score(found, name).n == 2 for name in STYLE_METRICS if name != "prompt_align")


# -- data fetch -------------------------------------------------------------------------------------------------------


def test_fetch_finds_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    result = call("data", "fetch", "wordnet")
    assert result.exit_code == 0
    assert result.stdout.startswith("WordNet 3.0: ")


def test_fetch_from_a_folder(tmp_path: Path, error_of: Callable[..., str]) -> None:
    from lmms_aes_tasks.utils.wordnet import find_wordnet

    there = str(find_wordnet())
    result = call("data", "fetch", "wordnet", "--from", there, "--to", tmp_path / "made")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "made/corpora/wordnet/lexnames").is_file()
    shown = error_of("data", "fetch", "wordnet", "--from", tmp_path / "made", "--to", tmp_path / "other")
    assert "of WordNet's database. On Debian: apt-get install wordnet-base wordnet-sense-index." in shown
    assert "nothing to fetch under the name 'frames': use wordnet" in error_of("data", "fetch", "frames")


def test_the_data_commands_know_critiquecanvas(data: Path, tmp_path: Path) -> None:
    result = call("data", "import", "critiquecanvas", data, "--to", tmp_path / "to")
    assert result.exit_code == 0, result.output
    checked = call("data", "check", "critiquecanvas", "--data", tmp_path / "to/critiquecanvas.parquet", "--json")
    assert json.loads(checked.stdout)["counts"] == {
        "critiques": N,
        "photography": 4,
        "painting": 4,
        "virtual": 4,
        "images": 4,
    }
    assert sources.read_card("critiquecanvas").expected["critiques"] == 6000
