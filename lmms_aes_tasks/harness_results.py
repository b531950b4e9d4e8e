"""Reading what lmms-eval leaves of a run: the one reader of its results files.

A results file is full of local things (paths, arguments that may hold keys): what of it is shown or published is for
the reader's callers to choose.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records import SourceError

_MAX_BYTES = 256 * 1024 * 1024
_ENDING = "results.json"
_FILTER = ",none"
"""lmms-eval's name of the filter that all of our tasks have, behind a metric's name."""
_FILLER = "bypass"
"""What --predict_only writes in the place of metrics."""


@dataclass(frozen=True)
class TaskResults:
    """One task of a results file.

    Attributes:
        task: Its name.
        results: The results file.
        samples: Where its samples file is, if it was written.
        n: Documents scored.
        n_all: Documents of the whole task.
        metrics: The harness's own figures by name; None where one is not defined or no number.
        task_config: The task's configuration.
        run: The whole content of the file: the run's arguments, its day, its system prompt.
    """

    task: str
    results: Path
    samples: Path
    n: int
    n_all: int
    metrics: Mapping[str, float | None]
    task_config: Mapping[str, Any]
    run: Mapping[str, Any]

    @property
    def config(self) -> Mapping[str, Any]:
        """The run's arguments."""
        config: Mapping[str, Any] = self.run["config"]
        return config


def results_files(folder: Path) -> list[Path]:
    """The results files below a folder, hidden folders included (a local model makes one), by name."""
    return sorted(folder.rglob(f"*_{_ENDING}"))


def _metrics(values: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        key.removesuffix(_FILTER): None if value is None or not math.isfinite(value) else float(value)
        for key, value in values.items()
        if key.endswith(_FILTER)
        and "_stderr" not in key
        and key != f"{_FILLER}{_FILTER}"
        and not isinstance(value, (str, list, dict, bool))
    }


def read_results(path: Path) -> list[TaskResults]:
    """The tasks of a results file; the row of a group is left out, for its tasks have their own.

    Raises:
        SourceError: It is no results file of lmms-eval.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise SourceError(f"{path}: larger than {_MAX_BYTES} bytes. Is it a results file of lmms-eval?")
    try:
        content = json.loads(path.read_bytes())
        content["config"].get("model")
        return [
            TaskResults(
                task=name,
                results=path,
                samples=path.with_name(path.name.removesuffix(_ENDING) + f"samples_{name}.jsonl"),
                n=int(counts["effective"]),
                n_all=int(counts["original"]),
                metrics=_metrics(content["results"][name]),
                task_config=content.get("configs", {}).get(name) or {},
                run=content,
            )
            for name, counts in content["n-samples"].items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise not_results(path, error) from None


def not_results(path: Path, error: Exception) -> SourceError:
    """The error of a file that is no results file of lmms-eval."""
    return SourceError(f"{path}: not a results file of lmms-eval ({error!r}). Remove it, or name another folder.")
