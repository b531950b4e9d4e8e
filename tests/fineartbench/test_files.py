"""FineArtBench's download as people have it: styles without a name, other forms of names, links, profiles."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from lmms_aes_tasks import fineartbench
from lmms_aes_tasks.cli.app import app
from lmms_aes_tasks.fineartbench.files import MODES, join_pairs, judgements_of, style_problems
from lmms_aes_tasks.records import OTHER_PROFILE, SourceError
from tests.colours import WIDE_PROFILE

NAN = float("nan")


def download(root: Path, method: str = "m1", **changes: Any) -> Path:
    """Two pairs of one content with all their files."""
    for number in (1, 2):
        for name in (method, "m2"):
            path = root / f"painting/{name}/content_7_style_{number}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (90, 170, 70)).save(path, icc_profile=WIDE_PROFILE if name == "m2" else None)
    (root / "base/images").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(root / "base/images/7.png")
    pair = {"content_index": 7, "style_prompt": "ink", "method_left": method, "method_right": "m2"}
    rows = [pair | {"id": number, "style_index": 30 + number, "winner": "left"} for number in (1, 2)]
    rows[0] |= changes
    for mode in MODES:
        (root / f"2AFC_{mode}_N_5000.json").write_text(json.dumps(rows))
        (root / f"{mode}_annotation.json").write_text(json.dumps(rows))
    (root / "content_style_combination.json").write_text(json.dumps({"7": [31, 32]}))
    return root


def documents(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import datasets

    from lmms_aes_tasks.task_folders import TASKS_PATH

    monkeypatch.setenv("LMMS_AES_DATA", str(root.parent))
    cards = datasets.Dataset.from_list(json.loads((TASKS_PATH / "fineartbench/card.json").read_text()))
    return fineartbench.documents_global(cards)


@pytest.mark.parametrize("style", [None, NAN, "", "  ", "nan", "None"])
def test_a_style_without_a_name_is_a_problem_unless_it_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: Any
) -> None:
    root = download(tmp_path / "fineartbench", style_prompt=style)
    (problem,) = style_problems(join_pairs(root, "global"))
    assert problem.startswith("pair 1: style_prompt is ")
    checked = CliRunner().invoke(app, ["data", "check", "fineartbench", "--data", str(root)])
    assert isinstance(checked.exception, SourceError)
    assert "2 pair(s) lack the name of their style" in str(checked.exception)
    first, second = documents(root, monkeypatch)
    with pytest.raises(SystemExit, match="pair global-1 has no style_prompt, which the prompt asks about"):
        fineartbench.doc_to_text(first)
    assert "None" not in fineartbench.doc_to_text(first, {"style": False})
    assert "ink" in fineartbench.doc_to_text(second)


def test_a_missing_style_is_one_too(tmp_path: Path) -> None:
    root = download(tmp_path / "fineartbench")
    rows = json.loads((root / "2AFC_global_N_5000.json").read_text())
    del rows[1]["style_prompt"]
    (root / "2AFC_global_N_5000.json").write_text(json.dumps(rows))
    assert [text[:6] for text in style_problems(join_pairs(root, "global"))] == ["pair 2"]


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_both_forms_of_names_and_suffixes_in_any_case(tmp_path: Path, forms: tuple[Any, Any]) -> None:
    there, named = (unicodedata.normalize(form, "modèle") for form in forms)
    root = download(tmp_path / "fineartbench", there)
    for mode in MODES:
        path = root / f"2AFC_{mode}_N_5000.json"
        for file in (path, root / f"{mode}_annotation.json"):
            rows = [row | {"method_left": named} for row in json.loads(file.read_text())]
            file.write_text(json.dumps(rows))
    (root / "base/images/7.png").rename(root / "base/images/7.PNG")
    assert [pair.complete for pair in join_pairs(root, "global")] == [True, True]


def test_numbers_in_any_spelling_and_nothing(tmp_path: Path) -> None:
    row = {"id": "1.0", "content_index": 7.0, "style_index": "31", "method_left": "m1", "method_right": "m2"}
    (pair,) = judgements_of([row | {"winner": NAN}], "x.json")
    assert (pair.id, pair.content, pair.style, pair.winner) == (1, 7, 31, "skipped")
    for field in ("id", "content_index", "method_left"):
        with pytest.raises(SourceError, match=f"{field} is nan"):
            judgements_of([row | {"winner": "", field: NAN}], "x.json")
    root = download(tmp_path / "fineartbench", id="1.0", content_index=7.0, style_index="31")
    assert [pair.complete for pair in join_pairs(root, "global")] == [True, True]


def test_profiles_are_counted_and_followed_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = download(tmp_path / "fineartbench")
    checked = CliRunner().invoke(app, ["data", "check", "fineartbench", "--data", str(root), "--json"])
    assert json.loads(checked.stdout.strip().splitlines()[-1])["remarks"] == {OTHER_PROFILE: 2}
    doc = documents(root, monkeypatch)[0]
    plain, followed = (
        fineartbench.doc_to_visual(doc, {"separate_images": True, "icc": icc}) for icc in ("ignore", "srgb")
    )
    assert [image.getpixel((4, 4)) for image in plain[1:]] == [image.getpixel((4, 4)) for image in followed[1:2]] * 2
    shown = followed[2].getpixel((4, 4))
    assert max(abs(a - b) for a, b in zip(shown, (0, 172, 59), strict=True)) <= 4  # JPEG adds a step or two
    with pytest.raises(ValueError, match=r"^icc is 'x': use ignore or srgb$"):
        fineartbench.doc_to_visual(doc, {"icc": "x"})
