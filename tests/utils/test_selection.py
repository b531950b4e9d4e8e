"""ap@1, pass^3 and their company: worked by hand, counted by brute force, or by SciPy."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmms_aes_tasks.utils.selection import (
    Trial,
    ap_at_1,
    by_task,
    compare,
    incomplete_tasks,
    order_flip_rate,
    parse_rate,
    part,
    pass_pow_3,
    position_test,
    random_baseline,
)


def trials_of(task_id: str, answers: str, gold: str = "A", n_images: int = 3) -> list[Trial]:
    """One trial a letter; a dot is an answer that was not read."""
    return [
        Trial(task_id, number, n_images, None if letter == "." else (letter,), (gold,), None)
        for number, letter in enumerate(answers)
    ]


RUN = trials_of("t1", "AAA") + trials_of("t2", "AAB") + trials_of("t3", "BBB") + trials_of("t4", ".AA")


def test_by_hand() -> None:
    # right: 3 + 2 + 0 + 2 of 12 trials; t1 alone is right three times; t2 and t4 do not choose one image throughout
    assert ap_at_1(RUN).value == 7 / 12
    assert ap_at_1(RUN).n == 12
    assert pass_pow_3(RUN).value == 1 / 4
    assert pass_pow_3(RUN).n == 4
    assert order_flip_rate(RUN).value == 2 / 4
    assert parse_rate(RUN).value == 11 / 12


def test_a_task_never_read_counts_as_flipped_and_wrong() -> None:
    run = trials_of("t", "...")
    assert (ap_at_1(run).value, pass_pow_3(run).value, order_flip_rate(run).value) == (0.0, 0.0, 1.0)


def test_incomplete_tasks_are_left_out_of_pass_and_counted() -> None:
    run = [*RUN, *trials_of("t5", "A")]
    assert incomplete_tasks(run) == ["t5"]
    assert pass_pow_3(run).value == 1 / 4
    assert ap_at_1(run).value == 8 / 13
    repeated = [*trials_of("t", "AA"), trials_of("t", "A")[0]]
    assert incomplete_tasks(repeated) == ["t"]
    assert pass_pow_3(repeated).value is None
    assert order_flip_rate(repeated).n == 0


def test_nothing_has_no_value() -> None:
    assert ap_at_1([]).value is None
    assert pass_pow_3([], resamples=100).value is None
    assert parse_rate([]).value is None
    assert random_baseline([], "top1") == {"ap_at_1": None, "pass_pow_3": None}
    assert position_test([]).p is None


def test_order_does_not_matter() -> None:
    shuffled = random.Random(0).sample(RUN, len(RUN))
    for metric in (ap_at_1, pass_pow_3, order_flip_rate):
        assert metric(RUN, 300, 5) == metric(shuffled, 300, 5)
    assert list(by_task(shuffled)) == ["t1", "t2", "t3", "t4"]


def test_intervals_resample_tasks_not_trials() -> None:
    # 40 tasks answered all right or all wrong: the spread is that of 40 coins, not of 120
    run = [trial for i in range(40) for trial in trials_of(f"t{i:02d}", "AAA" if i % 2 else "BBB")]
    interval = ap_at_1(run, 20_000, 1).interval
    assert interval is not None
    low, high = stats.binom.ppf([0.025, 0.975], 40, 0.5) / 40
    assert interval.low == pytest.approx(low, abs=1 / 40)
    assert interval.high == pytest.approx(high, abs=1 / 40)
    assert interval == pass_pow_3(run, 20_000, 1).interval


def test_strict_reading() -> None:
    run = [Trial("t", 0, 2, ("A",), ("A",), strict=False), Trial("t", 1, 2, None, ("A",), strict=False)]
    assert parse_rate(run).value == 0.5
    assert parse_rate(run, strict=True).value == 0.0


def test_parts_of_both() -> None:
    run = [Trial("t", i, 3, ("A", w), ("A", "B"), (0, 1)) for i, w in enumerate("BBC")]
    assert ap_at_1(run).value == 2 / 3
    assert pass_pow_3(part(run, 0)).value == 1.0
    assert ap_at_1(part(run, 1)).value == 2 / 3
    assert part([Trial("t", 0, 3, None, ("A", "B"))], 1)[0].answer is None


@pytest.mark.parametrize("question", ["top1", "bot1", "tb1"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_random_baseline_by_counting_every_guess(question: str, n: int) -> None:
    labels = range(n)
    guesses: list[object] = list(labels) if question != "tb1" else list(itertools.permutations(labels, 2))
    if question == "tb1" and n == 2:
        guesses = list(labels)  # asked as best
    right = sum(guess == guesses[0] for guess in guesses)
    threes = list(itertools.product(guesses, repeat=3))
    passed = sum(all(guess == guesses[0] for guess in three) for three in threes)
    baseline = random_baseline([n, n], question)
    assert baseline["ap_at_1"] == pytest.approx(right / len(guesses), abs=1e-15)
    assert baseline["pass_pow_3"] == pytest.approx(passed / len(threes), abs=1e-15)


def test_unknown_question_is_named() -> None:
    with pytest.raises(ValueError) as error:
        random_baseline([2], "best")
    assert str(error.value) == "unknown question 'best': use one of top1, bot1, tb1"


def test_positions_are_tested_within_set_sizes() -> None:
    chosen = {2: [30, 10], 3: [5, 20, 5]}
    run = [
        Trial(f"t{n}{p}{i}", 0, n, ("A",), ("A",), (p,))
        for n, counts in chosen.items()
        for p, count in enumerate(counts)
        for i in range(count)
    ]
    test = position_test(run)
    two, three = stats.chisquare(chosen[2]), stats.chisquare(chosen[3])
    assert test.counts == chosen
    assert test.chi_square == pytest.approx(two.statistic + three.statistic, abs=1e-12)
    assert test.degrees == 3
    assert test.p == pytest.approx(stats.chi2.sf(two.statistic + three.statistic, 3), abs=1e-15)


def test_comparison_by_hand() -> None:
    first = trials_of("t1", "AAA") + trials_of("t2", "AAB") + trials_of("t3", "BBB") + trials_of("only", "AAA")
    second = trials_of("t1", "AAB") + trials_of("t2", "AAA") + trials_of("t3", "AAA")
    found = compare(first, second, resamples=200)
    assert found["ap_at_1"].difference == pytest.approx((8 - 5) / 9, abs=1e-12)
    assert found["ap_at_1"].n == found["pass_pow_3"].n == 3
    passed = found["pass_pow_3"]
    assert passed.difference == pytest.approx(1 / 3, abs=1e-12)
    assert (passed.only_first, passed.only_second) == (1, 2)
    assert passed.p == stats.binomtest(1, 3).pvalue == 1.0
    assert compare(first, trials_of("else", "AAA"))["ap_at_1"].n == 0


def test_sets_that_both_or_neither_passed_speak_for_none() -> None:
    first = [*trials_of("t1", "AAA"), *trials_of("t2", "BBB"), *trials_of("t3", "AAA")]
    second = [*trials_of("t1", "AAA"), *trials_of("t2", "AAB"), *trials_of("t3", "BAA")]
    passed = compare(first, second)["pass_pow_3"]
    assert (passed.n, passed.only_first, passed.only_second, passed.p) == (3, 1, 0, 1.0)


@given(st.lists(st.tuples(st.text("ABC.", min_size=3, max_size=3), st.sampled_from("ABC")), min_size=1, max_size=12))
def test_pass_never_exceeds_ap(tasks: list[tuple[str, str]]) -> None:
    run = [trial for i, (answers, gold) in enumerate(tasks) for trial in trials_of(str(i), answers, gold)]
    ap, power, flips = ap_at_1(run).value, pass_pow_3(run).value, order_flip_rate(run).value
    assert ap is not None
    assert power is not None
    assert flips is not None
    assert 0 <= power <= ap + 1e-12
    assert power <= 1 - flips + 1e-12  # right three times is the same image three times
