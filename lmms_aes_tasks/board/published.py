"""What reading the papers' own figures shares: files of a benchmark's folder, and their figures as fractions.

The files keep the papers' units; here every share becomes a fraction. What a paper does not say stays open: a figure
whose number of items is not printed has n = 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.schema import BoardRow, Metric, Unit

UNKNOWN_N = 0
"""`n` of a figure whose number of items the paper does not print."""

Groups = dict[str, dict[str, Metric]]
"""Figures by group and name: one breakdown."""


def published_json(path: Path) -> dict[str, Any]:
    """The content of a file of a paper's figures."""
    content = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def fraction(percent: float) -> float:
    """Percent as a fraction; rounding keeps 91.69 from becoming 0.9168999999999999.

    >>> fraction(91.69)
    0.9169
    """
    return round(percent / 100, 12)


def percent_metric(value: float, n: int, higher_is_better: bool | None = True) -> Metric:
    """A share that the paper prints in percent."""
    return Metric(value=fraction(value), n=n, higher_is_better=higher_is_better)


def figure_metric(value: float, n: int, unit: Unit, higher_is_better: bool | None = True) -> Metric:
    """A figure in the paper's own unit."""
    return Metric(value=float(value), n=n, unit=unit, higher_is_better=higher_is_better)


def published_row(benchmark: str, task: str, model: str, **rest: Any) -> BoardRow:
    """A row with status `published` and the key that follows from it."""
    key = f"published/{benchmark}/{model}/{task}"
    return BoardRow(key=key, status="published", model=model, benchmark=benchmark, task=task, **rest)
