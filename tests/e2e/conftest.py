"""The real command line of lmms-eval, on one rank and on several."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lmms_aes_tasks.sources import canonical_file, read_card
from tests.encoders import EncoderFolders
from tests.loopback import Server, running_server

BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Finished:
    """A finished command of lmms-eval, and what it wrote for one task."""

    code: int
    output: str
    folder: Path

    def results(self) -> dict[str, Any]:
        found = list(self.folder.rglob("*_results.json"))
        assert len(found) == 1, self.output[-4000:]
        content: dict[str, Any] = json.loads(found[0].read_text("utf-8"))
        return content

    def metrics(self, task: str) -> dict[str, Any]:
        values = self.results()["results"][task]
        return {
            key.removesuffix(",none"): value
            for key, value in values.items()
            if key.endswith(",none") and "_stderr" not in key and not isinstance(value, list)
        }

    def samples_file(self, task: str) -> Path:
        (found,) = self.folder.rglob(f"*_samples_{task}.jsonl")
        return found

    def samples(self, task: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.samples_file(task).read_text("utf-8").splitlines()]

    def records(self, task: str) -> list[dict[str, Any]]:
        """Records by id, with the text that was scored."""
        found = [sample["record"] | {"text": sample["filtered_resps"]} for sample in self.samples(task)]
        return sorted(found, key=lambda record: record["id"])


def harness_command(*arguments: str, ranks: int = 1) -> list[str]:
    """lmms-eval's command line, under torchrun when there are several ranks."""
    if ranks == 1:
        return [str(BIN / "lmms-eval"), *arguments]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)]
    return [*torchrun, "-m", "lmms_eval", *arguments]


def run_harness(
    folder: Path, *arguments: str, ranks: int = 1, environment: dict[str, str] | None = None, cwd: Path | None = None
) -> Finished:
    """Run lmms-eval in a process of its own."""
    finished = subprocess.run(
        harness_command(*arguments, "--output_path", str(folder), "--log_samples", ranks=ranks),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=cwd or folder.parent,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | (environment or {}),
        check=False,
    )
    return Finished(finished.returncode, finished.stdout, folder)


Launched = Callable[..., Finished]


@pytest.fixture(scope="session")
def launched(tmp_path_factory: pytest.TempPathFactory, encoder_folders: EncoderFolders) -> Launched:
    """`launched(ranks, limit)`: all demo tasks in one launch by the oracle baseline, made once and shared.

    Encoders are small ones on disk; with a limit of 2 the embedding metrics are switched off.
    """
    for name in ("contextcanvas_demo", "critiquecanvas_demo", "vab_demo"):
        canonical_file(read_card(name))  # made before any rank asks for it

    @functools.cache
    def launch(ranks: int, limit: int | None = None) -> Finished:
        baseline = ("--model", "aes_baseline", "--model_args", "strategy=oracle,accuracy=0.6,seed=3")
        cut = () if limit is None else ("--limit", str(limit))
        folder = tmp_path_factory.mktemp(f"ranks{ranks}-limit{limit}") / "out"
        environment = encoder_folders.environment | {"LMMS_AES_EMBEDDINGS": "off" if limit == 2 else "on"}
        tasks = ("--tasks", "contextcanvas_demo,critiquecanvas_demo,vab_demo")
        return run_harness(folder, *baseline, *tasks, *cut, ranks=ranks, environment=environment)

    return launch


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The random Qwen3-VL, built by our command."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    subprocess.run([str(BIN / "lmms-aes"), "tiny-model", str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running
