"""Inputs that were tried on the product and held: encodings, ids, names of files, turns, labels, pairs, matching."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lmms_aes_tasks.contextcanvas import normalise_case
from lmms_aes_tasks.contextcanvas.task import SCHEMA
from lmms_aes_tasks.critiquecanvas import normalise_critique
from lmms_aes_tasks.predictions import PredictionError, check_ids, read_predictions
from lmms_aes_tasks.records import SourceError, check_records, records_file
from lmms_aes_tasks.utils.images import ImageError, load_image
from lmms_aes_tasks.vab import normalise_task

CASE: dict[str, Any] = {"id": "c1", "image": "a.png", "question": "Q?", "options": ["Yes", "No"], "gold": "A"}
TASK: dict[str, Any] = {"id": "t", "domain": "d", "substyle": "s", "images": ["a", "b"]}
TASK |= {"ground_truth_best": "A", "ground_truth_worst": "B"}


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.png").write_bytes(encoded(Image.new("RGB", (8, 8), "red"), "PNG"))
    return tmp_path


def check(folder: Path, name: str, content: bytes | str) -> list[str]:
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(data)
    report, rows = check_records(records_file(folder), SCHEMA)
    return report.problems or [row["id"] for row in rows]


# -- Images (T29 to T35) ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["AVIF", "JPEG2000", "WEBP", "BMP", "PPM", "TIFF", "PNG", "JPEG", "GIF"])
def test_kinds_of_images(folder: Path, kind: str) -> None:
    (folder / "x.JPG").write_bytes(encoded(Image.new("RGB", (16, 16), (0, 0, 255)), kind))  # whatever its name says
    assert check(folder, "cases.json", json.dumps([CASE | {"image": "x.JPG"}])) == ["c1"]
    pixel = load_image(folder / "x.JPG").getpixel((8, 8))
    assert max(abs(a - b) for a, b in zip(pixel, (0, 0, 255), strict=True)) <= 3  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_several_frames_the_first(kind: str) -> None:
    first, second = (Image.new("RGB", (8, 8), colour) for colour in ((255, 0, 0), (0, 255, 0)))
    content = encoded(
        first, kind, save_all=True, append_images=[second], **({"lossless": True} if kind == "WEBP" else {})
    )
    assert load_image(content).getpixel((0, 0)) == (255, 0, 0)


def test_colours_without_a_conversion_are_refused_with_the_reason() -> None:
    for image in (Image.new("LAB", (4, 4)), Image.fromarray(np.zeros((4, 4), dtype=np.float32))):
        with pytest.raises(ImageError, match="has no defined conversion to RGB"):
            load_image(encoded(image, "TIFF"))


def test_bytes_after_the_end_and_a_cut_end() -> None:
    image = Image.new("RGB", (64, 64), (255, 0, 0))
    assert load_image(encoded(image, "JPEG") + b"x" * 2000).size == (64, 64)
    assert load_image(encoded(image, "PNG")[:-12]).size == (64, 64)  # the end marker alone is missing


@pytest.mark.parametrize("name", ["a b.png", "a#b.png", "a%20b.png", "é.png", "图.png", "a(1).png", "./sub/../c.png"])
def test_names_of_files(folder: Path, name: str) -> None:
    (folder / "sub").mkdir()
    (folder / name).write_bytes((folder / "a.png").read_bytes())
    assert check(folder, "cases.json", json.dumps([CASE | {"image": name}], ensure_ascii=False)) == ["c1"]


# -- Files of records (T36 to T43) ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", b"\xef\xbb\xbf" + json.dumps([CASE]).encode()),
        ("x.jsonl", b"\xef\xbb\xbf" + json.dumps(CASE).encode() + b"\r\n\r\n"),
        ("x.json", json.dumps([CASE]).encode("utf-16")),
        ("x.json", json.dumps({"cases": [CASE]}, indent=1).encode()),
        ("x.jsonl", json.dumps(CASE | {"options": json.dumps(["Yes", "No"]), "image": '["a.png"]'}).encode()),
    ],
)
def test_files_that_are_read(folder: Path, name: str, content: bytes) -> None:
    assert check(folder, name, content) == ["c1"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.jsonl", json.dumps(CASE | {"question": "适合?"}, ensure_ascii=False).encode("gb18030")),
        ("x.jsonl", json.dumps(CASE | {"question": "é?"}, ensure_ascii=False).encode("latin-1")),
        ("x.jsonl", (json.dumps(CASE) + "\n" + json.dumps(CASE)).encode("utf-16")),
        ("x.json", b'[{"id": "c1"},]'),
        ("x.jsonl", json.dumps(CASE, indent=1).encode()),
        ("x.json", b"[" * 100_000),
    ],
)
def test_files_that_are_refused_with_their_place(folder: Path, name: str, content: bytes) -> None:
    with pytest.raises(SourceError, match=r"x\.jsonl?(, line 1)?: not JSON"):
        check(folder, name, content)


def test_ids_as_they_are_given(folder: Path) -> None:
    ids = [1.0, 2**70, "a/b", "a\nb"]
    rows = [CASE | {"id": own} for own in ids]
    assert check(folder, "x.json", json.dumps(rows)) == ["1.0", str(2**70), "a/b", "a\nb"]
    assert check(folder, "x.json", json.dumps([CASE | {"id": 1}, CASE | {"id": "1"}])) == [
        "record 2: id '1' is already that of record 1"
    ]


@pytest.mark.parametrize("gold", [0, True, ["A"], "(A)", "A. Yes", float("nan")])
def test_gold_that_is_none(gold: Any) -> None:
    assert "unknown gold label" in normalise_case(CASE | {"images": "a", "gold": gold})[1][0]


@pytest.mark.parametrize("path", ["https://x.org/a.png", "sub\\a.png", "a%2Epng", "/images/a.png", "['a.png']"])
def test_paths_that_are_refused_with_a_reason(folder: Path, path: str) -> None:
    (problem,) = check(folder, "x.json", json.dumps([CASE | {"image": path}]))
    assert problem.startswith("record 1 (id 'c1'): ")
    assert problem.endswith(".")


def test_other_forms_of_a_path(folder: Path) -> None:
    for path in (str(folder / "a.png"), "./a.png", '["a.png"]', [{"path": "a.png"}]):
        assert check(folder, "x.json", json.dumps([CASE | {"image": path}])) == ["c1"]


# -- Turns, sets (T45 to T49) -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "sound"),
    [
        ([("system", "S"), ("user", "Q"), ("assistant", "R")], True),
        ([("Human", "Q"), ("GPT", "R")], True),
        ([("user", [{"type": "image"}, {"type": "text", "text": "Q"}, {"text": None}]), ("assistant", "R")], True),
        ([("user", "Q"), ("assistant", "")], False),
        ([("user", "Q"), ("chatgpt", "R")], False),
        ([("user", "Q"), ("model", [{"text": "R"}])], False),
        ([("assistant", "R"), ("user", "Q")], False),
    ],
)
def test_turns(turns: list[tuple[str, Any]], sound: bool) -> None:
    items = [{"role": role, "content": content} for role, content in turns]
    row, problems = normalise_critique({"id": "c", "images": "a", "conversations": items})
    assert (problems == []) is sound
    if sound:
        assert (row["instruction"], row["reference"]) == ("Q", "R")
    for wrong in ([items], {"messages": items}, "no JSON"):
        assert normalise_critique({"id": "c", "images": "a", "conversations": wrong})[1]


@pytest.mark.parametrize(
    ("changes", "sound"),
    [
        ({"n_images": "2"}, True),
        ({"n_images": 2.0}, True),
        ({"n_images": 3}, False),
        ({"ground_truth_best": " a "}, True),
        ({"ground_truth_best": ["A"]}, False),
        ({"ground_truth_best": 0}, False),
        ({"labels": ["a", "b"]}, False),
        ({"images": ["a", "a"]}, True),
    ],
)
def test_sets(changes: dict[str, Any], sound: bool) -> None:
    assert (normalise_task(TASK | changes)[1] == []) is sound


# -- Predictions (T52 to T55) -----------------------------------------------------------------------------------------


def test_lines_as_tools_write_them(tmp_path: Path) -> None:
    rows = [{"id": "a", "response": "é"}, {"id": "b", "response": "x" * 3_600_000}, {"id": "c", "response": "\ud800"}]
    text = "\r\n\r\n".join(json.dumps(row) for row in rows)
    (tmp_path / "p.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [len(item.response) for item in read_predictions(tmp_path / "p.jsonl")] == [1, 3_600_000, 1]
    sample = {"record": {"id": "a"}, "filtered_resps": [["first", "second"], ["third"]]}
    (tmp_path / "s.jsonl").write_text(json.dumps(sample))
    assert read_predictions(tmp_path / "s.jsonl")[0].response == "first"


def test_every_mismatch_is_listed(tmp_path: Path) -> None:
    ids = ["a", "a", "B", "c "]
    (tmp_path / "p.jsonl").write_text("\n".join(json.dumps({"id": own, "response": ""}) for own in ids))
    with pytest.raises(PredictionError) as error:
        check_ids(read_predictions(tmp_path / "p.jsonl"), ["a", "b", "c"], tmp_path / "p.jsonl")
    assert str(error.value).splitlines()[1:] == ["  1 repeated: a", "  2 not in the data: B, c ", "  2 missing: b, c"]


@pytest.mark.parametrize(
    "item",
    [
        {"custom_id": "a", "response": {"body": {"choices": []}}, "error": None},
        {"prompt": "Q", "outputs": [{"text": "A"}]},
        {"id": "a", "prediction": "A"},
        {"question_id": "a", "response": "A"},
        {"doc_id": 0, "resps": [["A"]], "target": "A"},
    ],
)
def test_other_forms_are_refused_with_their_line(tmp_path: Path, item: dict[str, Any]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"id": "z", "response": "A"}) + "\n" + json.dumps(item))
    with pytest.raises(PredictionError, match=r"p\.jsonl, line 2: no fields id and response\."):
        read_predictions(path)


@pytest.mark.parametrize("spell", [str.upper, str.title])
def test_half_a_file_is_refused(tmp_path: Path, spell: Callable[[str], str]) -> None:
    (tmp_path / spell("p.jsonl")).write_text('{"id": "a", "resp')
    with pytest.raises(PredictionError, match="line 1: not JSON"):
        read_predictions(tmp_path / spell("p.jsonl"))
