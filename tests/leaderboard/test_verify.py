"""Verification: what is right passes, and of what was changed exactly that is named."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_aes_tasks.board.digests import response_digest
from lmms_aes_tasks.board.errors import EntryError
from lmms_aes_tasks.board.schema import Verification
from lmms_aes_tasks.leaderboard.build import EntryRequest, build
from lmms_aes_tasks.leaderboard.verify import verify_entry, write_verification
from lmms_aes_tasks.records import SourceError
from tests.encoders import EncoderFolders
from tests.leaderboard import runs
from tests.leaderboard.conftest import TASKS, edit_entry, edit_lines, read_entry, read_lines

ONE = "contextcanvas_demo"
FILE = f"responses/{ONE}.jsonl.zst"


def errors(found: Verification) -> list[tuple[str, str]]:
    assert (found.status is None) == any(own.kind == "error" for own in found.findings)
    return [(own.where, own.message) for own in found.findings if own.kind == "error"]


def wheres(found: Verification) -> list[str]:
    return [where for where, _ in errors(found)]


def test_a_sound_entry_is_recomputed(entry: Path) -> None:
    found = verify_entry(entry)
    assert errors(found) == []
    assert found.status == "recomputed"
    assert set(found.recomputed) == set(TASKS)
    assert found.not_recomputed == {"critiquecanvas_demo": ["bert_f1", "sbert_cos", "clip_cos"]}
    assert "meteor" in found.recomputed["critiquecanvas_demo"]
    write_verification(found, entry / "verification.json")
    assert Verification.model_validate_json((entry / "verification.json").read_text()) == found
    assert verify_entry(entry).status == "recomputed"  # with the verification beside it
    assert not list(entry.glob(".*"))


# -- One thing changed ------------------------------------------------------------------------------------------------


def test_a_byte_of_the_compressed_file(entry: Path) -> None:
    path = entry / FILE
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    found = errors(verify_entry(entry))
    assert found[0][0] == FILE
    assert found[0][1].startswith("its sha256 is ")
    assert {where for where, _ in found} == {FILE}


@pytest.mark.parametrize("fix", [False, True])
def test_a_byte_of_a_response(entry: Path, fix: bool) -> None:
    """The reason of a reply: no score depends on it, and its id is named all the same."""

    def change(lines: list[dict[str, Any]]) -> None:
        assert lines[4]["id"] == "demo-05"
        lines[4]["response"] = lines[4]["response"].replace("baseline", "baseljne")
        lines[4]["record"]["reason"] = "baseljne"

    edit_lines(entry, ONE, change, fix)
    found = errors(verify_entry(entry))
    named = {where for where, _ in found}
    assert f"{FILE}, id demo-05" in named
    assert named <= {f"{FILE}, id demo-05", FILE}
    assert (FILE in named) is not fix
    message = dict(found)[f"{FILE}, id demo-05"]
    digest = response_digest(read_lines(entry, ONE)[4]["response"])
    assert message.startswith(f"the response was changed: its digest is {digest}, and its record says '")


def test_an_answer_turned_right_by_a_careful_forger(entry: Path) -> None:
    """Response, record and its digest agree: then the figures do not."""
    wrong: list[str] = []

    def change(lines: list[dict[str, Any]]) -> None:
        line = next(line for line in lines if line["record"]["answer"] != line["record"]["gold"])
        wrong.append(line["id"])
        line["record"]["answer"] = line["record"]["gold"]
        line["response"] = json.dumps({"answer": line["record"]["gold"], "reason": "baseline", "confidence": "low"})
        line["record"]["response_digest"] = response_digest(line["response"])

    edit_lines(entry, ONE, change)
    found = dict(errors(verify_entry(entry)))
    assert found[f"tasks.{ONE}.metrics.accuracy.value"] == "is 0.75, and 0.7857142857142857 recomputed"
    assert found[f"tasks.{ONE}.metrics.accuracy.numerator"] == "is 21.0, and 22.0 recomputed"
    assert f"tasks.{ONE}.metrics.macro_f1.per_item_sha256" in found
    assert FILE not in found


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("metrics", "accuracy", "value"), 0.76, "is 0.76, and 0.75 recomputed"),
        (("metrics", "accuracy", "value"), 0.75 + 2e-9, "is 0.750000002, and 0.75 recomputed"),
        (("metrics", "accuracy", "value"), None, "is None, and 0.75 recomputed"),
        (("metrics", "accuracy", "numerator"), 22.0, "is 22.0, and 21.0 recomputed"),
        (("metrics", "accuracy", "n"), 29, "is 29, and 28 recomputed"),
        (("metrics", "accuracy", "low"), 0.7, "is 0.7, and 0."),
        (("metrics", "macro_f1", "per_item_sha256"), "0" * 64, f"is '{'0' * 64}', and '"),
        (("metrics", "yes_rate", "higher_is_better"), True, "is True, and None recomputed"),
        (("metrics", "yes_rate", "unit"), "words", "is 'words', and 'fraction' recomputed"),
        (("breakdowns", "n_options", "2", "accuracy", "value"), 0.9, "is 0.9, and 0."),
        (("parse_rate",), 0.9, "is 0.9, and 1.0 recomputed"),
        (("ids_sha256",), "1" * 64, f"is '{'1' * 64}', and '"),
        (("data_sha256",), "2" * 64, f"is '{'2' * 64}', and '"),
        (("n",), 27, "is 27, and 28 recomputed"),
        (("n_expected",), 27, "is 27, and 28 recomputed"),
        (("file", "sha256"), "3" * 64, None),
        (("file", "rows"), 27, "is 27, and the file has 28"),
        (("parser",), "0", "is 0; this one's is 2. Install theirs"),
        (("version",), "9-A", "is 9-A; this lmms-aes-tasks scores 1-A. Install theirs"),
        (("signature",), "task:x", "is 'task:x', and 'task:contextcanvas_demo|v:1-A|"),
        (("decoding", "secret_setting"), 1, "no such setting: use "),
        (("images", "secret_setting"), 1, "no such setting: use "),
    ],
)
def test_a_field_of_the_entry(entry: Path, path: tuple[str, ...], value: Any, message: str | None) -> None:
    def change(content: dict[str, Any]) -> None:
        place = content["tasks"][ONE]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    edit_entry(entry, change)
    found = errors(verify_entry(entry))
    where = FILE if message is None else f"tasks.{ONE}.{'.'.join(path)}"
    assert where in dict(found), found
    assert dict(found)[where].startswith(message or "its sha256 is ")
    # and nothing else but what is said twice in an entry
    allowed = {where, f"tasks.{ONE}.signature", f"tasks.{ONE}.parser", f"tasks.{ONE}.prompts"}
    assert set(dict(found)) <= allowed


@pytest.mark.parametrize("name", ["accuracy", "invented"])
def test_a_figure_too_few_or_too_many(entry: Path, name: str) -> None:
    def change(content: dict[str, Any]) -> None:
        metrics = content["tasks"][ONE]["metrics"]
        metrics["invented"] = metrics["accuracy"]
        del metrics["accuracy" if name == "accuracy" else "macro_f1"]

    edit_entry(entry, change)
    found = dict(errors(verify_entry(entry)))
    assert found[f"tasks.{ONE}.metrics.invented"].startswith("no figure of this task: it has accuracy, ")
    missing = "accuracy" if name == "accuracy" else "macro_f1"
    assert found[f"tasks.{ONE}.metrics.{missing}"] == "the figure is missing"


def test_a_prompt_of_ours_with_another_hash(entry: Path) -> None:
    edit_entry(entry, lambda own: own["tasks"][ONE]["prompts"][0].update(sha256="4" * 64))
    found = dict(errors(verify_entry(entry)))
    assert found[f"tasks.{ONE}.prompts"].startswith(f"contextcanvas-1 has the SHA-256 {'4' * 64}, ours is ")
    edit_entry(entry, lambda own: own["tasks"][ONE]["prompts"][0].update(id="other", n=27))
    assert dict(errors(verify_entry(entry)))[f"tasks.{ONE}.prompts"] == "name 27 items, and there are 28"


def change_id(lines: list[dict[str, Any]]) -> None:
    lines[2]["id"] = "demo-99"


def change_both_ids(lines: list[dict[str, Any]]) -> None:
    lines[2]["id"] = lines[2]["record"]["id"] = "demo-99"


def drop(lines: list[dict[str, Any]]) -> None:
    del lines[2]


def repeat(lines: list[dict[str, Any]]) -> None:
    lines.append(lines[2])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (change_id, {"id demo-99": "the id is none of the data's", "id demo-03": "the id is missing"}),
        (change_both_ids, {"id demo-99": "the id is none of the data's", "id demo-03": "the id is missing"}),
        (drop, {"id demo-03": "the id is missing", "": "27 items of 28: a run with --limit, or cut"}),
        (repeat, {"id demo-03": "the id is there more than once", "": "29 items of 28: a run with --limit, or cut"}),
    ],
)
def test_ids(entry: Path, change: Callable[[list[dict[str, Any]]], None], expected: dict[str, str]) -> None:
    edit_lines(entry, ONE, change)
    found = errors(verify_entry(entry))
    for where, message in expected.items():
        assert (f"{FILE}, {where}" if where else FILE, message) in found
    ids = {where for where in dict(found) if ", id " in where}
    assert ids == {f"{FILE}, {where}" for where in expected if where}


def test_an_id_that_is_not_its_record_s(entry: Path) -> None:
    edit_lines(entry, ONE, change_id)
    found = errors(verify_entry(entry))
    assert (f"{FILE}, id demo-99", "the id is another than that of its record, 'demo-03'") in found


def test_a_gold_label_that_is_not_the_data_s(entry: Path) -> None:
    def change(lines: list[dict[str, Any]]) -> None:
        lines[0]["record"]["gold"] = "B"

    assert read_lines(entry, ONE)[0]["record"]["gold"] == "A"
    edit_lines(entry, ONE, change)
    assert errors(verify_entry(entry)) == [(f"{FILE}, id demo-01", "record: gold is 'B', and 'A' recomputed")]


@pytest.mark.parametrize(
    ("task", "key", "value", "message"),
    [
        ("vab_top1_demo", "permutation", [0, 1, 2, 3, 4, 5, 6], "record: permutation is [0, 1, 2, 3, 4, 5, 6], and"),
        ("vab_top1_demo", "rule", "tolerant", "record: rule is 'tolerant', and 'strict' recomputed"),
        ("vab_tb1_demo", "answer", ["A", "A"], "record: answer is ['A', 'A'], and"),
        ("critiquecanvas_demo", "words", 9999, "record: words is 9999, and"),
        ("critiquecanvas_demo", "rouge_l", 0.99, "record: rouge_l is 0.99, and"),
        ("critiquecanvas_demo", "meteor", 7, "record: meteor is 7, and"),
        ("critiquecanvas_demo", "bleu", [1] * 10, "record: bleu is [1, 1, 1, 1, 1, 1, 1, 1, 1, 1], and"),
        ("critiquecanvas_demo", "extra", "x", "record: extra does not belong in the record"),
        (ONE, "confidence", "high", "record: confidence is 'high', and 'low' recomputed"),
    ],
)
def test_a_record_that_is_not_what_the_response_gives(
    entry: Path, task: str, key: str, value: Any, message: str
) -> None:
    def change(lines: list[dict[str, Any]]) -> None:
        lines[0]["record"][key] = value

    first = read_lines(entry, task)[0]["id"]
    edit_lines(entry, task, change)
    found = errors(verify_entry(entry))
    assert found[0][0] == f"responses/{task}.jsonl.zst, id {first}"
    assert found[0][1].startswith(message)


def test_many_alike_are_counted(entry: Path) -> None:
    def change(lines: list[dict[str, Any]]) -> None:
        for line in lines:
            line["record"]["rule"] = "other"

    edit_lines(entry, ONE, change)
    found = errors(verify_entry(entry))
    assert (f"{FILE}: records", "and 8 more of these") in found
    assert len([where for where, _ in found if ", id " in where]) == 20


def test_a_run_with_a_limit_never_verifies(tmp_path: Path) -> None:
    answers = runs.demo_answers(ONE)
    runs.write_run(tmp_path / "out", {ONE: answers[ONE][:7]}, config={"limit": 7})
    build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", allow_incomplete=True))
    found = errors(verify_entry(tmp_path / "entry"))
    assert (FILE, "7 items of 28: a run with --limit, or cut") in found
    assert len(found) == 22  # and every missing id, of which twenty are listed
    assert (f"{FILE}: missing ids", "and 1 more of these") in found


# -- Implausible patterns ---------------------------------------------------------------------------------------------


def flags(tmp_path: Path, task: str, reply: runs.Reply) -> list[str]:
    answers = {task: [(document, reply(document)) for document in runs.demo_documents(task)]}
    runs.write_run(tmp_path / "out", answers)
    build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model"))
    found = verify_entry(tmp_path / "entry")
    assert found.status == "recomputed"  # a flag is no error: somebody has to look
    return [f"{own.where}: {own.message}" for own in found.findings if own.kind == "flag"]


def test_constant_answers(tmp_path: Path) -> None:
    assert flags(tmp_path / "a", ONE, lambda document: '{"answer": "A"}') == [
        f"{ONE}: every answer is the same ('A'): a constant, or a broken run?"
    ]
    assert flags(tmp_path / "b", "vab_top1_demo", lambda document: "BEST: A") == [
        "vab_top1_demo: every answer is the same ((0,)): a constant, or a broken run?"
    ]
    (flag,) = flags(tmp_path / "c", "critiquecanvas_demo", lambda document: "A balanced picture.")
    assert flag == "critiquecanvas_demo: 27 of 27 critiques are the same text: a constant, or a broken run?"


def test_answers_equal_to_the_reference(tmp_path: Path) -> None:
    (flag,) = flags(tmp_path, "critiquecanvas_demo", lambda document: document["reference"])
    assert flag.startswith("critiquecanvas_demo: 27 critiques equal their reference (")


def test_a_low_parse_rate(tmp_path: Path) -> None:
    flagged = flags(tmp_path, ONE, lambda document: "no idea" if document["id"] > "demo-10" else '{"answer": "B"}')
    assert flagged == [f"{ONE}: parse rate 0.357 is below 0.5: the answers are mostly noise"]


# -- With and without the data ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def critiques(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small `critiquecanvas` run and its data, under the name of the real one."""
    folder = tmp_path_factory.mktemp("critiques")
    documents = runs.critique_documents(12, 30)
    place = folder / "data" / "critiquecanvas"
    place.mkdir(parents=True)
    for number, document in enumerate(documents):
        Image.new("RGB", (8, 8), (number * 9, 0, 0)).save(place / f"{number}.png")
        document["image"] = f"{number}.png"
    fields = ("id", "domain", "instruction", "reference", "image")
    rows = [{name: document[name] for name in fields} for document in documents]
    (place / "records.json").write_text(json.dumps(rows))
    reply = runs.oracle()("critiquecanvas")
    runs.write_run(folder / "out", {"critiquecanvas": [(document, reply(document)) for document in documents]})
    return folder / "out", folder / "data"


@pytest.fixture
def of_twelve(monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_aes_tasks.leaderboard import build as build_module
    from lmms_aes_tasks.leaderboard import results, verify

    for module in (build_module, results, verify):
        monkeypatch.setattr(module, "expected_items", lambda task: 12)


@pytest.mark.usefixtures("of_twelve")
def test_critiques_with_and_without_their_references(critiques: tuple[Path, Path], tmp_path: Path) -> None:
    out, data = critiques
    with_data, without = tmp_path / "with", tmp_path / "without"
    build([out], with_data, EntryRequest("Org/Model", data=data))
    build([out], without, EntryRequest("Org/Model"))
    given, other = (read_entry(folder)["tasks"]["critiquecanvas"] for folder in (with_data, without))
    for metric, own in given["metrics"].items():
        assert own | {"reason": None} == other["metrics"][metric] | {"reason": None}
    assert given["data_sha256"] is not None
    assert other["data_sha256"] is None
    assert "|data:none|" in other["signature"]
    for folder in (with_data, without):
        found = verify_entry(folder, data)
        assert found.status == "recomputed"
        assert "bleu" in found.recomputed["critiquecanvas"]
        found = verify_entry(folder)
        assert found.status == "recomputed"
        left_out = {"bleu", "rouge_l", "meteor", "len_ref", "prompt_align", "bert_f1", "sbert_cos", "clip_cos"}
        assert set(found.not_recomputed["critiquecanvas"]) == left_out
        assert "avg_length" in found.recomputed["critiquecanvas"]
        notes = {f"{own.where}: {own.message}" for own in found.findings}
        assert (
            "critiquecanvas: not recomputed: bleu, rouge_l, meteor, len_ref, prompt_align: added up from the records: "
            "references and instructions are in the data (--data)" in notes
        )
        assert (
            "critiquecanvas: gold labels are those of the records, and the data's fingerprint is not checked: "
            "give --data" in notes
        )


@pytest.mark.usefixtures("of_twelve")
def test_wordnet_is_missing(critiques: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_aes_tasks.critiquecanvas import items as critiquecanvas
    from lmms_aes_tasks.utils.wordnet import WordNetError

    out, data = critiques
    build([out], tmp_path / "entry", EntryRequest("Org/Model", data=data))

    def missing() -> None:
        raise WordNetError("none")

    monkeypatch.setattr(critiquecanvas, "lexicon", missing)
    found = verify_entry(tmp_path / "entry", data)
    assert found.status == "recomputed"
    assert "meteor" in found.not_recomputed["critiquecanvas"]
    assert "rouge_l" in found.recomputed["critiquecanvas"]


@pytest.mark.usefixtures("of_twelve")
def test_an_image_of_the_data_that_is_another(critiques: tuple[Path, Path], tmp_path: Path) -> None:
    out, data = critiques
    build([out], tmp_path / "entry", EntryRequest("Org/Model", data=data))
    other = Path(shutil.copytree(data, tmp_path / "data"))
    Image.new("RGB", (8, 8), (1, 2, 3)).save(other / "critiquecanvas/3.png")
    found = errors(verify_entry(tmp_path / "entry", other))
    assert [where for where, _ in found] == ["tasks.critiquecanvas.data_sha256", "tasks.critiquecanvas.signature"]


def test_a_verification_elsewhere_and_nowhere(entry: Path, tmp_path: Path) -> None:
    found = verify_entry(entry)
    write_verification(found, tmp_path / "out" / "mine.json")
    assert (tmp_path / "out" / "mine.json").is_file()
    assert not (entry / "verification.json").exists()


def test_a_task_that_is_none_of_ours(entry: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["tasks"] = {"mmlu": content["tasks"][ONE] | {"task": "mmlu"}}
        content["tasks"]["mmlu"]["file"]["path"] = FILE

    edit_entry(entry, change)
    for path in (entry / "responses").iterdir():
        if path.name != f"{ONE}.jsonl.zst":
            path.unlink()
    with pytest.raises(EntryError, match=r"tasks.mmlu: task mmlu of contextcanvas is none of ours: use contextcanvas"):
        verify_entry(entry)


@pytest.mark.usefixtures("of_twelve")
def test_embedding_metrics_where_the_encoders_are(
    critiques: tuple[Path, Path], encoder_folders: EncoderFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, data = critiques
    task = "critiquecanvas"
    for name, value in encoder_folders.environment.items():
        monkeypatch.setenv(name, value)
    build([out], tmp_path / "entry", EntryRequest("Org/Model", data=data))
    content = read_entry(tmp_path / "entry")
    lines = read_lines(tmp_path / "entry", task)
    names = {"bert_f1", "sbert_cos", "clip_cos"}
    for name in names:
        metric = content["tasks"][task]["metrics"][name]
        values = [line["record"][name] for line in lines]
        assert metric["value"] == pytest.approx(sum(values) / 12, abs=1e-12)
        assert metric["per_item_sha256"] is not None
        assert re.fullmatch(r"local@[0-9a-f]{16}( layer 2)?", content["versions"]["libraries"][f"encoder:{name}"])
    assert str(encoder_folders.bert) not in json.dumps(content)
    canonical = json.dumps(
        {name: content["versions"]["libraries"][f"encoder:{name}"] for name in sorted(names)}, separators=(",", ":")
    )
    enc = hashlib.sha256(canonical.encode()).hexdigest()[:8]
    assert f"|enc:{enc}|" in content["tasks"][task]["signature"]
    found = verify_entry(tmp_path / "entry", data)
    assert errors(found) == []
    assert names <= set(found.recomputed[task])
    assert found.not_recomputed == {}

    def change(lines: list[dict[str, Any]]) -> None:
        lines[3]["record"]["sbert_cos"] = 0.999

    edit_lines(tmp_path / "entry", task, change)
    wrong = errors(verify_entry(tmp_path / "entry", data))
    assert wrong[0][0] == f"responses/{task}.jsonl.zst, id critique-0003"
    assert wrong[0][1].startswith("record: sbert_cos is 0.999, and ")
    assert f"tasks.{task}.metrics.sbert_cos.value" in wheres(verify_entry(tmp_path / "entry"))

    build([out], tmp_path / "entry", EntryRequest("Org/Model", data=data), force=True)
    monkeypatch.setenv("LMMS_AES_EMBEDDINGS", "off")
    found = verify_entry(tmp_path / "entry", data)
    assert found.status == "recomputed"
    assert set(found.not_recomputed[task]) == names
    monkeypatch.delenv("LMMS_AES_EMBEDDINGS")
    monkeypatch.setenv("LMMS_AES_SBERT", str(encoder_folders.bert))
    found = verify_entry(tmp_path / "entry", data)
    assert found.status == "recomputed"
    assert set(found.not_recomputed[task]) == {"sbert_cos"}


def test_a_day_to_come(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmms_aes_tasks.board.schema.today", lambda: "2026-01-31")
    monkeypatch.setattr("lmms_aes_tasks.leaderboard.entry_checks.today", lambda: "2026-01-31")
    edit_entry(entry, lambda own: own.update(date="2026-02-01"))  # somewhere it is tomorrow already
    assert verify_entry(entry).status == "recomputed"
    edit_entry(entry, lambda own: own.update(date="2026-02-02"))
    found = verify_entry(entry)
    assert found.status is None
    assert (found.findings[0].where, found.findings[0].message) == (
        "date",
        "is 2026-02-02, and today is 2026-01-31 (UTC): give the day of the run",
    )


def test_a_demo_where_its_data_cannot_be_made(entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "skimage", None)
    monkeypatch.setitem(sys.modules, "skimage.data", None)
    found = verify_entry(entry)
    assert errors(found) == []
    assert found.status == "recomputed"
    notes = {own.where: own.message for own in found.findings if own.kind == "note" and "gold labels" in own.message}
    assert set(notes) == set(TASKS)
    assert notes[ONE].endswith(
        "not checked: the demo's data is made from scikit-image's photographs: pip install 'lmms-aes-tasks[demo]'"
    )
    with pytest.raises(SourceError, match="scikit-image"):
        verify_entry(entry, data_required=True)
