"""Time and memory of building the 1,200 requests of a VAB task: 400 generated tasks of 1,000-pixel images.

Run: python benchmarks/vab_requests.py [TASKS]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

BUILD = """
import os, sys, time
import psutil
import lmms_eval.models
from lmms_eval.tasks import TaskManager
manager = TaskManager("ERROR")
process = psutil.Process()
before = process.memory_info()
start = time.perf_counter()
(task,) = manager.load_task_or_group(["vab_top1"], task_type="chat").values()
loaded = time.perf_counter()
task.build_all_requests(limit=None, rank=0, world_size=1)
built = time.perf_counter()
after = process.memory_info()
private = lambda info: (info.rss - info.shared) / 2**20
_, messages, *rest = task.instances[0].arguments
shown = messages(task.dataset["test"][0])
asked = time.perf_counter()
print(len(task.instances), loaded - start, built - loaded, private(after) - private(before), asked - built)
"""


def make_tasks(folder: Path, count: int) -> int:
    """Tasks of two to six images, three on average, of noise on a gradient; the number of bytes written."""
    folder.mkdir(parents=True)
    sizes = [2, 3, 3, 3, 4]
    generator = np.random.default_rng(0)
    ramp = np.linspace(0, 200, 1000)[None, :, None] + np.zeros((1000, 1000, 3))
    tasks, total = [], 0
    for number in range(count):
        names = []
        for position in range(sizes[number % len(sizes)]):
            name = f"{number}_{position}.jpg"
            pixels = ramp + generator.normal(0, 12, (1000, 1000, 1))
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / name, quality=85)
            total += (folder / name).stat().st_size
            names.append(name)
        best = {"ground_truth_best": "A", "ground_truth_worst": "B"}
        tasks.append({"task_id": f"t{number}", "domain": "photograph", "substyle": "s", "images": names, **best})
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return total


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        size = make_tasks(root / "raw", count)
        target = root / "data" / "vab"
        subprocess.run(["lmms-aes", "data", "import", "vab", str(root / "raw"), "--to", str(target)], check=True)
        environment = os.environ | {"LMMS_AES_DATA": str(root / "data"), "HF_HOME": str(root / "hf")}
        for turn in ("first", "again"):
            shown = subprocess.run(
                [sys.executable, "-c", BUILD], env=environment, capture_output=True, text=True, check=True
            ).stdout.split()[-5:]
            requests, load, build, memory, one = int(shown[0]), *map(float, shown[1:])
            print(
                f"{turn}: {requests} requests, images {size / 2**20:.0f} MB; loading {load:.2f} s, "
                f"building {build:.2f} s, memory +{memory:.0f} MB; the first message, decoded: {one * 1000:.0f} ms"
            )


if __name__ == "__main__":
    main()
