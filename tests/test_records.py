"""Data as people have it: empty cells of pandas, tables, base64, shards, links, names of files, contradictions."""

from __future__ import annotations

import base64
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageCms

from lmms_aes_tasks.contextcanvas import normalise_case
from lmms_aes_tasks.contextcanvas.task import SCHEMA as CASES
from lmms_aes_tasks.critiquecanvas import instruction_text, normalise_critique
from lmms_aes_tasks.critiquecanvas.task import SCHEMA as CRITIQUES
from lmms_aes_tasks.records import (
    OTHER_PROFILE,
    RecordSchema,
    SourceError,
    check_records,
    import_file,
    map_fields,
    read_records,
    records_file,
)
from lmms_aes_tasks.vab import normalise_task
from lmms_aes_tasks.vab.task import SCHEMA as TASKS

NAN = float("nan")
CASE: dict[str, Any] = {
    "id": "c1",
    "image": "a.png",
    "question": "Does it suit?",
    "options": ["Yes", "No"],
    "gold": "A",
}
CRITIQUE: dict[str, Any] = {
    "id": "c1",
    "image": "a.png",
    "domain": "photography",
    "instruction": "Critique.",
    "reference": "Soft light.",
}
TASK: dict[str, Any] = {
    "task_id": "t1",
    "domain": "photography",
    "substyle": "portrait",
    "images": ["a.png", "b.png"],
    "ground_truth_best": "A",
    "ground_truth_worst": "B",
}


def png(colour: Any = "red", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), colour).save(buffer, "PNG", **options)
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        (source / name).write_bytes(png(colour))
    return source


def write(folder: Path, records: list[dict[str, Any]], name: str = "cases.json") -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(records), path)
    else:
        path.write_text(json.dumps(records, ensure_ascii=False), "utf-8")
    return path


def problems(folder: Path, record: dict[str, Any], schema: RecordSchema, name: str = "cases.json") -> list[str]:
    return check_records(write(folder, [record], name), schema)[0].problems


# -- Nothing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [None, NAN, "nan", "NaN", "NaT", "<NA>", ""])
@pytest.mark.parametrize("kind", ["cases.json", "cases.parquet"])
@pytest.mark.parametrize(
    ("record", "schema", "field"),
    [
        (CASE, CASES, "question"),
        (CASE, CASES, "id"),
        (CASE, CASES, "gold"),
        (CRITIQUE, CRITIQUES, "instruction"),
        (CRITIQUE, CRITIQUES, "reference"),
        (CRITIQUE, CRITIQUES, "id"),
        (TASK, TASKS, "task_id"),
        (TASK, TASKS, "ground_truth_best"),
    ],
)
def test_nothing_in_a_field_that_is_needed_is_refused(
    folder: Path, nothing: Any, kind: str, record: dict[str, Any], schema: RecordSchema, field: str
) -> None:
    assert problems(folder, record, schema, kind) == []
    assert problems(folder, record | {field: nothing}, schema, kind) != []


@pytest.mark.parametrize("nothing", [None, NAN, "nan", "None", "NaT"])
def test_nothing_in_a_field_that_may_be_missing_is_not_given(nothing: Any) -> None:
    names = ("case_id", "rationale", "source_basis", "provenance")
    row, found = normalise_case(
        CASE | {"images": "a"} | dict.fromkeys((*names, "gold_text", "image_descriptors"), nothing)
    )
    assert (found, [row[name] for name in names], row["image_descriptors"]) == ([], [""] * 4, [])
    row, found = normalise_critique(CRITIQUE | {"images": "a", "domain": nothing, "conversations": nothing})
    assert (found, row["domain"]) == ([], "")
    optional = dict.fromkeys(("domain", "substyle", "n_images", "labels"), nothing)
    row, found = normalise_task({"id": "t", **TASK, "images": ["a", "b"], **optional})
    assert (found, row["domain"], row["substyle"], row["n_images"]) == ([], "", "", 2)


@pytest.mark.parametrize(
    "options", [["Yes", None], ["Yes", NAN], [{"text": "Yes"}, {"text": NAN}], {"A": "Yes", "B": None}]
)
def test_an_option_of_nothing_is_empty(options: Any) -> None:
    assert normalise_case(CASE | {"images": "a", "options": options})[1] == [
        "option texts are empty or repeated; give each option its own text"
    ]


def test_the_word_none_is_a_sound_option() -> None:
    row, found = normalise_case(CASE | {"images": "a", "options": ["Left", "None"]})
    assert (found, row["options"][1]["text"]) == ([], "None")


def test_turns_of_nothing_are_no_turns() -> None:
    for content in (NAN, None, "nan"):
        turns = [{"from": "human", "value": "Critique."}, {"from": "gpt", "value": content}]
        assert normalise_critique({"id": "c", "images": "a", "conversations": turns})[1]


# -- Contradictions, limits -------------------------------------------------------------------------------------------


def test_a_field_that_differs_from_its_turn_is_a_problem() -> None:
    turns = [{"from": "human", "value": "<image>\nCritique the light."}, {"from": "gpt", "value": "Soft light."}]
    record = {"id": "c1", "images": "a", "conversations": turns}
    for field, text in (("reference", "Smith (2001), plate 4"), ("instruction", "Critique the colour.")):
        said = {"reference": "Soft light.", "instruction": "<image>\\nCritique the light."}[field]
        assert normalise_critique(record | {field: text})[1] == [
            f"{field} ({text!r}) differs from its turn in conversations ('{said}'); keep one of them"
        ]
    same = {"reference": " Soft light. ", "instruction": "Critique the light."}
    row, found = normalise_critique(record | same | {"conversations": json.dumps(turns)})
    assert (found, row["reference"], row["instruction"]) == ([], "Soft light.", "Critique the light.")


def test_ids_and_groups_are_no_longer_than_an_entry_takes() -> None:
    assert normalise_case(CASE | {"images": "a", "id": "i" * 1000})[1] == []
    assert normalise_case(CASE | {"images": "a", "id": "i" * 1001})[1] == ["id has 1001 characters; 1000 are allowed"]
    assert normalise_critique(CRITIQUE | {"images": "a", "id": "i" * 1001})[1] == [
        "id has 1001 characters; 1000 are allowed"
    ]
    task = {**TASK, "id": "i" * 999, "images": ["a", "b"]}  # documents add #0
    assert normalise_task(task)[1] == ["task_id has 999 characters; 998 are allowed"]
    assert normalise_critique(CRITIQUE | {"images": "a", "domain": "d" * 201})[1] == [
        "domain has 201 characters; 200 are allowed"
    ]
    for field in ("domain", "substyle"):
        assert normalise_task({**TASK, "id": "t", "images": ["a", "b"], field: "<b>"})[1] == [
            f"{field} is '<b>'; use visible characters, no < and >"
        ]


# -- No before Yes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        ["No", "Yes"],
        ["No.", "Yes."],
        ["No, it does not suit", "Yes, it suits"],
        ["(NO)", "YES!"],
        ["Not suitable", "Suitable"],
        ["否", "是"],
        ["不适合", "适合"],
        ["Unsuitable", "Suitable"],
        ["Inappropriate", "Appropriate"],
        ["It isn't suitable", "It is suitable"],
        ["It does not suit", "It suits"],
        ["Nein", "Ja"],
        ["Non.", "Oui."],
        ["Нет", "Да"],
        ["いいえ", "はい"],
        ["아니요", "예"],
        ["False", "True"],
        ["Не подходит", "Подходит"],
        ["Nicht geeignet", "Geeignet"],
    ],
)
def test_the_no_before_the_yes_is_refused(options: list[str]) -> None:
    (found,) = normalise_case(CASE | {"images": "a", "options": options})[1]
    assert found.endswith("give Yes first, because the scores take A as the class Yes")
    assert normalise_case(CASE | {"images": "a", "options": options[::-1]})[1] == []


@pytest.mark.parametrize("options", [["No filter", "Warm filter"], ["Left", "Right"], ["Inside", "Side view"]])
def test_other_pairs_of_options_are_remarked_on(folder: Path, options: list[str]) -> None:
    records = [CASE, CASE | {"id": "c2", "options": options}]
    report, _ = check_records(write(folder, records), CASES)
    assert report.problems == []
    assert report.remark_lines() == [
        "1 of 2 records have two options and the first does not begin with Yes: the scores take it as the class Yes"
    ]


# -- Marks for images -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<image>\nCritique this.", "Critique this."),
        ("<image> Critique this.", "Critique this."),
        ("Critique this. <image>", "Critique this."),
        ("Critique this.\n<image>", "Critique this."),
        ("Look at <image> and critique.", "Look at and critique."),
        ("Look at <image>, then critique.", "Look at, then critique."),
        ("Look at<image>and critique.", "Look at and critique."),
        ("Compare <image> <image> now.", "Compare now."),
        ("First <image>\nsecond", "First\nsecond"),
        ("看<image>图", "看图"),
        ("< Image >\n<IMAGE>\nQ", "Q"),
    ],
)
def test_image_marks_go_with_the_space_on_one_side(text: str, expected: str) -> None:
    assert instruction_text(text) == expected
    assert normalise_case(CASE | {"images": "a", "question": text})[0]["question"] == expected


def test_image_marks_go_out_of_options_and_two_conversations_are_a_problem() -> None:
    row, found = normalise_case(CASE | {"images": "a", "options": ["<image> Yes", "No"], "gold": "Yes"})
    assert (found, row["gold_text"]) == ([], "Yes")
    both = map_fields(["id", "image", "conversations", "messages"], CRITIQUES)
    assert both.problems == [
        "conversations, messages could each be conversations; keep one, or rename what is something else"
    ]


@pytest.mark.parametrize(
    "mark",
    [
        "<image_1>",
        "<image1>",
        "<ImageHere>",
        "<|image_pad|>",
        "<|image_1|>",
        "<img>a.png</img>",
        "<|vision_start|>",
        "<img src='a.png'>",
        "<image_placeholder>",
        "<IMG_CONTEXT>",
        "[IMG]",
        "<start_of_image>",
        "<|im_start|>",
        "<｜image｜>",
        "<picture_1>",
    ],
)
def test_other_marks_are_problems(mark: str) -> None:
    for found in (
        normalise_case(CASE | {"images": "a", "question": f"Look at {mark}: does it suit?"})[1],
        normalise_case(CASE | {"images": "a", "options": ["Yes", f"No {mark}"]})[1],
        normalise_critique(CRITIQUE | {"images": "a", "instruction": f"Look at {mark} and critique."})[1],
    ):
        (problem,) = found
        assert "take it out, or write <image>" in problem


def test_angle_brackets_of_prose_are_none() -> None:
    text = "Is contrast < 3 and > 1? <b>Bold</b> colours (image 1)"
    assert normalise_case(CASE | {"images": "a", "question": text})[1] == []


# -- Tables, base64 ---------------------------------------------------------------------------------------------------


def table(folder: Path, name: str, head: str, *rows: str) -> Path:
    path = folder / name
    path.write_text("\n".join((head, *rows)) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(("name", "tab"), [("cases.csv", ","), ("CASES.TSV", "\t")])
def test_tables_are_read_as_json_is(folder: Path, tmp_path: Path, name: str, tab: str) -> None:
    cells = ["c1", "a.png", '"Does it, or not, suit?"', '"[""Yes"", ""No""]"', "B", ""]
    head = tab.join(("\ufeffid", "image", "question", "options", "gold", "rationale"))
    table(folder, name, head, tab.join(cells))
    report = import_file(folder, tmp_path / "x.parquet", CASES)
    (row,) = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert report.records == 1
    assert (row["id"], row["question"], row["gold"]) == ("c1", "Does it, or not, suit?", "B")
    assert [option["text"] for option in row["options"]] == ["Yes", "No"]


def test_tables_of_the_other_benchmarks(folder: Path) -> None:
    turns = json.dumps([{"from": "human", "value": "Critique."}, {"from": "gpt", "value": "Soft."}]).replace('"', '""')
    path = table(folder, "x.csv", "id,image,conversations", f'7,a.png,"{turns}"')
    assert [row["reference"] for row in check_records(path, CRITIQUES)[1]] == ["Soft."]
    head = "task_id,domain,substyle,images,n_images,ground_truth_best,ground_truth_worst"
    path = table(folder, "y.csv", head, '7.0,photo,x,"[""a.png"", ""b.png""]",2.0,a,B')
    (row,) = check_records(path, TASKS)[1]
    assert (row["id"], row["n_images"], row["ground_truth_best"]) == ("7", 2, "A")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "x.csv",
            "id;image;question\na;b;c\n",
            "the first line has fields that semicolons separate, and .csv has",
        ),
        ("x.csv", "id\timage\n", "fields that tabs separate, and .csv has commas"),
        ("x.tsv", "id,image\n", "fields that commas separate, and .tsv has tabs"),
        ("x.csv", "sep=;\nid;image\n", "the line 'sep=;', which Excel writes, before the names"),
        ("x.csv", "id,image\na,b,c\n", "line 2: not 2 fields, but 3."),
        ("x.csv", "id,id\na,b\n", "a column stands twice among id, id (id)"),
        ("x.csv", "", "no names of columns in the first line"),
        ("x.csv", 'id,image\n"a,b\n', "not CSV ("),
    ],
)
def test_tables_that_are_none(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError) as error:
        list(read_records(tmp_path / name))
    assert message in str(error.value)


def test_tables_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("id,image\n1,2\n".encode("utf-16"))
    with pytest.raises(SourceError, match="not CSV in UTF-8"):
        list(read_records(tmp_path / "x.csv"))


@pytest.mark.parametrize("form", ["plain", "lines", "url", "uri", "dict", "json"])
def test_images_as_base64(folder: Path, tmp_path: Path, form: str) -> None:
    noise = png((1, 2, 3))
    text = base64.b64encode(noise).decode()
    reference: Any = {
        "plain": text,
        "lines": base64.encodebytes(noise).decode(),
        "url": base64.urlsafe_b64encode(noise).decode().rstrip("="),
        "uri": f"data:image/png;base64,{text}",
        "dict": {"bytes": text},
        "json": json.dumps([text]),
    }[form]
    write(folder, [CASE | {"image": reference}])
    import_file(folder, tmp_path / "x.parquet", CASES)
    (row,) = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert row["images"] == [{"bytes": noise, "path": None}]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("data:image/png;base64,%%%%" + "x" * 900, "a data URI without base64 in it"),
        ("data:image/svg+xml,<svg/>", "a data URI without base64 in it"),
        ("https://example.org/a.png", "an address; images are read from files"),
        ("file:///a.png", "an address; images are read from files"),
        ({"bytes": "no base64!"}, "bytes is a text that is no base64"),
        ("AAAA" * 2000, "is no path, nor an image in base64"),
        ("none/" * 50 + "a.png", "no such file"),
    ],
)
def test_references_that_are_no_images(folder: Path, reference: Any, message: str) -> None:
    (problem,) = problems(folder, CASE | {"image": reference}, CASES)
    assert message in problem
    assert len(problem) < 260


# -- Copies of Hub data, names of files -------------------------------------------------------------------------------


def shards(folder: Path, suffix: str, count: int = 2, extra: str = "") -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(count):
        row = TASK | {"task_id": f"t{number}", "images": [{"bytes": png(c), "path": None} for c in ("red", "blue")]}
        path = folder / f"test-{number:05}-of-{count:05}{extra}{suffix}"
        if suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist([row]), path)
        else:
            texts = [{"bytes": base64.b64encode(cell["bytes"]).decode()} for cell in row["images"]]
            path.write_text(json.dumps(row | {"images": texts}) + "\n")
        paths.append(path)
    return paths


@pytest.mark.parametrize("place", ["", "data"])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_shards_are_one_source(tmp_path: Path, place: str, suffix: str) -> None:
    paths = shards(tmp_path / "copy" / place, suffix, 3)
    report = import_file(tmp_path / "copy", tmp_path / "x.parquet", TASKS)
    assert report.records == 3
    assert pq.read_table(tmp_path / "x.parquet")["id"].to_pylist() == ["t0", "t1", "t2"]
    assert import_file(paths[1], tmp_path / "y.parquet", TASKS).records == 3  # a part stands for the whole
    paths[1].unlink()
    with pytest.raises(SourceError, match=rf"1 of 3 shards missing \(test-00001-of-00003\{suffix}\)"):
        records_file(tmp_path / "copy")


def test_shards_with_digests_and_other_splits(tmp_path: Path) -> None:
    shards(tmp_path / "a", ".parquet", 2, "-0123456789abcdef")
    assert import_file(tmp_path / "a", tmp_path / "x.parquet", TASKS).records == 2
    (tmp_path / "a/train-00000-of-00001.parquet").write_bytes(b"")
    with pytest.raises(SourceError, match=r"holds several \.parquet files \(test-00000-of-00002-.*, train-00000"):
        records_file(tmp_path / "a")


def snapshot(root: Path) -> Path:
    """A data set as the Hub's cache has it: every file a link to a blob of the repository."""
    folder = root / "datasets--a--b/snapshots/abc"
    (folder / "images").mkdir(parents=True)
    blobs = root / "datasets--a--b/blobs"
    blobs.mkdir()
    (blobs / "1").write_bytes(png())
    (blobs / "2").write_text(json.dumps([CASE | {"image": "images/a.png"}]))
    (folder / "images/a.png").symlink_to("../../../blobs/1")
    (folder / "cases.json").symlink_to("../../blobs/2")
    return folder


def test_a_snapshot_of_the_hubs_cache_is_read(tmp_path: Path) -> None:
    folder = snapshot(tmp_path / "hub")
    assert import_file(folder, tmp_path / "x.parquet", CASES).images == 1
    (tmp_path / "linked").symlink_to(folder)
    assert import_file(tmp_path / "linked", tmp_path / "y.parquet", CASES).images == 1


def test_other_links_are_named_and_not_followed(tmp_path: Path) -> None:
    folder = snapshot(tmp_path / "hub")
    other = snapshot(tmp_path / "other")
    (folder / "images/a.png").unlink()
    (folder / "images/a.png").symlink_to(other.parent.parent / "blobs/1")  # of another repository
    report, _ = check_records(folder / "cases.json", CASES)
    assert report.problems == [
        "record 1 (id 'c1'): 'images/a.png' leaves the data folder: it is a link, or lies below one. "
        "`hf download --local-dir FOLDER` gets files in place of links, and so does `cp -rL`."
    ]
    up = [CASE | {"image": "../../blobs/1"}]
    (folder.parents[1] / "blobs/2").write_text(json.dumps(up))  # the blob itself, by no link of the snapshot
    assert check_records(folder / "cases.json", CASES)[0].problems == [
        "record 1 (id 'c1'): '../../blobs/1' leaves the data folder. Give a path inside it."
    ]


def test_a_link_to_nothing_is_named(folder: Path) -> None:
    (folder / "c.png").symlink_to("gone.png")
    (problem,) = problems(folder, CASE | {"image": "c.png"}, CASES)
    assert "'c.png' is a link to nothing. `hf download --local-dir FOLDER` gets files" in problem


def test_suffixes_in_any_case_and_hidden_files(folder: Path) -> None:
    write(folder, [CASE], "CASES.JSON")
    (folder / "._CASES.JSON").write_bytes(b"\0\5\x16\7\0\2\0\0Mac OS X")
    assert records_file(folder).name == "CASES.JSON"
    assert check_records(records_file(folder), CASES)[0].problems == []
    (folder / "CASES.JSON").unlink()
    with pytest.raises(SourceError, match="holds no records"):
        records_file(folder)


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_both_forms_of_a_name_and_both_cases_of_a_suffix(tmp_path: Path, forms: tuple[Any, Any]) -> None:
    there, named = (unicodedata.normalize(form, "dossier-é/été") for form in forms)
    (tmp_path / there).parent.mkdir()
    (tmp_path / f"{there}.PNG").write_bytes(png())
    assert problems(tmp_path, CASE | {"image": f"{named}.png"}, CASES) == []
    assert "no such file" in problems(tmp_path, CASE | {"image": f"{named}2.png"}, CASES)[0]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "a Git LFS pointer, not the file itself"),
        (b"<!DOCTYPE html><html></html>", "an HTML page"),
    ],
)
@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet", "x.csv", "x.json"])
def test_files_of_records_that_are_something_else(tmp_path: Path, content: bytes, what: str, name: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=f"no records: it is {what}"):
        list(read_records(tmp_path / name))


# -- Colour profiles --------------------------------------------------------------------------------------------------


def test_images_with_another_profile_are_counted(folder: Path) -> None:
    from tests.colours import WIDE_PROFILE

    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    (folder / "a.png").write_bytes(png(icc_profile=WIDE_PROFILE))
    (folder / "b.png").write_bytes(png("blue", icc_profile=srgb))
    report, _ = check_records(write(folder, [TASK], "tasks.json"), TASKS)
    assert report.remark_lines() == [f"1 of 2 {OTHER_PROFILE}"]


def test_no_link_to_a_folder_outside(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/a.png").write_bytes(png())
    Path(folder / "images").symlink_to(tmp_path / "disk")
    (problem,) = problems(folder, CASE | {"image": "images/a.png"}, CASES)
    assert "it is a link, or lies below one" in problem
