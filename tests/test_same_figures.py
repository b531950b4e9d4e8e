"""The same figures on every machine: other kernels of BLAS and NumPy, threads, C library, hash seed, locale, time zone.

What may differ is started as a process of its own, for all of it is read when a process starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lmms_aes_tasks.leaderboard.build import EntryRequest, build
from tests import fineartbench_data
from tests.leaderboard import runs

ROOT = Path(__file__).parents[1]
ORACLE = json.loads((ROOT / "tests/data/fineartbench.json").read_text("utf-8"))
WINNERS = {"L": "left", "R": "right", ".": ""}

MACHINES = {
    "haswell": {
        **{"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        **{"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"},
    },
    "prescott": {
        **{"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
        **{"PYTHONHASHSEED": "1", "LC_ALL": "tr_TR.UTF-8", "TZ": "Etc/GMT+12"},
    },
    # the loops of NumPy and the functions of the C library that a processor without AVX2 and FMA has
    "old": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3 AVX512F AVX512_SKX AVX2 FMA3",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4",
        "PYTHONHASHSEED": "4242",
    },
}


def python(code: str, machine: str, *arguments: Path) -> str:
    """What a script prints on a machine of `MACHINES`, or on this one as it is when it is none of them."""
    names = {name for environment in MACHINES.values() for name in environment}
    plain = {name: value for name, value in os.environ.items() if name not in names}
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env=plain | {"PYTHONPATH": str(ROOT)} | MACHINES.get(machine, {}),
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode()


def numbers_differ(one: Any, two: Any, where: str = "") -> list[str]:
    """Places at which two JSON values differ: numbers by more than 1e-9, anything else at all."""
    if isinstance(one, dict) and isinstance(two, dict) and list(one) == list(two):
        return [text for name in one for text in numbers_differ(one[name], two[name], f"{where}.{name}")]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        both = enumerate(zip(one, two, strict=True))
        return [text for place, pair in both for text in numbers_differ(*pair, f"{where}.{place}")]
    if isinstance(one, float) and isinstance(two, float):
        return [f"{where}: {one} and {two}"] if abs(one - two) > 1e-9 else []
    return [f"{where}: {one!r} and {two!r}"] if one != two else []


# -- FineArtBench -----------------------------------------------------------------------------------------------------

SCORES = """
import json, sys
from tests.cli.conftest import call
for arguments in json.loads(open(sys.argv[1], encoding="utf-8").read()):
    result = call("score", "fineartbench", *arguments, "--json")
    assert result.exit_code == 0, result.output
    print(result.stdout.strip())
"""


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The command lines of the oracle's cases under both protocols, and what they print here."""
    folder = tmp_path_factory.mktemp("same")
    lines = []
    for number, case in enumerate(ORACLE):
        pairs = fineartbench_data.read(f"2AFC_{case['mode']}_N_5000.json")
        rows = [own | {"winner": WINNERS[letter]} for own, letter in zip(pairs, case["predictions"], strict=True)]
        (folder / f"{number}.json").write_text(json.dumps(rows), "utf-8")
        human = next(fineartbench_data.folder().rglob(case["human_annotation"]))
        line = ["--mode", case["mode"], "--human", str(human), "--predictions", str(folder / f"{number}.json")]
        lines += [[*line, "--before", str(case["before"])], [*line, "--protocol", "aligned"]]
    lines[6].append("--noise")
    (folder / "lines.json").write_text(json.dumps(lines), "utf-8")
    return folder / "lines.json", python(SCORES, "", folder / "lines.json")


@pytest.mark.parametrize("machine", MACHINES)
def test_score_fineartbench_prints_the_same_json(machine: str, scores: tuple[Path, str]) -> None:
    path, here = scores
    there = python(SCORES, machine, path)
    ours, theirs = ([json.loads(line) for line in text.splitlines()] for text in (here, there))
    assert len(ours) == 2 * len(ORACLE)
    assert numbers_differ(ours, theirs) == []
    if "OPENBLAS_CORETYPE" in MACHINES[machine]:
        assert there == here  # not a digit


# -- Entries ----------------------------------------------------------------------------------------------------------

VERIFY = """
import sys
from tests.cli.conftest import call
for entry in sys.argv[1:]:
    result = call("leaderboard", "verify", entry)
    assert result.exit_code == 0, result.output
"""
DEMOS = ("contextcanvas_demo", "critiquecanvas_demo", "vab_top1_demo", "vab_bot1_demo", "vab_tb1_demo")


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Built here as it is: FineArtBench at full size, and demo tasks of the others without the encoders' metrics."""
    answers = {}
    for mode in ("global", "instance"):
        letters = next(case["predictions"] for case in ORACLE if case["mode"] == mode)
        documents = runs.fineartbench_documents(mode, fineartbench_data.read(f"{mode}_annotation.json"))
        replies = [{"L": "{'winner': 0}", "R": "{'winner': 1}"}[letter] for letter in letters]
        answers[f"fineartbench_2afc_{mode}"] = list(zip(documents, replies, strict=True))
    folders = []
    for own in (answers, runs.demo_answers(*DEMOS)):
        folder = tmp_path_factory.mktemp("entry")
        runs.write_run(folder / "out/model", own)
        build([folder / "out"], folder / "entry", EntryRequest("Org/Model", "abc123", "A. Evaluator"))
        folders.append(folder / "entry")
    return folders


@pytest.mark.parametrize("machine", MACHINES)
def test_entries_verify_elsewhere(machine: str, entries: list[Path]) -> None:
    python(VERIFY, machine, *entries)


@pytest.mark.parametrize("name", ["vab", "critiquecanvas"])
def test_generated_images_have_bytes_that_no_compressor_decides(name: str) -> None:
    """A PNG's bytes hang on zlib's build and the processor, and the fingerprint of the data with them."""
    import pyarrow.parquet as pq

    from lmms_aes_tasks import sources

    pytest.importorskip("skimage")
    path = sources.canonical_file(sources.read_card(f"{name}_demo"))
    cells = [cell for row in pq.read_table(path).to_pylist() for cell in row["images"]]
    assert cells
    assert {cell["bytes"][:2] for cell in cells} == {b"BM"}
    for cell in cells:
        # the size of the file is that of its pixels and a header: nothing is compressed
        width, height = (int.from_bytes(cell["bytes"][at : at + 4], "little") for at in (18, 22))
        assert len(cell["bytes"]) == 54 + (3 * width + 3) // 4 * 4 * height
