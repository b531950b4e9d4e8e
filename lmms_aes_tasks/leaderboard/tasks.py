"""The tasks that an entry may hold: those of our YAML files, with what their scoring needs to know."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmms_aes_tasks import sources
from lmms_aes_tasks.plugin import TASKS_PATH
from lmms_aes_tasks.records import SourceError

BENCHMARKS = ("contextcanvas", "critiquecanvas", "vab", "fineartbench")


@dataclass(frozen=True)
class Task:
    """A task of ours.

    Attributes:
        name: Its name in lmms-eval.
        benchmark: The benchmark's module.
        card: Name of its data set.
        version: N-X; results of two N are not comparable.
        variant: What is scored of the benchmark: the question (VAB), the mode (FineArtBench), the domain
            (CritiqueCanvas; empty for all), else empty.
    """

    name: str
    benchmark: str
    card: str
    version: str
    variant: str = ""


class _Loader(yaml.SafeLoader):
    """YAML whose `!function` tags are read as text: nothing is imported."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: str(node.value))


def _merged(path: Path) -> dict[str, Any]:
    """A task file with what it includes, which lies beside it."""
    content: dict[str, Any] = yaml.load(path.read_text("utf-8"), Loader=_Loader)  # a SafeLoader, and files of ours
    included = content.get("include")
    return (_merged(path.with_name(included)) if included else {}) | content


_VARIANT = re.compile(
    r"vab_(?P<question>top1|bot1|tb1)|fineartbench_2afc_(?P<mode>global|instance)|"
    r"critiquecanvas_(?P<domain>photography|painting|virtual)"
)


def variant_of(name: str) -> str:
    """What a task scores of its benchmark, from its name.

    >>> variant_of("vab_tb1_greedy"), variant_of("fineartbench_2afc_global_cot"), variant_of("contextcanvas")
    ('tb1', 'global', '')
    """
    match = _VARIANT.match(name)
    return next((value for value in match.groupdict().values() if value), "") if match else ""


def _card_name(content: Mapping[str, Any], folder: Path) -> str:
    import json

    file = content["dataset_kwargs"]["data_files"]["test"]
    return str(json.loads((folder / file).read_text("utf-8"))[0]["name"])


@functools.cache
def known_tasks() -> dict[str, Task]:
    """Every task of ours by name."""
    found = {}
    for path in sorted(TASKS_PATH.glob("*/*.yaml")):
        content = _merged(path)
        metadata = content.get("metadata") or {}
        benchmark = metadata.get("benchmark")
        if isinstance(content.get("task"), str) and benchmark in BENCHMARKS and "dataset_kwargs" in content:
            name = content["task"]
            found[name] = Task(
                name, benchmark, _card_name(content, path.parent), str(metadata["version"]), variant_of(name)
            )
    return found


def expected_items(task: Task) -> int | None:
    """How many documents the whole task has by its data set's published counts; None where none is published."""
    try:
        counts = sources.read_card(task.card).expected
    except SourceError:
        return None
    name, times = {
        "contextcanvas": ("cases", 1),
        "critiquecanvas": (task.variant or "critiques", 1),
        "vab": ("tasks", 3),
        "fineartbench": (f"pairs_{task.variant}", 1),
    }[task.benchmark]
    return None if name not in counts else int(counts[name]) * times
