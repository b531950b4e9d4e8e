"""What of a reply is visible: marks of reasoning, control tokens, marks around the answer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_aes_tasks.utils.answers import (
    VisibleText,
    parse_option,
    parse_set,
    parse_winner,
    strip_reasoning,
    visible_text,
)
from lmms_aes_tasks.utils.visible_text import THOUGHT_MARKS, without_control_tokens

YES_NO = [("A", "Yes"), ("B", "No")]

# … stands for the thought. Each is what a model's template, or its server without a reasoning parser, lets through.
THOUGHTS = [
    "<think>…</think>",
    "<THINK>…</THINK>",
    "<think >…</ think>",
    "<think type='deep'>…</think>",
    "<think>…<\\think>",
    "<think>…</think\n",
    "…</think>",
    "<thinking>…</thinking>",
    "<thought>…</thought>",
    "<thoughts>…</thoughts>",
    "<reasoning>…</reasoning>",
    "<reflection>…</reflection>",
    "<analysis>…</analysis>",
    "<scratchpad>…</scratchpad>",
    "<rationale>…</rationale>",
    "<inner_monologue>…</inner_monologue>",
    "<chain_of_thought>…</chain_of_thought>",
    "<seed:think>…</seed:think>",
    "<mm:think>…</mm:think>",
    "<longcat_think>…</longcat_think>",
    "<ifm|think_fast>…</ifm|think_fast>",
    "<think:opensource>…</think:opensource>",
    "<think>…</thinking>",
    "<thinking>…</think>",
    "<thinking>first<reflection>…</reflection> then</thinking>",
    "<think>…</think><think>…</think>",
    "◁think▷…◁/think▷",
    "…◁/think▷",
    "[THINK]…[/THINK]",
    "[think]…[/think]",
    "…[/THINK]",
    "<|think|>…<|/think|>",
    "<|think|>…<think|>",
    "<|think|>…<|end|><|begin|>assistant<|content|>",
    "<|begin_of_thought|>…<|end_of_thought|>",
    "<|begin_of_thought|>…<|end_of_thought|>\n\n<|begin_of_solution|>",
    "<|START_THINKING|>…<|END_THINKING|>",
    "<|START_THINKING|>…<|END_THINKING|><|START_RESPONSE|>",
    "<|START_THINKING|>…<|START_TEXT|>",
    "…<|END_THINKING|>",
    "<|think_start|>…<|think_end|>",
    "<|plamo:begin_think:plamo|>…<|plamo:end_think:plamo|>",
    "<｜begin▁of▁thinking｜>…<｜end▁of▁thinking｜>",
    "<|channel>thought\n…<channel|>",
    "…<channel|>",
    "<unused94>thought\n…<unused95>",
    "…<unused95>",
    "[unused16]…[unused17]",
    "<|inner_prefix|>…<|inner_suffix|>",
    "<|open|>think<|sep|>…<|close|>think<|sep|><|open|>response<|sep|>",
    "<|content_thinking|>…<|end_message|><|message_model|><|content_text|>",
    "<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>",
    "…<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>commentary to=functions.see "
    "<|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
    "analysisThe user asks. …assistantfinal",
    "…assistantfinal",
    "Here is my thought process: … Here is my response: ",
    "Here's my thought process:\n…\nHere's my response:\n",
]
UNCLOSED = [
    "<think>",
    "<THINKING>",
    "<reasoning>",
    "<seed:think>",
    "◁think▷",
    "[THINK]",
    "<|START_THINKING|>",
    "<|begin_of_thought|>",
    "<|channel>thought\n",
    "<unused94>thought\n",
    "<|inner_prefix|>",
    "<|open|>think<|sep|>",
    "<|channel|>analysis<|message|>",
    "analysisThe user asks. ",
]
END_TOKENS = [
    "<|im_end|>",
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<｜end▁of▁sentence｜>",
    "<|return|>",
    "<|end|>",
    "<|END_OF_TURN_TOKEN|>",
    "<turn|>",
    "<end_of_utterance>",
    "<pad><pad>",
    "[EOS]",
    "[/INST]",
    "[e~[",
    "<|im_end|>\n<|endoftext|>",
    " </s> </s>\n",
    "<|im_end|>\n<|im_start|>assistant",
    "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
]


@pytest.mark.parametrize("thought", THOUGHTS)
def test_thoughts_are_not_read(thought: str) -> None:
    assert parse_set(thought.replace("…", "First BEST: A, perhaps.") + "\nBEST: B", "pick_best", ["A", "B"]).labels == {
        "best": "B"
    }
    assert parse_winner(thought.replace("…", "At first {'winner': 0}, but no.") + "{'winner': 1}").winner == "right"
    assert parse_option(thought.replace("…", "Maybe. Answer: A") + "Answer: B", YES_NO).answer == "B"
    seen = visible_text(thought.replace("…", "First the brushwork.") + "Warm light falls on the roofs.")
    assert seen == VisibleText("Warm light falls on the roofs.", reasoning=True, cut=False)


@pytest.mark.parametrize("opening", UNCLOSED)
def test_an_unclosed_thought_is_cut_and_known(opening: str) -> None:
    assert visible_text(f"{opening}I lean to A. Answer: A") == VisibleText("", reasoning=True, cut=True)
    assert parse_option(f"{opening}I lean to A. Answer: A", YES_NO).rule == "empty"
    assert parse_winner(f"{opening}{{'winner': 0}}").rule == "empty"
    assert parse_set(f"{opening}BEST: A", "pick_best", ["A"]).rule == "empty"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (None, VisibleText("")),
        ("", VisibleText("")),
        ("\ufeff \u200b\n", VisibleText("")),
        ("Warm light.", VisibleText("Warm light.")),
        ("\ufeff\u200b Warm light.\u200b", VisibleText("Warm light.")),
        ("<think>\n\n</think>\nB", VisibleText("B")),  # Qwen3 without thinking: an empty block is no reasoning
        ("</think>B", VisibleText("B")),
        ("B<think>", VisibleText("B", cut=True)),
        ("B <think>or A", VisibleText("B", reasoning=True, cut=True)),
        ("<thinking>a<think>b</think>c", VisibleText("", reasoning=True, cut=True)),  # the inner block is not the end
        ("<|channel|>analysis<|message|>A?<|end|>", VisibleText("", reasoning=True)),  # closed, and then nothing
        ("<|channel|>final<|message|>B<|return|>", VisibleText("B")),
        ("<|channel|>final<|message|>A<|end|><|channel|>final<|message|>B", VisibleText("B")),  # the last one
        ("<|start|>assistant<|channel|>final\n<|message|>B", VisibleText("B")),
        ("B<|channel|>", VisibleText("B")),
        ("Here is my thought process: A. Answer: B", VisibleText("Here is my thought process: A. Answer: B")),
        ("I think <b>this</b> is warm.", VisibleText("I think <b>this</b> is warm.")),
        ("A thought: [1] <thin> lines, the analysis", VisibleText("A thought: [1] <thin> lines, the analysis")),
        ("analysis of the light", VisibleText("analysis of the light")),
        ("<no_think>B", VisibleText("<no_think>B")),
        ('{"answer": "A", "reason": "a <think> bubble"}', VisibleText('{"answer": "A", "reason": "a <think> bubble"}')),
        ('{"a": "[THINK]"}<|im_end|>', VisibleText('{"a": "[THINK]"}')),
        ('{"a": "<think>\n"}', VisibleText('{"a": "<think>\n"}')),  # a line end in a string, as models write them
        ("{<think>}B", VisibleText("{", reasoning=True, cut=True)),  # no object
        ("<answer>B</answer>", VisibleText("B")),
        ("<answer>B", VisibleText("B")),
        ("B</answer>", VisibleText("B")),
        ("<think>A?</think>\n<answer>\nB\n</answer><|im_end|>", VisibleText("B", reasoning=True)),
        ("<answer>A</answer> or <answer>B</answer>", VisibleText("<answer>A</answer> or <answer>B</answer>")),
        ("So <answer>B</answer>.", VisibleText("So <answer>B</answer>.")),
        ("</answer><answer>", VisibleText("</answer><answer>")),
        ("<|begin_of_box|>Warm.<|end_of_box|>", VisibleText("Warm.")),
        ("It is <|begin_of_box|>warm<|end_of_box|> light.", VisibleText("It is warm light.")),
        ("<|begin_of_solution|>Warm.<|end_of_solution|>", VisibleText("Warm.")),
        ("<|START_RESPONSE|>Warm.<|END_RESPONSE|>", VisibleText("Warm.")),
        ("<s> Warm.</s>", VisibleText("Warm.")),
        ("<|im_start|>assistant\nWarm.<|im_end|>", VisibleText("Warm.")),
        ("<start_of_turn>model\nWarm.<end_of_turn>", VisibleText("Warm.")),
        ("Warm.<|im_end|>\nuser", VisibleText("Warm.<|im_end|>\nuser")),  # in the middle they stay
        ("a < b and c > d", VisibleText("a < b and c > d")),
    ],
)
def test_what_is_seen(text: str | None, seen: VisibleText) -> None:
    assert visible_text(text) == seen


@pytest.mark.parametrize("token", END_TOKENS)
def test_end_tokens_are_cut(token: str) -> None:
    assert visible_text(f"Warm light.{token}") == VisibleText("Warm light.")
    for reply in ("B", "(B)", "No", "Answer: B", "The answer is B", "答案是B", '{"answer": "B"}', "Option B is right"):
        assert parse_option(reply + token, YES_NO).answer == "B", reply
    assert parse_winner(f"winner: 1{token}").winner == "right"
    assert parse_set(f"best: b{token}", "pick_best", ["A", "B"]).labels == {"best": "B"}


def test_reasoning_alone_is_removed_by_strip_reasoning() -> None:
    assert strip_reasoning("◁think▷A?◁/think▷ B<|im_end|>") == " B<|im_end|>"
    assert strip_reasoning(None) == strip_reasoning("") == ""


@pytest.mark.parametrize("mark", THOUGHT_MARKS, ids=lambda mark: mark.example)
def test_examples_of_the_table_are_read_by_it(mark: object) -> None:
    example = mark.example  # type: ignore[attr-defined]
    assert visible_text(f"{example} light.") == VisibleText("light.", reasoning=True)


@given(before=st.text(alphabet="xyz .\n"), thought=st.text(alphabet="ABC :.\n", min_size=1), after=st.text("xyz .\n"))
def test_what_is_outside_a_block_stays(before: str, thought: str, after: str) -> None:
    for opening, closing in (("<think>", "</think>"), ("◁think▷", "◁/think▷"), ("[THINK]", "[/THINK]")):
        text = f"{before}{opening}{thought}{closing}{after}"
        assert visible_text(text) == VisibleText((before + after).strip(), reasoning=bool(thought.strip()))


@given(text=st.text() | st.lists(st.sampled_from([*END_TOKENS, "<", "|", ">", "B", " "])).map("".join))
def test_tokens_are_cut_at_the_ends_alone(text: str) -> None:
    assert without_control_tokens(text) in text
    assert without_control_tokens(without_control_tokens(text)) == without_control_tokens(text)


@pytest.mark.parametrize(
    "unit",
    ["<", "<|", "<think>", "</think>", "<think ", "[", "◁", "<|channel|>final<|message|>", "</s>", "\u200b", "<eos> "],
)
def test_time_is_linear_in_the_text(unit: str) -> None:
    """Ten times the text may take thirty times as long, and a second for a busy machine; squared would be 100."""

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        start = time.process_time()
        visible_text(text)
        return time.process_time() - start

    assert seconds(1_000_000) < 30 * seconds(100_000) + 1
