"""Digests that two machines agree on."""

from __future__ import annotations

import math

from lmms_aes_tasks.board.digests import per_item_sha256


def test_the_last_digit_of_another_machine_is_no_other_item() -> None:
    value = 0.5123456781
    other = math.nextafter(value, 1)
    assert value != other
    assert per_item_sha256([("a", value)]) == per_item_sha256([("a", other)])
    assert per_item_sha256([("a", [value, 3])]) == per_item_sha256([("a", [other, 3])])
    assert per_item_sha256([("a", 0.0)]) == per_item_sha256([("a", -1e-17)])
    assert per_item_sha256([("a", value)]) != per_item_sha256([("a", value + 1e-8)])
    assert per_item_sha256([("a", 1)]) != per_item_sha256([("a", True)])
