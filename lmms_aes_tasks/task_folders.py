"""Where benchmarks lie: our folder of task YAML, and those of installed packages that bring benchmarks of their own.

A package brings one through an entry point in the group `lmms_aes_tasks.benchmarks`: its name is the benchmark's, its
value `package.module:OBJECT`, and the YAML and the cards lie in `task_yamls/` of the package. Nothing here imports it.
"""

from __future__ import annotations

import functools
import importlib.util
from importlib import metadata
from pathlib import Path

TASKS_PATH = Path(__file__).parent / "task_yamls"
"""Our own folder: one folder a benchmark."""
GROUP = "lmms_aes_tasks.benchmarks"
"""The entry-point group."""


def entry_points() -> list[metadata.EntryPoint]:
    """The entry points of other packages' benchmarks, by name."""
    return sorted(metadata.entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def folder_of(point: metadata.EntryPoint) -> Path:
    """The folder of YAML and cards of another package's benchmark; it need not be there.

    The package is looked for and not imported.
    """
    spec = importlib.util.find_spec(point.module.split(".")[0])
    places = list(spec.submodule_search_locations or []) if spec is not None else []
    return Path(places[0] if places else point.module) / "task_yamls"


@functools.cache
def task_folders() -> tuple[Path, ...]:
    """Folders that hold one folder a benchmark: ours first."""
    others = dict.fromkeys(folder_of(point) for point in entry_points())
    return (TASKS_PATH, *(folder for folder in others if folder.is_dir()))
