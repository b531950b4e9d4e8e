"""Words and dimensions of texts, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_aes_tasks.utils.dimensions import (
    DIMENSIONS,
    TRIGGERS_PATH,
    current_question,
    focus,
    mentions,
    read_triggers,
    triggers,
    without_markers,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's a well-lit scene, 1920s style.", ["it", "s", "a", "well", "lit", "scene", "s", "style"]),
        ("## Colour\n1. **Warm** _tones_\n> quoted `code`", ["colour", "warm", "tones", "quoted", "code"]),
        ("Ça va, naïve", ["a", "va", "na", "ve"]),
        ("构图 🎨 التكوين", []),
        ("", []),
        ("rule_of_thirds", ["ruleofthirds"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_markers_go_and_words_stay() -> None:
    assert without_markers("# Title\n- one\n* two\n+ three\n12) four\n> five\n~~six~~ 7 * 8") == (
        "Title\none\ntwo\nthree\nfour\nfive\nsix 7  8"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The color palette and the colors.", {"Color": 2}),
        ("Leading-lines meet the rule of thirds.", {"Composition": 2}),
        ("The focal. Point is lost.", {}),  # no phrase over a full stop
        ("LIGHT, light and Lights", {"Lighting": 3}),
        ("enlightened, delight, slight", {}),  # whole words only
        ("Its symbolism is a metaphor; the mood is melancholic.", {"Emotion": 2, "Symbolism": 2}),
        ("Visual appeal comes from brush strokes.", {"Brushstrokes": 1, "Visual Appeal": 1}),
        ("构图均衡", {}),
        ("", {}),
    ],
)
def test_mentions(text: str, expected: dict[str, int]) -> None:
    assert mentions(text) == expected
    assert list(mentions(text)) == [name for name in DIMENSIONS if name in expected]


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("Please give a full critique of this picture.", ()),
        ("How do light and shadow shape the atmosphere?", ("Lighting", "Emotion")),
        ("Describe the red roof in this dark, abstract scene.", ()),  # speaks of dimensions, names none
        ("Comment on the warm palette.", ("Color",)),  # a name inside a longer trigger
        ("Example: What of the lighting? Soft.\n\nWhat of the composition?", ("Composition",)),
        ("Example 1.\nHow is the mood? Calm.\n\nQuestion: Judge the technique.\nBe brief.", ("Technique",)),
        ("Focus on what you see.", ()),
    ],
)
def test_focus(instruction: str, expected: tuple[str, ...]) -> None:
    assert focus(instruction) == expected


def test_an_instruction_without_examples_stays() -> None:
    text = "Question: is it good?\n\nFor example, look at the sky."
    assert current_question(text) == text


def test_our_lists() -> None:
    found = triggers()
    assert found.version == "1"
    assert set(found.dimension_of.values()) == set(DIMENSIONS)
    assert found.names < set(found.dimension_of)
    for dimension in DIMENSIONS:
        assert any(found.dimension_of[name] == dimension for name in found.names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lists: lists.pop("Style"), "dimensions are Content, .* use Content"),
        (lambda lists: lists["Style"]["terms"].append("Mixed Case"), "trigger 'Mixed Case': use lower-case letters"),
        (
            lambda lists: lists["Style"]["terms"].append("light"),
            "trigger 'light' stands under Lighting and Style: keep one",
        ),
    ],
)
def test_unsound_lists_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    content = json.loads(TRIGGERS_PATH.read_text("utf-8"))
    change(content["dimensions"])
    path = tmp_path / "lists.json"
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(ValueError, match=message):
        read_triggers(path)


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    assert all(count > 0 for count in mentions(text).values())
    assert sum(mentions(text).values()) <= len(words(text))
    focus(text)
