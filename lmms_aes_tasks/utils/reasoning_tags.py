"""lmms-eval's `--reasoning_tags`: which of the marks given there our own reading takes off, and which it does not."""

from __future__ import annotations

import json
from typing import Any

from lmms_aes_tasks.utils.visible_text import VisibleText, visible_text


def takes_off(opening: str, closing: str) -> bool:
    """Whether `visible_text` takes off a block of reasoning with these two marks.

    >>> takes_off("<think>", "</think>"), takes_off("<musing>", "</musing>")
    (True, False)
    """
    return visible_text(f"{opening} a {closing} b") == VisibleText("b", reasoning=True)


def foreign_tags(value: Any) -> list[list[str]]:
    """The pairs of marks that `visible_text` does not take off, so that lmms-eval has to.

    Args:
        value: Pairs as a JSON text (of the command line), or a list of them; anything else, as `none`, has no pairs.

    >>> foreign_tags('[["<think>", "</think>"], ["<musing>", "</musing>"]]')
    [['<musing>', '</musing>']]
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    pairs = (
        [list(pair) for pair in value if isinstance(pair, (list, tuple))] if isinstance(value, (list, tuple)) else []
    )
    sound = [pair for pair in pairs if len(pair) == 2 and all(isinstance(mark, str) and mark for mark in pair)]
    return [pair for pair in sound if not takes_off(*pair)]
