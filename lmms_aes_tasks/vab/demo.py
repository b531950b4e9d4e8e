"""Demo sets of the Visual Aesthetic Benchmark: degraded by grades, the original best, the strongest grade worst."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_aes_tasks.demo.photographs import photograph
from lmms_aes_tasks.demo.renderings import as_illustration, as_painting, as_photograph
from lmms_aes_tasks.records import RecordSchema, import_file
from lmms_aes_tasks.utils.images import load_image

if TYPE_CHECKING:
    from PIL import Image

DEMO_VERSION = "2"
"""Raised when pictures or degradations change: the generated set is cached under it."""
_SIDE = 384
_PHOTOGRAPHS = ("coffee.png", "chelsea.png", "rocket.jpg", "astronaut.png", "camera.png")


def _blur(image: Image.Image, strength: float) -> Image.Image:
    from PIL import ImageFilter

    return image.filter(ImageFilter.GaussianBlur(1 + 9 * strength))


def _noise(image: Image.Image, strength: float) -> Image.Image:
    import numpy as np
    from PIL import Image

    values = np.asarray(image, dtype=np.float64)
    noise = np.random.default_rng(0).normal(0, 15 + 85 * strength, values.shape)
    return Image.fromarray(np.clip(values + noise, 0, 255).astype(np.uint8))


def _exposure(image: Image.Image, strength: float) -> Image.Image:
    from PIL import ImageEnhance

    return ImageEnhance.Brightness(image).enhance(1 - 0.25 - 0.6 * strength)


def _tilt(image: Image.Image, strength: float) -> Image.Image:
    from PIL import Image

    return image.rotate(4 + 26 * strength, Image.Resampling.BICUBIC, fillcolor=(0, 0, 0))


def _crop(image: Image.Image, strength: float) -> Image.Image:
    width, height = image.size
    left, top = round(width * (0.15 + 0.55 * strength)), round(height * (0.15 + 0.55 * strength))
    return image.crop((left, top, width, height)).resize(image.size)


DEGRADATIONS: Mapping[str, Callable[[Image.Image, float], Image.Image]] = {
    "blur": _blur,
    "noise": _noise,
    "exposure": _exposure,
    "tilt": _tilt,
    "crop": _crop,
}
"""Each takes a picture and a strength in [0, 1]; even 0 is a visible fault."""


_DOMAINS: Mapping[str, Callable[[Image.Image], Image.Image]] = {
    "fine-art": as_painting,
    "illustration": as_illustration,
    "photograph": as_photograph,
}


def make_set(original: Image.Image, degradation: str, n_images: int) -> list[Image.Image]:
    """The original and its graded degradations, from best to worst."""
    steps = n_images - 1
    degrade = DEGRADATIONS[degradation]
    return [original, *(degrade(original, step / steps) for step in range(1, steps + 1))]


def write_demo(target: Path, schema: RecordSchema) -> None:
    """Write the demo sets as canonical Parquet: three domains, five sets each, of 2 to 6 images.

    Args:
        target: The file to write, atomically.
        schema: The benchmark's record schema.

    Raises:
        SourceError: scikit-image, whose photographs it uses, is not installed.
    """
    tasks = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for offset, (domain, style) in enumerate(_DOMAINS.items()):
            for position, file in enumerate(_PHOTOGRAPHS):
                degradation = list(DEGRADATIONS)[(position + offset) % len(DEGRADATIONS)]
                picture = load_image(photograph(file))
                picture.thumbnail((_SIDE, _SIDE))
                grades = make_set(style(picture), degradation, position + 2)
                task_id = f"{domain}_{degradation}_{position + 1}"
                order = random.Random(f"demo {task_id}").sample(range(len(grades)), len(grades))
                paths = []
                for shown, grade in enumerate(order):
                    path = f"{task_id}_{shown}.bmp"  # PNG's bytes, and so the data's fingerprint, hang on zlib's build
                    grades[grade].save(folder / path)
                    paths.append(path)
                tasks.append(
                    {
                        "task_id": task_id,
                        "domain": domain,
                        "substyle": degradation,
                        "n_images": len(grades),
                        "images": paths,
                        "ground_truth_best": chr(ord("A") + order.index(0)),
                        "ground_truth_worst": chr(ord("A") + order.index(len(grades) - 1)),
                    }
                )
        (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
        import_file(folder, target, schema)
