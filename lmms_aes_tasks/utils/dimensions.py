"""The ten aesthetic dimensions that critiques and instructions name (AesCanvas, S2.1.2, S2.3.2), by trigger words.

The paper gives the dimensions and not its triggers: the lists in `data_dimension_triggers.json` are ours, and have a
version of their own.
"""

from __future__ import annotations

import collections
import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TRIGGERS_PATH = Path(__file__).parent / "data_dimension_triggers.json"
DIMENSIONS = (
    "Content",
    "Composition",
    "Color",
    "Lighting",
    "Brushstrokes",
    "Style",
    "Emotion",
    "Technique",
    "Symbolism",
    "Visual Appeal",
)
"""In the paper's order, with the short names of its Table S5."""

_MARKERS = re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d{1,3}[.)][ \t]+)+|[*_`~]+", re.MULTILINE)
_WORD = re.compile(r"[a-z]+")
_JOINTS = re.compile(r"[\s\-\u2010-\u2013'’]+")
_GAP = re.compile(r"[^a-z]+")
_EXAMPLE = re.compile(r"^(?:few[- ]shot )?(?:worked )?examples?\b(?: ?(?:[0-9]{1,2}|[a-z]))? ?[:.)\-]", re.IGNORECASE)
_QUESTION = re.compile(
    r"^(?:(?:now|current|actual|your|the|next) ){0,2}(?:question|instruction|task|prompt|query|turn)\b ?:",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Triggers:
    """Our trigger lists.

    Attributes:
        version: Raised with every change.
        dimension_of: Trigger, in lower case with single spaces, to its dimension.
        names: Those triggers that name the dimension itself, as instructions do.
    """

    version: str
    dimension_of: Mapping[str, str]
    names: frozenset[str]


def _checked(dimension_of: dict[str, str], dimension: str, trigger: str) -> str:
    if " ".join(_WORD.findall(trigger)) != trigger:
        raise ValueError(f"trigger {trigger!r}: use lower-case letters a to z and single spaces")
    if dimension_of.setdefault(trigger, dimension) != dimension:
        raise ValueError(f"trigger {trigger!r} stands under {dimension_of[trigger]} and {dimension}: keep one")
    return trigger


def read_triggers(path: Path) -> Triggers:
    """Read trigger lists, each trigger with its plural in -s.

    Raises:
        ValueError: A dimension is missing or unknown, a trigger stands under two, or is no lower-case phrase.
    """
    content = json.loads(path.read_text("utf-8"))
    found = content["dimensions"]
    if tuple(found) != DIMENSIONS:
        raise ValueError(f"dimensions are {', '.join(found)}: use {', '.join(DIMENSIONS)}, in this order")
    dimension_of: dict[str, str] = {}
    names: list[str] = []
    for dimension, lists in found.items():
        names += [_checked(dimension_of, dimension, trigger) for trigger in lists["names"]]
        for trigger in lists["terms"]:
            _checked(dimension_of, dimension, trigger)
    plurals = {f"{trigger}s": dimension for trigger, dimension in dimension_of.items()}
    return Triggers(
        str(content["version"]), plurals | dimension_of, frozenset(names) | {f"{trigger}s" for trigger in names}
    )


@functools.cache
def triggers() -> Triggers:
    """Our lists."""
    return read_triggers(TRIGGERS_PATH)


@functools.cache
def _pattern(names_alone: bool) -> re.Pattern[str]:
    found = triggers()
    chosen = found.names if names_alone else found.dimension_of
    longest_first = sorted(chosen, key=lambda trigger: (-len(trigger), trigger))
    return re.compile(rf"(?<![a-z])(?:{'|'.join(longest_first)})(?![a-z])")


def without_markers(text: str) -> str:
    r"""The text without light Markdown: heading marks, quotes, list marks, asterisks, underscores, backticks, tildes.

    >>> without_markers("## Color\n- a **warm** tone")
    'Color\na warm tone'
    """
    return _MARKERS.sub("", text)


def words(text: str) -> list[str]:
    """Words as the paper counts them: `[a-z]+` on the lower-cased text, without Markdown markers.

    >>> words("It's **3** warm tones")
    ['it', 's', 'warm', 'tones']
    """
    return _WORD.findall(without_markers(text).lower())


def _spaced(text: str) -> str:
    """Words with single spaces where a phrase may go on (spaces, hyphens, apostrophes) and ` | ` where it may not."""

    def joint(match: re.Match[str]) -> str:
        return " " if _JOINTS.fullmatch(match.group()) else " | "

    return _GAP.sub(joint, without_markers(text).lower())


def _counts(text: str, names_alone: bool) -> dict[str, int]:
    dimension_of = triggers().dimension_of
    matches = _pattern(names_alone).finditer(_spaced(text))
    counts = collections.Counter(dimension_of[match.group()] for match in matches)
    return {dimension: counts[dimension] for dimension in DIMENSIONS if counts[dimension]}


def mentions(text: str) -> dict[str, int]:
    """How often a text names each dimension; dimensions that it does not name are left out.

    The longest trigger counts where one holds another ("color palette" once, not also "color"), and a phrase does not
    reach over punctuation.

    >>> mentions("Leading lines and a color palette; the palette is warm.")
    {'Composition': 1, 'Color': 2}
    """
    return _counts(text, names_alone=False)


def current_question(instruction: str) -> str:
    r"""An instruction without few-shot examples (S2.3.2; how they are recognised is our reading).

    Where a paragraph begins with "Example", what counts is the text after the last line that begins with "Question:",
    "Instruction:", "Task:" or the like; without such a line, every paragraph that does not begin with "Example".

    >>> current_question("Example 1: How is the lighting? Soft.\n\nQuestion: What of the mood?")
    'What of the mood?'
    """
    paragraphs = re.split(r"\n[ \t]*\n", instruction)
    if not any(_EXAMPLE.match(part.strip()) for part in paragraphs):
        return instruction
    lines = instruction.splitlines()
    starts = [number for number, line in enumerate(lines) if _QUESTION.match(line.strip())]
    if starts:
        first = _QUESTION.sub("", lines[starts[-1]].strip(), count=1).strip()
        return "\n".join([first, *lines[starts[-1] + 1 :]]).strip()
    return "\n\n".join(part for part in paragraphs if not _EXAMPLE.match(part.strip())).strip()


def focus(instruction: str) -> tuple[str, ...]:
    """The dimensions that an instruction names, in the order of `DIMENSIONS`; none for a generic one.

    Only names count ("colour", "palette"), not every word that speaks of a dimension ("a red roof").

    >>> focus("Describe the colour palette of this abstract image.")
    ('Color',)
    """
    return tuple(_counts(current_question(instruction), names_alone=True))
