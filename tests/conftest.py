"""Isolation: caches of the suite are its own, nothing is looked up on a hub, and the CPU is used."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Runs of the harness go to one process, which shares their launches; every other test to whichever is free."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class HarnessInOneProcess(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "harness" if nodeid.startswith("tests/e2e/") else nodeid

    return HarnessInOneProcess(config, log)


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
