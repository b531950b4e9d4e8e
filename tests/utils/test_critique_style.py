"""S10 to S13 worked by hand, and what the paper's table implies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmms_aes_tasks.utils.critique_style import (
    STYLE_METRICS,
    PromptKinds,
    breaks_off,
    critique_style,
    prompt_kinds,
    style_statistic,
    style_sums,
    unread_texts,
)

PUBLISHED = json.loads((Path(__file__).parents[2] / "lmms_aes_tasks/critiquecanvas/published.json").read_text("utf-8"))

# (prediction, reference, instruction); words, dimensions and mentions counted by hand
ITEMS = [
    # 7 words; Color 2 (color, palette), Lighting 1; asked for Color: addressed
    ("The color, the palette and the light.", "One two three four five six seven eight nine ten.", "Judge the color."),
    # 4 words; Emotion 1 (mood); asked for Emotion and Lighting: not all addressed
    ("A mood of rest", "One two three four.", "Judge the mood and the lighting."),
    # 5 words; Composition 1, Emotion 1; generic
    ("Balanced composition. Quiet.", "One two three four five six.", "Give a critique."),
    # empty; generic
    ("", "One two.", "Give a critique."),
]


def test_by_hand() -> None:
    styles = [critique_style(*item) for item in ITEMS]
    assert [style.words for style in styles] == [7, 4, 3, 0]
    assert [style.reference_words for style in styles] == [10, 4, 6, 2]
    # "Balanced" and "composition" are two triggers of one dimension, "Quiet" one of another
    assert [style.mentions for style in styles] == [
        {"Color": 2, "Lighting": 1},
        {"Emotion": 1},
        {"Composition": 2, "Emotion": 1},
        {},
    ]
    assert [style.focus for style in styles] == [("Color",), ("Lighting", "Emotion"), (), ()]
    assert [style.empty for style in styles] == [False, False, False, True]
    assert [style.truncated for style in styles] == [False, True, False, False]
    values = {name: style_statistic(styles, name) for name in STYLE_METRICS}
    assert values["avg_length"] == (7 + 4 + 3 + 0) / 4
    assert values["len_ref"] == (7 + 4 + 3 + 0) / (10 + 4 + 6 + 2)
    assert values["dim_hits"] == (2 + 1 + 2 + 0) / 4
    assert values["density"] == pytest.approx(100 * (3 + 1 + 3 + 0) / (7 + 4 + 3 + 0), abs=1e-12)
    assert values["prompt_align"] == 1 / 2
    assert values["empty_rate"] == 1 / 4
    assert values["truncated_rate"] == 1 / 4
    # Composition and Emotion in one critique each: ties in the paper's order
    assert prompt_kinds(styles) == PromptKinds(n_focused=2, n_generic=2, generic_top3=("Composition", "Emotion"))


def test_generic_top_3_counts_critiques_not_mentions() -> None:
    texts = ["light light light light", "color. mood.", "color. mood.", "mood. style.", "style, style, style."]
    found = prompt_kinds([critique_style(text, "a", "Give a critique.") for text in texts])
    assert found.generic_top3 == ("Emotion", "Color", "Style")  # 3, 2, 2 critiques; Lighting has 1


def test_nothing_is_undefined_not_zero() -> None:
    for name in ("avg_length", "len_ref", "density", "prompt_align", "empty_rate"):
        assert style_statistic([], name) is None
    styles = [critique_style("", "a", "Critique this.")]
    values = [style_statistic(styles, name) for name in ("avg_length", "len_ref", "density", "prompt_align")]
    assert values == [0.0, 0.0, None, None]


def test_sums_give_the_statistics() -> None:
    styles = [critique_style(*item) for item in ITEMS]
    assert style_sums(styles, "density").tolist() == [[300, 7], [100, 4], [300, 3], [0, 0]]
    for name in STYLE_METRICS:
        numerator, denominator = style_sums(styles, name).sum(axis=0)
        assert numerator / denominator == style_statistic(styles, name)
    with pytest.raises(ValueError, match="unknown statistic 'words': use one of avg_length"):
        style_sums(styles, "words")


@pytest.mark.parametrize(
    ("text", "words", "wordless", "other_script"),
    [
        ("Soft light.", 2, False, False),
        ("光线柔和。", 4, False, True),  # a character is a word where there are no spaces
        ("Мягкий **свет**.", 2, False, True),
        ("ضوء ناعم", 2, False, True),
        ("แสง", 3, False, True),
        ("Soft 光", 2, False, False),
        ("café", 1, False, False),  # caf, as the paper counts
        ("don\u02bct 5 µ", 2, False, False),  # don, t
        ("🎨 12 !", 0, True, False),
        ("", 0, False, False),
        (" \n", 0, False, False),
    ],
)
def test_words_of_any_script(text: str, words: int, wordless: bool, other_script: bool) -> None:
    style = critique_style(text, text, "Critique this.")
    assert (style.words, style.reference_words) == (words, words)
    assert (style.wordless, style.other_script) == (wordless, other_script)


def test_texts_that_cannot_be_read_are_counted_and_said() -> None:
    texts = ["Soft light.", "", "🎨", "!!!", "光线柔和。"]
    styles = [critique_style(text, "a", "Critique this.") for text in texts]
    assert style_statistic(styles, "wordless_rate") == 2 / 5
    first, second = unread_texts(styles)
    assert first.startswith("2 of 5 critiques have text and no word in it")
    assert second.startswith("1 of 5 critiques have no word in the letters a to z: the trigger lists are English")
    assert unread_texts(styles[:2]) == []
    assert style_statistic([], "wordless_rate") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is calm.", False),
        ('He says "calm."', False),
        ("**It is calm.**", False),
        ("Calm!\n\n", False),
        ("光线柔和。", False),
        ("It is calm and", True),
        ("It is calm,", True),
        ("- a list", True),
        ("🎨", True),
        ("", False),
        ("  ", False),
    ],
)
def test_breaking_off(text: str, expected: bool) -> None:
    assert breaks_off(text) is expected


def test_length_over_reference_is_a_ratio_of_means_in_the_papers_table() -> None:
    """Every locally run model of Table S5 implies one mean length of the references; 5e-4 and 5e-3 are its rounding."""
    local = [
        row for row in PUBLISHED["style_rows"] if row["group"] != "Closed-source Models" and "GLM" not in row["model"]
    ]
    lows = [(row["avg_length"] - 0.005) / (row["len_ref"] + 0.0005) for row in local]
    highs = [(row["avg_length"] + 0.005) / (row["len_ref"] - 0.0005) for row in local]
    assert len(local) == 9
    assert max(lows) < 131.0 < min(highs)
