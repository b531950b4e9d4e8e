"""What keys and tokens of the usual services look like, so that none is published or printed.

A name is no key: a key begins where a word begins, and its last part is long and looks drawn by lot.
"""

from __future__ import annotations

import re

_DRAWN = r"(?:(?=[A-Za-z_]*[0-9])[A-Za-z0-9_]{16,}|[A-Za-z0-9]{24,})"
"""16 characters with a digit among them, or 24 letters without a break: no word of a model's name."""

KEY_SHAPES = (
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?:proj|svcacct|admin|ant|or)-[A-Za-z0-9_\-]{32,}"
    rf"|sk[-_](?:[A-Za-z0-9]{{1,12}}[-_]){{0,4}}{_DRAWN}"  # OpenAI, Anthropic, OpenRouter, Stripe
    r"|sk-(?:[A-Za-z0-9]{1,12}-){0,2}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # Langfuse
    rf"|(?:hf|api_org)_{_DRAWN}"  # Hugging Face
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_\-]{20,}"
    r"|A(?:KIA|SIA)[0-9A-Z]{16,}"  # AWS
    r"|AIza[A-Za-z0-9_\-]{30,}|ya29\.[A-Za-z0-9_\-]{20,}"  # Google
    r"|xox[abeoprs]-[A-Za-z0-9\-]{8,}|xapp-[A-Za-z0-9\-]{16,}"  # Slack
    r"|eyJ[A-Za-z0-9_\-]{16,}"  # JSON Web Token
    rf"|(?:gsk|r8)_{_DRAWN}|(?:xai|nvapi|pplx)-{_DRAWN}"  # Groq, Replicate, xAI, NVIDIA, Perplexity
    r")"
)
"""The pattern, without groups, to be put into larger ones."""
_KEY = re.compile(rf"{KEY_SHAPES}[A-Za-z0-9_\-.=]*")


def without_keys(text: str, instead: str = "…") -> str:
    """A text with every key in it replaced.

    >>> without_keys("org/multitask-instruct-7b sk-abcdefgh12345678")
    'org/multitask-instruct-7b …'
    """
    return _KEY.sub(instead, text)
