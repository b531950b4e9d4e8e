"""Scores against the paper's tables, scikit-learn and the binomial distribution."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from lmms_aes_tasks.utils.significance import bootstrap_interval
from lmms_aes_tasks.utils.suitability import SUITABILITY_METRICS, Decision, suitability_score, suitability_scores

ORACLE = json.loads((Path(__file__).parents[1] / "data/contextcanvas_counts.json").read_text("utf-8"))
PUBLISHED = json.loads((Path(__file__).parents[2] / "lmms_aes_tasks/contextcanvas/published.json").read_text("utf-8"))
GOLD_YES, GOLD_NO = 111, 180


def decisions_from_counts(counts: dict[str, int]) -> list[Decision]:
    """The 301 decisions of a model, from its outcome counts."""
    false_yes = counts["predicted_yes"] - counts["true_yes"]
    false_no = counts["predicted_no"] - counts["true_no"]
    on_yes: list[str | None] = ["A"] * counts["true_yes"] + ["B"] * false_no
    on_no: list[str | None] = ["B"] * counts["true_no"] + ["A"] * false_yes
    on_yes += [None] * (GOLD_YES - len(on_yes))
    on_no += [None] * (GOLD_NO - len(on_no))
    assert (len(on_yes), len(on_no)) == (GOLD_YES, GOLD_NO)
    assert (on_yes + on_no).count(None) == counts["unparsed"]
    two_option = [("A", answer) for answer in on_yes] + [("B", answer) for answer in on_no]
    decisions = [Decision(f"c{i}", answer, gold, ("A", "B")) for i, (gold, answer) in enumerate(two_option)]
    right = counts["three_way_correct"]
    return decisions + [Decision(f"t{i}", "C" if i < right else "A", "C", ("A", "B", "C")) for i in range(10)]


@pytest.mark.parametrize("row", ORACLE["rows"], ids=lambda row: row["model"])
def test_published_figures(row: dict[str, Any]) -> None:
    scores = suitability_scores(decisions_from_counts(row["counts"]))
    ours = {name: f"{100 * scores[name].value:.2f}" for name in row["expected"]}
    assert ours == {name: f"{value:.2f}" for name, value in row["expected"].items()}


def test_every_published_model_has_its_counts() -> None:
    assert len(ORACLE["rows"]) == 17
    published = {row["model"]: row for row in PUBLISHED["rows"]}
    for row in ORACLE["rows"]:
        assert {name: published[row["model"]][name] for name in row["expected"]} == row["expected"]


ANSWERS = st.lists(st.tuples(st.sampled_from(["A", "B"]), st.sampled_from(["A", "B", None])), min_size=1, max_size=40)


@given(pairs=ANSWERS)
def test_two_option_scores_are_scikit_learns(pairs: list[tuple[str, str | None]]) -> None:
    decisions = [Decision(str(i), answer, gold, ("A", "B")) for i, (gold, answer) in enumerate(pairs)]
    scores = suitability_scores(decisions)
    gold = [g for g, _ in pairs]
    answers = [a or "none" for _, a in pairs]
    yes, no = f1_score(gold, answers, labels=["A", "B"], average=None, zero_division=0)
    assert scores["yes_f1"].value == pytest.approx(yes, abs=1e-12)
    assert scores["no_f1"].value == pytest.approx(no, abs=1e-12)
    assert scores["macro_f1"].value == pytest.approx((yes + no) / 2, abs=1e-12)
    assert scores["accuracy"].value == pytest.approx(accuracy_score(gold, answers), abs=1e-12)
    assert scores["yes_rate"].value == pytest.approx(answers.count("A") / len(answers), abs=1e-12)
    assert scores["parse_rate"].value == pytest.approx(1 - answers.count("none") / len(answers), abs=1e-12)


def test_three_way_cases_count_for_accuracy_only() -> None:
    two = [Decision("1", "A", "A", ("A", "B")), Decision("2", None, "B", ("A", "B"))]
    three = [Decision("3", "A", "C", ("A", "B", "C"))]
    scores = suitability_scores(two + three)
    # by hand: 1 of 3 right; Yes: tp 1, predicted 1, gold 1; No: tp 0, predicted 0, gold 1
    assert {name: score.value for name, score in scores.items()} == {
        "accuracy": 1 / 3,
        "macro_f1": 0.5,
        "yes_rate": 0.5,
        "yes_f1": 1.0,
        "no_f1": 0.0,
        "parse_rate": 2 / 3,
    }
    assert {name: score.n for name, score in scores.items()} == {
        "accuracy": 3,
        "macro_f1": 2,
        "yes_rate": 2,
        "yes_f1": 2,
        "no_f1": 2,
        "parse_rate": 3,
    }


def test_a_metric_without_cases_has_no_value() -> None:
    scores = suitability_scores([Decision("3", "A", "C", ("A", "B", "C"))], resamples=100)
    assert scores["macro_f1"].value is None
    assert scores["macro_f1"].n == 0
    assert scores["accuracy"].value == 0.0
    assert scores["accuracy"].interval is None  # one case: nothing to resample
    assert all(score.value is None for score in suitability_scores([]).values())


def test_order_does_not_matter() -> None:
    decisions = decisions_from_counts(ORACLE["rows"][3]["counts"])
    shuffled = random.Random(1).sample(decisions, len(decisions))
    assert suitability_scores(decisions, 200, 7) == suitability_scores(shuffled, 200, 7)


def test_accuracy_interval_is_the_binomial() -> None:
    decisions = [Decision(f"{i:03d}", "A" if i < 60 else "B", "A", ("A", "B")) for i in range(200)]
    interval = suitability_score(decisions, "accuracy", resamples=20_000, seed=3).interval
    assert interval is not None
    # the bootstrap distribution of a proportion is Binomial(200, 0.3) / 200
    low, high = stats.binom.ppf([0.025, 0.975], 200, 0.3) / 200
    assert interval.low == pytest.approx(low, abs=1 / 200)
    assert interval.high == pytest.approx(high, abs=1 / 200)


def test_interval_depends_on_the_seed_alone() -> None:
    values = np.arange(50.0)
    first = bootstrap_interval([values], np.mean, resamples=500, seed=1)
    assert first == bootstrap_interval([values], np.mean, resamples=500, seed=1)
    assert first != bootstrap_interval([values], np.mean, resamples=500, seed=2)


def test_interval_errors_name_the_value() -> None:
    with pytest.raises(ValueError, match=r"^a bootstrap needs at least 2 items, got 1$"):
        bootstrap_interval([np.zeros(1)], np.mean)
    with pytest.raises(ValueError, match=r"^columns have different lengths \[2, 3\]: give one entry per item in each$"):
        bootstrap_interval([np.zeros(2), np.zeros(3)], np.mean)


def test_unknown_metric_is_named() -> None:
    with pytest.raises(ValueError) as error:
        suitability_score([], "f1")
    assert str(error.value) == f"unknown metric 'f1': use one of {', '.join(SUITABILITY_METRICS)}"
