"""The tasks that an entry may hold: those of our YAML files, with what their scoring needs to know."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lmms_aes_tasks import registry, sources
from lmms_aes_tasks.board.benchmark import Task
from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.task_folders import task_folders


class _Loader(yaml.SafeLoader):
    """YAML whose `!function` tags are read as text: nothing is imported."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: str(node.value))


def _merged(path: Path) -> dict[str, Any]:
    """A task file with what it includes, which lies beside it."""
    content: dict[str, Any] = yaml.load(path.read_text("utf-8"), Loader=_Loader)  # a SafeLoader, and files of ours
    included = content.get("include")
    return (_merged(path.with_name(included)) if included else {}) | content


def _card_name(content: Mapping[str, Any], folder: Path) -> str:
    import json

    file = content["dataset_kwargs"]["data_files"]["test"]
    return str(json.loads((folder / file).read_text("utf-8"))[0]["name"])


def _tasks_of(folder: Path) -> dict[str, Task]:
    tasks = {}
    for path in sorted(folder.glob("*/*.yaml")):
        content = _merged(path)
        metadata = content.get("metadata") or {}
        if not isinstance(content.get("task"), str) or "dataset_kwargs" not in content or "benchmark" not in metadata:
            continue  # a group
        name, benchmark = content["task"], registry.benchmark(str(metadata["benchmark"]))
        card = _card_name(content, path.parent)
        tasks[name] = Task(name, benchmark.name, card, str(metadata["version"]), benchmark.variant_of(name))
    return tasks


@functools.cache
def known_tasks() -> dict[str, Task]:
    """Every task of the benchmarks by name.

    Raises:
        RegistryError: A task names a benchmark that is not there, or a benchmark is half there.
    """
    return {name: task for folder in task_folders() for name, task in _tasks_of(folder).items()}


def expected_items(task: Task) -> int | None:
    """How many documents the whole task has by its data set's published counts; None where none is published."""
    try:
        counts = sources.read_card(task.card).expected
    except SourceError:
        return None
    return registry.benchmark(task.benchmark).expected(counts, task.variant)
