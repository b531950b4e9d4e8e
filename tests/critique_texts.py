"""Texts to score: 200 generated pairs of critiques, and texts that metrics stumble over."""

from __future__ import annotations

import json
import random
from pathlib import Path

from lmms_aes_tasks.critiquecanvas import demo

_RECORDS = json.loads(Path(demo.__file__).with_suffix(".json").read_text("utf-8"))
REFERENCES = [record["conversations"][1]["value"] for record in _RECORDS]
HARD = [
    "🎨🖼️✨",
    "!!! ... ???",
    "构图均衡，色彩柔和，光线从左侧照入。",
    "التكوين متوازن والألوان دافئة.",
    "הקומפוזיציה מאוזנת והצבעים חמים",
    "## Composition\n\n- **Balanced** layout\n- _soft_ `light`\n\n> a quiet mood",
    "a",
    "İstanbul’da IŞIK and ﬁne ﬂow",
    "naïve café — “quoted” … and\u00a0non\u200bbreaking\tspaces",
    "running runs ran runner easily fairly lighting lights lit 1920s 3,000.50",
    "the the the the the the",
    "word " * 600,
]


def generated_pairs(count: int = 200, seed: int = 0, sentences_each: tuple[int, int] = (3, 7)) -> list[tuple[str, str]]:
    """(prediction, reference): references shuffled by sentence, predictions with words dropped, doubled, replaced."""
    draw = random.Random(seed)
    sentences = [part for text in REFERENCES for part in map(str.strip, text.replace("\n", " ").split(". ")) if part]
    vocabulary = sorted({word for sentence in sentences for word in sentence.split()})
    pairs = []
    for _ in range(count):
        reference = ". ".join(draw.sample(sentences, draw.randint(*sentences_each))) + "."
        words = []
        for word in reference.split():
            chance = draw.random()
            if chance < 0.55:
                words.append(word)
            elif chance < 0.8:
                words.append(draw.choice(vocabulary))
            elif chance < 0.85:
                words += [word, word]
        pairs.append((" ".join(words), reference))
    return pairs


OTHER_SCRIPTS = HARD[2:5]
PAIRS = generated_pairs() + [(hard, REFERENCES[0]) for hard in HARD] + [(text, text) for text in HARD[:-1]]
