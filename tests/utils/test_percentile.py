"""Percentiles by hand, and against SciPy's ranks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from lmms_aes_tasks.utils.percentile import mean_percentiles, percentiles


def test_by_hand() -> None:
    assert percentiles([3.0, 1.0, 2.0]) == [100.0, 0.0, 50.0]
    assert percentiles([1.0, 1.0]) == [50.0, 50.0]
    assert percentiles([5.0, 1.0, 5.0, 2.0, 9.0]) == [62.5, 0.0, 62.5, 25.0, 100.0]


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=30))
def test_against_mean_ranks(values: list[int]) -> None:
    expected = 100 * (rankdata(values) - 1) / (len(values) - 1)
    assert percentiles([float(value) for value in values]) == pytest.approx(expected.tolist(), abs=1e-9)


def test_one_value_has_no_percentile() -> None:
    with pytest.raises(ValueError) as error:
        percentiles([1.0])
    assert str(error.value) == "1 value(s): a percentile needs at least 2 to compare. Give more rows."


def test_a_model_without_a_metric_does_not_shift_the_others() -> None:
    figures = {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 2.0, "y": 0.0}, "lacking": {"x": 1.5}}
    assert mean_percentiles(figures, ["x", "y"]) == {"a": 50.0, "b": 50.0}
    assert mean_percentiles({"a": {"x": 1.0}}, ["x"]) == {}


def test_the_last_digit_of_another_machine_is_a_tie() -> None:
    assert percentiles([0.3, 0.1 + 0.2, 0.1]) == percentiles([0.3, 0.3, 0.1])
