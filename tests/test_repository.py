"""The repository itself: its tools read every file once, and the wheel holds what runs need."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_links_lead_into_the_package() -> None:
    for name in ("task_yamls", "utils"):
        assert (ROOT / name).readlink() == Path("lmms_aes_tasks") / name


def test_ruff_and_mypy_read_no_file_twice() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--show-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    real = [os.path.realpath(line) for line in shown]
    assert len(real) == len(set(real))
    assert str(ROOT / "lmms_aes_tasks/utils/answers.py") in real
    verbose = subprocess.run(
        [sys.executable, "-m", "mypy", "-v"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stderr
    sources = [line for line in verbose.splitlines() if "Found source:" in line and "BuildSource" in line]
    modules = [line.split("module=")[1].split(",")[0] for line in sources]
    assert "'lmms_aes_tasks.utils.answers'" in modules
    assert not [module for module in modules if module.startswith(("'utils", "'task_yamls"))]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_yaml_templates_and_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "lmms_aes_tasks"
    suffixes = (".yaml", "_template", ".json", ".txt", ".md", ".py", ".j2", ".css", ".js")
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in package.rglob("*")
        if path.name.endswith(suffixes) and "__pycache__" not in path.parts
    }
    assert wanted <= names
    assert not [name for name in names if not name.startswith(("lmms_aes_tasks/", "lmms_aes_tasks-"))]
