"""One entry of demo tasks for the session, a copy of it for each test that changes it, and sites to look at."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lmms_aes_tasks.board.schema import Board
from lmms_aes_tasks.leaderboard.build import EntryRequest, build
from lmms_aes_tasks.leaderboard.page import site_files
from tests.leaderboard import runs
from tests.leaderboard.board_example import board, hostile_board

TASKS = ("contextcanvas_demo", "critiquecanvas_demo", "vab_top1_demo", "vab_bot1_demo", "vab_tb1_demo")


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all demo tasks, in the hidden folder that a local model path gives."""
    folder = tmp_path_factory.mktemp("run") / "out"
    runs.write_run(folder / ".__model", runs.demo_answers(*TASKS))
    return folder


@pytest.fixture(scope="session")
def built(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The entry of that run; not to be changed."""
    folder = tmp_path_factory.mktemp("entry") / "entry"
    build([run_folder], folder, EntryRequest("Org/Model", "abc123", "A. Evaluator"))
    return folder


@pytest.fixture
def entry(built: Path, tmp_path: Path) -> Path:
    """A copy of the entry."""
    return Path(shutil.copytree(built, tmp_path / "entry"))


def read_entry(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "entry.json").read_text("utf-8"))
    return content


def edit_entry(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = read_entry(folder)
    change(content)
    (folder / "entry.json").write_text(json.dumps(content), "utf-8")


def read_lines(folder: Path, task: str) -> list[dict[str, Any]]:
    content = zstandard.ZstdDecompressor().decompress((folder / f"responses/{task}.jsonl.zst").read_bytes())
    return [json.loads(line) for line in content.splitlines()]


def put_content(folder: Path, task: str, content: bytes, fix: bool = True) -> None:
    """Write a responses file; with `fix` the entry names its new digest and sizes, as a careful forger would."""
    compressed = zstandard.ZstdCompressor(level=12, write_checksum=True).compress(content)
    (folder / f"responses/{task}.jsonl.zst").write_bytes(compressed)
    facts = {
        "sha256": hashlib.sha256(compressed).hexdigest(),
        "bytes": len(compressed),
        "content_bytes": len(content),
        "rows": content.count(b"\n"),
    }
    if fix:
        edit_entry(folder, lambda own: own["tasks"][task]["file"].update(facts))
    else:
        edit_entry(folder, lambda own: own["tasks"][task]["file"].update(content_bytes=len(content)))


def edit_lines(folder: Path, task: str, change: Callable[[list[dict[str, Any]]], object], fix: bool = True) -> None:
    lines = read_lines(folder, task)
    change(lines)
    text = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines)
    put_content(folder, task, text.encode("utf-8"), fix)


@pytest.fixture(scope="session")
def whole() -> Board:
    return board()


@pytest.fixture(scope="session")
def site(whole: Board) -> dict[str, str]:
    return site_files(whole)


@pytest.fixture(scope="session")
def hostile() -> dict[str, str]:
    return site_files(hostile_board(), title="<script>window.hacked=1</script>")
