"""The base of every error of ours that ends in one message, and how a message lists many problems."""

from __future__ import annotations

from collections.abc import Sequence

_LISTED = 50
"""Problems printed in full; the rest is counted."""


class AesError(Exception):
    """What was asked cannot be done; the message names the value, what is allowed and the next step."""


def bulleted(problems: Sequence[str]) -> str:
    """Problems as a list for a message, one a line; beyond the first fifty they are counted.

    >>> print(bulleted(["a is missing", "b is there twice"]))
      - a is missing
      - b is there twice
    """
    more = [f"… and {len(problems) - _LISTED} more"] if len(problems) > _LISTED else []
    return "\n".join(f"  - {problem}" for problem in [*problems[:_LISTED], *more])


def problem_text(name: object, problems: Sequence[str], then: str = ".") -> str:
    """The message about everything that is wrong with a file.

    Args:
        name: The file, as the reader knows it.
        problems: What is wrong, one entry a problem.
        then: What follows the number: a stop, a colon, or a sentence.

    >>> print(problem_text("votes.jsonl", ["vote 3: best is 'Z'"], ". Correct them:"))
    votes.jsonl: 1 problem(s). Correct them:
      - vote 3: best is 'Z'
    """
    return f"{name}: {len(problems)} problem(s){then}\n{bulleted(problems)}"
