"""Mean percentile over several metrics, to set one benchmark's many figures against another's single one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def percentiles(values: Sequence[float]) -> list[float]:
    """Where each value stands among all of them, from 0 (lowest) to 100 (highest).

    A value's percentile is 100 (r - 1) / (k - 1), r its rank from below among the k values, ties sharing the mean of
    their ranks. AesCanvas (Figure 4b) says "percentile" and no more; this is our reading.

    Args:
        values: At least two finite numbers, higher is better.

    Raises:
        ValueError: There are fewer than two values.

    >>> percentiles([0.1, 0.4, 0.4, 0.9])
    [0.0, 50.0, 50.0, 100.0]
    """
    if len(values) < 2:
        raise ValueError(f"{len(values)} value(s): a percentile needs at least 2 to compare. Give more rows.")
    # equal figures of two machines may differ in the last place, and are equal
    values = [round(value, 9) for value in values]
    below = [sum(other < value for other in values) for value in values]
    ties = [sum(other == value for other in values) - 1 for value in values]
    return [100 * (low + tied / 2) / (len(values) - 1) for low, tied in zip(below, ties, strict=True)]


def mean_percentiles(figures: Mapping[str, Mapping[str, float]], metrics: Sequence[str]) -> dict[str, float]:
    """Each model's mean percentile over metrics (AesCanvas, Figure 4b, our reading).

    Args:
        figures: Value by metric, by model, higher is better. Models that lack one of the metrics are left out, of the
            comparison too: every percentile is then among the same models.
        metrics: The metrics, each with the same weight.

    Returns:
        Mean percentile in [0, 100] by model; empty with fewer than two models.

    >>> mean_percentiles({"a": {"x": 1, "y": 3}, "b": {"x": 2, "y": 1}, "c": {"x": 3, "y": 2}}, ["x", "y"])
    {'a': 50.0, 'b': 25.0, 'c': 75.0}
    """
    complete = [model for model, own in figures.items() if all(metric in own for metric in metrics)]
    if len(complete) < 2 or not metrics:
        return {}
    columns = [percentiles([figures[model][metric] for model in complete]) for metric in metrics]
    return {model: sum(column[place] for column in columns) / len(columns) for place, model in enumerate(complete)}
