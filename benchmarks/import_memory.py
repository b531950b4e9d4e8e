"""Peak memory and time of `lmms-aes data import` by number of records: memory must not grow with their number.

Run: python benchmarks/import_memory.py [RECORDS …]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

IMPORT = """
import resource, sys, time
from pathlib import Path
from lmms_aes_tasks.contextcanvas.task import SCHEMA
from lmms_aes_tasks.records import import_file
import datasets
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
report = import_file(Path(sys.argv[1]), Path(sys.argv[2]), SCHEMA)
seconds = time.perf_counter() - start
print(report.records, seconds, before / 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def make_source(folder: Path, records: int) -> None:
    """Records with one small JPEG each, every image different."""
    for number in range(records):
        colour = (number % 256, number // 256 % 256, 128)
        Image.new("RGB", (96, 64), colour).save(folder / f"{number}.jpg")
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as lines:
        for number in range(records):
            case = {"id": f"c{number}", "question": f"Is it right? {number}", "options": ["Yes", "No"], "gold": "A"}
            lines.write(json.dumps(case | {"images": [f"{number}.jpg"]}) + "\n")


def main() -> None:
    counts = [int(argument) for argument in sys.argv[1:]] or [1_000, 5_000, 20_000]
    print(f"{'records':>8} {'seconds':>8} {'records/s':>10} {'MB before':>10} {'MB peak':>8} {'MB file':>8}")
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_source(folder, count)
            target = folder / "out" / "data.parquet"
            shown = subprocess.run(
                [sys.executable, "-c", IMPORT, str(folder), str(target)], capture_output=True, text=True, check=True
            ).stdout.split()
            assert int(shown[0]) == count
            seconds, before, peak = map(float, shown[1:])
            size = target.stat().st_size / 2**20
            print(f"{count:>8} {seconds:>8.1f} {count / seconds:>10.0f} {before:>10.0f} {peak:>8.0f} {size:>8.1f}")


if __name__ == "__main__":
    main()
