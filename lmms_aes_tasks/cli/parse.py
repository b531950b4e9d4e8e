"""`lmms-aes parse`."""

from __future__ import annotations

import json
import sys
from reprlib import repr as shortened
from typing import Any

import typer

from lmms_aes_tasks.predictions import PredictionError
from lmms_aes_tasks.utils.answer_kinds import KINDS


def _parse_line(line: bytes, number: int) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PredictionError(f"line {number}: not JSON ({error}). Write one object a line.") from None
    kind = item.get("kind") if isinstance(item, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise PredictionError(f"line {number}: kind is {shortened(kind)}. Use one of {', '.join(KINDS)}.")
    read, wanted = KINDS[kind]
    if not isinstance(item.get("text", 0), (str, type(None))):  # null is the empty reply
        raise PredictionError(
            f"line {number}: text is {shortened(item.get('text'))}. A line of kind {kind} needs {wanted}."
        )
    try:
        return read(item)
    except RecursionError:
        raise PredictionError(f"line {number}: nested too deeply. A line of kind {kind} needs {wanted}.") from None
    except (KeyError, TypeError, ValueError) as error:
        raise PredictionError(f"line {number}: {error}. A line of kind {kind} needs {wanted}.") from None


_FIELDS = "; ".join(f"`{kind}` with {wanted}" for kind, (_, wanted) in KINDS.items())
HELP = f"""Read answers from standard input: JSONL with `kind` and what it needs; one JSON object a line out.

Kinds: {_FIELDS}. Each output line has `parsed` and `rule`, and of a set also `strict`; the order is that of the input.
"""


def parse() -> None:
    """Read answers from standard input; `HELP` is what the command says of itself."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            typer.echo(json.dumps(_parse_line(line, number)))
