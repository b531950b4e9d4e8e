"""The demo set of ContextCanvas: written scenarios about public-domain photographs, whose answer the picture shows."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from lmms_aes_tasks.demo.photographs import CREDITS, photograph
from lmms_aes_tasks.records import RecordSchema, import_file

DEMO_VERSION = "1"
"""Raised when scenarios or photographs change: the generated set is cached under it."""
_SCENARIOS = Path(__file__).parent / "demo.json"


def write_demo(target: Path, schema: RecordSchema) -> None:
    """Write the demo set as canonical Parquet.

    Args:
        target: The file to write, atomically.
        schema: ContextCanvas' record schema.

    Raises:
        SourceError: scikit-image, whose photographs it uses, is not installed.
    """
    cases = json.loads(_SCENARIOS.read_text("utf-8"))
    for case in cases:
        case["provenance"] = "; ".join(CREDITS[name] for name in case["images"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for image in sorted({image for case in cases for image in case["images"]}):
            shutil.copyfile(photograph(image), folder / image)
        (folder / "cases.json").write_text(json.dumps(cases), "utf-8")
        import_file(folder, target, schema)
