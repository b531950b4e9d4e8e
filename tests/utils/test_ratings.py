"""Ratings by people and by the judge: worked by hand, against SciPy and scikit-learn, and Table S6."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from lmms_aes_tasks.critiquecanvas.ratings import read_ratings
from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.utils.ratings import (
    CRITERIA,
    Rating,
    evaluator_agreement,
    human_scores,
    judge_agreement,
    judge_scores,
    kappa,
    kendall,
    mean_by_case,
    spearman,
)
from tests.critiques import write_lines

# Table S6 of AesCanvas: aggregate ratings on 100 cases, people and MLLM judge
TABLE_S6 = {
    "GPT-5.2": (3.9, 5.0),
    "Gemini 3.1 Pro": (4.1, 4.5),
    "Qwen3-VL-FT": (2.5, 2.5),
    "ArtiMuse": (2.6, 2.6),
    "ArtQuant-APDD": (2.3, 2.2),
}


def criteria(h: int) -> tuple[int, int, int, int]:
    """Criteria with H = h."""
    first, second, third, fourth = (int(place < h - 1) for place in range(4))
    return first, second, third, fourth


def rating(case_id: str, model: str, evaluator: str, h: int) -> Rating:
    return Rating(case_id, model, evaluator, criteria(h))


def values_with_sum(total: int, n: int) -> list[int]:
    """n whole numbers from 1 to 5 of this sum."""
    return [total // n + (place < total % n) for place in range(n)]


def test_h_and_human_score_by_hand() -> None:
    """S14 and S15, two cases and two evaluators: (3 + 5 + 1 + 2) / 4."""
    read = [
        Rating("a", "m", "e1", (1, 0, 1, 0)),
        Rating("a", "m", "e2", (1, 1, 1, 1)),
        Rating("b", "m", "e1", (0, 0, 0, 0)),
        Rating("b", "m", "e2", (0, 0, 0, 1)),
    ]
    assert [own.h for own in read] == [3, 5, 1, 2]
    found = human_scores(read, 200)["m"]
    assert found.score == 2.75
    assert dict(found.criteria) == dict(zip(CRITERIA, (0.5, 0.25, 0.5, 0.5), strict=True))
    assert (found.cases, found.ratings, found.least_evaluators, found.most_evaluators) == (2, 4, 2, 2)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (1.5, 4.0)  # of two cases, all b to all a


def test_evaluators_that_differ_are_all_counted_once() -> None:
    read = [rating("a", "m", "e1", 5), rating("a", "m", "e2", 5), rating("b", "m", "e1", 2)]
    found = human_scores(read, 100)["m"]
    assert found.score == 4.0
    assert (found.least_evaluators, found.most_evaluators) == (1, 2)
    alone = human_scores(read[:2], 100)["m"]
    assert (alone.score, alone.interval) == (5.0, None)


def test_the_interval_is_that_of_scipy() -> None:
    generator = random.Random(1)
    values = [generator.randint(1, 5) for _ in range(40)]
    mean, interval = mean_by_case([(f"c{i:02d}", value) for i, value in enumerate(values)], 2000, 7)
    expected = stats.bootstrap(
        (np.array(values),), np.mean, n_resamples=2000, method="percentile", rng=np.random.default_rng(7)
    ).confidence_interval
    assert interval is not None
    assert mean == pytest.approx(np.mean(values), abs=1e-12)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert mean_by_case([(f"c{i:02d}", v) for i, v in reversed(list(enumerate(values)))], 2000, 7)[1] == interval


def test_judge_scores_by_hand() -> None:
    def scores(own: int, overall: int) -> dict[str, int]:
        return dict.fromkeys(CRITERIA, own) | {"overall_quality": overall}

    found = judge_scores(
        {"a": {"m": scores(2, 5), "n": scores(1, 1)}, "b": {"m": scores(3, 4), "n": scores(1, 2)}}, 100
    )
    assert (found["m"].score, found["m"].n, found["n"].score) == (4.5, 2, 1.5)
    assert dict(found["m"].criteria) == dict.fromkeys(CRITERIA, 2.5)
    assert judge_scores({}) == {}


def test_kappa_by_hand_and_by_scikit_learn() -> None:
    # Cohen: observed 3/4; by chance 2/4·1/4 + 2/4·3/4 = 1/2; (3/4 - 1/2) / (1 - 1/2)
    assert kappa([0, 0, 1, 1], [0, 1, 1, 1], (0, 1)).value == pytest.approx(0.5, abs=1e-12)
    # quadratic on 1 to 5: squared distances 0, 16, 0; by chance (0 + 16 + 0 + 16 + 0 + 16 …) by the sum below
    one, two = [1, 1, 5], [1, 5, 5]
    observed = sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) / 3
    chance = sum((a - b) ** 2 for a in one for b in two) / 9
    assert kappa(one, two, (1, 2, 3, 4, 5), quadratic=True).value == pytest.approx(1 - observed / chance, abs=1e-12)
    # a value in the middle that nobody gave keeps its place: 2 is next to 1, and far from 5
    one, two = [1, 2, 5, 5], [2, 2, 5, 1]
    observed = sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) / 4
    chance = sum((a - b) ** 2 for a in one for b in two) / 16
    found = kappa(one, two, (1, 2, 3, 4, 5), quadratic=True).value
    assert found == pytest.approx(1 - observed / chance, abs=1e-12)
    assert found != pytest.approx(cohen_kappa_score(one, two, weights="quadratic"), abs=1e-6)


def test_what_is_not_defined_says_why() -> None:
    both = kappa([1, 1], [1, 1], (0, 1))
    assert (both.value, both.n, both.reason) == (None, 2, "both gave 1 to every item")
    assert kappa([], [], (0, 1)).reason == "no item rated by both"
    assert kappa([1, 1], [0, 1], (0, 1)).value == 0.0
    with pytest.raises(ValueError, match="value 6 is not on the scale: use 1, 2, 3, 4, 5"):
        kappa([6], [1], (1, 2, 3, 4, 5))
    assert spearman([1.0], [2.0]).reason == "1 item(s); 2 are needed"
    assert kendall([1.0, 1.0], [2.0, 3.0]).reason == "one side gives the same value to every item"
    with pytest.raises(ValueError, match="1 and 2 values"):
        spearman([1.0], [1.0, 2.0])


def test_agreement_of_evaluators_is_that_of_scikit_learn() -> None:
    generator = random.Random(5)
    cases = [(f"c{i}", model) for i in range(30) for model in "mn"]
    read = []
    for evaluator, share in (("e1", 1.0), ("e2", 0.8), ("e3", 0.5)):
        for case_id, model in cases:
            if generator.random() < share:
                bits = tuple(generator.randint(0, 1) for _ in range(4))
                read.append(Rating(case_id, model, evaluator, bits))  # type: ignore[arg-type]
    generator.shuffle(read)
    by = {(own.evaluator, own.critique): own for own in read}
    pairs = evaluator_agreement(read)
    assert [pair.evaluators for pair in pairs] == [("e1", "e2"), ("e1", "e3"), ("e2", "e3")]
    for pair in pairs:
        first, second = pair.evaluators
        shared = [case for case in cases if (first, case) in by and (second, case) in by]
        one, two = [by[first, case] for case in shared], [by[second, case] for case in shared]
        assert pair.n == pair.quadratic_kappa.n == len(shared)
        expected = cohen_kappa_score(
            [own.h for own in one], [own.h for own in two], labels=[1, 2, 3, 4, 5], weights="quadratic"
        )
        assert pair.quadratic_kappa.value == pytest.approx(expected, abs=1e-12)
        for place, name in enumerate(CRITERIA):
            expected = cohen_kappa_score([own.criteria[place] for own in one], [own.criteria[place] for own in two])
            assert pair.criteria[name].value == pytest.approx(expected, abs=1e-12)


def test_table_s6() -> None:
    """Ratings with the published means on 100 cases give the published scores, and their rank correlation."""
    read, overall = [], {}
    for model, (human, mllm) in TABLE_S6.items():
        h = values_with_sum(round(200 * human), 200)
        random.Random(model).shuffle(h)
        read += [rating(f"c{i}", model, f"e{j}", h[2 * i + j]) for i in range(100) for j in range(2)]
        overall.update({(f"c{i}", model): s for i, s in enumerate(values_with_sum(round(100 * mllm), 100))})
    humans = human_scores(read, 100)
    found = judge_agreement(read, overall)
    for model, (human, mllm) in TABLE_S6.items():
        assert humans[model].score == pytest.approx(human, abs=1e-12)
        assert found.models[model].human == pytest.approx(human, abs=1e-12)
        assert found.models[model].judge == pytest.approx(mllm, abs=1e-12)
    columns = list(zip(*TABLE_S6.values(), strict=True))
    assert found.spearman.value == pytest.approx(stats.spearmanr(*columns).statistic, abs=1e-12)
    assert found.kendall.value == pytest.approx(stats.kendalltau(*columns).statistic, abs=1e-12)
    # by hand: only the first two models change places: 1 - 6·2 / (5·24), and (9 - 1) / 10
    assert found.spearman.value == pytest.approx(0.9, abs=1e-12)
    assert found.kendall.value == pytest.approx(0.8, abs=1e-12)
    ranks = {model: (own.human_rank, own.judge_rank) for model, own in found.models.items()}
    assert ranks == {
        "GPT-5.2": (2, 1),
        "Gemini 3.1 Pro": (1, 2),
        "Qwen3-VL-FT": (4, 4),
        "ArtiMuse": (3, 3),
        "ArtQuant-APDD": (5, 5),
    }
    assert (found.n, found.only_human, found.only_judge) == (500, 0, 0)


def test_people_and_judge_over_what_both_rated() -> None:
    read = [
        rating("a", "m", "e1", 4),
        rating("a", "m", "e2", 5),
        rating("a", "n", "e1", 2),
        rating("a", "n", "e2", 1),
        rating("b", "m", "e1", 3),
        rating("b", "n", "e1", 3),
        rating("c", "m", "e1", 1),  # the judge has no verdict on it
    ]
    overall = {("a", "m"): 5, ("a", "n"): 2, ("b", "m"): 4, ("b", "n"): 3, ("d", "m"): 1, ("d", "n"): 1}
    found = judge_agreement(read, overall)
    assert (found.n, found.only_human, found.only_judge) == (4, 1, 2)
    assert (found.models["m"].human, found.models["m"].judge, found.models["m"].n) == (3.75, 4.5, 2)
    assert (found.models["n"].human, found.models["n"].judge) == (2.25, 2.5)
    expected = stats.spearmanr([4.5, 1.5, 3, 3], [5, 2, 4, 3]).statistic
    assert found.item_spearman.value == pytest.approx(expected, abs=1e-12)
    e1 = cohen_kappa_score([4, 2, 3, 3], [5, 2, 4, 3], labels=[1, 2, 3, 4, 5], weights="quadratic")
    e2 = cohen_kappa_score([5, 1], [5, 2], labels=[1, 2, 3, 4, 5], weights="quadratic")
    assert found.quadratic_kappa["e1"].value == pytest.approx(e1, abs=1e-12)
    assert found.quadratic_kappa["e2"].value == pytest.approx(e2, abs=1e-12)
    assert found.mean_quadratic_kappa.value == pytest.approx((e1 + e2) / 2, abs=1e-12)
    assert found.mean_quadratic_kappa.n == 2


def test_equal_means_share_a_rank() -> None:
    """Equal thirds stay equal: m has 1, 2, 2 of three evaluators, n the same mean over two cases."""
    read = [rating("a", "m", f"e{i}", h) for i, h in enumerate((1, 2, 2))]
    read += [rating(case, "n", f"e{i}", h) for case in "ab" for i, h in enumerate((2, 1, 2))]
    found = judge_agreement(read, {("a", "m"): 3, ("a", "n"): 4, ("b", "n"): 2})
    assert {(own.human_rank, own.judge_rank) for own in found.models.values()} == {(1.5, 1.5)}
    assert found.spearman.reason == "one side gives the same value to every item"


# -- Reading ----------------------------------------------------------------------------------------------------------


def record(case_id: Any, model: Any, evaluator: Any, *values: Any) -> dict[str, Any]:
    return {"id": case_id, "model": model, "evaluator": evaluator} | dict(zip(CRITERIA, values, strict=False))


def test_every_kind_of_file_gives_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [record("7", "m", "e1", 1, 0, 1, 0), record("7", "m", "e2", 0, 0, 0, 1)]
    write_lines(tmp_path / "x.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    head = f"evaluator,id,model,{','.join(CRITERIA)},note"
    (tmp_path / "x.csv").write_text(f'\ufeff{head}\ne1,7,m,1,0,True,FALSE,"a, b"\ne2,7, m ,0,0,0,1,\n', "utf-8")
    flags = [record(7, "m", "e1", True, False, 1.0, 0), record(7, "m", "e2", 0, 0, 0, True)]
    write_lines(tmp_path / "flags.jsonl", flags)
    expected = [Rating("7", "m", "e1", (1, 0, 1, 0)), Rating("7", "m", "e2", (0, 0, 0, 1))]
    for name in ("x.jsonl", "x.parquet", "x.csv", "flags.jsonl"):
        assert read_ratings(tmp_path / name) == expected, name


def test_every_unsound_rating_is_listed_at_once(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "x.jsonl",
        [
            record("a", "m", "e1", 1, 0, 1, 0),
            record("a", "m", "e1", 1, 0, 1, 1),
            record("", True, "e1", 2, 0, 1, None),
            record("b", "m", "e1", 1, 0, 1),
            record("b", "m", "e1", "1.5", float("nan"), [1], 0),
        ],
    )
    with pytest.raises(SourceError) as error:
        read_ratings(path)
    lines = str(error.value).splitlines()
    assert lines[0] == f"{path}: 4 problem(s)."
    assert lines[1:] == [
        "  - rating 2: 'e1' has rated 'm' on 'a' already in rating 1",
        "  - rating 3: id is ''; give a text; model is True; give a text; visual_grounding is 2; use 0 or 1; "
        "analytical_usefulness is None; use 0 or 1",
        "  - rating 4: analytical_usefulness is None; use 0 or 1",
        "  - rating 5: visual_grounding is '1.5'; use 0 or 1; aesthetic_specificity is nan; use 0 or 1; "
        "criterion_appropriateness is [1]; use 0 or 1",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("id,model\n", "no column evaluator, visual_grounding"),
        ("", "no column id, model"),
        (f"id,id,model,evaluator,{','.join(CRITERIA)}\n", "a column stands twice"),
        (f"id,model,evaluator,{','.join(CRITERIA)}\na,m,e,1,1,1\n", "line 2: not 7 fields"),
        (f"id,model,evaluator,{','.join(CRITERIA)}\na,m,e,1,1,1,1,1\n", "line 2: not 7 fields"),
        (f"id,model,evaluator,{','.join(CRITERIA)}\na,m,e,1,1,1,2\n", "analytical_usefulness is '2'; use 0 or 1"),
        (f"id,model,evaluator,{','.join(CRITERIA)}\n", "no ratings"),
    ],
)
def test_a_csv_that_is_unsound(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(SourceError) as error:
        read_ratings(tmp_path / "x.csv")
    assert problem in str(error.value)


def test_a_csv_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("id,modèle\n".encode("latin-1"))
    with pytest.raises(SourceError, match="not CSV in UTF-8"):
        read_ratings(tmp_path / "x.csv")
    with pytest.raises(SourceError, match="is not a file"):
        read_ratings(tmp_path / "y.csv")
