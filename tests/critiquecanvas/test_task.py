"""CritiqueCanvas: records, messages, scoring of one document, aggregation."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import nltk
import pytest
import yaml
from loguru import logger
from PIL import Image

from lmms_aes_tasks import sources
from lmms_aes_tasks.critiquecanvas import encoders as critique_embeddings
from lmms_aes_tasks.critiquecanvas import task as critiquecanvas
from lmms_aes_tasks.critiquecanvas.board import BENCHMARK
from lmms_aes_tasks.critiquecanvas.encoders import (
    EmbeddingCase,
    Encoders,
    clip_encoder,
    embed,
    encoders_in_environment,
    locate_encoder,
)
from lmms_aes_tasks.critiquecanvas.in_run import NOT_COMPUTED, aggregate
from lmms_aes_tasks.critiquecanvas.items import (
    EMBEDDING_METRICS,
    LEXICAL_METRICS,
    METRICS,
    CritiqueText,
    critique_text,
    item_of_record,
)
from lmms_aes_tasks.critiquecanvas.scoring import Scored, metric_score
from lmms_aes_tasks.critiquecanvas.task import (
    SCHEMA,
    count_cases,
    doc_to_messages,
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    lexical_or_style,
    normalise_critique,
    process_results,
)
from lmms_aes_tasks.records import SourceError, import_file, read_labels
from lmms_aes_tasks.utils.critique_style import STYLE_METRICS
from lmms_aes_tasks.utils.dimensions import triggers
from lmms_aes_tasks.utils.embeddings import EncoderError
from lmms_aes_tasks.utils.reply_facts import REPLY_METRICS
from lmms_aes_tasks.utils.vector_store import VectorStore
from lmms_aes_tasks.utils.visible_text import TEXT_VERSION
from tests.critique_texts import HARD
from tests.encoders import LAYERS, EncoderFolders

YAMLS = Path(critiquecanvas.__file__).parents[1] / "task_yamls/critiquecanvas"
HUMAN = {"from": "human", "value": "<image>\nJudge the light."}
GPT = {"from": "gpt", "value": "Soft light falls from the left."}


@pytest.fixture(autouse=True)
def own_nltk_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that are looked in first stay on NLTK's list: each test has a list of its own."""
    monkeypatch.setattr(nltk.data, "path", list(nltk.data.path))


def record(**changes: Any) -> dict[str, Any]:
    return {"id": "c1", "images": "a.png", "conversations": [HUMAN, GPT], "domain": "Photography"} | changes


def png(colour: str = "red", size: tuple[int, int] = (40, 20)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return buffer.getvalue()


def document(**changes: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "domain": "painting",
        "instruction": "Judge the {light}.",
        "reference": "Soft light falls from the left.",
        "source": "critiquecanvas_demo",
        "images": [{"bytes": png(), "path": "secret-title.png"}],
    } | changes


# -- records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "conversations",
    [
        [HUMAN, GPT],
        [{"role": "user", "content": "<image>\nJudge the light."}, {"role": "assistant", "content": GPT["value"]}],
        [{"role": "system", "content": "Be kind."}, HUMAN, GPT],
        [HUMAN, GPT, {"from": "human", "value": "More?"}, {"from": "gpt", "value": "No."}],
        [
            {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Judge the light."}]},
            {"role": "assistant", "content": [{"type": "text", "text": GPT["value"]}]},
        ],
        json.dumps([HUMAN, GPT]),
        [HUMAN | {"value": "Judge the light. <image>"}, GPT],
        [HUMAN | {"value": "<IMAGE> Judge the light."}, GPT],
    ],
)
def test_the_first_turns_are_instruction_and_reference(conversations: Any) -> None:
    row, problems = normalise_critique(record(conversations=conversations))
    assert problems == []
    assert row["instruction"] == "Judge the light."
    assert row["reference"] == "Soft light falls from the left."


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"conversations": [HUMAN]}, "no turn of gpt or assistant; the first one is the reference"),
        ({"conversations": [GPT]}, "no turn of human or user; the first one is the instruction"),
        (
            {"conversations": [GPT, HUMAN]},
            "the reference's turn stands before the instruction's; give the instruction first",
        ),
        ({"conversations": "[{"}, "conversations is a text that is no JSON; give a list of turns"),
        (
            {"conversations": [HUMAN, "Soft"]},
            "conversations is no list of turns; give [{from: human, value: …}, {from: gpt, value: …}]",
        ),
        ({"conversations": [HUMAN, GPT | {"value": "  "}]}, "empty reference; give it a text"),
        ({"conversations": [HUMAN | {"value": "<image>"}, GPT]}, "empty instruction; give it a text"),
        ({"id": " "}, "empty id; give it a text"),
        ({"images": ["a.png", "b.png"]}, "2 images; give one"),
        ({"images": None}, "0 images; give one"),
        (
            {"conversations": [HUMAN, GPT | {"value": "a" * 100_001}]},
            "reference has 100001 characters; 100000 are allowed",
        ),
    ],
)
def test_unsound_records_are_named(changes: dict[str, Any], problem: str) -> None:
    assert normalise_critique(record(**changes))[1] == [problem]


@pytest.mark.parametrize(
    ("given", "domain"),
    [
        ("Photography", "photography"),
        ("photo", "photography"),
        ("Virtual_Imagery", "virtual"),
        ("AIGC", "virtual"),
        ("paintings", "painting"),
        ("Sculpture", "sculpture"),
        (None, ""),
    ],
)
def test_domains(given: Any, domain: str) -> None:
    assert normalise_critique(record(domain=given))[0]["domain"] == domain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four records of two pictures."""
    source = tmp_path / "source"
    source.mkdir()
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        (source / name).write_bytes(png(colour))
    rows = [
        {
            "sample_id": f"c{number}",
            "image": "ab"[number % 2] + ".png",
            "conversations": [HUMAN, GPT | {"value": f"Soft light, number {number}."}],
            "domain": "painting" if number else "photo",
            "selected_dimensions": ["Lighting"],
        }
        for number in range(4)
    ]
    (source / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return source


def test_import(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "data/critiquecanvas/critiquecanvas.parquet"
    report = import_file(folder, target, SCHEMA)
    assert (report.records, report.images) == (4, 4)
    assert report.unused == ["selected_dimensions"]
    rows = read_labels(target, SCHEMA, ["id", "domain", "instruction", "reference"])
    assert [row["domain"] for row in rows] == ["photography", "painting", "painting", "painting"]
    assert rows[2] == {
        "id": "c2",
        "domain": "painting",
        "instruction": "Judge the light.",
        "reference": "Soft light, number 2.",
    }
    again = import_file(target, tmp_path / "again.parquet", SCHEMA)  # a canonical file is read like any other
    assert again.records == 4


def test_an_image_that_does_not_decode_is_named_with_every_other_problem(folder: Path, tmp_path: Path) -> None:
    (folder / "b.png").write_bytes(b"no picture")
    with pytest.raises(SourceError) as error:
        import_file(folder, tmp_path / "out.parquet", SCHEMA)
    assert str(error.value) == (
        f"{folder / 'rows.jsonl'}: 2 problem(s); nothing was written. Correct them:\n"
        "  - record 2 (id 'c1'): image 1 (b.png): not an image that can be read. Replace the file.\n"
        "  - record 4 (id 'c3'): image 1 (b.png): not an image that can be read. Replace the file."
    )
    assert not (tmp_path / "out.parquet").exists()


def test_counts() -> None:
    rows = [{"domain": domain, "image_sha256": [str(n % 2)]} for n, domain in enumerate(["painting", "virtual", "x"])]
    assert count_cases(rows) == {"critiques": 3, "photography": 0, "painting": 1, "virtual": 1, "images": 2}


# -- what a model gets ------------------------------------------------------------------------------------------------


def test_the_model_gets_image_and_instruction_and_nothing_else() -> None:
    doc = document()
    (message,) = doc_to_messages(doc)
    assert [part["type"] for part in message["content"]] == ["image", "text"]
    assert message["content"][1]["text"] == doc_to_text(doc) == "Judge the {light}."
    image = message["content"][0]["url"]
    assert (image.size, image.mode) == ((448, 448), "RGB")
    assert image.getpixel((224, 224)) == (255, 0, 0)
    assert image.getpixel((224, 10)) == (255, 255, 255)  # padded
    assert doc_to_target(doc) == "Soft light falls from the left."


def test_settings() -> None:
    kwargs = {"image_fit": "stretch", "image_size": 100, "pre_prompt": "Hi. ", "post_prompt": " Be brief."}
    assert doc_to_text(document(), kwargs) == "Hi. Judge the {light}. Be brief."
    (image,) = doc_to_visual(document(), kwargs)
    assert image.size == (100, 100)
    assert image.getpixel((50, 2)) == (255, 0, 0)
    with pytest.raises(ValueError, match="unknown setting prompt_file"):
        doc_to_text(document(), {"prompt_file": "x"})


# -- one document -----------------------------------------------------------------------------------------------------


def test_a_record_by_hand() -> None:
    """Response: 5 tokens, 4 of the reference's 7 in order; instruction names Lighting."""
    results = process_results(document(instruction="Judge the light."), ["Soft light falls left."])
    record = results["record"]
    assert list(results) == ["record", *METRICS, *REPLY_METRICS]
    assert record["id"] == "c1"
    assert record["domain"] == "painting"
    # 13a tokens: soft light falls left . / soft light falls from the left .
    assert record["bleu"] == [5, 7, 5, 3, 1, 0, 5, 4, 3, 2]
    assert record["rouge_l"] == pytest.approx(2 * 1 * (4 / 6) / (1 + 4 / 6), abs=1e-12)
    assert (record["words"], record["reference_words"]) == (4, 6)
    assert record["mentions"] == {"Lighting": 1}
    assert record["focus"] == ["Lighting"]
    assert record["empty"] is False
    assert record["truncated"] is False
    json.dumps(record, allow_nan=False)
    assert str(results["bleu"]) == str(results["clip_cos"]) == "c1"
    assert item_of_record(json.loads(json.dumps(record))) == results["bleu"]
    assert isinstance(results["bert_f1"], CritiqueText)
    assert "Soft light falls left." not in repr(results["bleu"])


@pytest.mark.parametrize(
    "response",
    ["", "  \n", "<think>soft light", "\ud800", "word " * 20_000, *HARD],
    ids=lambda text: ascii(text[:12]),
)
def test_every_text_has_a_record(response: str) -> None:
    results = process_results(document(), [response])
    record = results["record"]
    assert list(results) == ["record", *METRICS, *REPLY_METRICS]
    json.dumps(results["record"], allow_nan=False).encode()
    assert 0 <= record["rouge_l"] <= 1
    assert 0 <= record["meteor"] <= 1
    if not critique_text(response):
        assert record["empty"] is True
        assert (record["rouge_l"], record["meteor"], record["words"]) == (0, 0, 0)
        values = {name: lexical_or_style([results["bleu"]], name) for name in (*LEXICAL_METRICS, *STYLE_METRICS)}
        assert (values["bleu"], values["rouge_l"], values["meteor"], values["empty_rate"]) == (0, 0, 0, 1)


@pytest.mark.parametrize("results", [[], [None], [["a list"]]])
def test_a_missing_response_is_an_empty_one(results: list[Any]) -> None:
    assert process_results(document(), results)["record"]["empty"] is True


def test_reasoning_is_not_scored() -> None:
    plain = process_results(document(), ["Soft light falls left."])
    thought = process_results(document(), ["<think>The mood? The color?</think>\nSoft light falls left."])
    assert thought["record"] == plain["record"] | {"reasoning": True}
    assert thought["clip_cos"].text == "Soft light falls left."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"meteor": float("nan")}, "rouge_l and meteor are .*: give numbers from 0 to 1"),
        ({"rouge_l": True}, "rouge_l and meteor are"),
        ({"words": -1}, "word and trigger counts are"),
        ({"mentions": {"Taste": 1}}, "unknown dimension Taste: use Content"),
        ({"mentions": {"Color": 1.5}}, "word and trigger counts are"),
        ({"empty": 0}, "empty, truncated and other_script are"),
        ({"bleu": [1]}, "BLEU statistics are"),
        ({"id": 3}, "id is 3 and domain 'painting': give texts"),
    ],
)
def test_damaged_records_are_refused(change: dict[str, Any], message: str) -> None:
    record = process_results(document(), ["Soft light."])["record"] | change
    with pytest.raises(ValueError, match=message):
        item_of_record(record)
    del record["bleu"]
    with pytest.raises(ValueError, match="a record of critiquecanvas lacks"):
        item_of_record(record)


# -- aggregation ------------------------------------------------------------------------------------------------------


def test_the_yaml_names_every_metric_once() -> None:
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: node.value)
    content = yaml.load((YAMLS / "critiquecanvas.yaml").read_text("utf-8"), Loader)
    listed = {item["metric"]: item["aggregation"] for item in content["metric_list"]}
    assert list(listed) == [*METRICS, *REPLY_METRICS]
    assert listed == {name: f"lmms_aes_tasks.critiquecanvas.aggregate_{name}" for name in listed}
    assert content["metadata"]["parser"] == f"{triggers().version}+text{TEXT_VERSION}" == BENCHMARK.parser
    items = [process_results(document(id=f"c{n}"), ["Soft light falls."])["bleu"] for n in range(3)]
    scored = Scored(tuple(items))
    for name in METRICS:
        if name not in EMBEDDING_METRICS:
            function = getattr(critiquecanvas, f"aggregate_{name}")
            assert (
                function(items) == function(items[::-1]) == pytest.approx(metric_score(scored, name).value, abs=1e-12)
            )


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> Any:
    import datasets

    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    import_file(folder, tmp_path / "data/critiquecanvas/critiquecanvas.parquet", SCHEMA)
    yield datasets.Dataset.from_list(json.loads((YAMLS / "card.json").read_text("utf-8")))


def test_documents_know_their_source_and_domain(cards: Any) -> None:
    found = critiquecanvas.documents(cards)
    assert found["source"][:] == ["critiquecanvas"] * 4
    assert critiquecanvas.painting_documents(cards)["id"][:] == ["c1", "c2", "c3"]
    assert critiquecanvas.photography_documents(cards)["id"][:] == ["c0"]
    with pytest.raises(SystemExit) as error:
        critiquecanvas.virtual_documents(cards)
    assert str(error.value) == (
        "\nlmms-aes-tasks: CritiqueCanvas (AesCanvas): no record of the domain virtual (domains there: painting, "
        "photography). Run critiquecanvas."
    )


def test_without_wordnet_a_run_is_not_begun(cards: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "none")])
    with pytest.raises(SystemExit, match="lmms-aes-tasks: METEOR needs the corpus wordnet of NLTK"):
        critiquecanvas.documents(cards)


@pytest.fixture
def log() -> Any:
    lines: list[str] = []
    handle = logger.add(lambda message: lines.append(message.record["message"]), level="INFO")
    yield lines
    logger.remove(handle)


TEXTS = [CritiqueText(f"c{n}", "critiquecanvas", f"Light number {n}.", f"Soft light, number {n}.") for n in range(4)]


def test_a_run_computes_embeddings_with_images_reopened_by_id(
    cards: Any, encoder_folders: EncoderFolders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: list[str]
) -> None:
    for name, value in encoder_folders.environment.items():
        monkeypatch.setenv(name, value)
    pictures = [png("red"), png("blue")]
    cases = [
        EmbeddingCase(f"c{n}", f"Light number {n}.", f"Soft light, number {n}.", (lambda n=n: pictures[n % 2]))
        for n in range(4)
    ]
    for metric in EMBEDDING_METRICS:
        values = embed(metric, cases, encoders_in_environment(), VectorStore(tmp_path / "other.sqlite")).values
        assert aggregate(TEXTS, metric) == pytest.approx(values.mean(), abs=1e-6)
        assert len(set(values)) > 1
    assert sum("over 4 of 4 by local@" in line for line in log) == 3


def test_switched_off_it_says_not_computed(cards: Any, monkeypatch: pytest.MonkeyPatch, log: list[str]) -> None:
    monkeypatch.setenv("LMMS_AES_EMBEDDINGS", "off")
    for metric in EMBEDDING_METRICS:
        assert getattr(critiquecanvas, f"aggregate_{metric}")(TEXTS) == NOT_COMPUTED == "not computed"
    assert log[0] == (
        "critiquecanvas: bert_f1 is not computed ($LMMS_AES_EMBEDDINGS=off). Score the samples file later with "
        "`lmms-aes score critiquecanvas FILE`, wherever the encoders are."
    )


def test_a_missing_encoder_loses_no_run(cards: Any, log: list[str]) -> None:
    """The tests' environment has no network: the paper's encoders cannot be had."""
    assert aggregate(TEXTS, "sbert_cos") == NOT_COMPUTED
    assert "sbert_cos is not computed (EncoderError: sentence-transformers/all-mpnet-base-v2: no such folder" in log[0]


def test_the_switch_takes_on_and_off(monkeypatch: pytest.MonkeyPatch, log: list[str]) -> None:
    monkeypatch.setenv("LMMS_AES_EMBEDDINGS", "maybe")
    with pytest.raises(EncoderError, match=r"^\$LMMS_AES_EMBEDDINGS is 'maybe': use on or off$"):
        critique_embeddings.wanted_in_runs()


# -- encoders ---------------------------------------------------------------------------------------------------------


def test_the_papers_encoders_unless_the_environment_names_others() -> None:
    assert encoders_in_environment({}) == Encoders(
        bert="microsoft/deberta-base-mnli",
        bert_layers=None,
        sbert="sentence-transformers/all-mpnet-base-v2",
        clip="timm/vit_base_patch32_clip_224.openai",
    )
    given = {"LMMS_AES_BERT": " /m/bert ", "LMMS_AES_BERT_LAYERS": "7", "LMMS_AES_SBERT": ""}
    assert encoders_in_environment(given) == Encoders(bert="/m/bert", bert_layers=7)
    with pytest.raises(EncoderError, match=r"\$LMMS_AES_BERT_LAYERS is '2.5': give a layer, 1 or more"):
        encoders_in_environment({"LMMS_AES_BERT_LAYERS": "2.5"})


def test_bert_scores_own_layer_for_the_papers_model() -> None:
    assert critique_embeddings._layers("microsoft/deberta-base-mnli@main", None) == 9
    with pytest.raises(EncoderError, match="bert-score names no layer for this model"):
        critique_embeddings._layers("somebody/model", None)
    assert critique_embeddings._layers("somebody/model", LAYERS) == LAYERS


def test_a_folders_identity_is_its_content(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/config.json").write_text("{}", "utf-8")
    _, first = locate_encoder(str(tmp_path / "one"))
    (tmp_path / "one").rename(tmp_path / "two")
    _, moved = locate_encoder(str(tmp_path / "two"))
    (tmp_path / "two/config.json").write_text("{ }", "utf-8")
    _, changed = locate_encoder(str(tmp_path / "two"))
    assert first == moved != changed
    assert first.startswith("local@")
    assert str(tmp_path) not in first


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", "utf-8")
    for metric in EMBEDDING_METRICS:
        case = EmbeddingCase("a", "text", "reference", png)
        encoders = Encoders(str(tmp_path), 1, str(tmp_path), str(tmp_path))
        with pytest.raises(EncoderError, match=r"cannot be loaded .* Is it a model of the right kind"):
            embed(metric, [case], encoders, VectorStore(tmp_path / "s.sqlite"))


@pytest.mark.parametrize(
    "config",
    [
        [],
        {},
        {"model_cfg": []},
        {"model_cfg": {"embed_dim": 4, "vision_cfg": {"taste": 1}, "text_cfg": {}}},
        {"model_cfg": {"embed_dim": "wide", "vision_cfg": {}, "text_cfg": {}}},
        {"model_cfg": {"embed_dim": 4, "vision_cfg": None, "text_cfg": 3}},
        {"model_cfg": {"embed_dim": 4, "vision_cfg": {"timm_model_name": "no_such_model"}, "text_cfg": {}}},
    ],
)
def test_a_wrong_configuration_of_clip_is_said(config: Any, tmp_path: Path) -> None:
    """open_clip answers these with KeyError, TypeError, AttributeError and more."""
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(EncoderError, match=r"cannot be loaded .* Is it a model of the right kind"):
        clip_encoder(str(tmp_path), "cpu")


def test_images_that_cannot_be_read_leave_the_others_standing(encoder_folders: EncoderFolders, tmp_path: Path) -> None:
    encoders = Encoders(clip=str(encoder_folders.clip))
    cases = [
        EmbeddingCase("a", "text", "reference", png),
        EmbeddingCase("b", "text", "reference", lambda: b"no picture"),
        EmbeddingCase("c", "text", "reference", None),
    ]
    found = embed("clip_cos", cases, encoders, VectorStore(tmp_path / "s.sqlite"))
    assert found.values[0] == found.values[0]
    assert [value != value for value in found.values] == [False, True, True]
    assert found.problems == (
        "b: not an image that can be read. Replace the file.",
        "c: its image is not at hand",
    )
    with pytest.raises(EncoderError, match=r"none could be read \(c: its image is not at hand\). Give the data"):
        embed("clip_cos", cases[2:], encoders, VectorStore(tmp_path / "s.sqlite"))


# -- demo -------------------------------------------------------------------------------------------------------------


def test_the_demo_set() -> None:
    found = sources.load(sources.read_card("critiquecanvas_demo"))
    assert len(found) == 27
    assert sorted(found["domain"]) == ["painting"] * 9 + ["photography"] * 9 + ["virtual"] * 9
    assert all(90 <= len(reference.split()) <= 160 for reference in found["reference"])
    assert not any("<image>" in instruction for instruction in found["instruction"])
    expected = sources.read_card("critiquecanvas_demo").expected
    digests = [[str(hash(cell["bytes"])) for cell in cells] for cells in found["images"]]
    rows = [{"domain": own, "image_sha256": digest} for own, digest in zip(found["domain"], digests, strict=True)]
    assert count_cases(rows) == expected


@pytest.mark.parametrize(
    "response",
    [
        "Warm light falls on the roofs.",
        "◁think▷First the brushwork, the symbolism and the mood.◁/think▷Warm light falls on the roofs.",
        "[THINK]First the brushwork.[/THINK]\nWarm light falls on the roofs.",
        "<|channel|>analysis<|message|>First the mood.<|end|><|start|>assistant<|channel|>final<|message|>"
        "Warm light falls on the roofs.<|return|>",
        "Warm light falls on the roofs.<|im_end|>",
        "<|begin_of_box|>Warm light falls on the roofs.<|end_of_box|>",
        "<think>Brushwork?</think><answer>Warm light falls on the roofs.</answer></s>",
    ],
)
def test_a_critique_is_scored_as_its_reader_sees_it(response: str) -> None:
    """Six words, and a sentence mark at the end, whatever stands around them."""
    record = process_results(document(), [response])["record"]
    plain = process_results(document(), ["Warm light falls on the roofs."])["record"]
    assert record == plain | {"reasoning": "First" in response or "Brushwork" in response}
    assert (record["words"], record["truncated"], record["empty"]) == (6, False, False)
