"""CPU time of scoring FineArtBench, after start-up: 5,000 pairs and ten times as many, both levels, both protocols.

Run: python benchmarks/fineartbench_scoring.py FOLDER (with the 2AFC and annotation files of the benchmark)
"""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

from lmms_aes_tasks.fineartbench.files import find_file, judgements_of
from lmms_aes_tasks.utils.alignment import Judgement, artist_alignment, task_alignment


def times(human: list[Judgement], factor: int) -> list[Judgement]:
    """The judgements so many times over: new ids, and for the task level new tasks."""
    return [
        replace(judgement, id=judgement.id + copy * len(human), content=judgement.content + copy * 10_000)
        for copy in range(factor)
        for judgement in human
    ]


def main() -> None:
    root = Path(sys.argv[1])
    warm = False
    print(f"{'level':>9} {'protocol':>9} {'pairs':>7} {'CPU s':>7}")
    for mode, align in (("global", artist_alignment), ("instance", task_alignment)):
        name = f"{mode}_annotation.json"
        human = judgements_of(json.loads(find_file(root, name).read_text("utf-8")), name)
        for protocol in ("aligned", "official"):
            for factor in (1, 10):
                experts = times(human, factor)
                draw = random.Random(0)
                model = [replace(j, winner=draw.choice(["left", "right"])) for j in experts]
                if not warm:  # SciPy is imported on first use
                    artist_alignment(experts[:200], model[:200], "official")
                    warm = True
                start = time.process_time()
                align(experts, model, protocol, before=len(experts))
                print(f"{mode:>9} {protocol:>9} {len(experts):>7} {time.process_time() - start:>7.2f}")


if __name__ == "__main__":
    main()
