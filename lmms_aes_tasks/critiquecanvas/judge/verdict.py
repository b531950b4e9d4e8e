"""What the judge said, read strictly: one JSON object, every alias, every score, nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from lmms_aes_tasks.utils.answers import visible_text
from lmms_aes_tasks.utils.ratings import CRITERIA, OVERALL, SCALE

SCORES = (*CRITERIA, OVERALL)
MAX_REPLY_CHARS = 20_000
"""Longest reply that is read as a verdict and kept whole; 320 tokens are far fewer."""

Verdict = dict[str, dict[str, int]]
"""The five scores by alias, or by model."""

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


def _object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _differing_keys(where: str, found: Any, wanted: Sequence[str]) -> list[str]:
    if not isinstance(found, dict):
        return [f"{where} is no object"]
    missing = [f"{where} lacks {name}" for name in wanted if name not in found]
    return missing + [f"{where} has {name[:40]!r} in it" for name in found if name not in wanted][:3]


def _visible(text: str) -> str:
    """What of a reply is read: the one place that takes thoughts and control tokens off."""
    return visible_text(text).text


def _shown(value: Any) -> str:
    """A value of a verdict for a message: JSON takes deeper nesting in than it writes."""
    try:
        return json.dumps(value)[:40]
    except RecursionError:
        return "nested too deeply to show"


def parse_verdict(text: str, aliases: Sequence[str]) -> tuple[Verdict | None, str | None]:
    """Read a judge's reply.

    The reply is one JSON object with every alias and every score, each a whole number from 1 to 5, and nothing else
    (S2.2.3). Reasoning and control tokens are removed first, and one Markdown fence around the whole is taken off: our
    reading.

    Args:
        text: The reply.
        aliases: Those of the case.

    Returns:
        The verdict and None, or None and what is wrong.

    >>> parse_verdict("Good!", "AB")
    (None, 'not JSON')
    """
    if len(text) > MAX_REPLY_CHARS:
        return None, f"{len(text)} characters; {MAX_REPLY_CHARS} are read"
    text = _visible(text)
    fenced = _FENCE.fullmatch(text)
    try:
        found = json.loads(fenced.group(1) if fenced else text, object_pairs_hook=_object_once)
    except json.JSONDecodeError:
        return None, "not JSON"
    except (ValueError, RecursionError) as error:
        return None, f"not JSON that is read ({str(error)[:100]})"
    problems = _differing_keys("the verdict", found, aliases)
    if problems:
        return None, "; ".join(problems)
    for alias in aliases:
        problems += _differing_keys(alias, found[alias], SCORES)
        scores = found[alias] if isinstance(found[alias], dict) else {}
        for name in SCORES:
            value = scores.get(name, 1)
            if isinstance(value, bool) or not isinstance(value, int) or value not in SCALE:
                shown = _shown(value)
                problems.append(f"{alias}: {name} is {shown}, not a whole number from 1 to 5")
    if problems:
        return None, "; ".join(problems)
    return {alias: {name: found[alias][name] for name in SCORES} for alias in aliases}, None
