"""Isolation: caches of the suite are its own, nothing is looked up on a hub, and the CPU is used."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.encoders import EncoderFolders

_ROOT = Path(tempfile.mkdtemp(prefix="lmms-aes-tests-"))
os.environ.update(
    LMMS_AES_CACHE=str(_ROOT / "cache"),
    HF_HOME=str(_ROOT / "hf"),
    HF_HUB_OFFLINE="1",
    TOKENIZERS_PARALLELISM="false",
    CUDA_VISIBLE_DEVICES="",
    ACCELERATE_USE_CPU="true",
)
if "LMMS_AES_DATA" in os.environ:  # tests set their own; only FineArtBench's files are read from the user's
    os.environ["LMMS_AES_TEST_DATA"] = os.environ.pop("LMMS_AES_DATA")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist writes the groups into the names
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs of the harness go to one process, first: they share their launches and take longest."""
    for item in items:
        if item.get_closest_marker("harness"):
            item.add_marker(pytest.mark.xdist_group("harness"))
    items.sort(key=lambda item: item.get_closest_marker("harness") is None)


@pytest.fixture
def data_folder() -> Path:
    return Path(__file__).parent / "data"


def pytest_sessionfinish() -> None:
    import shutil

    shutil.rmtree(_ROOT, ignore_errors=True)


@pytest.fixture(scope="session")
def encoder_folders(tmp_path_factory: pytest.TempPathFactory) -> EncoderFolders:
    """Small real encoders on disk, made once."""
    from tests.encoders import save_encoders

    return save_encoders(tmp_path_factory.mktemp("encoders"))
