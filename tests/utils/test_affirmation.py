"""Which of two options is the Yes: also with an option's letter in front of its text."""

from __future__ import annotations

import pytest

from lmms_aes_tasks.utils.affirmation import denies_before_affirming


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A. No", "B. Yes"),
        ("(a) no", "(b) yes"),
        ("1) Unsuitable", "2) Suitable"),
        ("A：否", "B：是"),
        ("[A] No", "[B] Yes"),
    ],
)
def test_a_letter_in_front_hides_no_denial(first: str, second: str) -> None:
    assert denies_before_affirming(first, second)
    assert not denies_before_affirming(second, first)


@pytest.mark.parametrize(("first", "second"), [("A. Warm", "B. Cold"), ("A", "B"), ("A.", "B."), ("1", "2")])
def test_letters_alone_deny_nothing(first: str, second: str) -> None:
    assert not denies_before_affirming(first, second)
