"""Hostile and random texts through every parser: none may raise, give what is not allowed, or take long.

Run by hand: `python benchmarks/hostile_texts.py --texts 500000 --seed 0` prints progress and, at the end, the time, the
slowest text and how many texts each parser read. Exit code 1 with the text where one raises.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator

from lmms_aes_tasks.utils.answers import parse_option, parse_set, parse_winner, visible_text

OPTIONS = (
    [("A", "Yes"), ("B", "No")],
    [("A", "Editorial"), ("B", "Poster"), ("C", "Neither")],
    [("1", "Suits the memorial programme"), ("2", "Suits the toy advertisement")],
)
UNITS = (
    *"<>|[](){}◁▷【】\"'“”‘’*_`#$\\/-–—.,:;!?。、，：（）\n\t \u200b\ufeff\x00\ud800İıAaBbCc012",
    *(
        "Yes",
        "No",
        "yes",
        "no.",
        "Editorial",
        "Poster",
        "answer",
        "Answer:",
        "the answer is ",
        "### Answer\n",
        "答案",
        "选",
    ),
    *(
        "选项",
        "是对的",
        "只有",
        "正确",
        "不",
        "因为",
        "option ",
        "Option A",
        "choice ",
        "choose ",
        "is ",
        "right",
        "wrong",
    ),
    *(
        "only ",
        "not ",
        "if ",
        "because ",
        " and ",
        " or ",
        "best",
        "BEST: ",
        "WORST: B",
        "Best image: ",
        "second ",
        "winner",
    ),
    *(
        "winner: ",
        "'winner': ",
        '"answer": ',
        '{"answer": "A"}',
        "{'winner': 1}",
        '{\\"answer\\": \\"B\\"}',
        "1.0",
        "left",
    ),
    *(
        "right",
        "\\boxed{",
        "\\text{",
        "\\(",
        "\\)",
        "$A$",
        "<answer>",
        "</answer>",
        "<|begin_of_box|>",
        "<|end_of_box|>",
    ),
    *("<think>", "</think>", "<think", "</thinking>", "<reasoning>", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷"),
    *(
        "<|channel|>",
        "analysis",
        "final",
        "<|message|>",
        "<|end|>",
        "<|start|>assistant",
        "assistantfinal",
        "<unused94>",
    ),
    *("<|channel>thought", "<channel|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|im_end|>"),
    *(
        "</s>",
        "<s>",
        "<eos>",
        "Here is my thought process:",
        "Here is my response:",
        "```json\n",
        "\n```",
        "0x",
        "1e400",
    ),
)


def texts(count: int, seed: int) -> Iterator[str]:
    """Random sequences of units, most of them short; every hundredth repeats a few units up to 20,000 characters."""
    source = random.Random(seed)
    for number in range(count):
        pieces = source.choices(UNITS, k=source.randint(0, 14))
        if number % 10 == 9:
            pieces += [
                chr(source.choice((source.randrange(0x80), source.randrange(0x3000, 0xA000)))) for _ in range(20)
            ]
            source.shuffle(pieces)
        text = "".join(pieces)
        yield (text * (20_000 // max(1, len(text))))[:20_000] if number % 100 == 99 else text


def read(text: str, options: list[tuple[str, str]]) -> list[str]:
    """What each parser makes of a text, by rule; raises AssertionError where an answer is not allowed."""
    option = parse_option(text, options)
    assert option.answer in {None, *(option_id for option_id, _ in options)}, option
    winner = parse_winner(text)
    assert winner.winner in {None, "left", "right"}, winner
    chosen = parse_set(text, "pick_best_and_worst", ["A", "B", "C"])
    assert chosen.labels is None or set(chosen.labels.values()) <= {"A", "B", "C"}, chosen
    assert (option.rule == "empty") <= (winner.rule == "empty")
    assert len(visible_text(text).text) <= len(text)
    return [f"option {option.rule}", f"winner {winner.rule}", f"set {chosen.rule}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rules: Counter[str] = Counter()
    slowest, slowest_text = 0.0, ""
    begin = time.perf_counter()
    for number, text in enumerate(texts(arguments.texts, arguments.seed), 1):
        start = time.perf_counter()
        try:
            rules.update(read(text, OPTIONS[number % len(OPTIONS)]))
        except Exception as error:
            print(f"text {number} of seed {arguments.seed}: {type(error).__name__}: {error}\n{text[:2_000]!a}")
            return 1
        seconds = time.perf_counter() - start
        if seconds > slowest:
            slowest, slowest_text = seconds, text
        if number % 50_000 == 0:
            print(f"{number} texts, {time.perf_counter() - begin:.0f} s", flush=True)
    print(f"{arguments.texts} texts of seed {arguments.seed} in {time.perf_counter() - begin:.0f} s, none raised")
    print(f"slowest: {slowest * 1000:.0f} ms for {len(slowest_text)} characters, {slowest_text[:60]!a}")
    for rule, count in sorted(rules.items()):
        print(f"  {rule}: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
