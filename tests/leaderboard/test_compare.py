"""Two entries side by side: differences and McNemar by hand, intervals by another way to draw the same resamples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import PromptUse, TaskResult, Versions
from lmms_aes_tasks.leaderboard.compare import Comparison, Difference, bonferroni, compare_entries
from lmms_aes_tasks.utils import text_metrics
from tests.leaderboard.entries import (
    Rows,
    context_rows,
    critique_row,
    digest,
    entry_of,
    pair_rows,
    result,
    submit,
    vab_rows,
    write_entry,
)


def entry(folder: Path, tasks: Mapping[str, tuple[str, Rows]], **changes: Any) -> Path:
    """An entry of tasks: name to benchmark and rows; `changes` are of every task's result."""
    made: dict[str, TaskResult] = {
        name: result(folder, name, benchmark, rows, **changes) for name, (benchmark, rows) in tasks.items()
    }
    write_entry(folder, entry_of(made, f"org/{folder.name}"))
    return folder


def pick(comparison: Comparison, metric: str, group: str | None = None, task: str | None = None) -> Difference:
    (found,) = (
        one
        for one in comparison.differences
        if one.metric == metric and one.group == group and task in (None, one.task)
    )
    return found


def two_sided(k: int, n: int) -> float:
    """Exact two-sided binomial test at one half: the distribution is symmetric, so twice the smaller tail."""
    return min(1.0, 2 * sum(comb(n, i) for i in range(min(k, n - k) + 1)) / 2**n)


def test_contextcanvas_by_hand(tmp_path: Path) -> None:
    golds = {f"c{i:02}": "AB"[i % 2] for i in range(20)}
    wrong = {"A": "B", "B": "A"}
    first = {item: gold if i < 6 else wrong[gold] for i, (item, gold) in enumerate(golds.items())}
    second = {item: gold if 4 <= i < 15 else wrong[gold] for i, (item, gold) in enumerate(golds.items())}
    second["c19"] = None
    three = [f"c{i:02}" for i in range(4)]
    folders = [
        entry(tmp_path / name, {"contextcanvas": ("contextcanvas", context_rows(answers, golds, three))})
        for name, answers in (("a", first), ("b", second))
    ]
    found = compare_entries(*folders, resamples=1_000)
    overall = pick(found, "accuracy")
    assert (overall.n, overall.first, overall.second) == (20, 6 / 20, 11 / 20)
    assert overall.difference == 11 / 20 - 6 / 20
    # c00 to c03 are right in the first alone, c06 to c14 in the second alone
    assert (overall.only_first, overall.only_second) == (4, 9)
    assert overall.p == pytest.approx(two_sided(4, 13), abs=1e-12)
    by_options = {group: pick(found, "accuracy", group) for group in ("2", "3")}
    assert [(one.n, one.only_first, one.only_second) for one in by_options.values()] == [(16, 0, 9), (4, 4, 0)]
    assert by_options["2"].p == 2 / 2**9
    assert by_options["3"].p == 2 / 2**4
    # three tests were made: overall and the two groups
    assert found.tests == 3
    assert by_options["2"].p_bonferroni == 3 * 2 / 2**9
    assert overall.p_bonferroni == pytest.approx(3 * two_sided(4, 13), abs=1e-12)
    # every item of this group changes by the same step, so every resample does
    assert (by_options["3"].difference, by_options["3"].low, by_options["3"].high) == (-1, -1, -1)
    assert overall.low is not None
    assert overall.high is not None
    assert overall.low < overall.difference < overall.high


def test_the_interval_is_that_of_the_paired_steps(tmp_path: Path) -> None:
    golds = {f"c{i:02}": "A" for i in range(30)}
    rng = np.random.default_rng(3)
    right = rng.random((2, 30)) < [[0.4], [0.7]]
    folders = [
        entry(
            tmp_path / name,
            {
                "contextcanvas": (
                    "contextcanvas",
                    context_rows({c: "BA"[int(r)] for c, r in zip(golds, own, strict=True)}, golds),
                )
            },
        )
        for name, own in zip("ab", right, strict=True)
    ]
    found = pick(compare_entries(*folders, resamples=20_000, seed=1), "accuracy")
    steps = right[1].astype(float) - right[0].astype(float)
    drawn = np.random.default_rng(99).integers(0, 30, (200_000, 30))
    low, high = np.percentile(steps[drawn].mean(axis=1), [2.5, 97.5])
    assert found.low == pytest.approx(low, abs=1 / 30)  # one step of the lattice that means of 30 lie on
    assert found.high == pytest.approx(high, abs=1 / 30)
    again = pick(compare_entries(*folders, resamples=20_000, seed=1), "accuracy")
    assert again == found


def test_vab_items_are_tasks(tmp_path: Path) -> None:
    first = {"t1": (True,) * 3, "t2": (True, True, False), "t3": (False,) * 3, "t4": (True,) * 3, "t5": (True, False)}
    second = {"t1": (True,) * 3, "t2": (True,) * 3, "t3": (True, False, False), "t4": (True, True, False)}
    second["t5"] = (True, True)
    domain = {"t1": "art", "t2": "art"}
    folders = [
        entry(tmp_path / name, {"vab_top1": ("vab", vab_rows(right, domain))})
        for name, right in (("a", first), ("b", second))
    ]
    found = compare_entries(*folders, resamples=500)
    ap = pick(found, "ap@1")
    assert (ap.n, ap.first, ap.second, ap.p) == (5, 9 / 14, 11 / 14, None)
    power = pick(found, "pass^3")  # t5 lacks a trial: only four tasks enter
    assert (power.n, power.first, power.second, power.difference) == (4, 2 / 4, 2 / 4, 0)
    assert (power.only_first, power.only_second, power.p) == (1, 1, 1.0)
    art = pick(found, "pass^3", "art")
    assert (art.breakdown, art.n, art.only_first, art.only_second, art.p) == ("domain", 2, 0, 1, 1.0)
    assert found.tests == 3  # pass^3 overall and of two domains; one substyle and one size say nothing new
    assert {one.breakdown for one in found.differences} == {None, "domain"}


def test_fineartbench_agreement_is_over_what_the_experts_decided(tmp_path: Path) -> None:
    humans = {1: "left", 2: "right", 3: "skipped", 4: "", 5: "left"}
    folders = [
        entry(tmp_path / name, {"fineartbench_2afc_global": ("fineartbench", pair_rows(winners, humans))})
        for name, winners in (
            ("a", {1: "left", 2: "left", 3: "left", 4: "left", 5: ""}),
            ("b", {1: "left", 2: "right", 3: "right", 4: "", 5: "left"}),
        )
    ]
    found = compare_entries(*folders, resamples=500)
    overall = pick(found, "pair_agreement")
    assert (overall.n, overall.first, overall.second) == (3, 1 / 3, 1.0)
    assert (overall.only_first, overall.only_second, overall.p) == (0, 2, 0.5)
    assert [one.group for one in found.differences if one.breakdown == "content"] == ["0", "1"]


def test_critiques_by_hand_and_by_sacrebleu(tmp_path: Path) -> None:
    references = ["the light falls softly on the hill", "a strong line leads the eye", "muted colours calm the scene"]
    texts = {
        "a": ["the light falls on a hill", "a line leads the eye to the left", "colours calm the scene"],
        "b": ["the light falls softly on a hill", "a strong line leads an eye", "the scene"],
    }
    folders = []
    for name, own in texts.items():
        rows = [
            critique_row(
                f"k{i}",
                text_metrics.bleu_statistics(text, reference).as_list(),
                rouge_l=[0.25, 0.5, 0.75][i] + (0.125 if name == "b" else 0),
                words=len(text.split()),
                domain=["painting", "painting", "virtual"][i],
            )
            for i, (text, reference) in enumerate(zip(own, references, strict=True))
        ]
        folders.append(entry(tmp_path / name, {"critiquecanvas": ("critiquecanvas", rows)}))
    found = compare_entries(*folders, resamples=500)
    rouge = pick(found, "rouge_l")
    assert (rouge.first, rouge.second, rouge.difference) == (0.5, 0.625, 0.125)
    assert (rouge.low, rouge.high) == (pytest.approx(0.125, abs=1e-12), pytest.approx(0.125, abs=1e-12))
    words = pick(found, "avg_length")
    assert (words.first, words.second, words.unit, words.higher_is_better) == (18 / 3, 15 / 3, "words", None)
    scorer = BLEU(effective_order=True)
    bleu = pick(found, "bleu")
    assert bleu.first == pytest.approx(scorer.corpus_score(texts["a"], [references]).score / 100, abs=1e-12)
    assert bleu.second == pytest.approx(scorer.corpus_score(texts["b"], [references]).score / 100, abs=1e-12)
    painting = pick(found, "bleu", "painting")
    assert painting.first == pytest.approx(scorer.corpus_score(texts["a"][:2], [references[:2]]).score / 100, abs=1e-12)
    # with two items a resample is one of three corpora, and each pair of values is known
    corpora = [[0, 0], [0, 1], [1, 1]]
    steps = [
        (
            scorer.corpus_score([texts["b"][i] for i in own], [[references[i] for i in own]]).score
            - scorer.corpus_score([texts["a"][i] for i in own], [[references[i] for i in own]]).score
        )
        / 100
        for own in corpora
    ]
    assert painting.low == pytest.approx(min(steps), abs=1e-12)
    assert painting.high == pytest.approx(max(steps), abs=1e-12)
    virtual = pick(found, "bleu", "virtual")
    assert (virtual.n, virtual.low, virtual.high) == (1, None, None)
    assert found.tests == 0


def test_bonferroni_counts_every_test_and_stops_at_one() -> None:
    base = Difference("t", "m", None, None, 1, 0, 0, 0, None, None, 0, 0, None, None, "fraction", True)
    ps = [0.01, 0.2, None, 0.6]
    found, tests = bonferroni([Difference(**{**vars(base), "p": p}) for p in ps])
    assert tests == 3
    assert [one.p_bonferroni for one in found] == [0.03, pytest.approx(0.6), None, 1.0]


# -- What is not compared ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "2-A"}, "the task's version is 1-A in the first and 2-A in the second"),
        (
            {"data_sha256": digest("other")},
            f"the data differ: {digest('data')[:8]} in the first and {digest('other')[:8]} in the second",
        ),
        ({"ids_sha256": digest("x")}, "the answered ids differ: 4 items in the first and 4 in the second"),
        ({"answers": "AAB"}, "the answered ids differ: 4 items in the first and 3 in the second"),
        ({"benchmark": "vab"}, "the benchmark is contextcanvas in the first and vab in the second"),
    ],
    ids=str,
)
def test_what_is_not_the_same_is_not_compared(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    found = compare_entries(submit(tmp_path, "one"), submit(tmp_path, "two", **changes))
    assert found.not_comparable == {"contextcanvas": reason}
    assert found.differences == []
    assert found.tests == 0


def test_ids_and_gold_labels_are_looked_at_not_believed(tmp_path: Path) -> None:
    rows = context_rows({"c1": "A", "c2": "A"}, {"c1": "A", "c2": "B"})
    others = {
        "ids": context_rows({"c1": "A", "c3": "A"}, {"c1": "A", "c3": "B"}),
        "gold": context_rows({"c1": "A", "c2": "A"}, {"c1": "A", "c2": "A"}),
    }
    first = entry(tmp_path / "a", {"contextcanvas": ("contextcanvas", rows)}, ids_sha256=digest("same"))
    said = {}
    for name, own in others.items():
        second = entry(tmp_path / name, {"contextcanvas": ("contextcanvas", own)}, ids_sha256=digest("same"))
        said[name] = compare_entries(first, second).not_comparable["contextcanvas"]
    assert said == {
        "ids": "2 id(s) are in one of the two only, such as c2",
        "gold": "what is right differs: of c2 it is 'B' in the first and 'A' in the second",
    }


def test_other_settings_are_stated(tmp_path: Path) -> None:
    one = submit(tmp_path, "one", data_sha256=None)
    two = submit(
        tmp_path,
        "two",
        version="1-B",
        parser="3",
        prompts=[PromptUse(id="other", n=4)],
        decoding={"temperature": 0.7},
        images={"image_fit": "none", "image_size": 448},
    )
    found = compare_entries(one, two, resamples=100)
    assert found.not_comparable == {}
    assert found.stated == {
        "contextcanvas": [
            "version: 1-A in the first, 1-B in the second",
            f"prompt: contextcanvas-1@{digest('prompt')[:8]} in the first, other in the second",
            "decoding: do_sample=false max_new_tokens=800 temperature=0 in the first, temperature=0.7 in the second",
            "parser: 2 in the first, 3 in the second",
            "images.image_fit: pad in the first, none in the second",
            "prompt: at least one is none of ours, and its text is not known",
            "data: no fingerprint in at least one of the entries; ids and gold labels agree",
        ]
    }


def test_a_breakdown_of_many_groups_is_left_out_and_named(tmp_path: Path) -> None:
    right = {f"t{i:02}": (True,) * 3 for i in range(31)}
    domain = {task: f"domain {task}" for task in right}
    folders = [entry(tmp_path / name, {"vab_top1": ("vab", vab_rows(right, domain))}) for name in ("a", "b")]
    found = compare_entries(*folders, resamples=100)
    assert found.left_out == {"vab_top1": ["domain: more than 30 groups"]}
    assert {one.breakdown for one in found.differences} == {None}


def test_only_common_tasks_are_compared(tmp_path: Path) -> None:
    rows = context_rows({"c1": "A", "c2": "A"}, {"c1": "A", "c2": "B"})
    trials = vab_rows({"t1": (True,) * 3, "t2": (True,) * 3})
    both = entry(tmp_path / "a", {"contextcanvas": ("contextcanvas", rows), "vab_top1": ("vab", trials)})
    one = entry(tmp_path / "b", {"vab_top1": ("vab", trials)})
    other = entry(tmp_path / "c", {"contextcanvas": ("contextcanvas", rows)})
    assert {found.task for found in compare_entries(both, one, resamples=100).differences} == {"vab_top1"}
    assert {
        found.task for found in compare_entries(both, both, resamples=100, tasks=["contextcanvas"]).differences
    } == {"contextcanvas"}
    with pytest.raises(LeaderboardError) as error:
        compare_entries(one, other)
    assert str(error.value) == (
        f"nothing to compare: {one} has vab_top1 and {other} has contextcanvas. Give two entries with a task in common."
    )


@pytest.mark.parametrize(
    ("benchmark", "changes", "said"),
    [
        ("contextcanvas", {"gold": 1}, "a record is not sound (gold is 1: give a text)"),
        ("contextcanvas", {"answer": ["A"]}, "a record is not sound (answer is ['A']: give a text)"),
        ("contextcanvas", {"options": None}, "a record is not sound (options are None: give a list)"),
        ("vab", {}, "a record lacks 'task_id'"),
        ("fineartbench", {}, "a record lacks 'human'"),
        ("critiquecanvas", {}, "a record is not sound (a record of critiquecanvas lacks 'mentions')"),
    ],
)
def test_a_record_that_is_not_sound_is_named(
    tmp_path: Path, benchmark: str, changes: dict[str, Any], said: str
) -> None:
    rows = context_rows({"c1": "A"}, {"c1": "A"})
    rows[0]["record"].update(changes)
    first, second = (entry(tmp_path / name, {"contextcanvas": (benchmark, rows)}) for name in ("a", "b"))
    with pytest.raises(LeaderboardError) as error:
        compare_entries(first, second)
    assert str(error.value) == f"{first}, contextcanvas: {said}. Build the entry again."


def test_a_comparison_is_json(tmp_path: Path) -> None:
    found = compare_entries(submit(tmp_path, "one"), submit(tmp_path, "two", answers="ABAB"), resamples=200, seed=7)
    read = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert (read["resamples"], read["seed"], read["level"], read["tests"]) == (200, 7, 0.95, 1)
    assert read["first"] == "org/model@abc123 (2026-03-01)"
    assert read["differences"][0]["difference"] == 0.5


def test_embedding_metrics_that_both_hold_are_compared_and_other_encoders_are_stated(tmp_path: Path) -> None:
    bleu = [10, 10, 5, 4, 3, 2, 10, 9, 8, 7]
    folders = []
    for name, values in (("a", (0.5, 0.7)), ("b", (0.6, 0.9))):
        rows = [critique_row(f"c{place}", bleu, 0.5, 10) for place in range(2)]
        for one, value in zip(rows, values, strict=True):
            one["record"] |= {"sbert_cos": value, "response_digest": "0" * 16}
            if name == "a":
                one["record"]["bert_f1"] = value
        folder = tmp_path / name
        tasks = {"critiquecanvas": result(folder, "critiquecanvas", "critiquecanvas", rows)}
        libraries = {"encoder:sbert_cos": f"model@{name}", "wordnet": {"a": "3.0", "b": "3.1"}[name]}
        versions = Versions(harness="0.7.3", plugin="0.1.0", libraries=libraries)
        write_entry(folder, entry_of(tasks, versions=versions))
        folders.append(folder)
    found = compare_entries(*folders, resamples=100)
    one = pick(found, "sbert_cos")
    assert (one.n, one.first, one.second) == (2, pytest.approx(0.6), pytest.approx(0.75))
    assert {own.metric for own in found.differences if own.metric in {"bert_f1", "clip_cos"}} == set()
    assert (
        "encoder:sbert_cos: model@a in the first, model@b in the second: do not compare its figures"
        in found.stated["critiquecanvas"]
    )
    wordnet = "wordnet: 3.0 in the first, 3.1 in the second: do not compare its figures"
    assert wordnet in found.stated["critiquecanvas"]
