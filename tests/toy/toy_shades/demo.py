"""Twenty grey pictures, made on first use."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from PIL import Image

from lmms_aes_tasks.records import RecordSchema, import_file

DEMO_VERSION = "1"


def write_demo(target: Path, schema: RecordSchema) -> None:
    records = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(20):
            grey = 10 + 12 * number
            Image.new("RGB", (8, 8), (grey, grey, grey)).save(folder / f"{number}.bmp")
            shade = "light" if grey > 127 else "dark"
            records.append({"id": f"p{number:02}", "image": f"{number}.bmp", "shade": shade})
        (folder / "records.json").write_text(json.dumps(records), "utf-8")
        import_file(folder, target, schema)
