"""Sets of images of one colour each, so that what stands where can be read off the pixels."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

COLOURS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (0, 255, 255), (255, 0, 255)]
"""The colour of the image given first, second, …"""


def write_colour_tasks(folder: Path, sizes: Sequence[int], side: int = 40) -> list[str]:
    """One task a size: the image given i-th has the i-th colour, the first is best, the last worst. Returns the ids."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, colour in enumerate(COLOURS):
        Image.new("RGB", (side, side), colour).save(folder / f"{number}.png")
    tasks = [
        {
            "task_id": f"colour-{number}",
            "domain": ["fine-art", "illustration", "photograph"][number % 3],
            "substyle": f"s{number % 2}",
            "n_images": size,
            "images": [f"{position}.png" for position in range(size)],
            "labels": [chr(ord("A") + position) for position in range(size)],
            "ground_truth_best": "A",
            "ground_truth_worst": chr(ord("A") + size - 1),
        }
        for number, size in enumerate(sizes)
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks), "utf-8")
    return [task["task_id"] for task in tasks]


def nearest(pixel: Sequence[int]) -> int:
    """Index of the colour closest to a pixel."""
    return min(range(len(COLOURS)), key=lambda i: sum((a - b) ** 2 for a, b in zip(COLOURS[i], pixel, strict=True)))


def _wide_profile() -> bytes:
    """An ICC profile of a display with Adobe RGB's primaries and a gamma of 2.2, written by hand (ICC.1:2001-04)."""

    def number(value: float) -> bytes:
        return struct.pack(">i", round(value * 65536))

    def xyz(*values: float) -> bytes:
        return b"XYZ \0\0\0\0" + b"".join(map(number, values))

    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(2.19921875 * 256)) + b"\0\0"
    name = b"desc\0\0\0\0" + struct.pack(">I", 5) + b"Wide\0" + bytes(78)
    tags = {
        b"desc": name + bytes(-len(name) % 4),
        b"cprt": b"text\0\0\0\0PD\0\0",
        b"wtpt": xyz(0.9642, 1, 0.8249),
        b"rXYZ": xyz(0.60974, 0.31111, 0.01947),
        b"gXYZ": xyz(0.20528, 0.62567, 0.06087),
        b"bXYZ": xyz(0.14919, 0.06322, 0.74457),
        **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve),
    }
    table, body = b"", b""
    start = 128 + 4 + 12 * len(tags)
    for tag, content in tags.items():
        table += tag + struct.pack(">II", start + len(body), len(content))
        body += content
    head = struct.pack(">I4sI4s4s4s", start + len(body), b"lcms", 0x02100000, b"mntr", b"RGB ", b"XYZ ")
    head += struct.pack(">6H", 2024, 1, 1, 0, 0, 0) + b"acsp" + bytes(28)
    head += number(0.9642) + number(1) + number(0.8249)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


WIDE_PROFILE = _wide_profile()
