"""`lmms-aes score`: a command for every benchmark, ours and other packages'."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_aes_tasks import registry

if TYPE_CHECKING:
    from lmms_aes_tasks.board.benchmark import Benchmark, Data, Figures, Task
    from lmms_aes_tasks.predictions import Prediction

app = typer.Typer(help="Score predictions made elsewhere, or an lmms-eval samples file.", no_args_is_help=True)


def register() -> None:
    """Add the command of every benchmark: its own file beside this one, else the general one.

    Raises:
        RegistryError: A benchmark is half there.
    """
    for name in registry.names():
        own = f"{__package__}.{name}"
        app.command(name)(
            importlib.import_module(own).score if importlib.util.find_spec(own) else general_command(name)
        )


# -- The general command ----------------------------------------------------------------------------------------------


def general_command(name: str) -> Callable[..., None]:
    """The command of a benchmark that brings none: every figure of its object, with intervals."""

    def score(
        predictions: Annotated[Path, typer.Argument(help="JSONL of id and response, or an lmms-eval samples file.")],
        task: Annotated[str, typer.Option(help="The task that was run; the benchmark's main one when not given.")] = "",
        data: Annotated[
            Path | None, typer.Option(help="Folder with one folder a benchmark, as $LMMS_AES_DATA.")
        ] = None,
        allow_incomplete: Annotated[
            bool, typer.Option("--allow-incomplete", help="Take a run with missing items (--limit).")
        ] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    ) -> None:
        from lmms_aes_tasks.board.fingerprint import LocalData
        from lmms_aes_tasks.predictions import check_ids, read_predictions
        from lmms_aes_tasks.sources import data_root

        benchmark = registry.benchmark(name)
        chosen = _task_of(benchmark, task)
        found = benchmark.data(chosen, LocalData(data or data_root()))
        read = read_predictions(predictions)
        check_ids(read, None if found is None else found.documents, predictions, allow_incomplete)
        figures = _figures(benchmark, chosen, read, found, predictions)
        if as_json:
            content = {"benchmark": name, "task": chosen.name, "n": len(read), "parser": benchmark.parser}
            typer.echo(json.dumps(content | _json(figures), allow_nan=False))
        else:
            _print(benchmark, chosen, figures)

    score.__doc__ = f"Every figure of {name}, with 95% intervals."
    return score


def _task_of(benchmark: Benchmark, given: str) -> Task:
    """The task that is scored.

    Raises:
        PredictionError: There is none of this name.
    """
    from lmms_aes_tasks.leaderboard.tasks import known_tasks
    from lmms_aes_tasks.predictions import PredictionError

    tasks = {name: task for name, task in known_tasks().items() if task.benchmark == benchmark.name}
    name = given or next((family.task for family in benchmark.families), benchmark.name)
    if name not in tasks:
        raise PredictionError(f"task is {name!r}: use one of {', '.join(tasks)}")
    return tasks[name]


def _figures(benchmark: Benchmark, task: Task, read: Sequence[Prediction], data: Data | None, path: Path) -> Figures:
    """The figures of predictions, over the data at hand, else over the records of a samples file.

    Raises:
        PredictionError: Neither is there, or a record is not sound.
    """
    from lmms_aes_tasks.predictions import PredictionError

    items = []
    for item in read:
        record: Mapping[str, Any] = item.record or {}
        try:
            document = benchmark.document(task, record) if data is None else data.documents[item.id]
            items.append(benchmark.read(task, document, item.response, record).item)
        except (ValueError, KeyError, TypeError) as error:
            raise PredictionError(
                f"{path}: {item.id} cannot be scored ({error}). Give --data, or a samples file of {task.name}."
            ) from None
    return benchmark.figures(task, items)


def _json(figures: Figures) -> dict[str, Any]:
    return {
        "metrics": {name: metric.model_dump(mode="json") for name, metric in figures.metrics.items()},
        "breakdowns": {
            name: {
                group: {metric: figure.model_dump(mode="json") for metric, figure in metrics.items()}
                for group, metrics in groups.items()
            }
            for name, groups in figures.breakdowns.items()
        },
        "parse_rate": figures.parse_rate,
    }


def _print(benchmark: Benchmark, task: Task, figures: Figures) -> None:
    from lmms_aes_tasks.board.text import number
    from lmms_aes_tasks.cli.tables import console, interval_text, table

    rows = []
    for name, metric in figures.metrics.items():
        label = benchmark.metrics[name].label if name in benchmark.metrics else name
        unit = metric.unit
        value = "–" if metric.value is None else number(metric.value, unit)
        interval = interval_text(metric.low, metric.high, lambda end, unit=unit: number(end, unit))  # type: ignore[misc]
        rows.append((f"{label} (%)" if unit == "fraction" else label, value, interval, str(metric.n)))
    console().print(table(f"{benchmark.title}: {task.name}", ["metric", "value", "95% interval", "n"], rows))
