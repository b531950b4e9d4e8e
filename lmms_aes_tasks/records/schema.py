"""What a benchmark's records hold: fields with their spellings, and how a file's names are matched with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from lmms_aes_tasks.utils.errors import AesError

IMAGES_COLUMN = "images"

MAX_ID_CHARS = 1_000
"""Longest id of a document: what an entry of the leaderboard may hold."""
MAX_GROUP_CHARS = 200
"""Longest name of a group that scores are broken down by (a domain, a substyle), likewise."""


class SourceError(AesError):
    """Data that is missing or cannot be used; the message lists every problem and says what to do."""


@dataclass(frozen=True)
class Field:
    """One field of a benchmark's record.

    Attributes:
        name: Its canonical name.
        aliases: Other spellings it is taken from, compared without case, spaces, hyphens and underscores.
        required: Whether a record without it is refused.
        exclusive: Whether two names for it are a problem, as they always are for a required one.
    """

    name: str
    aliases: tuple[str, ...] = ()
    required: bool = True
    exclusive: bool = False


@dataclass(frozen=True)
class RecordSchema:
    """What a benchmark's records hold.

    Attributes:
        fields: The fields, `images` among them.
        columns: Canonical columns but `images`, as features of `datasets`; a function so that importing stays light.
        normalise: Turns a record with canonical field names into its canonical form and gives the problems found;
            the record's `images` are the references as given (paths, bytes, or dicts of either).
        remarks: What is worth knowing of a sound canonical record, as a text that goes on from a number of records.
    """

    fields: tuple[Field, ...]
    columns: Callable[[], dict[str, Any]]
    normalise: Callable[[dict[str, Any]], tuple[dict[str, Any], list[str]]]
    remarks: Callable[[dict[str, Any]], list[str]] = lambda _: []


def id_problems(name: str, value: str, further: int = 0) -> list[str]:
    """What is wrong with an id: it is empty, or longer than an entry of the leaderboard may hold.

    Args:
        name: Name of the field.
        value: The id.
        further: Characters that documents add to it.
    """
    if not value:
        return [f"empty {name}; give it a text"]
    most = MAX_ID_CHARS - further
    return [f"{name} has {len(value)} characters; {most} are allowed"] if len(value) > most else []


def group_problems(name: str, value: str) -> list[str]:
    """What is wrong with the name of a group, as `leaderboard verify` has it; an empty one is none."""
    if len(value) > MAX_GROUP_CHARS:
        return [f"{name} has {len(value)} characters; {MAX_GROUP_CHARS} are allowed"]
    if not value.isprintable() or set(value) & set("<>"):
        return [f"{name} is {value!r}; use visible characters, no < and >"]
    return []


def _key(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())


@dataclass(frozen=True)
class FieldMap:
    """How the names a file uses match a schema's fields.

    Attributes:
        mapping: Canonical name to the file's name.
        unused: The file's names that match nothing.
        problems: Required fields that are missing, or that two names could be.
    """

    mapping: dict[str, str]
    unused: list[str]
    problems: list[str]


def map_fields(names: Iterable[str], schema: RecordSchema) -> FieldMap:
    """Match the names a file uses with a schema's fields.

    Two names for one required or exclusive field are a problem, not a choice: a record with a scenario and a question
    would lose one of them without a word. Of another field the canonical spelling wins, then the earlier alias.
    """
    names = list(names)
    mapping: dict[str, str] = {}
    problems: list[str] = []
    missing: list[str] = []
    for field_ in schema.fields:
        keys = [_key(spelling) for spelling in (field_.name, *field_.aliases)]
        found = sorted((name for name in names if _key(name) in keys), key=lambda name: keys.index(_key(name)))
        if found:
            mapping[field_.name] = found[0]
        if len(found) > 1 and (field_.required or field_.exclusive):
            problems.append(
                f"{', '.join(found)} could each be {field_.name}; keep one, or rename what is something else"
            )
        if not found and field_.required:
            missing.append(field_.name)
    if missing:
        problems.append(
            f"no field for {', '.join(missing)} among {', '.join(names) or 'none'}; "
            "rename the fields (docs list the spellings that are understood)"
        )
    used = set(mapping.values())
    return FieldMap(mapping, [name for name in names if name not in used], problems)
