"""The data at hand of a task that an entry is about."""

from __future__ import annotations

from pathlib import Path

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.benchmark import Data, Task
from lmms_aes_tasks.board.fingerprint import LocalData


def data_of(task: Task, place: Path | LocalData | None, required: bool = False) -> Data | None:
    """A task's data where it is at hand; see `Benchmark.data`.

    Args:
        task: The task.
        place: A folder with one folder a benchmark, as `$LMMS_AES_DATA`; None for none; or the data sets at hand.
        required: Whether a demo's data that cannot be generated is an error.

    Raises:
        SourceError: It is there, and not sound; or as `required` says.
    """
    local = place if isinstance(place, LocalData) else LocalData(place)
    return registry.benchmark(task.benchmark).data(task, local, required)
