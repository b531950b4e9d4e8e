"""Texts that lmms-eval hands over in the place of a reply when a request failed (seen in 0.7.3)."""

from __future__ import annotations

import re

_FAILED = re.compile(r"\s*\[LMMS_EVAL_(?:REQUEST_FAILED after [^\s\]]{1,20} retries|BUDGET_EXCEEDED)\]")


def failed_request(text: str | None) -> bool:
    """Whether a text is no reply: lmms-eval's mark that all retries failed, or that the run's budget was spent.

    The mark stands first: `[LMMS_EVAL_REQUEST_FAILED after 5 retries]` and up to 200 characters of the error, or
    `[LMMS_EVAL_BUDGET_EXCEEDED]` alone. A reply that mentions a mark further on is a reply, and so is an empty one.

    >>> failed_request("[LMMS_EVAL_REQUEST_FAILED after 5 retries] Connection error.")
    True
    >>> failed_request("The log says [LMMS_EVAL_BUDGET_EXCEEDED].")
    False
    """
    return bool(text) and _FAILED.match(text or "") is not None
