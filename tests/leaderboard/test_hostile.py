"""Entries of somebody who means harm: each is refused, with a message that names the thing and is safe to print."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lmms_aes_tasks.board.errors import CorruptError, EntryError
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.leaderboard import safe_reading
from lmms_aes_tasks.leaderboard.safe_reading import compressed_lines, open_inside, strict_json
from lmms_aes_tasks.leaderboard.verify import verify_entry
from tests.leaderboard.conftest import edit_entry, edit_lines, put_content, read_entry

ONE = "contextcanvas_demo"
FILE = f"responses/{ONE}.jsonl.zst"
FORM = "entry.json: 1 problem(s). Build the entry again.\n  - "


def refusal(folder: Path) -> str:
    """The message; nothing is written into the folder, and nothing in it could drive a terminal."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(EntryError) as error:
        verify_entry(folder)
    assert sorted(folder.rglob("*")) == before
    message = str(error.value)
    assert message.replace("\n", "").isprintable()
    assert len(message) < 3_000
    return message


def zeros(folder: Path, size: int) -> int:
    """Put a file of zeros in the place of the responses: its content is never held in memory."""
    with (folder / FILE).open("wb") as file, zstandard.ZstdCompressor(level=12).stream_writer(file, size=size) as out:
        for _ in range(size // 2**20):
            out.write(bytes(2**20))
    return (folder / FILE).stat().st_size


# -- The folder -------------------------------------------------------------------------------------------------------


def test_no_entry(tmp_path: Path) -> None:
    assert refusal(tmp_path).endswith("holds no entry.json. Name the folder that `lmms-aes leaderboard build` wrote.")
    assert "is not a folder" in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "run.py", "\x1b[31mred", "entry.json.bak"])
def test_a_strange_file(entry: Path, name: str) -> None:
    (entry / name).write_text("x")
    assert refusal(entry).startswith(f"{printable(name)} does not belong in an entry, which holds entry.json, ")


@pytest.mark.parametrize("name", ["x.jsonl", "X.jsonl.zst", ".jsonl.zst", "a/b.jsonl.zst"])
def test_a_strange_file_among_the_responses(entry: Path, name: str) -> None:
    path = entry / "responses" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    shown = f"responses/{name.partition('/')[0]}"
    assert refusal(entry) == (f"{shown} does not belong in an entry; responses/ holds <task>.jsonl.zst. Take it away.")


def test_responses_of_no_task(entry: Path) -> None:
    (entry / "responses/other.jsonl.zst").write_bytes(b"")
    assert refusal(entry).startswith("responses/other.jsonl.zst is named by no task of entry.json. Take it away")


@pytest.mark.parametrize("name", ["entry.json", "verification.json", FILE, "responses"])
def test_a_symbolic_link(entry: Path, tmp_path: Path, name: str) -> None:
    path = entry / name
    aside = tmp_path / "aside"
    if path.exists():
        path.rename(aside)
    else:
        aside.write_text("{}")
    path.symlink_to(aside)
    assert refusal(entry) == f"{name} is a symbolic link. An entry holds regular files only."


@pytest.mark.parametrize("name", ["entry.json", FILE])
def test_no_regular_file(entry: Path, name: str) -> None:
    (entry / name).unlink()
    os.mkfifo(entry / name)
    assert "regular file" in refusal(entry) or "does not belong" in refusal(entry)


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "a/../../b", "responses/..", "..\\x", "", "a//b", "a\0b"]
)
def test_a_path_out_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "in").mkdir()
    with pytest.raises(EntryError, match=r"leaves the entry's folder. Name a file inside it\.$"):
        open_inside(tmp_path / "in", name)


@pytest.mark.parametrize(
    "path", ["../outside.jsonl.zst", "/etc/passwd", "responses/../../x.jsonl.zst", "responses/A.zst"]
)
def test_a_path_in_the_entry(entry: Path, path: str) -> None:
    edit_entry(entry, lambda own: own["tasks"][ONE]["file"].update(path=path))
    message = refusal(entry)
    assert message.startswith(f"{FORM}tasks.{ONE}.file.path: String should match pattern")
    assert path in message


def test_the_file_of_another_task(entry: Path) -> None:
    other = read_entry(entry)["tasks"]["vab_top1_demo"]["file"]
    edit_entry(entry, lambda own: own["tasks"][ONE].update(file=other))
    (entry / FILE).unlink()
    assert refusal(entry) == f"tasks.{ONE}.file.path is {other['path']}: use {FILE}"


def test_a_missing_file(entry: Path) -> None:
    (entry / FILE).unlink()
    assert refusal(entry) == f"{FILE}: no such file in the entry. Build the entry again."


# -- JSON -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not sound JSON ("),
        ("", "not sound JSON ("),
        ("\ufeff{}", "not sound JSON (Unexpected UTF-8 BOM"),
        ('{"value": NaN}', "not sound JSON (NaN is no number of JSON; write null)"),
        ('{"value": Infinity}', "not sound JSON (Infinity is no number of JSON; write null)"),
        ('{"value": -Infinity}', "not sound JSON (-Infinity is no number of JSON; write null)"),
        ('{"value": 1e999}', "not sound JSON (the number 1e999 is too large or too long)"),
        ('{"value": 0.' + "1" * 99 + "}", "not sound JSON (the number 0.11"),
        ('{"value": ' + "9" * 5000 + "}", "not sound JSON (the number 99999999999999999999… has 5000 digits; 30 are"),
        ('{"a": 1, "a": 2}', "not sound JSON (the key 'a' is there twice)"),
        ('{"x": {"\\u001b[31m": 1, "\\u001b[31m": 2}}', "not sound JSON (the key '\\\\x1b[31m' is there twice)"),
        ("[" * 25 + "]" * 25, "nested deeper than 24 levels. Build the entry again."),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested deeper than 24 levels. Build the entry again."),
        ("[" * 3_000_000, "nested deeper than 24 levels. Build the entry again."),
        ('{"a": "\\ud800"}', "holds half a surrogate pair. Build the entry again."),
        ('{"\\uDFFF": 1}', "holds half a surrogate pair. Build the entry again."),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_json(entry: Path, text: str, message: str) -> None:
    (entry / "entry.json").write_text(text, "utf-8")
    assert refusal(entry).startswith(f"entry.json: {message}")
    if text:
        put_line = text.encode("utf-8") + b"\n"
        with pytest.raises(EntryError) as error:
            strict_json(put_line, "there, line 1")
        assert str(error.value).startswith(f"there, line 1: {message}")


def test_bytes_that_are_no_utf_8(entry: Path) -> None:
    (entry / "entry.json").write_bytes(b'{"a": "\xff"}')
    assert refusal(entry).startswith("entry.json: not sound JSON ('utf-8' codec can't decode byte 0xff")


def test_as_deep_as_is_allowed() -> None:
    assert strict_json(b"[" * 24 + b"]" * 24, "x") is not None


def test_a_large_entry(entry: Path) -> None:
    with (entry / "entry.json").open("ab") as file:
        file.truncate(100 * 2**20)
    assert refusal(entry) == "entry.json is larger than 8388608 bytes. Is it the right file?"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda own: own.update(more=1),
            FORM + "more: Extra inputs are not permitted",
        ),
        (
            lambda own: own.update(status="recomputed"),
            FORM + "status: Input should be 'self-rep",
        ),
        (lambda own: own.update(date="2026-02-30"), "entry.json: date is 2026-02-30, which is no day"),
        (
            lambda own: own.update(schema_version="2"),
            FORM + "schema_version: Input should be '1'",
        ),
        (
            lambda own: own["model"].update(id="../../x"),
            FORM + "model.id: String should match",
        ),
        (
            lambda own: own["model"].update(id="O/Modèle"),
            FORM + "model.id: String should match",
        ),
        (
            lambda own: own["model"].update(revision="v\u0661"),
            FORM + "model.revision: String should",
        ),
        (
            lambda own: own["model"].update(id="O/<script>"),
            FORM + "model.id: String should match",
        ),
        (
            lambda own: own.update(evaluator="<script>alert(1)</script>"),
            "entry.json, evaluator is '<script>alert(1)</script>': names hold visible characters without < and >.",
        ),
        (
            lambda own: own.update(evaluator="\x1b[2Jme\u202e"),
            "entry.json, evaluator is '\\x1b[2Jme\\u202e': names hold visible characters without < and >.",
        ),
        (
            lambda own: own["versions"]["libraries"].update({"<img src=x onerror=alert(1)>": "1"}),
            "entry.json, versions.libraries: a name is '<img src=x onerror=alert(1)>': names hold visible",
        ),
        (
            lambda own: own["tasks"][ONE]["metrics"].update({"<b>": own["tasks"][ONE]["metrics"]["accuracy"]}),
            f"entry.json, tasks.{ONE}.metrics: a name is '<b>': names hold visible characters without < and >.",
        ),
        (
            lambda own: own["tasks"][ONE]["breakdowns"].update({"<i>": {}}),
            f"entry.json, tasks.{ONE}.breakdowns: a name is '<i>': names hold",
        ),
        (
            lambda own: own.update(evaluator="me, /home/me/x"),
            "entry.json, evaluator holds a key, a token or a local path",
        ),
        (
            lambda own: own["tasks"][ONE]["metrics"]["accuracy"].update(value="0.75"),
            f"{FORM}tasks.{ONE}.metrics.accuracy.value: Input should be a valid number, and it is",
        ),
        (
            lambda own: own["tasks"].update({"../x": own["tasks"][ONE]}),
            FORM + "tasks.../x.[key]: String should match pattern",
        ),
    ],
)
def test_the_form(entry: Path, change: Callable[[dict[str, Any]], object], message: str) -> None:
    edit_entry(entry, change)
    assert refusal(entry).startswith(message)


def test_many_problems_are_cut(entry: Path) -> None:
    (entry / "entry.json").write_text(json.dumps({f"k{number}": number for number in range(100_000)}))
    assert refusal(entry).startswith("entry.json: 100004 problem(s). Build the entry again.\n  - ")


# -- Compressed responses ---------------------------------------------------------------------------------------------


def test_a_bomb_that_says_what_it_is(entry: Path) -> None:
    size = 500 * 2**20
    compressed = zeros(entry, size)
    edit_entry(entry, lambda own: own["tasks"][ONE]["file"].update(content_bytes=size, bytes=compressed))
    assert refusal(entry) == (
        f"{FILE}: {size} bytes of content in {compressed} bytes, more than 1000 times as much: refused as a "
        "decompression bomb."
    )


def test_a_bomb_that_does_not_say(entry: Path) -> None:
    """Decompression stops as soon as there is more than was said: in no time, and in little memory."""
    zeros(entry, 4 * 2**30)
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = read_entry(entry)["tasks"][ONE]["file"]["content_bytes"]
    assert refusal(entry) == f"{FILE} decompresses to more than the {size} bytes that the entry says: refused."
    assert time.monotonic() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_more_content_than_is_allowed(entry: Path) -> None:
    edit_entry(entry, lambda own: own["tasks"][ONE]["file"].update(content_bytes=2**40))
    assert refusal(entry) == f"entry.json: {total(entry)} bytes of content in all, and 1073741824 are allowed."
    edit_entry(entry, lambda own: own["tasks"][ONE]["file"].update(content_bytes=600 * 2**20))
    assert refusal(entry) == f"{FILE}: 629145600 bytes of content, and 536870912 are allowed."


def total(folder: Path) -> int:
    return sum(task["file"]["content_bytes"] for task in read_entry(folder)["tasks"].values())


def test_a_line_of_a_gigabyte(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every other limit out of the way, a line ends the reading at its own."""
    monkeypatch.setattr(safe_reading, "MAX_RATIO", 10**9)
    monkeypatch.setattr(safe_reading, "MAX_CONTENT_BYTES", 2**40)
    monkeypatch.setattr("lmms_aes_tasks.leaderboard.entry_checks.MAX_TOTAL_BYTES", 2**40)
    zeros(entry, 2**30)
    edit_entry(entry, lambda own: own["tasks"][ONE]["file"].update(content_bytes=2**30))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert refusal(entry) == f"{FILE}: a line is longer than 8388608 bytes."
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_a_frame_that_asks_for_much_memory(entry: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, write_content_size=False)
    content = b"{}\n" * 1000
    # streamed, and without its size in the header: else a small content has a small window
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    compressed = compressor.compress(content) + compressor.flush()
    (entry / FILE).write_bytes(compressed)
    edit_entry(entry, lambda own: own["tasks"][ONE]["file"].update(content_bytes=len(content), sha256=digest(entry)))
    assert refusal(entry).startswith(f"{FILE} does not decompress (zstd decompress error: Frame requires too much mem")


def digest(folder: Path) -> str:
    import hashlib

    return hashlib.sha256((folder / FILE).read_bytes()).hexdigest()


@pytest.mark.parametrize("content", [b"", b"no zstd at all", b"PK\x03\x04" + bytes(100)])
def test_no_zstandard_file(entry: Path, content: bytes) -> None:
    (entry / FILE).write_bytes(content)
    edit_entry(entry, lambda own: own["tasks"][ONE]["file"].update(sha256=digest(entry), bytes=len(content)))
    assert refusal(entry).startswith(f"{FILE} d")


def test_a_frame_after_the_first_is_counted(entry: Path) -> None:
    path = entry / FILE
    path.write_bytes(path.read_bytes() + zstandard.ZstdCompressor().compress(b"{}\n"))
    assert "decompresses to more than the" in refusal(entry)


def test_less_content_than_said_and_a_line_without_end(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(zstandard.ZstdCompressor().compress(b"{}\n{}"))
    with pytest.raises(CorruptError, match="its last line does not end"):
        list(compressed_lines(tmp_path, "x", 5))
    (tmp_path / "x").write_bytes(zstandard.ZstdCompressor().compress(b"{}\n{}\n"))
    with pytest.raises(CorruptError, match="x decompresses to 6 bytes, and the entry says 9"):
        list(compressed_lines(tmp_path, "x", 9))
    assert list(compressed_lines(tmp_path, "x", 6)) == [b"{}", b"{}"]


@pytest.mark.parametrize("size", [1, 7, 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20])
def test_lines_across_pieces(tmp_path: Path, size: int) -> None:
    lines = [b"a" * size, b"", b"b" * size]
    content = b"".join(line + b"\n" for line in lines)
    (tmp_path / "x").write_bytes(zstandard.ZstdCompressor().compress(content))
    assert list(compressed_lines(tmp_path, "x", len(content))) == lines


# -- Rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[]", "line 1: holds list; a row has id, response and record, and nothing else."),
        (b'{"id": "a", "response": "b"}', "line 1: holds id, response; a row has id, response and"),
        (
            b'{"id": "a", "response": "b", "record": {}, "env": {}}',
            "line 1: holds env, id, record, response; a",
        ),
        (b'{"id": "", "response": "b", "record": {}}', "line 1: id is ''; give a text of 1 to 1000 visible characters"),
        (b'{"id": 1, "response": "b", "record": {}}', "line 1: id is 1; give a text of 1 to 1000 visible characters"),
        (b'{"id": "<b>", "response": "b", "record": {}}', "line 1: id is '<b>'; give a text of 1 to 1000 visible"),
        (b'{"id": "a", "response": null, "record": {}}', "line 1: response is no text of up to 1000000 characters."),
        (b'{"id": "a", "response": "b", "record": []}', "line 1: record is no object."),
        (b'{"id": "a", "id": "a", "response": "b", "record": {}}', "line 1: not sound JSON (the key 'id' is there twi"),
        (b'{"id": "a", "response": "b", "record": {"x": NaN}}', "line 1: not sound JSON (NaN is no number of JSON"),
        (
            b'{"id": "a", "response": "b", "record": ' + b"[" * 99 + b"]" * 99 + b"}",
            "line 1: nested deeper than 24 l",
        ),
        (b'{"id": "a", "response": "' + b"x" * 1_000_001 + b'", "record": {}}', "line 1: response is no text of up to"),
        (b"", "line 1: not sound JSON (Expecting value"),
    ],
)
def test_rows(entry: Path, line: bytes, message: str) -> None:
    put_content(entry, ONE, line + b"\n")
    assert refusal(entry).startswith(f"{FILE}, {message}")


def test_too_many_rows(entry: Path) -> None:
    put_content(entry, ONE, b'{"id": "a", "response": "b", "record": {}}\n' * 100_001)
    assert refusal(entry) == f"{FILE}: more than 100000 rows, the limit."


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        (ONE, {"options": [["A", "Yes"]]}, "options are no list of [id, text] with ids A, B, … of 2 to 26 options"),
        (ONE, {"options": [["A", "x"], ["A", "y"]]}, "options are no list of [id, text] with ids A, B, … of 2 to 26"),
        (ONE, {"gold": "Z"}, "gold is 'Z': use one of A, B"),
        ("vab_top1_demo", {"n_images": 10**9}, "n_images is 1000000000: give a whole number from 2 to 26"),
        ("vab_top1_demo", {"trial": 3}, "trial is 3: give a whole number from 0 to 2"),
        ("vab_top1_demo", {"ground_truth_best": "Z"}, "ground_truth_best is 'Z'; use one of A, B"),
        ("vab_top1_demo", {"domain": "<script>"}, "domain is '<script>': give a text of up to 200 visible characters"),
        ("critiquecanvas_demo", {"bleu": [10**20] * 9}, "BLEU statistics are"),
        ("critiquecanvas_demo", {"mentions": {"<b>": 1}}, "unknown dimension <b>: use Content, Composition"),
        ("critiquecanvas_demo", {"mentions": 3}, "a record of critiquecanvas lacks"),
    ],
)
def test_records_without_the_data(
    entry: Path, monkeypatch: pytest.MonkeyPatch, task: str, change: dict[str, Any], message: str
) -> None:
    from lmms_aes_tasks.leaderboard import verify

    monkeypatch.setattr(verify, "data_of", lambda *_: None)
    edit_lines(entry, task, lambda lines: lines[0]["record"].update(change))
    found = [own.message for own in verify_entry(entry).findings if own.kind == "error"]
    assert found[0].startswith(f"its record is not sound: {message}")


def test_a_ranking_of_thousands_of_methods_is_not_begun() -> None:
    from lmms_aes_tasks.fineartbench.board import BENCHMARK
    from lmms_aes_tasks.leaderboard.tasks import known_tasks

    task = known_tasks()["fineartbench_2afc_global"]
    names = {"content_index": 1, "style_index": 1, "human": "left"}
    items = []
    for number in range(30):
        record = names | {"number": number, "method_left": f"a{number}", "method_right": f"b{number}"}
        items.append(BENCHMARK.read(task, BENCHMARK.document(task, record), "{'winner': 0}", record).item)
    with pytest.raises(ValueError, match="60 methods: FineArtBench has 10, and 20 are allowed"):
        BENCHMARK.figures(task, items)
    for change, message in (
        ({"method_left": "x", "method_right": "x"}, "method_left and method_right are both 'x': give two methods"),
        ({"number": -1}, "number is -1: give a whole number from 0 to 1000000"),
        ({"number": True}, "number is True: give a whole number from 0 to 1000000"),
        ({"human": "both"}, "human is 'both': use left, right, skipped or"),
    ):
        with pytest.raises(ValueError, match=message):
            BENCHMARK.document(task, {**names, "number": 1, "method_left": "a", "method_right": "b", **change})
