"""What a stranger's record may hold."""

from __future__ import annotations

import pytest

from lmms_aes_tasks.board.figures import MAX_GROUP_CHARS, plain_text


def test_the_longest_text_that_is_taken() -> None:
    assert plain_text({"id": "x" * 1_000}, "id") == "x" * 1_000
    assert plain_text({"domain": "x" * 200}, "domain", MAX_GROUP_CHARS) == "x" * 200
    for name, record, longest in (("id", {"id": "x" * 1_001}, 1_000), ("domain", {"domain": "x" * 201}, 200)):
        with pytest.raises(ValueError, match=f"give a text of up to {longest} visible characters"):
            plain_text(record, name, longest)
    with pytest.raises(ValueError, match="up to 1000 visible"):
        plain_text({"id": "x" * 1_001}, "id")
