"""The marks that lmms-eval leaves in the place of a reply."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from lmms_aes_tasks.utils.failed_requests import failed_request


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("[LMMS_EVAL_REQUEST_FAILED after 5 retries] Error code: 400 - {'error': {'message': 'no'}}", True),
        ("[LMMS_EVAL_REQUEST_FAILED after 10 retries] ", True),
        ("[LMMS_EVAL_REQUEST_FAILED after 10 retries]", True),  # stripped on its way
        ("\n[LMMS_EVAL_REQUEST_FAILED after 1 retries] x", True),
        ("[LMMS_EVAL_BUDGET_EXCEEDED]", True),
        ("[LMMS_EVAL_BUDGET_EXCEEDED]\n", True),
        (None, False),
        ("", False),
        ("B", False),
        ("[LMMS_EVAL_REQUEST_FAILED", False),
        ("[LMMS_EVAL_REQUEST_FAILED after  retries]", False),
        ("The picture shows [LMMS_EVAL_REQUEST_FAILED after 5 retries] on a screen.", False),
        ("[LMMS_EVAL] A", False),
        ("[lmms_eval_budget_exceeded]", False),
    ],
)
def test_failed_request(text: str | None, failed: bool) -> None:
    assert failed_request(text) is failed


def test_marks_are_those_of_the_installed_harness() -> None:
    spec = find_spec("lmms_eval")
    assert spec is not None and spec.submodule_search_locations
    source = "".join(
        path.read_text("utf-8") for path in Path(spec.submodule_search_locations[0], "models").rglob("*.py")
    )
    marks = set(re.findall(r"\[LMMS_EVAL_[^\]]*\]", source))
    assert len(marks) >= 2
    for mark in marks:
        assert failed_request(f"{mark.replace('{self.max_retries}', '5')} the error"), mark
