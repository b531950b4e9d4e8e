"""Agreement with the experts: the authors' figures on their own data, and the sound protocol by hand."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from lmms_aes_tasks.utils.alignment import (
    Alignment,
    Judgement,
    artist_alignment,
    combine_p,
    joint_rows,
    left_share,
    methods_of,
    official_rows,
    pair_agreement,
    task_alignment,
)
from lmms_aes_tasks.utils.rounding_noise import task_noise_range
from tests import fineartbench_data

ORACLE = json.loads((Path(__file__).parents[1] / "data/fineartbench.json").read_text("utf-8"))
WINNERS = {"L": "left", "R": "right", ".": ""}


def judgements(rows: list[dict[str, Any]]) -> list[Judgement]:
    return [
        Judgement(
            row["id"],
            row["content_index"],
            row["style_index"],
            row["method_left"],
            row["method_right"],
            "skipped" if row["winner"] is None else row["winner"],
        )
        for row in rows
    ]


def sides(case: dict[str, Any]) -> tuple[list[Judgement], list[Judgement]]:
    pairs = fineartbench_data.read(f"2AFC_{case['mode']}_N_5000.json")
    human = judgements(fineartbench_data.read(case["human_annotation"]))
    answered = [pair | {"winner": WINNERS[letter]} for pair, letter in zip(pairs, case["predictions"], strict=True)]
    return human, judgements(answered)


def aligned(case: dict[str, Any], human: list[Judgement], model: list[Judgement], **options: Any) -> Alignment:
    align = artist_alignment if case["mode"] == "global" else task_alignment
    return align(human, model, **options)


def p_of(rho: float, n: int = 10) -> float:
    """The two-sided p-value of ρ by the t approximation."""
    t = rho * math.sqrt((n - 2) / (1 - rho * rho))
    return float(2 * stats.t.sf(abs(t), n - 2))


@pytest.mark.parametrize("case", ORACLE, ids=lambda case: f"{case['mode']}-{case['human_annotation']}-{case['before']}")
def test_the_authors_figures(case: dict[str, Any]) -> None:
    human, model = sides(case)
    found = aligned(case, human, model, protocol="official", before=case["before"])
    expected = case["expected"]
    assert found.elo_rho == pytest.approx(expected["elo_rho"], abs=1e-9)
    assert found.elo_p == pytest.approx(expected["elo_p"], abs=1e-9)
    assert found.bt_rho == pytest.approx(expected["bt_rho_exact_differences"], abs=1e-9)
    parts = expected["splits"] if case["mode"] == "global" else expected["groups"]
    exact = [theirs["bt_rho_exact_differences"] for theirs in parts]
    assert found.bt_p == pytest.approx(stats.combine_pvalues([p_of(rho) for rho in exact]).pvalue, abs=1e-9)
    assert len(found.parts) == len(parts)
    methods = methods_of(human)
    for part, theirs in zip(found.parts, parts, strict=True):
        assert part.elo_rho == pytest.approx(theirs["elo_rho"], abs=1e-9)
        assert part.elo_p == pytest.approx(theirs["elo_p"], abs=1e-9)
        assert part.bt_rho == pytest.approx(theirs["bt_rho_exact_differences"], abs=1e-9)
        assert part.bt_p == pytest.approx(p_of(theirs["bt_rho_exact_differences"]), abs=1e-9)
        for name in ("human_elo", "model_elo", "human_bt", "model_bt"):
            if name in theirs:
                ours = dict(zip(methods, part.ratings[name], strict=True))  # type: ignore[arg-type]
                # the authors' gradient has an error of 1e-7 (and more with more rows), and stops that much elsewhere
                assert ours == pytest.approx(theirs[name], abs=1e-5 if name.endswith("bt") else 1e-9)
        if "content_index" in theirs:
            assert part.label == (theirs["content_index"], theirs["style_index"])
    if case["mode"] == "instance":
        assert found.dropped == expected["removed"]
    shuffled = random.Random(0).sample(human, len(human)), random.Random(1).sample(model, len(model))
    assert aligned(case, *shuffled, protocol="official", before=case["before"]) == found


@pytest.mark.parametrize("case", ORACLE, ids=lambda case: f"{case['mode']}-{case['human_annotation']}-{case['before']}")
def test_the_authors_own_machine_is_not_far(case: dict[str, Any]) -> None:
    human, model = sides(case)
    found = aligned(case, human, model, protocol="official", before=case["before"])
    theirs = case["expected"]["bt_rho"]
    if case["mode"] == "global":  # a finite maximum, and no tie: nothing for rounding to decide
        assert found.bt_rho == pytest.approx(theirs, abs=1e-9)
        return
    assert found.bt_rho == pytest.approx(theirs, abs=0.015)
    span = task_noise_range(human, model, case["before"], fits=4)
    assert span is not None
    assert span.fits == 4
    assert span.low < span.high
    assert found.bt_rho == pytest.approx((span.low + span.high) / 2, abs=0.015)
    assert task_noise_range(human, model, case["before"], fits=4) == span


@pytest.mark.parametrize("mode", ["global", "instance"])
def test_the_sound_protocol_on_the_real_judgements(mode: str) -> None:
    case = next(case for case in ORACLE if case["mode"] == mode)
    human, model = sides(case)
    found = aligned(case, human, model, protocol="aligned")
    assert found.elo_rho is not None
    assert found.bt_rho is not None
    assert found.missing("bt") == 0
    if mode == "instance":
        # no content–style task has a finite Bradley–Terry solution on the human side: beside it null with its reason
        assert found.bt_plain_rho is None
        assert found.missing("bt_plain") == len(found.parts)
        assert all("human: separated" in part.problems["bt_plain"] for part in found.parts)
    perfect = aligned(case, human, human, protocol="aligned")
    assert perfect.elo_rho == pytest.approx(1.0)
    assert perfect.bt_rho == pytest.approx(1.0)


def test_the_plain_fit_stands_beside_where_it_exists() -> None:
    # 16 games of four methods, each of which won and lost; few run against the order w x y z
    wins = [("w", "x"), ("x", "y"), ("y", "z"), ("w", "y"), ("x", "z"), ("w", "z"), ("w", "x")] * 2
    human = ring([*wins, ("z", "w"), ("z", "w")])
    model = ring([*wins, ("z", "w"), ("z", "x")])
    model = [replace(own, left=theirs.left, right=theirs.right, winner="left" if own.left == theirs.left else "right")
             for own, theirs in zip(model, human, strict=True)]  # fmt: skip
    (part,) = task_alignment(human, model, "aligned").parts
    (plain,) = artist_alignment(human, model, "aligned", splits=1).parts
    assert part.bt_rho is not None
    assert (part.bt_plain_rho, part.bt_plain_p) == (plain.bt_rho, plain.bt_p)
    assert task_alignment(human, model, "aligned").bt_plain_rho == plain.bt_rho is not None
    assert plain.bt_plain_rho is None
    with pytest.raises(ValueError) as error:
        task_alignment(human, model, "aligned", prior=0)
    assert str(error.value) == "prior weight is 0: use a number above 0"


def test_left_is_chosen_as_often_as_the_protocol_says() -> None:
    for mode, percent in (("global", 69), ("instance", 67)):
        left, decided = left_share(judgements(fineartbench_data.read(f"{mode}_annotation.json")))
        assert round(100 * left / decided) == percent


def one(number: int, winner: str, left: str = "x", right: str = "y", task: int = 0) -> Judgement:
    return Judgement(number, task, 0, left, right, winner)


def test_rows_that_go_in() -> None:
    rows = [one(3, "left"), one(1, ""), one(2, "skipped"), one(4, "right")]
    assert [row.id for row in official_rows(rows)] == [2, 3, 4]
    assert [row.id for row in official_rows(rows, 2)] == [2, 3]
    model = [one(1, "left"), one(2, "left"), one(3, "right"), one(4, "")]
    human_rows, model_rows = joint_rows(rows, model)
    assert [(h.id, m.winner) for h, m in zip(human_rows, model_rows, strict=True)] == [(3, "right")]


def test_pair_agreement_by_hand() -> None:
    human = [one(1, "left"), one(2, "right"), one(3, "skipped"), one(4, "left"), one(5, "left")]
    model = [one(1, "left"), one(2, "left"), one(3, "left"), one(4, "")]
    assert pair_agreement(human, model) == (1, 3)  # 1 alike; 2 not; 4 not read; 3 and 5 not judged by both
    assert left_share(human) == (3, 4)


def test_combined_p_is_scipys() -> None:
    values = [0.01, 0.2, 0.5]
    for method in ("fisher", "pearson"):
        assert combine_p([*values, None], method) == stats.combine_pvalues(values, method).pvalue
    assert combine_p([None]) is None
    with pytest.raises(ValueError) as error:
        combine_p(values, "stouffer")
    assert str(error.value) == "combine is 'stouffer': use one of fisher, pearson"


@pytest.mark.parametrize("protocol", ["official", "aligned"])
def test_what_is_not_defined_is_null_with_its_reason(protocol: Any) -> None:
    skipped = [one(i, "skipped") for i in range(10)]
    answered = [one(i, "left") for i in range(10)]
    found = artist_alignment(skipped, answered, protocol, splits=2)
    assert (found.elo_rho, found.elo_p, found.bt_rho, found.bt_p) == (None, None, None, None)
    assert all(set(part.problems) == {"elo", "bt"} for part in found.parts)
    two = artist_alignment(answered, answered, protocol, splits=2)  # two methods only: no correlation
    assert two.elo_rho is None
    assert two.parts[0].problems["elo"] == "only 2 methods in common"
    assert task_alignment(skipped, answered, protocol).parts == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "exact"}, "protocol is 'exact': use one of official, aligned"),
        ({"protocol": "official", "splits": 0}, "splits is 0: use at least 1"),
        ({"protocol": "official", "before": 0}, "before is 0: use at least 1, or leave it out"),
    ],
)
def test_parameters_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        artist_alignment([one(1, "left")], [one(1, "left")], **options)
    assert str(error.value) == message


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError) as error:
        artist_alignment([one(1, "left")], [one(1, "left", "x", "z")], "aligned")
    assert str(error.value) == "unknown method z: the human file has x, y"


def ring(wins: list[tuple[str, str]]) -> list[Judgement]:
    """Games as judgements, the winner shown left."""
    return [Judgement(number, 0, 0, won, lost, "left") for number, (won, lost) in enumerate(wins)]


def test_methods_that_are_alike_share_their_rank_under_aligned() -> None:
    # a beats b and c alike, and loses once to each: b and c can be exchanged, so their strengths are equal
    games_played = ring(
        [("a", "b"), ("a", "b"), ("a", "c"), ("a", "c"), ("b", "a"), ("c", "a"), ("d", "a"), ("a", "d")]
    )
    other = [replace(own, winner="right") for own in games_played]
    found = artist_alignment(games_played, other, "aligned", splits=1)
    # human ranks a 1 or d 1, b and c tied last; the other side is the reverse
    assert found.bt_rho == pytest.approx(-1.0)
    assert found.parts[0].ratings["human_bt"] is not None


def test_no_p_value_where_it_has_no_meaning() -> None:
    games_played = ring([("a", "b"), ("b", "c"), ("c", "a"), ("a", "b"), ("b", "c")])
    found = artist_alignment(games_played, games_played, "aligned", splits=1)
    assert (found.elo_rho, found.elo_p) == (pytest.approx(1.0), None)
    assert artist_alignment(games_played, games_played, "official", splits=1).elo_p == 0.0  # as the authors have it


def test_a_method_that_did_not_take_part_has_no_rating_under_aligned() -> None:
    human = [*ring([("a", "b"), ("b", "c"), ("c", "a")]), Judgement(9, 0, 0, "a", "d", "skipped")]
    model = [*ring([("a", "b"), ("b", "c"), ("c", "a")]), Judgement(9, 0, 0, "a", "d", "left")]
    (part,) = artist_alignment(human, model, "aligned", splits=1).parts
    for name in ("human_elo", "model_elo", "human_bt", "model_bt"):
        ratings = part.ratings[name]
        assert ratings is not None
        assert [value is None for value in ratings] == [False, False, False, True]


def test_tasks_left_out_are_counted_by_their_reason() -> None:
    few = [one(i, "left", task=1) for i in range(14)]
    skipped = [one(20, "skipped", task=2)]
    cycle = [
        Judgement(100 + i, 3, 0, *pair, "left") for i, pair in enumerate([("x", "y"), ("y", "x")] * 8)
    ]  # 8 of 16 games run against any order
    found = task_alignment([*few, *skipped, *cycle], [*few, *skipped, *cycle], "official")
    assert found.dropped_tasks == {"few_judgements": 2, "feedback_arcs": 1}
    assert found.elo_rho is None
