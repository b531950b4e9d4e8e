"""ContextCanvas: records, prompt, messages, scoring of one document."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from lmms_aes_tasks.contextcanvas import task as contextcanvas
from lmms_aes_tasks.contextcanvas.task import (
    PROMPT_ID,
    Settings,
    count_cases,
    doc_to_messages,
    doc_to_text,
    doc_to_visual,
    normalise_case,
    process_results,
    prompt_name,
    prompt_of,
)
from lmms_aes_tasks.settings import read_settings
from lmms_aes_tasks.utils.answers import PARSER_VERSION
from lmms_aes_tasks.utils.reply_facts import REPLY_METRICS
from lmms_aes_tasks.utils.suitability import SUITABILITY_METRICS, Decision

YAML = Path(contextcanvas.__file__).parents[1] / "task_yamls/contextcanvas/contextcanvas.yaml"
RED, BLUE = (255, 0, 0), (0, 0, 255)


def png(colour: tuple[int, int, int], size: tuple[int, int] = (40, 20)) -> dict[str, Any]:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": "secret-title.png"}


def document(*colours: tuple[int, int, int]) -> dict[str, Any]:
    return {
        "id": "HB001",
        "case_id": "orig-7",
        "question": "Does it suit a {wedding}?",
        "options": [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}],
        "gold": "B",
        "gold_text": "No",
        "rationale": "RATIONALE",
        "source_basis": "BASIS",
        "provenance": "PROVENANCE",
        "image_descriptors": ["DESCRIPTOR"],
        "n_images": len(colours),
        "images": [png(colour) for colour in colours],
    }


def test_the_prompt_holds_question_and_options_and_nothing_else_of_the_record() -> None:
    text = doc_to_text(document(RED))
    assert "Question: Does it suit a {wedding}?\n\nOptions:\nA. Yes\nB. No\n" in text
    for hidden in ("HB001", "orig-7", "RATIONALE", "BASIS", "PROVENANCE", "DESCRIPTOR", "secret-title", "gold"):
        assert hidden not in text


def test_one_image_is_one_part_before_the_text() -> None:
    doc = document(RED)
    (message,) = doc_to_messages(doc)
    assert message["role"] == "user"
    assert [part["type"] for part in message["content"]] == ["image", "text"]
    assert message["content"][1]["text"] == doc_to_text(doc)
    image = message["content"][0]["url"]
    assert (image.size, image.mode) == ((448, 448), "RGB")
    assert image.getpixel((224, 224)) == RED


def test_of_two_images_each_stands_after_its_name() -> None:
    (message,) = doc_to_messages(document(RED, BLUE))
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "image", "text", "image", "text"]
    assert [message["content"][i]["text"] for i in (0, 2)] == ["Image 1:", "Image 2:"]
    assert [message["content"][i]["url"].getpixel((224, 224)) for i in (1, 3)] == [RED, BLUE]
    assert message["content"][4]["text"].startswith("2 images are supplied, in this order: Image 1, Image 2.\n\n")


def test_the_contact_sheet_is_one_image() -> None:
    kwargs = {"contact_sheet": True}
    (image,) = doc_to_visual(document(RED, BLUE), kwargs)
    assert image.size == (448, 448)
    row = np.asarray(image)[230]
    assert tuple(row[50]) == RED
    assert tuple(row[400]) == BLUE
    assert doc_to_text(document(RED, BLUE), kwargs).startswith(
        "The supplied image is a contact sheet; from left to right it shows Image 1, Image 2.\n\n"
    )
    assert doc_to_text(document(RED), kwargs) == doc_to_text(document(RED))  # a single image is never a sheet


@pytest.mark.parametrize("colours", [(RED,), (RED, BLUE)])
def test_a_document_without_its_images_has_the_same_text(colours: tuple[tuple[int, int, int], ...]) -> None:
    doc = document(*colours)
    del doc["images"]  # as the harness builds the contexts that it logs and gives to simple models
    assert doc_to_text(doc) == doc_to_text(document(*colours))


def test_settings_come_from_the_models_block_or_the_default_block() -> None:
    assert read_settings(Settings, None) == Settings()
    assert read_settings(Settings, {"image_fit": "stretch"}).image_size == 448
    merged = {"default": {"image_fit": "none"}, "qwen3_vl": {"image_size": 9}, "image_fit": "none"}
    assert read_settings(Settings, merged) == Settings(image_fit="none")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        (
            {"image_fitt": "pad"},
            "unknown setting image_fitt in lmms_eval_specific_kwargs: use image_fit, image_size, icc, "
            "contact_sheet, prompt_file, pre_prompt, post_prompt",
        ),
        ({"contact_sheet": "yes"}, "contact_sheet is 'yes': use true or false"),
        ({"prompt_file": 3}, "prompt_file is 3: use a text"),
        ({"pre_prompt": None}, "pre_prompt is None: use a text"),
    ],
)
def test_settings_errors(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        read_settings(Settings, kwargs)
    assert str(error.value) == message


def test_a_users_prompt_file(tmp_path: Path) -> None:
    path = tmp_path / "theirs.txt"
    path.write_text("<<{options}>> {question}")
    kwargs = {"prompt_file": str(path), "pre_prompt": "before ", "post_prompt": " after"}
    assert doc_to_text(document(RED), kwargs) == "before <<A. Yes\nB. No>> Does it suit a {wedding}? after"
    prompt = prompt_of(Settings(prompt_file=str(path)))
    assert prompt.id == "file:theirs.txt"
    assert prompt.sha256 != prompt_of(Settings()).sha256


def test_a_samples_text_tells_its_prompt(tmp_path: Path) -> None:
    ours = f"contextcanvas-1 sha256:{prompt_of(Settings()).sha256}"
    for doc, kwargs in (
        (document(RED), {}),
        (document(RED, BLUE), {}),
        (document(RED, BLUE), {"contact_sheet": True}),
    ):
        assert prompt_name(doc_to_text(doc, kwargs)) == ours
    (tmp_path / "theirs.txt").write_text("{question} {options}")
    for kwargs in ({"prompt_file": str(tmp_path / "theirs.txt")}, {"pre_prompt": "Hm. "}, {"post_prompt": " Go."}):
        assert prompt_name(doc_to_text(document(RED), kwargs)) == "other"


def test_a_reason_can_always_be_written() -> None:
    found = process_results(document(RED), ['{"answer": "A", "reason": "lovely \\ud83d"}'])
    assert json.dumps(found["record"], ensure_ascii=False).encode("utf-8")
    assert found["record"]["reason"] == "lovely ?"


def test_the_yaml_names_what_the_code_has() -> None:
    text = re.sub(r"!function \S+", "null", YAML.read_text("utf-8"))
    config = yaml.safe_load(text)
    assert [item["metric"] for item in config["metric_list"]] == [*SUITABILITY_METRICS, *REPLY_METRICS]
    assert read_settings(Settings, config["lmms_eval_specific_kwargs"]["default"]) == Settings()
    assert config["metadata"]["default_prompt"] == PROMPT_ID == prompt_of(Settings()).id
    assert config["metadata"]["parser"] == PARSER_VERSION
    assert config["generation_kwargs"]["until"] == []
    names = re.findall(r"!function (\S+)", YAML.read_text("utf-8"))
    assert {name.rsplit(".", 1)[1] for name in names if ".aggregate_" in name} == {
        f"aggregate_{name}" for name in (*SUITABILITY_METRICS, *REPLY_METRICS)
    }


def test_process_results_gives_the_record_and_the_same_keys_always() -> None:
    doc = document(RED)
    before = json.dumps({key: value for key, value in doc.items() if key != "images"})
    right = process_results(doc, ['{"answer": "B", "reason": "veil", "confidence": "low"}'])
    assert right["record"] == {
        "id": "HB001",
        "answer": "B",
        "gold": "B",
        "rule": "json",
        "confidence": "low",
        "reason": "veil",
        "options": [["A", "Yes"], ["B", "No"]],
        "failed": False,
        "reasoning": False,
        "reasoning_cut": False,
        "parser": PARSER_VERSION,
    }
    assert right["score"] == 1.0
    assert right["accuracy"] == Decision("HB001", "B", "B", ("A", "B"))
    for responses in (["no idea"], [""], [], [None]):
        other = process_results(doc, responses)  # type: ignore[arg-type]
        assert list(other) == list(right)
        assert (other["record"]["answer"], other["score"]) == (None, 0.0)
    assert before == json.dumps({key: value for key, value in doc.items() if key != "images"})


def test_metric_items_are_written_as_their_id() -> None:
    assert str(Decision("HB001", "B", "B", ("A", "B"))) == "HB001"


OPTION_FORMS = [
    [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}],
    [{"label": "a", "value": "Yes"}, {"label": "b", "value": "No"}],
    [["A", "Yes"], ["B", "No"]],
    ["Yes", "No"],
    ["A. Yes", "(B) No"],
    {"A": "Yes", "B": "No"},
    {"id": ["A", "B"], "text": ["Yes", "No"]},
    '{"A": "Yes", "B": "No"}',
    '["Yes", "No"]',
]


@pytest.mark.parametrize("options", OPTION_FORMS, ids=str)
@pytest.mark.parametrize("gold", ["B", "b", "No", "no"])
def test_options_and_gold_in_their_common_forms(options: Any, gold: str) -> None:
    row, problems = normalise_case({"id": 7, "question": "Q?", "options": options, "gold": gold, "images": "a.png"})
    assert (problems, row["id"]) == ([], "7")
    assert row["options"] == [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}]
    assert (row["gold"], row["gold_text"], row["images"]) == ("B", "No", ["a.png"])


def test_letters_are_taken_off_options_only_when_each_has_its_own() -> None:
    row, problems = normalise_case(
        {"id": "x", "question": "Q", "images": "a", "options": ["A.M. radio", "FM"], "gold": "B"}
    )
    assert problems == []
    assert [option["text"] for option in row["options"]] == ["A.M. radio", "FM"]
    row, _ = normalise_case({"id": "x", "question": "Q", "images": "a", "options": ["A. red", "blue"], "gold": "B"})
    assert row["options"][0]["text"] == "A. red"


def problems_of(**changes: Any) -> list[str]:
    record = {"id": "x", "question": "Q?", "options": ["Yes", "No"], "gold": "A", "images": ["a.png"]} | changes
    return normalise_case(record)[1]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"gold": "C"}, "unknown gold label 'C'; use one of A, B, or an option's text"),
        ({"gold": 1}, "unknown gold label 1; use one of A, B, or an option's text"),
        ({"gold": None}, "unknown gold label None; use one of A, B, or an option's text"),
        ({"gold_text": "No"}, "gold is A ('Yes') and its text 'No'; make them agree"),
        ({"options": ["Yes"], "gold": "A"}, "1 options; give 2 to 26, each with id and text"),
        ({"options": {"B": "Red", "A": "Blue"}}, "option ids B, A; give A, B, in this order"),
        (
            {"options": ["No", "Yes"]},
            "option A is No and B is Yes; give Yes first, because the scores take A as the class Yes",
        ),
        ({"options": ["Yes", "yes"]}, "option texts are empty or repeated; give each option its own text"),
        ({"question": " "}, "empty question; give it a text"),
        ({"id": ""}, "empty id; give it a text"),
        ({"images": []}, "0 images; give 1 to 8"),
        ({"question": "x" * 20_001}, "question has 20001 characters; 20000 are allowed"),
    ],
)
def test_unsound_records_are_named(changes: dict[str, Any], problem: str) -> None:
    assert problems_of() == []
    assert problems_of(**changes) == [problem]


def test_counts() -> None:
    def row(gold: str, n: int, *digests: str) -> dict[str, Any]:
        return {"gold": gold, "options": [{}] * n, "image_sha256": list(digests)}

    rows = [row("A", 2, "x"), row("B", 2, "x", "y"), row("B", 2, "z"), row("A", 3, "z")]
    assert count_cases(rows) == {"cases": 4, "two_option": 3, "three_way": 1, "images": 3, "gold_yes_rate": 1 / 3}
    assert count_cases([])["gold_yes_rate"] is None


def test_a_prompt_file_that_was_edited_is_read_again(tmp_path: Path) -> None:
    import os

    file = tmp_path / "prompt.txt"
    for number, words in enumerate(("First wording", "Second wording")):
        file.write_text(f"{words}: {{question}} {{options}}", "utf-8")
        os.utime(file, ns=(number + 1, number + 1))
        assert doc_to_text(document(RED), {"prompt_file": str(file)}).startswith(words)
