"""The functions that YAML files name, as the harness and other processes see them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from lmms_aes_tasks import contextcanvas, critiquecanvas, vab

FUNCTIONS = [
    getattr(module, name)
    for module in (contextcanvas, critiquecanvas, vab)
    for name in module.__all__
    if name.startswith("aggregate_")
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_an_aggregation_is_a_function_of_its_module(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301 - our own bytes
    assert function.__module__.startswith("lmms_aes_tasks.")
    assert function.__qualname__ == function.__name__
    assert function.__doc__.endswith(".")


def test_all_are_there() -> None:
    of_every_task = 2  # failed_requests and reasoning_rate
    assert len(FUNCTIONS) == 6 + len(critiquecanvas.task.METRICS) + 6 + 3 * of_every_task
