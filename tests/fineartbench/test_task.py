"""FineArtBench: files joined to pairs, prompts and rounds, figure, scoring of one pair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lmms_aes_tasks.fineartbench import files as fineartbench_files
from lmms_aes_tasks.fineartbench import task as fineartbench
from lmms_aes_tasks.fineartbench.files import join_pairs, judgements_of, same_pairs
from lmms_aes_tasks.fineartbench.prompts import prompt_name
from lmms_aes_tasks.fineartbench.task import (
    Settings,
    doc_to_messages,
    doc_to_text,
    doc_to_visual,
    last_reply,
    process_results_global,
    process_results_instance,
)
from lmms_aes_tasks.leaderboard.tasks import _merged
from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.task_folders import TASKS_PATH
from lmms_aes_tasks.utils.images import comparison_figure

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def pair(number: int, winner: Any = "", left: str = "m1", right: str = "m2") -> dict[str, Any]:
    return {
        "id": number,
        "content_index": 7,
        "style_index": 30 + number,
        "style_prompt": f"style {number}",
        "method_left": left,
        "method_right": right,
        "winner": winner,
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small download in the authors' layout: two pairs a mode, styles 31 and 32 of content 7."""
    for folder in ("2AFC", "human_annotation", "base/images", "painting/m1", "painting/m2"):
        (tmp_path / folder).mkdir(parents=True)
    for mode in ("global", "instance"):
        (tmp_path / f"2AFC/2AFC_{mode}_N_5000.json").write_text(json.dumps([pair(1), pair(2)]))
        rows = [pair(1, "right"), pair(2, None)]
        (tmp_path / f"human_annotation/{mode}_annotation.json").write_text(json.dumps(rows))
    (tmp_path / "base/content_style_combination.json").write_text(json.dumps({"7": [99, 32, 31]}))
    Image.new("RGB", (20, 10), RED).save(tmp_path / "base/images/7.png")
    for method, colour in (("m1", GREEN), ("m2", BLUE)):
        for place in (2, 3):
            Image.new("RGB", (10, 10), colour).save(tmp_path / f"painting/{method}/content_7_style_{place}.jpg")
    return tmp_path


@pytest.fixture
def doc(root: Path) -> dict[str, Any]:
    (first, _) = join_pairs(root, "global")
    return {
        "id": "global-1",
        "number": 1,
        "content_index": 7,
        "style_index": 31,
        "style_prompt": "style {of} 1",
        "method_left": "m1",
        "method_right": "m2",
        "human": "right",
        "missing_pairs": 0,
        "source": str(first.source),
        "left": str(first.left),
        "right": str(first.right),
    }


# -- files ------------------------------------------------------------------------------------------------------------


def test_pairs_are_joined_to_their_files_and_judgements(root: Path) -> None:
    first, second = join_pairs(root, "global")
    assert (first.human, second.human) == ("right", "skipped")
    # style 31 is the third of content 7's styles, style 32 the second
    assert first.left == root / "painting/m1/content_7_style_3.jpg"
    assert second.right == root / "painting/m2/content_7_style_2.jpg"
    assert first.source == root / "base/images/7.png"
    assert first.complete


def test_missing_files_are_counted_by_method(root: Path) -> None:
    (root / "painting/m2/content_7_style_3.jpg").unlink()
    pairs = join_pairs(root, "global")
    assert [own.complete for own in pairs] == [False, True]
    assert fineartbench_files.missing_by_method(pairs) == {"m2": 1}
    counts, missing = fineartbench.count_files(
        {"global": join_pairs(root, "global"), "instance": join_pairs(root, "instance")}
    )
    assert counts["pairs_global"] == 2
    assert counts["pairs_global_with_images"] == 1
    assert counts["methods"] == 2
    assert missing == {"global": {"m2": 1}, "instance": {"m2": 1}}


def documents(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    import datasets

    folder = root / "data"
    folder.mkdir(exist_ok=True)
    if not (folder / "fineartbench").exists():
        (folder / "fineartbench").symlink_to(root)
    monkeypatch.setenv("LMMS_AES_DATA", str(folder))
    cards = datasets.Dataset.from_list(json.loads((TASKS_PATH / "fineartbench/card.json").read_text()))
    return getattr(fineartbench, name)(cards)


def test_documents(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = documents(root, "documents_instance", monkeypatch)
    assert docs["id"] == ["instance-1", "instance-2"]
    assert docs["human"] == ["right", "skipped"]
    (root / "painting/m1/content_7_style_3.jpg").unlink()
    with pytest.raises(SystemExit) as error:
        documents(root, "documents_instance", monkeypatch)
    assert "1 of 2 pairs lack an image (missing by method: m1 1)" in str(error.value)
    assert "documents_instance_allow_missing" in str(error.value)
    docs = documents(root, "documents_instance_allow_missing", monkeypatch)
    assert (docs["id"], docs["missing_pairs"]) == (["instance-2"], [1])
    for method in ("m1", "m2"):
        (root / f"painting/{method}/content_7_style_2.jpg").unlink()
    with pytest.raises(SystemExit, match="no pair has its images"):
        documents(root, "documents_instance_allow_missing", monkeypatch)


def test_an_image_that_does_not_decode_is_named_before_a_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = root / "painting/m1/content_7_style_3.jpg"
    broken.write_bytes(broken.read_bytes()[:100])
    with pytest.raises(SystemExit, match=r"1 image\(s\) do not decode:\n  - .*content_7_style_3\.jpg"):
        documents(root, "documents_global", monkeypatch)


def test_without_data_one_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import datasets

    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    cards = datasets.Dataset.from_list(json.loads((TASKS_PATH / "fineartbench/card.json").read_text()))
    with pytest.raises(SystemExit) as error:
        fineartbench.documents_global(cards)
    message = str(error.value)
    assert "FineArtBench 2AFC: no data. $LMMS_AES_DATA/fineartbench does not exist" in message
    assert message.endswith("with 2AFC/, human_annotation/, base/ and painting/, and `export LMMS_AES_DATA=FOLDER`.")


def test_unsound_pairs_are_all_listed() -> None:
    rows = [pair(1), pair(1), pair(2, left="m2"), pair(3, "up"), pair(4) | {"content_index": "7a"}, 5]
    with pytest.raises(SourceError) as error:
        judgements_of(rows, "x.json")
    assert str(error.value).splitlines() == [
        "x.json: 5 problem(s):",
        "  - pair 2: id 1 is already that of another pair",
        "  - pair 3: m2 is set against itself; give two methods",
        '  - pair 4: winner is \'up\'; use "left", "right", null (skipped) or "" (none)',
        "  - pair 5: content_index is '7a'; give a number",
        "  - pair 6: int in place of an object",
    ]


def test_files_without_pairs_or_without_judgements_are_named() -> None:
    with pytest.raises(SourceError, match=r"h\.json: no pairs"):
        judgements_of([], "h.json")
    row = pair(1)
    del row["winner"]
    with pytest.raises(SourceError, match="pair 1: winner is missing"):
        judgements_of([row], "h.json")
    assert judgements_of([row], "pairs.json", judged=False)[0].winner == "skipped"


def test_other_pairs_are_listed() -> None:
    human = judgements_of([pair(1, "left"), pair(2, "left")], "h")
    model = judgements_of([pair(1, "left", right="m3"), pair(3, "left"), pair(4, "left")], "m")
    with pytest.raises(SourceError) as error:
        same_pairs(human, model, "m.json")
    assert str(error.value).splitlines() == [
        "m.json: other pairs than those of the human file:",
        "  - 3 pairs, and 2 are judged by the experts",
        "  - pair 1 is m1 against m3, there m1 against m2",
        "  - pair 3 is not one of them",
        "  - pair 4 is not one of them",
    ]


# -- figure -----------------------------------------------------------------------------------------------------------


def test_the_figure_pixel_by_pixel_at_its_seams() -> None:
    figure = np.asarray(
        comparison_figure(
            Image.new("RGB", (30, 60), RED), Image.new("RGB", (50, 100), GREEN), Image.new("RGB", (20, 20), BLUE), 10
        )
    )
    # height 100: source 50×100, left 50×100, right 100×100; 10 between: 160 wide, 210 high
    assert figure.shape == (210, 160, 3)
    assert (figure[:100, :55] == WHITE).all()
    assert (figure[:100, 55:105] == RED).all()
    assert (figure[:100, 105:] == WHITE).all()
    assert (figure[100:110] == WHITE).all()
    assert (figure[110:, :50] == GREEN).all()
    assert (figure[110:, 50:60] == WHITE).all()
    assert (figure[110:, 60:] == BLUE).all()


def test_the_figure_without_source() -> None:
    figure = np.asarray(comparison_figure(None, Image.new("RGB", (5, 5), GREEN), Image.new("RGB", (5, 5), BLUE), 2))
    assert figure.shape == (5, 12, 3)


def test_what_a_model_sees(doc: dict[str, Any]) -> None:
    (message,) = doc_to_messages(doc)
    assert [part["type"] for part in message["content"]] == ["image", "text"]
    (figure,) = doc_to_visual(doc)
    assert figure.size == (10 + 16 + 10, 10 + 16 + 10)
    (half,) = doc_to_visual(doc, {"resolution": 0.5})
    assert half.size == (18, 18)
    assert [image.size for image in doc_to_visual(doc, {"separate_images": True})] == [(20, 10), (10, 10), (10, 10)]
    (message,) = doc_to_messages(doc, {"separate_images": True, "source": False})
    assert [part.get("text") for part in message["content"]][::2] == [
        "Left stylized image:",
        "Right stylized image:",
        doc_to_text(doc, {"separate_images": True, "source": False}),
    ]


# -- prompts ----------------------------------------------------------------------------------------------------------


def test_prompts_hold_the_style_and_the_form(doc: dict[str, Any]) -> None:
    base = doc_to_text(doc)
    assert base.startswith(
        "You are an expert in fine art. A source image (top) and two different stylized images (bottom)"
    )
    assert "in the style of 'style {of} 1'" in base
    assert "['winner':int]" in base
    assert doc_to_text(doc, {"prompt": "cot"}).endswith("think step by step,")
    single = doc_to_text(doc, {"prompt": "artcot_single"})
    for step in ("Step 1. You are an expert", "Step 2. Take a closer look", "Step 3. Now we summarize."):
        assert step in single
    for hidden in ("m1", "m2", "right is", "human"):
        assert hidden not in base.replace("'1' means the right is better", "")


def test_ablations_leave_out_what_they_name(doc: dict[str, Any]) -> None:
    for prompt in ("base", "cot", "artcot_single"):
        without = doc_to_text(doc, {"prompt": prompt, "source": False, "style": False})
        for gone in ("source image", "style {of} 1", "in the style of", "top", "content"):
            assert gone not in without.replace("'content_reason':str", "").replace("'content_winner':int", ""), (
                prompt,
                gone,
            )
    assert Settings(prompt="artcot", analyzer=False).steps == ("critic", "summarizer")
    assert Settings(prompt="artcot", critic=False).steps == ("analyzer", "summarizer")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"prompt": "art"}, "prompt is 'art': use one of base, cot, artcot, artcot_single"),
        ({"resolution": 0}, "resolution is 0: use a number above 0, up to 1"),
        ({"style": 1}, "style is 1: use true or false"),
    ],
)
def test_settings_errors(doc: dict[str, Any], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        doc_to_text(doc, kwargs)
    assert str(error.value) == message


def test_each_round_sees_the_earlier_ones_and_the_last_keeps_all(doc: dict[str, Any]) -> None:
    kwargs = {"prompt": "artcot"}
    assert "Earlier step" not in doc_to_text(doc, kwargs)
    visuals, text, last, outputs, info = doc_to_text(doc, kwargs, previous_output=["ONE"], round_idx=1)
    assert (visuals, last, outputs, info) == (None, False, None, None)
    assert text.startswith("Earlier step 1 (analyzer) was answered:\nONE\n\nTake a closer look")
    _, text, last, _, _ = doc_to_text(doc, kwargs, previous_output=["ONE", "TWO"], round_idx=2)
    assert (
        "Earlier step 1 (analyzer) was answered:\nONE\n\nEarlier step 2 (critic) was answered:\nTWO\n\nNow we" in text
    )
    _, text, last, outputs, info = doc_to_text(
        doc, kwargs, previous_output=["ONE", "TWO", "{'winner': 1}"], round_idx=3
    )
    assert (text, last, info) == (None, True, None)
    assert last_reply(outputs[0]) == (
        "{'winner': 1}",
        [
            {"step": "analyzer", "reply": "ONE"},
            {"step": "critic", "reply": "TWO"},
            {"step": "summarizer", "reply": "{'winner': 1}"},
        ],
    )


def test_rounds_without_reasoning_and_replies_that_are_none(doc: dict[str, Any]) -> None:
    kwargs = {"prompt": "artcot"}
    thought = f"<think>{'x' * 30_000}</think> CONCLUSION"
    _, text, _, _, _ = doc_to_text(doc, kwargs, previous_output=[thought], round_idx=1)
    assert "CONCLUSION" in text
    assert "xxx" not in text
    _, text, _, _, _ = doc_to_text(doc, kwargs, previous_output=["y" * 20_001], round_idx=1)
    assert "y" * 20_000 + " […]\n" in text
    _, text, _, _, _ = doc_to_text(doc, kwargs, previous_output=[None], round_idx=1)
    assert "was answered:\n\n" in text


def test_rounds_of_a_prompt_without_rounds_are_refused(doc: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError, match="prompt is 'cot', and generate_until_agentic asks in rounds: use prompt: artcot"
    ):
        doc_to_text(doc, {"prompt": "cot"}, previous_output=["{'winner': 1}"], round_idx=1)


def test_a_recorded_transcript_stands_for_its_rounds(doc: dict[str, Any]) -> None:
    rounds = [{"step": step, "reply": f"{step}!"} for step in ("analyzer", "critic", "summarizer")]
    recorded = json.dumps({"rounds": rounds})
    kwargs = {"prompt": "artcot"}
    assert doc_to_text(doc, kwargs, previous_output=[recorded], round_idx=1) == (None, None, True, [recorded], None)
    other = json.dumps({"rounds": rounds[1:]})  # of other steps: a reply like any other
    assert doc_to_text(doc, kwargs, previous_output=[other], round_idx=1)[2] is False


def test_the_prompt_is_told_from_what_was_given(doc: dict[str, Any]) -> None:
    import hashlib

    base = (Path(fineartbench.__file__).parents[1] / "prompts/fineartbench-base-1.txt").read_text("utf-8").rstrip("\n")
    digest = hashlib.sha256(base.encode()).hexdigest()
    assert prompt_name(doc_to_text(doc)) == f"fineartbench-base-1 sha256:{digest}"
    for kwargs, name in (
        ({"prompt": "cot"}, "fineartbench-cot-1"),
        ({"prompt": "artcot"}, "fineartbench-artcot-1"),
        ({"prompt": "artcot_single"}, "fineartbench-artcot_single-1"),
        ({"source": False, "separate_images": True}, "fineartbench-base-1 without source"),
        ({"prompt": "artcot", "analyzer": False}, "fineartbench-artcot-1 without analyzer"),
    ):
        assert prompt_name(doc_to_text(doc, kwargs)).split(" sha256:")[0] == name
    assert prompt_name("Which is better?") == "other"


# -- scoring ----------------------------------------------------------------------------------------------------------


def test_the_record(doc: dict[str, Any]) -> None:
    found = process_results_global(doc, ["{'winner': 1}"])
    assert found["record"] == {
        "id": "global-1",
        "number": 1,
        "content_index": 7,
        "style_index": 31,
        "method_left": "m1",
        "method_right": "m2",
        "human": "right",
        "winner": "right",
        "rule": "object",
        "rounds": 1,
        "failed": False,
        "reasoning": False,
        "reasoning_cut": False,
        "parser": fineartbench.PARSER_VERSION,
    }
    assert found["score"] == 1.0
    assert "artist_elo_rho_official" in found
    assert "task_bt_rho_aligned" in process_results_instance(doc, [""])
    transcript = json.dumps(
        {"rounds": [{"step": "a", "reply": "{'winner': 1}"}, {"step": "b", "reply": "I cannot say"}]}
    )
    unread = process_results_global(doc, [transcript])
    assert (unread["record"]["winner"], unread["record"]["rule"], unread["record"]["rounds"]) == ("", "none", 2)
    for response in (["{}"], [], [None], ['{"rounds": []}'], ['{"rounds": 3}']):
        other = process_results_global(doc, response)  # type: ignore[arg-type]
        assert list(other) == list(found)
        assert other["record"]["winner"] == ""


def test_plain_metrics_by_hand(doc: dict[str, Any]) -> None:
    replies = {"right": "{'winner': 1}", "left": "{'winner': 0}", "": "?"}
    judged = [("right", "right"), ("right", "left"), ("left", ""), ("skipped", "left")]
    items = [
        process_results_global(doc | {"number": number, "human": human, "missing_pairs": 3}, [replies[model]])[
            "parse_rate"
        ]
        for number, (human, model) in enumerate(judged)
    ]
    assert fineartbench.aggregate_pair_agreement(items) == 1 / 3
    assert fineartbench.aggregate_left_rate(items) == 2 / 3
    assert fineartbench.aggregate_parse_rate(items) == 3 / 4
    assert fineartbench.aggregate_missing_pairs(items) == 3.0
    assert fineartbench.aggregate_artist_bt_rho_aligned(items) is None
    assert fineartbench.aggregate_left_rate([]) is None


def test_baseline_answers_are_read(doc: dict[str, Any]) -> None:
    for choice in fineartbench.baseline_choices(doc):
        assert process_results_global(doc, [fineartbench.baseline_reply(doc, choice)])["record"]["winner"] == choice
    assert process_results_global(doc, [fineartbench.baseline_reply(doc, "skipped")])["record"]["winner"] == ""


def test_the_yaml_names_what_the_code_has() -> None:
    import re

    for path in [
        *sorted((TASKS_PATH / "fineartbench").glob("*.yaml")),
        *sorted((TASKS_PATH / "fineartbench").glob("*_template")),
    ]:
        for name in re.findall(r"!function lmms_aes_tasks\.fineartbench\.(\w+)", path.read_text("utf-8")):
            assert callable(getattr(fineartbench, name)), (path, name)
    names = {path.stem for path in (TASKS_PATH / "fineartbench").glob("fineartbench_2afc_*.yaml")}
    assert len(names) == 22


RESOLVED = json.loads((Path(__file__).parents[1] / "data/fineartbench_tasks.json").read_text("utf-8"))
"""Every task's configuration as it was resolved when each of the 22 files was written out in full: what all share, what
those of a level share, and the rest. A change of a task's configuration is a change of this file."""


@pytest.mark.parametrize("name", RESOLVED["tasks"])
def test_a_task_resolves_to_its_whole_configuration(name: str) -> None:
    from lmms_eval.utils import load_yaml_config

    level = "global" if "_global" in name else "instance"
    expected = RESOLVED["shared"] | RESOLVED["levels"][level] | RESOLVED["tasks"][name]
    path = TASKS_PATH / f"fineartbench/{name}.yaml"
    ours = {key: value for key, value in _merged(path).items() if key != "include"}
    assert ours == expected
    # the harness reads includes by itself: functions as YAML nodes here, and data files as whole paths
    read = load_yaml_config(str(path), mode="simple")
    theirs = json.loads(json.dumps(read, default=lambda node: node.value))
    card = str(path.with_name("card.json"))
    assert theirs == expected | {"dataset_kwargs": {"data_files": {"test": card}}}


def test_every_task_is_in_the_list() -> None:
    assert set(RESOLVED["tasks"]) == {
        path.stem for path in (TASKS_PATH / "fineartbench").glob("*.yaml") if not path.stem.startswith("_")
    }
