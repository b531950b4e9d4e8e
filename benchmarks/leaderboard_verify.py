"""Building and verifying an entry of all four benchmarks at full size, without encoders: seconds and peak memory.

301 cases, 6,000 critiques, 3 × 1,200 trials, 10,000 pairs, all generated. The runs are written by one process, built
and verified each by another, so that each one's memory is its own.

Run: python benchmarks/leaderboard_verify.py [FOLDER]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' generators


def write(folder: Path) -> None:
    from tests.leaderboard import runs

    reply = runs.oracle(0.7)
    documents = {"contextcanvas": runs.contextcanvas_documents(), "critiquecanvas": runs.critique_documents()}
    documents |= {f"vab_{question}": runs.vab_documents(question) for question in ("top1", "bot1", "tb1")}
    pairs = runs.drawn_pairs()
    documents |= {
        f"fineartbench_2afc_{mode}": runs.fineartbench_documents(mode, pairs) for mode in ("global", "instance")
    }
    answers = {name: [(document, reply(name)(document)) for document in own] for name, own in documents.items()}
    runs.write_run(folder / "out" / ".__model", answers)


def build(folder: Path) -> None:
    from lmms_aes_tasks.leaderboard.build import EntryRequest
    from lmms_aes_tasks.leaderboard.build import build as build_entry

    build_entry([folder / "out"], folder / "entry", EntryRequest("Org/Model"))


def verify(folder: Path) -> None:
    from lmms_aes_tasks.leaderboard.verify import verify_entry

    found = verify_entry(folder / "entry")
    assert found.status == "recomputed", found.findings


def main() -> None:
    if len(sys.argv) == 3:
        step, folder = sys.argv[1], Path(sys.argv[2])
        start = time.perf_counter()
        {"write": write, "build": build, "verify": verify}[step](folder)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{step:>7} {time.perf_counter() - start:>6.1f} s {peak:>6.0f} MB", flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = sys.argv[1] if len(sys.argv) == 2 else name
        for step in ("write", "build", "verify"):
            subprocess.run([sys.executable, __file__, step, folder], check=True)
        size = sum(path.stat().st_size for path in (Path(folder) / "entry").rglob("*") if path.is_file())
        print(f"  entry {size / 1e6:>6.1f} MB")


if __name__ == "__main__":
    main()
