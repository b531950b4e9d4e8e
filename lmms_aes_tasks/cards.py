"""Source cards: what a benchmark's data is and where it comes from, one JSON beside its YAML."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records import RecordSchema, SourceError
from lmms_aes_tasks.task_folders import task_folders


@dataclass(frozen=True)
class SourceCard:
    """What a benchmark's data is and where it comes from: the one row that its YAML loads.

    Attributes:
        name: Folder below `$LMMS_AES_DATA`, and the name on the command line.
        module: The benchmark's module, which has `SCHEMA` and, for a demo, is given generated data.
        title: For people.
        generator: Dotted path of a function(folder) that makes the data, for demos; empty otherwise.
        hub_id: Data set on the Hugging Face Hub; empty when none is known.
        revision: Its pinned commit.
        gated: Whether the Hub asks for accepted terms.
        licence: Licence of the data.
        expected: Published counts by name.
        where: What a user without the data should do.
        demo: A task that needs no data.
    """

    name: str
    module: str
    title: str
    licence: str
    where: str
    demo: str = ""
    generator: str = ""
    hub_id: str = ""
    revision: str = ""
    gated: bool = False
    expected: Mapping[str, float] = field(default_factory=dict)


def card_of(fields: Mapping[str, Any]) -> SourceCard:
    """A card from the fields of its JSON, or of the one-row data set that the harness makes of it."""
    return SourceCard(**{key: value for key, value in fields.items() if value is not None})


@functools.cache
def _cards() -> dict[str, SourceCard]:
    paths = [path for folder in task_folders() for path in sorted(folder.glob("*/*card.json"))]
    found = [card_of(json.loads(path.read_text("utf-8"))[0]) for path in paths]
    return {card.name: card for card in found}


def card_names() -> list[str]:
    """Names of all benchmarks with a source card, demos included."""
    return sorted(_cards())


def read_card(name: str) -> SourceCard:
    """The card of a benchmark.

    Raises:
        SourceError: There is none of this name.
    """
    if name not in _cards():
        raise SourceError(f"no benchmark {name!r}: use one of {', '.join(card_names())}")
    return _cards()[name]


def card_of_samples(path: Path, benchmark: str) -> str:
    """The card that a samples file of lmms-eval is of, by its name: the benchmark's, or its demo's."""
    demo = f"{benchmark}_demo"
    return demo if path.stem.endswith("_demo") and demo in _cards() else benchmark


def schema_of(card: SourceCard) -> RecordSchema:
    """The schema that the card's module declares."""
    schema = importlib.import_module(card.module).SCHEMA
    assert isinstance(schema, RecordSchema)
    return schema
