"""A result's signature: whatever changes a score changes it, and nothing else does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmms_aes_tasks.board.schema import PromptUse, TaskResult
from lmms_aes_tasks.leaderboard.build import EntryRequest, build_entry
from lmms_aes_tasks.leaderboard.results import settings_digest, signature
from lmms_aes_tasks.leaderboard.verify import verify_entry
from lmms_aes_tasks.utils.wordnet import Lexicon
from lmms_aes_tasks.vab import prompts as vab_prompts
from tests.leaderboard.entries import GOLDS, context_rows, result
from tests.leaderboard.runs import demo_answers, write_run

CONTEXT, VAB, CRITIQUE = "contextcanvas_demo", "vab_top1_demo", "critiquecanvas_demo"


def eight(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def parts(line: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in line.split("|"))


@pytest.fixture
def given(tmp_path: Path) -> Callable[..., TaskResult]:
    rows = context_rows(dict.fromkeys(GOLDS, "A"), GOLDS)

    def make(**changes: Any) -> TaskResult:
        return result(tmp_path, "contextcanvas", "contextcanvas", rows, **changes)

    return make


def test_every_part_of_the_line(given: Callable[..., TaskResult]) -> None:
    one = given(
        data_sha256="12345678" + "0" * 56,
        prompts=[PromptUse(id="contextcanvas-1", sha256="9abcdef0" + "1" * 56, n=4)],
        decoding={"temperature": 0.5, "do_sample": True},
        images={"image_fit": "pad", "image_size": 448},
    )
    canonical = '{"decoding":{"do_sample":true,"temperature":0.5},"images":{"image_fit":"pad","image_size":448}}'
    assert signature(one, "", {}, "0.2.0") == (
        f"task:contextcanvas|v:1-A|data:12345678|prompt:9abcdef0|set:{eight(canonical)}|parser:2|boot:1000/0|n:4|"
        "version:0.2.0"
    )
    assert signature(one, "fedcba98" + "0" * 56, {"wordnet": "3.0", "atlas": None}, "0.2.0") == (
        f"task:contextcanvas|v:1-A|data:12345678|prompt:9abcdef0|set:{eight(canonical)}|parser:2|enc:fedcba98|"
        "atlas:unknown|wordnet:3.0|boot:1000/0|n:4|version:0.2.0"
    )
    assert "|data:none|" in signature(given(data_sha256=None), "", {}, "0.2.0")


def test_a_wilson_interval_has_no_resamples(given: Callable[..., TaskResult]) -> None:
    pairs = given().model_copy(update={"task": "fineartbench_2afc_global", "benchmark": "fineartbench"})
    assert "boot" not in signature(pairs, "", {}, "0.2.0")


def test_settings_that_are_the_same(given: Callable[..., TaskResult]) -> None:
    assert settings_digest({"temperature": 0.0, "top_p": 1}, {}) == settings_digest(
        {"top_p": 1.0, "temperature": 0}, {}
    )
    texts: list[Any] = [
        ({}, {}),
        ({"do_sample": True}, {}),
        ({"do_sample": 1}, {}),
        ({"do_sample": None}, {}),
        ({}, {"do_sample": True}),
        ({"until": ["a", "b"]}, {}),
        ({"until": ["a"]}, {}),
        ({"temperature": 0.7}, {}),
        ({"temperature": 0.70001}, {}),
    ]
    assert len({settings_digest(*one) for one in texts}) == len(texts)


# -- Of runs ----------------------------------------------------------------------------------------------------------


def built(tmp_path: Path, name: str, task: str, **changes: Any) -> tuple[Path, dict[str, Any]]:
    """An entry of a run of one demo task: its folder and its `entry.json`."""
    settings = {"lmms_eval_specific_kwargs": {"default": changes.pop("settings")}} if "settings" in changes else {}
    write_run(
        tmp_path / f"{name}_run" / "org__model", demo_answers(task), task_configs={task: settings}, config=changes
    )
    (tmp_path / name).mkdir()
    build_entry([tmp_path / f"{name}_run"], EntryRequest("Org/Model"), tmp_path / name)
    return tmp_path / name, json.loads((tmp_path / name / "entry.json").read_text())


def changed(one: dict[str, Any], other: dict[str, Any], task: str) -> set[str]:
    first, second = (parts(entry["tasks"][task]["signature"]) for entry in (one, other))
    return {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}


def test_other_images_are_another_signature(tmp_path: Path) -> None:
    pad, one = built(tmp_path, "pad", CONTEXT, settings={"image_fit": "pad", "image_size": 448})
    stretch, other = built(tmp_path, "stretch", CONTEXT, settings={"image_fit": "stretch", "image_size": 224})
    assert changed(one, other, CONTEXT) == {"set"}
    assert [verify_entry(folder).status for folder in (pad, stretch)] == ["recomputed"] * 2


def test_another_temperature_is_another_signature_and_another_spelling_is_not(tmp_path: Path) -> None:
    plain = built(tmp_path, "plain", CONTEXT)[1]
    assert changed(plain, built(tmp_path, "warm", CONTEXT, gen_kwargs="temperature=0.7")[1], CONTEXT) == {"set"}
    assert changed(plain, built(tmp_path, "same", CONTEXT, gen_kwargs="temperature=0.0,top_p=1")[1], CONTEXT) == set()
    sized = built(tmp_path, "sized", CONTEXT, model_args="pretrained=a,max_pixels=1003520")[1]
    assert changed(plain, sized, CONTEXT) == {"set"}


def test_settings_of_an_entry_that_were_changed(tmp_path: Path) -> None:
    folder, entry = built(tmp_path, "entry", CONTEXT)
    entry["tasks"][CONTEXT]["images"]["image_size"] = 224
    (folder / "entry.json").write_text(json.dumps(entry))
    (error,) = (own for own in verify_entry(folder).findings if own.kind == "error")
    assert error.where == f"tasks.{CONTEXT}.signature"


def test_the_rubrics_words_are_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rubrics = json.loads((Path(vab_prompts.__file__).parents[1] / "prompts/vab-rubrics-1.json").read_text("utf-8"))
    canonical = json.dumps(rubrics, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    folder, one = built(tmp_path, "one", VAB, settings={"rubric": True})
    assert one["tasks"][VAB]["images"]["rubric_sha256"] == hashlib.sha256(canonical.encode()).hexdigest()
    assert "rubric_sha256" not in built(tmp_path, "without", VAB)[1]["tasks"][VAB]["images"]
    assert verify_entry(folder).status == "recomputed"

    other_words = {name: f"{text} And more." for name, text in rubrics.items()}
    vab_prompts.rubrics_sha256.cache_clear()
    monkeypatch.setattr(vab_prompts, "rubrics", lambda: other_words)
    try:
        assert "set" in changed(one, built(tmp_path, "other", VAB, settings={"rubric": True})[1], VAB)
        errors = {own.where for own in verify_entry(folder).findings if own.kind == "error"}
        assert errors == {f"tasks.{VAB}.images.rubric_sha256"}
    finally:
        vab_prompts.rubrics_sha256.cache_clear()


@pytest.mark.parametrize(
    ("rubric", "digest"), [(True, None), (True, "0" * 64), (False, "0" * 64)], ids=["none", "another", "too many"]
)
def test_a_rubric_digest_that_is_not_ours(tmp_path: Path, rubric: bool, digest: str | None) -> None:
    folder, entry = built(tmp_path, "entry", VAB, settings={"rubric": rubric})
    images = entry["tasks"][VAB]["images"]
    images.pop("rubric_sha256", None)
    if digest is not None:
        images["rubric_sha256"] = digest
    (folder / "entry.json").write_text(json.dumps(entry))
    where = f"tasks.{VAB}.images.rubric_sha256"
    assert where in {own.where for own in verify_entry(folder).findings if own.kind == "error"}


def test_wordnet_is_in_the_signature_of_critiques(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_aes_tasks.critiquecanvas import items

    version = items.lexicon().version
    folder, entry = built(tmp_path, "entry", CRITIQUE)
    assert entry["versions"]["libraries"]["wordnet"] == version
    assert parts(entry["tasks"][CRITIQUE]["signature"])["wordnet"] == version
    assert "enc" not in parts(entry["tasks"][CRITIQUE]["signature"])  # no encoder was at hand
    monkeypatch.setattr(Lexicon, "version", "9.9", raising=False)
    monkeypatch.setattr(items.lexicon(), "version", "9.9")
    found = verify_entry(folder)
    assert found.status == "recomputed"
    message = f"scored with {version}, verified with 9.9"
    assert ("note", "versions.libraries.wordnet", message) in {(o.kind, o.where, o.message) for o in found.findings}


def test_a_run_s_own_embedding_figures_have_unknown_encoders(tmp_path: Path) -> None:
    results = write_run(tmp_path / "run/org__model", demo_answers(CRITIQUE))
    content = json.loads(results.read_text())
    content["results"][CRITIQUE]["sbert_cos,none"] = 0.5
    results.write_text(json.dumps(content))
    (tmp_path / "entry").mkdir()
    build_entry([results], EntryRequest("Org/Model"), tmp_path / "entry")
    entry = json.loads((tmp_path / "entry/entry.json").read_text())
    assert parts(entry["tasks"][CRITIQUE]["signature"])["enc"] == eight('{"sbert_cos":"unknown"}')
    assert verify_entry(tmp_path / "entry").status == "recomputed"
