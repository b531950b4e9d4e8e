"""Documents, prompt, record and metrics: what the YAML calls."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_aes_tasks.records import IMAGES_COLUMN, Field, RecordSchema, as_list
from lmms_aes_tasks.settings import read_settings
from lmms_aes_tasks.utils.images import load_image

PROMPT = "Is the picture light or dark? Answer with one word."
SHADES = ("light", "dark")


def _columns() -> dict[str, Any]:
    from datasets import Value

    return {"id": Value("string"), "shade": Value("string")}


def _normalise(record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    images = as_list(record.get(IMAGES_COLUMN))
    shade = str(record.get("shade"))
    problems = [] if shade in SHADES else [f"shade is {shade!r}; use one of {', '.join(SHADES)}"]
    return {"id": str(record.get("id")), "shade": shade, IMAGES_COLUMN: images}, problems


SCHEMA = RecordSchema(
    fields=(Field("id", ()), Field(IMAGES_COLUMN, ("image",)), Field("shade", ("label",))),
    columns=_columns,
    normalise=_normalise,
)


@dataclass(frozen=True)
class Settings:
    """Nothing but the texts around the prompt can be set."""

    pre_prompt: str = ""
    post_prompt: str = ""


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    return f"{settings.pre_prompt}{PROMPT}{settings.post_prompt}"


def doc_to_visual(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Any = None) -> list[Any]:
    return [load_image(cell["bytes"], str(doc["id"])) for cell in doc[IMAGES_COLUMN]]


def doc_to_messages(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Any = None) -> list[dict[str, Any]]:
    (image,) = doc_to_visual(doc)
    text = doc_to_text(doc, lmms_eval_specific_kwargs)
    return [{"role": "user", "content": [{"type": "image", "url": image}, {"type": "text", "text": text}]}]


def doc_to_target(doc: Mapping[str, Any]) -> str:
    return str(doc["shade"])


def prompt_name(given: str) -> str:
    return f"shades-1 sha256:{hashlib.sha256(PROMPT.encode()).hexdigest()}" if given == PROMPT else "other"


@dataclass(frozen=True)
class Answer:
    """What one document adds to both metrics."""

    id: str
    answer: str | None
    gold: str

    def __str__(self) -> str:
        return self.id


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    reply = results[0] if results and isinstance(results[0], str) else ""
    word = reply.strip().strip(".").lower()
    item = Answer(str(doc["id"]), word if word in SHADES else None, str(doc["shade"]))
    record = {"id": item.id, "answer": item.answer, "gold": item.gold}
    return {"record": record, "accuracy": item, "answered": item}


def aggregate_accuracy(items: Iterable[Answer]) -> float:
    right = [item.answer == item.gold for item in items]
    return sum(right) / len(right)


def aggregate_answered(items: Iterable[Answer]) -> float:
    return float(sum(item.answer is not None for item in items))


def count_cases(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    return {"pictures": len(rows), "light": sum(row["shade"] == "light" for row in rows)}


def baseline_choices(doc: Mapping[str, Any]) -> list[str]:
    return list(SHADES)


def baseline_reply(doc: Mapping[str, Any], choice: str) -> str:
    return f"{choice.title()}."
