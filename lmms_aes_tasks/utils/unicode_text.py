"""Text that can be written and hashed anywhere: half surrogate pairs, which JSON may hold, replaced."""

from __future__ import annotations


def well_formed(text: str) -> str:
    r"""The text with each half of a surrogate pair replaced by `?`: no file, hash or tokenizer takes them.

    >>> well_formed("a\ud800b")
    'a?b'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
