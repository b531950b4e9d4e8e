"""`lmms-aes runs`: what lmms-eval left in its output folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_aes_tasks.cli.redaction import shown_arguments
from lmms_aes_tasks.harness_results import read_results, results_files
from lmms_aes_tasks.records import SourceError

if TYPE_CHECKING:
    from lmms_aes_tasks.board.schema import Unit


@dataclass(frozen=True)
class Run:
    """One results file of lmms-eval, for one task.

    Attributes:
        model: Model backend with the arguments that tell runs apart.
        task: Task name.
        n: Documents scored.
        metrics: Value by metric; None where it is not defined.
        results: The results file.
        samples: The samples file, if there is one.
    """

    model: str
    task: str
    n: int
    metrics: dict[str, float | None]
    results: str
    samples: str | None


def _model(config: Mapping[str, Any]) -> str:
    arguments = config.get("model_args") or ""
    return f"{config.get('model')} ({shown_arguments(arguments)})" if arguments else str(config.get("model"))


def find_runs(folder: Path) -> list[Run]:
    """Every run below a folder, hidden folders included, in the order of their files' names.

    Raises:
        SourceError: A results file is not JSON of lmms-eval.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder} is not a folder. Name an output folder of lmms-eval.")
    return [
        Run(
            _model(found.config),
            found.task,
            found.n,
            dict(found.metrics),
            str(found.results),
            str(found.samples) if found.samples.is_file() else None,
        )
        for path in results_files(folder)
        for found in read_results(path)
    ]


def runs(
    folders: Annotated[list[Path], typer.Argument(help="Output folders of lmms-eval.")],
    expect: Annotated[
        int,
        typer.Option(min=1, help="Fail unless at least so many runs are there: lmms-eval exits 0 even when it fails."),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Print a table of the runs in lmms-eval's output folders, and where their files are."""
    found = [run for folder in folders for run in find_runs(folder)]
    if as_json:
        typer.echo(json.dumps([asdict(run) for run in found]))
    else:
        _print_runs(found)
    if len(found) < expect:
        names = ", ".join(map(str, folders))
        raise SourceError(
            f"{len(found)} run(s) in {names}, {expect} expected: read lmms-eval's output above "
            "(it exits 0 even when it fails)"
        )


def _print_runs(found: list[Run]) -> None:
    from lmms_aes_tasks.cli.tables import console, table

    out = console()
    for task in dict.fromkeys(run.task for run in found):
        of_task = [run for run in found if run.task == task]
        metrics = list(dict.fromkeys(name for run in of_task for name in run.metrics))
        units = {name: unit_of(task, name) for name in metrics}
        rows = [
            (run.model, str(run.n), *(_shown(run.metrics.get(name), units[name]) for name in metrics))
            for run in of_task
        ]
        heads = [f"{name} (%)" if units[name] == "fraction" else name for name in metrics]
        out.print(table(task, ["model", "n", *heads], rows))
    for run in found:
        typer.echo(f"{run.samples or run.results}")


def unit_of(task: str, metric: str) -> Unit:
    """What a metric is measured in: by its task's benchmark, else by any that has it, else a fraction."""
    from lmms_aes_tasks import registry
    from lmms_aes_tasks.leaderboard.tasks import known_tasks

    known = known_tasks().get(task)
    benchmarks = registry.benchmarks() if known is None else (registry.benchmark(known.benchmark),)
    return next((own.metrics[metric].unit for own in benchmarks if metric in own.metrics), "fraction")


def _shown(value: float | None, unit: Unit) -> str:
    from lmms_aes_tasks.cli.tables import percent

    if value is None or unit == "fraction":
        return percent(value)
    return f"{value:.0f}" if unit == "count" else f"{value:.3f}"
