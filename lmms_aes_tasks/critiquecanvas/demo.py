"""The demo set of CritiqueCanvas: critiques written for this package of photographs, and of two renderings of them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from lmms_aes_tasks.demo.photographs import photograph
from lmms_aes_tasks.demo.renderings import as_illustration, as_painting, as_photograph
from lmms_aes_tasks.records import RecordSchema, import_file
from lmms_aes_tasks.utils.images import load_image

DEMO_VERSION = "2"
"""Raised when critiques or pictures change: the generated set is cached under it."""
_CRITIQUES = Path(__file__).parent / "demo.json"
_SIDE = 384
_RENDERINGS = {"photography": as_photograph, "painting": as_painting, "virtual": as_illustration}


def write_demo(target: Path, schema: RecordSchema) -> None:
    """Write the demo set as canonical Parquet.

    Args:
        target: The file to write, atomically.
        schema: CritiqueCanvas' record schema.

    Raises:
        SourceError: scikit-image, whose photographs it uses, is not installed.
    """
    records = json.loads(_CRITIQUES.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for record in records:
            picture = load_image(photograph(record.pop("photograph")))
            picture.thumbnail((_SIDE, _SIDE))
            record["image"] = f"{record['id']}.bmp"  # PNG's bytes, and so the data's fingerprint, hang on zlib's build
            _RENDERINGS[record["domain"]](picture).save(folder / record["image"])
        (folder / "records.json").write_text(json.dumps(records), "utf-8")
        import_file(folder, target, schema)
