"""Forms in which models write an answer, texts that hold none, and properties of all three parsers."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_aes_tasks.utils.answers import (
    PARSER_VERSION,
    answer_text,
    fold_full_width,
    parse_option,
    parse_set,
    parse_set_strict,
    parse_winner,
)

CASES = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data/answer_forms.jsonl").read_text("utf-8").splitlines()
]
YES_NO = [("A", "Yes"), ("B", "No")]
NUMBERS = [("1", "Yes"), ("2", "No")]
WORDS = [("A", "Suits the memorial programme"), ("B", "Suits the toy advertisement")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']} {case['text'][:40]}")
def test_forms(case: dict[str, Any]) -> None:
    read: Any
    if case["kind"] == "option":
        read = parse_option(case["text"], [tuple(option) for option in case["options"]]).answer
    elif case["kind"] == "winner":
        read = parse_winner(case["text"]).winner
    else:
        read = parse_set(case["text"], case["prompt_type"], case["labels"]).labels
    assert read == case["expected"], case["why"]


WRAPPED = [
    "[[B]]",
    "**[[B]]**",
    "My verdict is: [[B]]",
    "The answer is [[B]].",
    "It is dark.\n\n[[ b ]].",
    r"\boxed{B}",
    r"$\boxed{B}$",
    r"\[\boxed{B}\]",
    r"\(\boxed{\text{B}}\)",
    r"\boxed{\textbf{(B)}}",
    r"\boxed{\mathrm{B}}",
    r"\boxed{B. No}",
    r"\boxed{\text{No}}",
    r"$\text{B}$",
    "$B$",
    "$$B$$",
    r"\(B\)",
    r"\textbf{B}",
    r"\mathbf{B}",
    "<answer>B</answer>",
    "<answer>\n(B) No\n</answer>",
    "<answer>\\boxed{B}</answer>",
    "<answer><|begin_of_box|>B<|end_of_box|></answer>",
    "<|begin_of_box|>B<|end_of_box|>",
    "<|begin_of_solution|>B<|end_of_solution|>",
    "<|START_RESPONSE|>B<|END_RESPONSE|>",
    "<output>B</output>",
    "<CONCLUSION>B</CONCLUSION>",
    "\ufeffB",
    "B\u200b",
    "\u2060B\u200d.",
    "<b>B</b>",
    "`B`",
]
LABELS = [
    "",
    "Answer: ",
    "**Final Answer:** ",
    "The answer is ",
    "### Answer\n\n",
    "**Answer**\n",
    "答案：",
    "The light is warm.\n\nFinal answer: ",
    "Option A is wrong.\nAnswer: ",
]


@pytest.mark.parametrize(("label", "value"), itertools.product(LABELS, WRAPPED))
def test_wrappers_around_a_reply_and_around_a_value(label: str, value: str) -> None:
    assert parse_option(label + value, YES_NO).answer == "B"


@pytest.mark.parametrize(
    "wrapper",
    [
        r"\boxed{%s}",
        r"$\boxed{%s}$",
        r"\(\boxed{\text{%s}}\)",
        r"\textbf{%s}",
        "$%s$",
        "<answer>%s</answer>",
        "<|begin_of_box|>%s<|end_of_box|>",
        "<b>%s</b>",
        "`%s`",
        "**%s**",
        "(%s)",
        "\u200b%s\u200b",
    ],
)
def test_wrappers_in_the_other_formats(wrapper: str) -> None:
    assert parse_option(json.dumps({"answer": wrapper % "B"}), YES_NO).answer == "B"
    assert parse_winner("winner: " + wrapper % "1").winner == "right"
    assert parse_winner(wrapper % "{'winner': 1}").winner == "right"
    assert parse_set("BEST: " + wrapper % "B", "pick_best", ["A", "B"]).labels == {"best": "B"}
    assert parse_set(wrapper % "BEST: B", "pick_best", ["A", "B"]).labels == {"best": "B"}


@pytest.mark.parametrize("mark", [r"\boxed{%s}", "<answer>%s</answer>", "<|begin_of_box|>%s<|end_of_box|>"])
def test_marks_of_the_answer_declare_it_inside_prose(mark: str) -> None:
    assert parse_option(f"The dress is for mourning.\n\n{mark % 'B'}", YES_NO).answer == "B"
    assert parse_option(f"Therefore {mark % 'B'} because of the dress", YES_NO).answer == "B"
    for text in (
        f"{mark % 'A'} or {mark % 'B'}",
        f"{mark % 'A'} and {mark % 'B'}",
        f"{mark % 'A'}, {mark % 'B'}",
        f"{mark % 'A'}\n{mark % 'B'}",
        f"not {mark % 'A'}",
        mark % "A or B",
        mark % "",
        mark % "A warm palette",
    ):
        assert parse_option(text, YES_NO).answer is None, text


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ('{"answer": {"id": "B", "text": "No"}}', "B", "json"),
        ('{"answer": {"id": "B", "text": "Yes"}}', None, "invalid"),  # its id and its text name two
        ('{"answer": {"id": "B", "note": "A is close"}}', "B", "json"),
        ('{"answer": {"A": "Yes", "B": "No"}}', None, "invalid"),
        ('{"answer": {"A": "No"}}', None, "invalid"),
        ('{"answer": {"A": false, "B": true}}', "B", "json"),
        ('{"answer": {"A": true, "B": true}}', None, "invalid"),
        ('{"answer": {"A": 0.9, "B": 0.1}}', None, "invalid"),
        ('{"answer": {"x": true}}', None, "invalid"),
        ('{"answer": {"answer": {"id": "A"}}}', "A", "json"),
        ('{"answer": "{\\"id\\": \\"B\\"}"}', "B", "json"),
        ('{"answer": "\\boxed{B}"}', "B", "json"),  # JSON reads the backslash and the b as one character
        ('{"answer": "\\text{B}"}', "B", "json"),
        ('{"answer": {"choice": {"option": {"id": "B"}}}}', "B", "json"),
        ('{"answer": {"choice": {"option": {"id": {"id": "B"}}}}}', None, "invalid"),  # four deep
        ('{"answer": "A", "reason": "warm\nlight"}', "A", "json"),  # a line end in a string
        ('{\\"answer\\": \\"B\\"}', "B", "object"),
        ('{\\\\\\"answer\\\\\\": \\\\\\"B\\\\\\"}', "B", "object"),
        ('{"answer": "Option B is the correct one"}', "B", "json"),
        ('{"answer": "Option B is not the correct one"}', None, "invalid"),
        ('["B"]', None, "none"),
        ("[B]", "B", "leading_id"),
        ("B", "B", "leading_id"),
        ("B\nWait, A is better.", "B", "leading_id"),  # taken back in prose: the first declaration stands
        ("B. Actually A.", "B", "leading_id"),
        ("No. Actually yes.", "B", "option_text"),
        ("Answer: B. Actually, answer: A", None, "conflict"),
        ("The answer is A. Option B is right.", None, "conflict"),
        ("Option A is right. Option A is wrong.", None, "conflict"),
        ("B\n\nOption B is wrong.", None, "conflict"),
        ("A.\nB.", None, "conflict"),
        ("Only option A is right.", "A", "declared"),
        ("只有A是对的", "A", "declared"),
        ("Option A is wrong.", None, "none"),
        ("\u200b", None, "empty"),
        ("<|im_end|>", None, "empty"),
        ("<answer></answer>", None, "empty"),
        (None, None, "empty"),
    ],
)
def test_rules(text: str | None, answer: str | None, rule: str) -> None:
    parsed = parse_option(text, YES_NO)
    assert (parsed.answer, parsed.rule) == (answer, rule)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("2", "2"),
        ("2.0", "2"),
        ("(2)", "2"),
        ('{"answer": 2}', "2"),
        ('{"answer": 2.0}', "2"),
        ('{"answer": "2.00"}', "2"),
        ("Answer: 2.0", "2"),
        ('{"answer": 1.5}', None),
        ('{"answer": true}', None),
        ('{"answer": 1e400}', None),
        ('{"answer": NaN}', None),
        ('{"answer": ' + "1" * 4000 + "}", None),
        ("2.5", None),
        ("2.05", None),
        ("21", None),
        ("Answer: 1 or 2", None),
    ],
)
def test_ids_that_are_numbers(text: str, answer: str | None) -> None:
    assert parse_option(text, NUMBERS).answer == answer


def test_full_width_forms_end_at_the_tilde() -> None:
    assert fold_full_width("！～｟\u3000") == "!~｟ "


def test_a_number_is_no_letter() -> None:
    assert parse_option('{"answer": 1}', YES_NO).rule == "invalid"
    assert parse_option("A.0", YES_NO).answer is None


@pytest.mark.parametrize(
    ("text", "winner", "rule"),
    [
        ("**Winner:** 1", "right", "field"),
        ("winner: 1.0", "right", "field"),
        ("{'winner': 0.0}", "left", "object"),
        ("{'winner': 0.5}", None, "invalid"),
        ("winner: 1 or 0", None, "conflict"),
        ("winner: 0/1", None, "conflict"),
        ("winner: 1, because 0 is dull", "right", "field"),
        ("{'winner': {'value': 1}}", "right", "object"),
        ("{'winner': {'value': 1, 'image': 0}}", None, "invalid"),
        ("{'winner': [1]}", "right", "object"),
        ("{\\'winner\\': 1}", "right", "object"),
        ("### Winner\n\n**0**", "left", "field"),
        ("### Winner\nThe left one", None, "none"),
        ("style_winner: 1", None, "none"),
        (None, None, "empty"),
    ],
)
def test_winner_rules(text: str | None, winner: str | None, rule: str) -> None:
    parsed = parse_winner(text)
    assert (parsed.winner, parsed.rule) == (winner, rule)


@pytest.mark.parametrize(
    ("text", "labels", "rule"),
    [
        ("BEST: B", {"best": "B"}, "strict"),
        ("Best image: B", {"best": "B"}, "tolerant"),
        ("Best: B/C", None, "none"),
        ("Best: B, C", None, "none"),
        ("Best: B, a striking picture", {"best": "B"}, "tolerant"),
        ("### Best image\n\n**B**", {"best": "B"}, "tolerant"),
        ("### Best image\nA striking one", None, "none"),
        ("", None, "empty"),
        (None, None, "empty"),
        ("<think>BEST: A", None, "empty"),
        ("I cannot say.", None, "none"),
    ],
)
def test_set_rules(text: str | None, labels: dict[str, str] | None, rule: str) -> None:
    parsed = parse_set(text, "pick_best", ["A", "B", "C"])
    assert (parsed.labels, parsed.rule) == (labels, rule)
    assert parse_set_strict(None, "pick_best", ["A"]) is None


@pytest.mark.parametrize("levels", [2, 99, 490, 600, 700, 900, 980, 1_500, 5_000])
def test_nested_objects_end_in_an_answer_or_none(levels: int) -> None:
    def nested(field: str, value: str) -> str:
        return f'{{"{field}": ' * levels + value + "}" * levels

    assert parse_option(nested("answer", '"A"'), YES_NO).answer in {"A", None}
    assert parse_option(f'{{"answer": {nested("id", chr(34) + "A" + chr(34))}}}', YES_NO).answer in {"A", None}
    assert parse_option(nested("x", '{"answer": "A"}'), YES_NO).answer in {"A", None}
    assert parse_winner(nested("winner", "1")).winner in {"right", None}
    assert parse_winner(nested("winner", "1").replace('"', "'")).winner in {"right", None}
    assert parse_winner('{"winner": ' + "[" * levels + "1" + "]" * levels + "}").winner is None
    assert parse_set(nested("best", '"A"'), "pick_best", ["A"]).labels in ({"best": "A"}, None)
    if levels < 900:
        assert parse_option(nested("answer", '"A"'), YES_NO).answer == "A"
        assert parse_winner(nested("winner", "1")).winner == "right"


# -- Unread stays unread ----------------------------------------------------------------------------------------------

_WORDS = """the a warm palette light of and but is seems dress dark image too bright suits occasion with in this which
composition balance figure scene colour . , ; - however very"""
_PROSE = st.lists(st.sampled_from([*_WORDS.split(), "\n"]), max_size=30).map(lambda words: " ".join(["It", *words]))
_DECLARATIONS = [
    "Answer: {}",
    "The answer is {}.",
    "\\boxed{{{}}}",
    "<answer>{}</answer>",
    "Option {} is right.",
    "Only option {} is correct.",
    "### Answer\n\n{}",
    "答案是{}。",
    "只有{}是对的。",
    "<|begin_of_box|>{}<|end_of_box|>",
    "I choose option {}.",
    "The correct option is {}.",
    "**Answer:** ${}$",
]


@settings(max_examples=300, deadline=None)
@given(text=_PROSE)
def test_prose_declares_nothing(text: str) -> None:
    assert parse_option(text, WORDS).answer is None
    assert parse_winner(text).winner is None
    assert parse_set(text, "pick_best", ["B", "C"]).labels is None


@settings(max_examples=300, deadline=None)
@given(first=st.sampled_from(_DECLARATIONS), second=st.sampled_from(_DECLARATIONS), between=_PROSE)
def test_two_different_declarations_are_none(first: str, second: str, between: str) -> None:
    text = f"{first.format('A')}\n{between}\n{second.format('B')}"
    assert parse_option(text, YES_NO).rule == "conflict", text


@settings(max_examples=200, deadline=None)
@given(declaration=st.sampled_from(_DECLARATIONS), option=st.sampled_from("AB"), before=_PROSE)
def test_one_declaration_is_read_after_prose(declaration: str, option: str, before: str) -> None:
    assert parse_option(f"{before}.\n\n{declaration.format(option)}", YES_NO).answer == option


@settings(max_examples=200, deadline=None)
@given(
    option=st.sampled_from("AB"),
    name=st.sampled_from(["Option {}", "option {}", "Choice {}", "**Option {}**", "({})", "选项{}"]),
    remark=st.sampled_from(
        [
            " is wrong.",
            " is not right.",
            " isn't the right one.",
            " does not fit.",
            " is better than the other.",
            " is too bright",
            ": too bright",
            " - 20%",
            " and the other are both plausible.",
            "是错的",
            "不正确",
            "比另一个好",
        ]
    ),
)
def test_a_remark_about_an_option_is_no_answer(option: str, name: str, remark: str) -> None:
    assert parse_option(name.format(option) + remark, YES_NO).answer is None


@settings(max_examples=100, deadline=None)
@given(first=st.sampled_from(["0", "1", "left", "right"]), second=st.sampled_from(["0", "1", "left", "right"]))
def test_two_winners_are_one_when_they_agree(first: str, second: str) -> None:
    side = {"0": "left", "left": "left", "1": "right", "right": "right"}
    agreed = side[first] if side[first] == side[second] else None
    assert parse_winner(f"**Winner:** {first}\nWinner: {second}").winner == agreed
    assert parse_winner(f"winner: {first} or {second}").winner == agreed


@settings(max_examples=200, deadline=None)
@given(text=st.text())
def test_an_empty_reply_has_one_rule(text: str) -> None:
    empty = answer_text(text) == ""
    assert (parse_option(text, YES_NO).rule == "empty") == empty
    assert (parse_winner(text).rule == "empty") == empty
    if empty:
        assert parse_set(text, "pick_best", ["A"]).rule == "empty"


# -- Time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        '{"a":',
        "{'answer': ",
        "\\",
        "{\\",
        "\\boxed{",
        "$",
        "answer: ",
        "Answer:\n",
        "option A is right, ",
        "A. ",
        "选",
        "答案是A",
        "A是对的,",
        "winner: 1 or ",
        "best: A",
        "*",
        "\t",
        "<answer>",
        "```",
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        lambda text: parse_option(text, YES_NO),
        parse_winner,
        lambda text: parse_set(text, "pick_best_and_worst", ["A", "B"]),
    ],
    ids=["option", "winner", "set"],
)
def test_time_is_linear_in_the_text(unit: str, read: Callable[[str], object]) -> None:
    """Ten times the text may take thirty times as long, and two seconds for a busy machine; squared would be 100."""

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        start = time.process_time()
        read(text)
        return time.process_time() - start

    assert seconds(1_000_000) < 30 * seconds(100_000) + 2


def test_the_version_stands_where_results_are_made() -> None:
    assert PARSER_VERSION == "2"
    folder = Path(__file__).parents[2] / "lmms_aes_tasks/task_yamls"
    for name in ("contextcanvas/contextcanvas.yaml", "vab/vab_template", "fineartbench/fineartbench_template"):
        assert 'parser: "2"' in (folder / name).read_text("utf-8")


@pytest.mark.parametrize(
    "text", ["[[A]] or [[B]]", "I reject [[A]].", "Not [[A]]", "[[1, 2], [3, 4]]", "Write [[A]] or [[B]]: [[B]]"]
)
def test_brackets_that_are_no_verdict(text: str) -> None:
    assert parse_option(text, [("A", "Yes"), ("B", "No")]).answer is None
