"""Locating, importing and checking data."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loguru import logger
from PIL import Image

from lmms_aes_tasks import sources
from lmms_aes_tasks.contextcanvas.task import SCHEMA, count_cases
from lmms_aes_tasks.outputs import atomic_path
from lmms_aes_tasks.records import (
    SourceError,
    check_records,
    features_of,
    import_file,
    is_canonical,
    map_fields,
    read_labels,
    records_file,
)
from lmms_aes_tasks.sources import canonical_file, load, read_card
from lmms_aes_tasks.task_folders import TASKS_PATH


def picture(path: Path, colour: str = "red") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 6), colour).save(path)


def record(number: int, **changes: Any) -> dict[str, Any]:
    base = {
        "Evaluation ID": f"HB{number:03d}",
        "scenario": f"Question {number}?",
        "choices": {"A": "Yes", "B": "No"},
        "gold_option_id": "AB"[number % 2],
        "image_path": f"img/{number}.png",
        "curator": "not ours",
    }
    return base | changes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three sound records in other spellings, with their images."""
    source = tmp_path / "source"
    for number in range(3):
        picture(source / f"img/{number}.png")
    write(source, [record(number) for number in range(3)])
    return source


def write(source: Path, records: list[dict[str, Any]], name: str = "cases.jsonl") -> None:
    source.mkdir(parents=True, exist_ok=True)
    (source / name).write_text("\n".join(json.dumps(item) for item in records))


def test_import_maps_fields_and_writes_canonical_parquet(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "contextcanvas.parquet"
    report = import_file(folder, target, SCHEMA)
    assert report.mapping == {
        "id": "Evaluation ID",
        "images": "image_path",
        "question": "scenario",
        "options": "choices",
        "gold": "gold_option_id",
    }
    assert (report.unused, report.records, report.images) == (["curator"], 3, 3)
    assert is_canonical(target, SCHEMA)
    rows = pq.read_table(target).to_pylist()
    assert [row["id"] for row in rows] == ["HB000", "HB001", "HB002"]
    assert rows[1]["gold"] == "B"
    assert rows[1]["options"] == [{"id": "A", "text": "Yes"}, {"id": "B", "text": "No"}]
    assert rows[1]["images"] == [{"bytes": (folder / "img/1.png").read_bytes(), "path": "1.png"}]


@pytest.mark.parametrize("kind", ["json", "wrapped", "jsonl", "parquet", "hub"])
def test_every_kind_of_file_gives_the_same(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    for number in range(2):
        picture(source / f"img/{number}.png")
    records = [record(number) for number in range(2)]
    if kind == "json":
        (source / "x.json").write_text(json.dumps(records))
    elif kind == "wrapped":
        (source / "x.json").write_text(json.dumps({"version": 1, "cases": records}))
    elif kind == "jsonl":
        write(source, records)
    else:
        if kind == "hub":  # images inside, as the Hub stores them
            for item in records:
                item["image_path"] = {"bytes": (source / item["image_path"]).read_bytes(), "path": None}
        pq.write_table(pa.Table.from_pylist(records), source / "x.parquet")
    report, rows = check_records(records_file(source), SCHEMA)
    assert report.problems == []
    assert [row["gold"] for row in rows] == ["A", "B"]
    assert count_cases(rows)["images"] == 1  # both pictures have the same content


def test_every_problem_is_listed_at_once_and_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    (folder / "img/broken.png").write_bytes((folder / "img/0.png").read_bytes()[:45])
    write(
        folder,
        [
            record(0, gold_option_id="C"),
            record(1, image_path="img/none.png"),
            record(2, image_path="img/broken.png"),
            record(2),
            record(3, image_path="../outside.png"),
            record(4, image_path="/etc/hostname"),
            record(5, image_path="a\0b.png"),
            record(0, **{"Evaluation ID": "half\ud800"}),
        ],
    )
    target = tmp_path / "data.parquet"
    target.write_text("the earlier import")
    with pytest.raises(SourceError) as error:
        import_file(folder, target, SCHEMA)
    lines = str(error.value).splitlines()
    assert lines[0] == f"{folder / 'cases.jsonl'}: 8 problem(s); nothing was written. Correct them:"
    assert lines[1] == "  - record 1 (id 'HB000'): unknown gold label 'C'; use one of A, B, or an option's text"
    assert lines[2] == "  - record 2 (id 'HB001'): img/none.png: no such file. Put it there, or correct the record."
    assert lines[3].startswith("  - record 3 (id 'HB002'): image 1 (img/broken.png): ")
    assert lines[3].endswith("Replace the file.")
    assert lines[4] == "  - record 4: id 'HB002' is already that of record 3"
    outside = "leaves the data folder. Give a path inside it."
    assert lines[5] == f"  - record 5 (id 'HB003'): '../outside.png' {outside}"
    assert lines[6] == f"  - record 6 (id 'HB004'): '/etc/hostname' {outside}"
    assert lines[7] == "  - record 7 (id 'HB005'): 'a\\x00b.png' is no path. Give a path inside the data folder."
    assert lines[8] == "  - record 8 (id 'half\\ud800'): id holds text that is not Unicode; write it anew"
    assert target.read_text() == "the earlier import"
    assert not list(tmp_path.glob(".*tmp"))


def test_a_link_does_not_lead_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    picture(tmp_path / "private.png")
    (folder / "img/link.png").symlink_to(tmp_path / "private.png")
    write(folder, [record(0, image_path="img/link.png")])
    with pytest.raises(SourceError, match=r"'img/link\.png' leaves the data folder"):
        import_file(folder, tmp_path / "x.parquet", SCHEMA)


def test_many_problems_are_counted(folder: Path, tmp_path: Path) -> None:
    write(folder, [record(0, **{"Evaluation ID": f"i{number}", "gold_option_id": "Z"}) for number in range(70)])
    with pytest.raises(SourceError, match=r"70 problem\(s\)") as error:
        import_file(folder, tmp_path / "x.parquet", SCHEMA)
    assert str(error.value).splitlines()[-1] == "  - … and 20 more"


def test_missing_fields_are_named(tmp_path: Path) -> None:
    write(tmp_path, [{"id": "a", "query": "Q?"}])
    with pytest.raises(SourceError) as error:
        import_file(tmp_path, tmp_path / "x.parquet", SCHEMA)
    assert str(error.value).splitlines()[1] == (
        "  - no field for images, options, gold among id, query; "
        "rename the fields (docs list the spellings that are understood)"
    )


def test_two_names_for_one_required_field_are_a_problem_not_a_choice() -> None:
    found = map_fields(["id", "scenario", "Question", "options", "gold", "image", "explanation", "rationale"], SCHEMA)
    assert found.problems == ["Question, scenario could each be question; keep one, or rename what is something else"]
    assert found.mapping["rationale"] == "rationale"  # of an optional field the canonical spelling wins
    assert found.unused == ["scenario", "explanation"]


def test_a_field_that_comes_late_is_still_found(folder: Path, tmp_path: Path) -> None:
    records = [record(0, **{"Evaluation ID": f"i{number}"}) for number in range(40)]
    records[39]["rationale"] = "late"
    write(folder, records)
    target = tmp_path / "x.parquet"
    import_file(folder, target, SCHEMA)
    assert pq.read_table(target).to_pylist()[39]["rationale"] == "late"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", "{", r"x\.json: not JSON \(.*\)\. Correct the file\.$"),
        ("x.json", '"text"', r"x\.json: JSON of type str\. Give a list of records\.$"),
        ("x.json", '{"a": [], "b": []}', r"a JSON object with 2 lists\. Give a list of records, or one list in it\.$"),
        ("x.json", "[1]", r"x\.json, record 1: int in place of an object\. Correct it\.$"),
        ("x.json", "[]", r"1 problem\(s\); nothing was written\. Correct them:\n  - no records$"),
        ("x.json", "[" * 100_000, r"x\.json: not JSON \(.*\)\. Correct the file\.$"),
        ("x.jsonl", "{}\n{", r"x\.jsonl, line 2: not JSON \(.*\)\. Correct the line\.$"),
        ("x.parquet", "PAR1", r"x\.parquet: not Parquet \(.*\)\. Write it anew\.$"),
    ],
)
def test_files_that_are_no_records(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError, match=message):
        import_file(tmp_path, tmp_path / "out" / "y.parquet", SCHEMA)


def test_a_folder_without_one_file_of_records(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as none:
        records_file(tmp_path)
    assert str(none.value) == f"{tmp_path} holds no records. Put one .parquet, .jsonl, .json, .csv, .tsv file there."
    with pytest.raises(SourceError) as absent:
        records_file(tmp_path / "no")
    assert str(absent.value).startswith(f"{tmp_path / 'no'} does not exist.")
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("[]")
    with pytest.raises(SourceError) as two:
        records_file(tmp_path)
    assert str(two.value) == f"{tmp_path} holds several .json files (a.json, b.json). Keep one, or name it."
    (tmp_path / "c.jsonl").write_text("")
    assert records_file(tmp_path).name == "c.jsonl"  # Parquet before JSONL before JSON


def test_no_data_is_one_message_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = read_card("contextcanvas")
    rest = (
        "No public file is known to us: ask the authors of AesCanvas for the 301 cases and 302 images, and put the "
        "records (JSON, JSONL, CSV, TSV or Parquet) and the images into one folder, SOURCE. Then: `export "
        "LMMS_AES_DATA=FOLDER` and `lmms-aes data import contextcanvas SOURCE`, which checks the records in SOURCE and "
        "writes FOLDER/contextcanvas/contextcanvas.parquet. To try the suite without data, run the task "
        "contextcanvas_demo."
    )
    with pytest.raises(SourceError) as unset:
        canonical_file(card)
    assert str(unset.value) == f"ContextCanvas (AesCanvas): no data ($LMMS_AES_DATA is not set). {rest}"
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    with pytest.raises(SourceError) as absent:
        canonical_file(card)
    place = tmp_path / "contextcanvas"
    assert str(absent.value) == f"ContextCanvas (AesCanvas): no data ({place} does not exist). {rest}"


def test_the_harness_hook_ends_with_the_message_on_the_first_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    rows = datasets.Dataset.from_list(json.loads(Path(TASKS_PATH / "contextcanvas/card.json").read_text()))
    with pytest.raises(SystemExit) as first:
        sources.documents(rows)
    assert str(first.value).startswith(
        "\nlmms-aes-tasks: ContextCanvas (AesCanvas): no data ($LMMS_AES_DATA is not set)."
    )
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit) as second:
        sources.documents(rows)
    assert second.value.code == 1


def test_a_raw_folder_is_loaded_and_follows_its_changes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    folder.rename(tmp_path / "contextcanvas")
    folder = tmp_path / "contextcanvas"
    card = read_card("contextcanvas")
    loaded = load(card)
    assert loaded["id"] == ["HB000", "HB001", "HB002"]
    assert loaded[0]["images"][0]["bytes"] == (folder / "img/0.png").read_bytes()  # bytes, not decoded
    assert canonical_file(card) == canonical_file(card)
    write(folder, [record(1), record(2)])
    assert load(card)["id"] == ["HB001", "HB002"]
    (folder / "img/1.png").write_bytes(b"no image any more")
    with pytest.raises(SourceError, match="not an image that can be read"):
        load(card)  # found before a run starts, not in the middle of it


def test_an_import_in_place_can_be_repeated(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    folder = folder.rename(tmp_path / "contextcanvas")
    target = folder / "contextcanvas.parquet"
    import_file(folder, target, SCHEMA)
    write(folder, [record(2)])
    os.utime(folder / "cases.jsonl", (target.stat().st_mtime + 10,) * 2)
    seen: list[str] = []
    handle = logger.add(lambda message: seen.append(message.record["message"]), level="WARNING")
    assert canonical_file(read_card("contextcanvas")) == target  # the import counts, and it is said that it is older
    logger.remove(handle)
    assert seen == [
        f"{target} is used, and cases.jsonl beside it is newer. If it was corrected, run "
        f"`lmms-aes data import contextcanvas {folder}` again"
    ]
    import_file(folder, target, SCHEMA)  # reads the records, not what it wrote before
    assert load(read_card("contextcanvas"))["id"] == ["HB002"]


def test_base64_that_is_no_image_is_named_and_not_printed(folder: Path) -> None:
    write(folder, [record(0, image_path="iVBORw0KGgo" * 500), record(1, image_path="QUJD" * 500)])
    report, _ = check_records(folder / "cases.jsonl", SCHEMA)
    assert len(report.problems) == 2
    assert report.problems[0].startswith("record 1 (id 'HB000'): image 1: ")  # it begins as PNG does, and is none
    assert report.problems[1].endswith(" … is no path, nor an image in base64. Give a path inside the data folder.")
    assert max(map(len, report.problems)) < 250


def test_damaged_parquet_is_named(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    import_file(folder, target, SCHEMA)
    content = bytearray(target.read_bytes())
    content[20:200] = bytes(180)
    target.write_bytes(content)
    with pytest.raises(SourceError, match=r"x\.parquet: (damaged|not) Parquet \("):
        check_records(target, SCHEMA)


def test_an_empty_folder_is_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    (tmp_path / "contextcanvas").mkdir()
    with pytest.raises(SourceError, match="No public file is known to us"):
        canonical_file(read_card("contextcanvas"))


def test_an_import_in_place_is_taken_as_it_is(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    target = tmp_path / "contextcanvas/contextcanvas.parquet"
    import_file(folder, target, SCHEMA)
    assert canonical_file(read_card("contextcanvas")) == target
    write(folder, [record(2)])
    import_file(folder, target, SCHEMA)
    assert load(read_card("contextcanvas"))["id"] == ["HB002"]  # no stale copy in the cache


def test_the_harness_drops_the_image_column(folder: Path, tmp_path: Path) -> None:
    """The harness tells image columns by the feature's type: ours must be one it knows."""
    import datasets

    images = features_of(SCHEMA)["images"]
    assert isinstance(images, datasets.Sequence)
    assert isinstance(images.feature, datasets.Image)


def test_labels_are_read_without_touching_images(folder: Path) -> None:
    for path in (folder / "img").iterdir():
        path.unlink()
    rows = read_labels(folder / "cases.jsonl", SCHEMA, ["id", "gold"])
    assert rows == [{"id": "HB000", "gold": "A"}, {"id": "HB001", "gold": "B"}, {"id": "HB002", "gold": "A"}]


def test_the_demo_set() -> None:
    card = read_card("contextcanvas_demo")
    path = canonical_file(card)
    report, rows = check_records(path, SCHEMA)
    assert report.problems == []
    assert count_cases(rows) == dict(card.expected)
    assert count_cases(rows)["cases"] >= 24
    assert 0.4 <= count_cases(rows)["gold_yes_rate"] <= 0.6
    assert count_cases(rows)["three_way"] == 2
    assert sum(len(row["image_sha256"]) == 2 for row in rows) == 1
    assert canonical_file(card) == path  # made once
    assert all(
        "PD" in row["provenance"]
        or "CC0" in row["provenance"]
        or "domain" in row["provenance"]
        or "no known" in row["provenance"]
        for row in rows
    )


def test_an_unknown_benchmark_is_named() -> None:
    with pytest.raises(SourceError) as error:
        read_card("contextcanvs")
    assert (
        str(error.value)
        == "no benchmark 'contextcanvs': use one of contextcanvas, contextcanvas_demo, critiquecanvas, "
        "critiquecanvas_demo, fineartbench, vab, vab_demo"
    )


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "x"
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError), atomic_path(tmp_path / "new/folder/x"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []  # nor a folder that would pass for data


def test_an_oversized_image_is_named_at_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_aes_tasks.utils import images

    buffer = io.BytesIO()
    Image.new("RGB", (8, 6)).save(buffer, "PNG")
    (tmp_path / "a.png").write_bytes(buffer.getvalue())
    write(tmp_path, [record(0, image_path="a.png")])
    monkeypatch.setattr(images, "MAX_PIXELS", 47)
    report, _ = check_records(tmp_path / "cases.jsonl", SCHEMA)
    assert report.problems == ["record 1 (id 'HB000'): image 1 (a.png): 8×6 pixels, 47 are allowed. Make it smaller."]
