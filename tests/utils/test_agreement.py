"""The annotation study: SciPy, formulas by hand, and the McNemar tests that AesCanvas prints."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

from lmms_aes_tasks.utils.agreement import (
    Vote,
    annotation_study,
    concentration,
    entropy,
    is_self_consistent,
    kendall_tau,
    majority_rows,
)
from lmms_aes_tasks.utils.significance import mcnemar_exact, wilson_interval


def vote(scores: str, best: str, worst: str | None = None, ranking: str | None = None, who: str = "x") -> Vote:
    """Scores as digits for A, B, C, …"""
    labels = [chr(ord("A") + i) for i in range(len(scores))]
    by_label = {label: float(score) for label, score in zip(labels, scores, strict=True)}
    return Vote("t", who, by_label, best, worst, tuple(ranking) if ranking else None)


def test_tau_is_kendalls_on_whole_rankings() -> None:
    draw = random.Random(0)
    for _ in range(50):
        order = draw.sample("ABCDE", 5)
        scores = draw.sample(range(10), 5)
        one = vote("".join(map(str, scores)), order[0], order[-1], "".join(order))
        places = [-order.index(label) for label in "ABCDE"]
        assert kendall_tau(one) == pytest.approx(stats.kendalltau(scores, places).statistic, abs=1e-12)


def test_tau_by_hand() -> None:
    assert kendall_tau(vote("91", "A")) == 1.0
    assert kendall_tau(vote("19", "A")) == -1.0
    assert kendall_tau(vote("55", "A")) == 0.0  # a tie is neither concordant nor discordant
    # best A, worst C, nothing said of B and D: A>B, A>C, A>D, B>C, D>C concordant; the pair B, D does not count
    assert kendall_tau(vote("9416", "A", "C")) == pytest.approx(5 / 6)
    # of three images the best alone says nothing of B and C: A>B and A>C are concordant, the third pair does not count
    assert kendall_tau(vote("321", "A")) == pytest.approx(2 / 3)
    # of two, the other image is the worst, named or not
    assert kendall_tau(vote("19", "B", "A")) == kendall_tau(vote("19", "B")) == 1.0


def test_self_consistency_needs_one_top() -> None:
    assert is_self_consistent(vote("91", "A"))
    assert not is_self_consistent(vote("19", "A"))
    assert not is_self_consistent(vote("99", "A"))


def test_entropy_by_hand() -> None:
    assert entropy("AAAA") == 0.0
    assert entropy("AABB") == pytest.approx(1.0)
    assert entropy("AABC") == pytest.approx(1.5)
    assert entropy("AAAB") == pytest.approx(stats.entropy([3, 1], base=2))


def test_majorities_by_hand() -> None:
    # three annotators, a majority is 2. Task 1: scores say A, A, B; comparison says A, A, A. Task 2: scores A, B, C.
    one = [vote("913", "A", "B"), vote("913", "A", "B"), vote("193", "A", "B")]
    two = [vote("913", "B", "A"), vote("193", "B", "A"), vote("319", "B", "C")]
    rows = majority_rows({"t1": one, "t2": two}, 2)
    assert (rows["best"].scoring, rows["best"].ranking) == (0.5, 1.0)
    assert (rows["worst"].scoring, rows["worst"].ranking) == (1.0, 1.0)  # B, B, A and B, A, B by scores
    assert (rows["best_and_worst"].only_scoring, rows["best_and_worst"].only_ranking) == (0, 1)
    assert rows["best"].p == mcnemar_exact(0, 1) == 1.0


def test_best_and_worst_and_the_two_protocols_are_kept_apart() -> None:
    # by scores: best A, A, A and worst B, C, none (B and C tie). By comparison: best A, B, C and worst B, C, B.
    votes = [vote("913", "A", "B"), vote("931", "B", "C"), vote("911", "C", "B")]
    rows = majority_rows({"t": votes}, 2)
    found = {name: (row.scoring, row.ranking, row.only_scoring, row.only_ranking) for name, row in rows.items()}
    assert found == {"best": (1, 0, 1, 0), "worst": (0, 1, 0, 1), "best_and_worst": (0, 0, 0, 0)}


def test_without_a_worst_the_others_are_tied() -> None:
    # A is best of three and no worst was named: A>B and A>C are concordant, B and C are tied in places
    assert kendall_tau(vote("913", "A")) == pytest.approx(2 / 3)
    assert kendall_tau(vote("931", "B")) == pytest.approx(0.0)  # B>A discordant, B>C concordant
    assert kendall_tau(vote("931", "A", "B")) == pytest.approx(1 / 3)  # C>B is discordant


def test_each_kind_of_majority_has_its_own_count() -> None:
    best_and_worst = [vote("913", "A", "B")] * 3
    # by scores A, A, B are best and B, C, A worst; of the last kind every label is once
    best_alone = [vote("913", "A", "B"), vote("931", "A", "B"), vote("193", "A", "B")]
    neither = [vote("913", "A", "B"), vote("391", "A", "B"), vote("139", "A", "B")]

    def compared(votes: list[Vote], agreed: bool) -> list[Vote]:
        """The same scores; by comparison best and worst agree, or (A, C), (B, C), (C, A): the worst alone does."""
        choices = [("A", "B")] * 3 if agreed else [("A", "C"), ("B", "C"), ("C", "A")]
        return [Vote("t", "x", own.scores, *choice) for own, choice in zip(votes, choices, strict=True)]

    rows = majority_rows(
        {
            "t1": compared(best_and_worst, True),
            "t2": compared(best_and_worst, False),
            "t3": compared(best_alone, False),
            "t4": compared(neither, False),
        }
    )
    shown = {name: (own.scoring, own.ranking, own.only_scoring, own.only_ranking, own.n) for name, own in rows.items()}
    assert shown == {
        "best": (0.75, 0.25, 2, 0, 4),
        "worst": (0.5, 1.0, 0, 2, 4),
        "best_and_worst": (0.5, 0.25, 1, 0, 4),
    }


@pytest.mark.parametrize(
    ("b", "c", "p"), [(29, 57, "0.0034"), (27, 16, "0.1263"), (10, 27, "0.0076"), (12, 11, "1.0000")]
)
def test_mcnemar_is_that_of_table_s10(b: int, c: int, p: str) -> None:
    assert f"{mcnemar_exact(b, c):.4f}" == p  # AesCanvas, Table S10
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)


def test_mcnemar_edges() -> None:
    assert mcnemar_exact(0, 0) == 1.0
    with pytest.raises(ValueError) as error:
        mcnemar_exact(-1, 2)
    assert str(error.value) == "counts are -1 and 2: give numbers of pairs, 0 or more"


def test_wilson_by_its_formula() -> None:
    k, n, z = 12, 119, 1.959963984540054
    centre = (k / n + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(k / n * (1 - k / n) / n + z * z / (4 * n * n))
    interval = wilson_interval(k, n)
    assert interval.low == pytest.approx(centre - half, abs=1e-12)
    assert interval.high == pytest.approx(centre + half, abs=1e-12)
    with pytest.raises(ValueError) as error:
        wilson_interval(3, 2)
    assert str(error.value) == "3 of 2: give 0 to n successes, n at least 1"


def test_concentration_by_hand() -> None:
    found = concentration([0.0, 0.0, 1.0, 1.0])
    assert found.entropy == 0.5
    assert found.unanimous == 0.5
    assert found.entropy_interval is not None
    assert found.entropy_interval.high == pytest.approx(0.5 + 1.959963984540054 * math.sqrt(1 / 3) / 2)
    assert concentration([0.5]).entropy_interval is None


def test_the_whole_study() -> None:
    draw = random.Random(3)
    votes = []
    for task in range(20):
        for annotator in range(8):
            scores = {label: float(draw.randint(1, 9)) for label in "ABC"}
            best, worst = draw.choice([("A", "C"), ("A", "B"), ("B", "C")])
            votes.append(Vote(str(task), str(annotator), scores, best, worst))
    study = annotation_study(votes)
    assert (study.tasks, study.votes) == (20, 160)
    assert study.kendall_tau == pytest.approx(sum(map(kendall_tau, votes)) / 160)
    tied = [v for v in votes if sorted(v.scores.values())[-1] == sorted(v.scores.values())[-2]]
    assert study.tied_tops == len(tied)
    by_task = [[v for v in votes if v.task_id == str(task)] for task in range(20)]
    ranked = [stats.entropy([sum(v.best == label for v in own) for label in "ABC"], base=2) for own in by_task]
    scored = []
    for own in by_task:
        tops = [max(v.scores, key=v.scores.__getitem__) for v in own if v not in tied]
        scored.append(stats.entropy([tops.count(label) for label in "ABC"], base=2))
    assert study.ranking.entropy == pytest.approx(sum(ranked) / 20, abs=1e-12)
    assert study.scoring.entropy == pytest.approx(sum(scored) / 20, abs=1e-12)
    differences = [round(s - r, 12) for s, r in zip(scored, ranked, strict=True)]
    assert study.wilcoxon_p == pytest.approx(stats.wilcoxon(differences).pvalue, rel=0.05)


def test_a_majority_is_more_than_half_of_a_tasks_votes() -> None:
    agreed = {"t": [vote("91", "A", who=who) for who in "xyz"]}
    assert majority_rows(agreed)["best"].ranking == 1.0  # two of three, without a word about five
    for number in (1, 4):
        with pytest.raises(ValueError) as error:
            majority_rows(agreed, number)
        assert str(error.value) == f"a majority of {number} for task 't', which has 3 votes: use 2 to 3"


def test_no_votes_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^no votes: give at least one$"):
        annotation_study([])
    with pytest.raises(
        ValueError, match=r"^every vote has its highest score twice: no task has a best image by score$"
    ):
        annotation_study([vote("55", "A")])


def test_the_order_of_votes_decides_no_entropy_and_no_test() -> None:
    choices = [*"AAAA", *"BB", *"C", "D"]
    draw = random.Random(0)
    assert {entropy(draw.sample(choices, len(choices))) for _ in range(200)} == {1.75}
    thirds = {entropy(draw.sample([*"AAABBC"], 6)) for _ in range(50)}
    assert len(thirds) == 1
    # by score and by choice 3, 2 and 1 of 6 agree, on other images: a difference of 0, which the test leaves out
    by_score, by_choice = "AAABBC", "CBBAAA"
    votes = [
        Vote(f"t{task}", str(who), {label: float(label == top) for label in "ABC"}, best, None, None)
        for task, choice in (("same", by_choice), ("other", "A" * 6), ("third", "A" * 6))
        for who, (top, best) in enumerate(zip(by_score, choice, strict=True))
    ]
    found = annotation_study(votes).wilcoxon_p
    assert found == pytest.approx(stats.wilcoxon([0.0, 1.0, 1.0]).pvalue)
    assert annotation_study(draw.sample(votes, len(votes))).wilcoxon_p == found
