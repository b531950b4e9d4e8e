"""CritiqueCanvas's records: an image, an instruction and a reference, as fields or as turns of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmms_aes_tasks.records import IMAGES_COLUMN, Field, RecordSchema, as_list, group_problems, id_problems
from lmms_aes_tasks.utils.cells import is_empty, json_value, text_of
from lmms_aes_tasks.utils.placeholders import mark_problems, without_image_marks

DOMAINS = ("photography", "painting", "virtual")
"""The paper's three; records may name others, or none."""
MAX_TEXT_CHARS = 100_000
_SPELLINGS = {
    "photo": "photography",
    "photograph": "photography",
    "photographs": "photography",
    "photos": "photography",
    "paintings": "painting",
    "art": "painting",
    "virtual imagery": "virtual",
    "virtual image": "virtual",
    "virtual images": "virtual",
    "aigc": "virtual",
}
_HUMAN = frozenset({"human", "user"})
_ASSISTANT = frozenset({"gpt", "assistant"})


def _columns() -> dict[str, Any]:
    from datasets import Value

    text = Value("string")
    return {"id": text, "domain": text, "instruction": text, "reference": text}


def _turn(item: Any) -> tuple[str, str] | None:
    """One turn as (role, text); None when it is none. A content of parts is the text parts together."""
    if not isinstance(item, Mapping):
        return None
    role = item.get("from", item.get("role"))
    content = item.get("value", item.get("content"))
    if isinstance(content, (list, tuple)):
        parts = [text_of(part.get("text")) for part in content if isinstance(part, Mapping)]
        content = "\n".join(part for part in parts if part)
    return (role.strip().lower(), content) if isinstance(role, str) and isinstance(content, str) else None


def _first_turns(conversations: Any) -> tuple[str, str, list[str]]:
    """The first instruction, the first reference after it, and what is wrong."""
    conversations = json_value(conversations)
    if isinstance(conversations, str) and conversations.strip():
        return "", "", ["conversations is a text that is no JSON; give a list of turns"]
    items = list(conversations) if isinstance(conversations, (list, tuple)) else []
    turns = [turn for turn in map(_turn, items) if turn is not None]
    if not items or len(turns) != len(items):
        return "", "", ["conversations is no list of turns; give [{from: human, value: …}, {from: gpt, value: …}]"]
    asked = next((place for place, (role, _) in enumerate(turns) if role in _HUMAN), None)
    answered = next((place for place, (role, _) in enumerate(turns) if role in _ASSISTANT), None)
    problems = []
    if asked is None:
        problems.append("no turn of human or user; the first one is the instruction")
    if answered is None:
        problems.append("no turn of gpt or assistant; the first one is the reference")
    if asked is not None and answered is not None and answered < asked:
        problems.append("the reference's turn stands before the instruction's; give the instruction first")
    instruction = turns[asked][1] if asked is not None else ""
    reference = turns[answered][1] if answered is not None else ""
    return instruction, reference, problems


def instruction_text(value: str) -> str:
    r"""An instruction without LLaVA's `<image>` placeholders.

    >>> instruction_text("<image>\nCritique this.")
    'Critique this.'
    """
    return without_image_marks(value)


def _contradictions(given: Mapping[str, str], said: Mapping[str, str]) -> list[str]:
    """Where a field says another thing than the turn in the conversation: which of them is meant is not ours to say."""
    return [
        f"{name} ({given[name][:40]!r}) differs from its turn in conversations ({said[name][:40]!r}); keep one of them"
        for name in given
        if given[name] and said[name] and instruction_text(given[name]) != instruction_text(said[name])
    ]


def normalise_critique(record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Bring a record to the canonical form; see `lmms_aes_tasks.records.RecordSchema`."""
    given = {"instruction": text_of(record.get("instruction")), "reference": text_of(record.get("reference"))}
    problems: list[str] = []
    if not all(given.values()) or not is_empty(record.get("conversations")):
        *turns, problems = _first_turns(record.get("conversations"))
        said = dict(zip(given, map(text_of, turns), strict=True))
        problems += _contradictions(given, said)
        given = {name: given[name] or said[name] for name in given}
    domain = " ".join(text_of(record.get("domain")).lower().replace("_", " ").replace("-", " ").split())
    images = as_list(record.get(IMAGES_COLUMN))
    row: dict[str, Any] = {
        "id": text_of(record.get("id")),
        "domain": _SPELLINGS.get(domain, domain),
        "instruction": instruction_text(given["instruction"]),
        "reference": given["reference"],
        IMAGES_COLUMN: images,
    }
    if not problems:
        problems = [f"empty {name}; give it a text" for name in ("instruction", "reference") if not row[name]]
    problems += mark_problems("instruction", row["instruction"])
    problems += id_problems("id", row["id"]) + group_problems("domain", row["domain"])
    problems += [
        f"{name} has {len(row[name])} characters; {MAX_TEXT_CHARS} are allowed"
        for name in ("instruction", "reference")
        if len(row[name]) > MAX_TEXT_CHARS
    ]
    if len(images) != 1:
        problems.append(f"{len(images)} images; give one")
    return row, problems


SCHEMA = RecordSchema(
    fields=(
        Field("id", ("sample_id", "question_id", "uid", "record_id")),
        Field(IMAGES_COLUMN, ("image", "image_path", "image_file", "file_name", "img")),
        Field("conversations", ("conversation", "messages", "dialogue", "turns"), required=False, exclusive=True),
        Field("instruction", (), required=False),  # a canonical file has these two in place of conversations
        Field("reference", (), required=False),
        Field("domain", ("image_domain", "visual_domain"), required=False),
    ),
    columns=_columns,
    normalise=normalise_critique,
)
