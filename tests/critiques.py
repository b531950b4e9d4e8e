"""A small CritiqueCanvas of generated pictures, and judges that answer by rule."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from PIL import Image

from lmms_aes_tasks.critiquecanvas.task import SCHEMA
from lmms_aes_tasks.records import import_file

SCORES = (
    "visual_grounding",
    "aesthetic_specificity",
    "criterion_appropriateness",
    "analytical_usefulness",
    "overall_quality",
)
REFERENCE = "The-secret-reference"


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def make_data(folder: Path, n: int) -> Path:
    """Canonical Parquet of n cases `c0`, `c1`, …, each with a picture of its own size and colour."""
    source = folder / "source"
    source.mkdir(parents=True)
    rows = []
    for number in range(n):
        Image.new("RGB", (60 + number, 30), (20 * number % 256, 100, 200)).save(source / f"{number}.png")
        turns = [
            {"from": "human", "value": f"<image>\nInstruction {number}: critique the light."},
            {"from": "gpt", "value": f"{REFERENCE} {number}"},
        ]
        rows.append({"id": f"c{number}", "image": f"{number}.png", "domain": "painting", "conversations": turns})
    write_lines(source / "records.jsonl", rows)
    target = folder / "critiquecanvas" / "critiquecanvas.parquet"
    import_file(source, target, SCHEMA)
    return target


def write_responses(folder: Path, models: dict[str, list[str]]) -> list[str]:
    """A file of responses for each model, case after case; returns the `--model` arguments."""
    arguments = []
    for number, (model, texts) in enumerate(models.items()):
        rows = [{"id": f"c{place}", "response": text} for place, text in enumerate(texts)]
        path = write_lines(folder / f"responses-{number}.jsonl", rows)
        arguments += ["--model", f"{model}={path}"]
    return arguments


def text_of(body: dict[str, Any]) -> str:
    """The text of a request to the judge."""
    (message,) = body["messages"]
    (text,) = [part["text"] for part in message["content"] if part["type"] == "text"]
    return str(text)


def candidates_of(body: dict[str, Any]) -> dict[str, str]:
    """Critique by alias, as a judge reads them: the first JSON object in the text."""
    text = text_of(body)
    found, _ = json.JSONDecoder().raw_decode(text, re.search(r'\{\s*"A"', text).start())  # type: ignore[union-attr]
    return dict(found)


def verdict(scores: dict[str, int]) -> dict[str, dict[str, int]]:
    """A whole verdict by alias, with one value for all five scores of an alias."""
    return {alias: dict.fromkeys(SCORES, value) for alias, value in scores.items()}


def by_digit(body: dict[str, Any]) -> str:
    """A judge that gives each critique the digit that it ends in, and an empty one 1."""
    return json.dumps(
        verdict({a: 1 if text == "(empty)" else int(text[-1]) for a, text in candidates_of(body).items()})
    )
