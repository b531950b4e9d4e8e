"""Of many findings alike the first are listed and the rest is counted."""

from __future__ import annotations

import pytest

from lmms_aes_tasks.leaderboard.findings import Findings


@pytest.mark.parametrize(("given", "listed", "more"), [(19, 19, None), (20, 20, None), (21, 20, 1), (30, 20, 10)])
def test_twenty_alike_are_listed(given: int, listed: int, more: int | None) -> None:
    findings = Findings()
    for number in range(given):
        findings.add("error", f"id {number}", "differs", "a.jsonl: records")
    rest = [] if more is None else [f"and {more} more of these"]
    assert [own.message for own in findings.all()] == ["differs"] * listed + rest


@pytest.mark.parametrize(("given", "rest"), [(500, []), (501, ["and 1 more of these"])])
def test_five_hundred_of_a_kind_are_listed(given: int, rest: list[str]) -> None:
    findings = Findings()
    for number in range(given):
        findings.add("note", f"field {number}", "differs")
    assert [own.message for own in findings.all()] == ["differs"] * 500 + rest
    assert not findings.has_error
