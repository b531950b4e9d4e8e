"""The application: sub-commands put together, and errors turned into messages."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lmms_aes_tasks import __version__
from lmms_aes_tasks.cli import analyze, data, doctor, judge, leaderboard, parse, runs, score, tasks_path, tiny_model
from lmms_aes_tasks.utils.errors import AesError

app = typer.Typer(
    name="lmms-aes",
    help="Visual-aesthetics benchmarks for lmms-eval: check an installation, bring in data, score predictions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"lmms-aes-tasks {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if _BROKEN is not None:
        raise _BROKEN


app.command("doctor")(doctor.doctor)
app.command("tasks-path")(tasks_path.tasks_path)
app.command("parse")(parse.parse)
app.command("runs")(runs.runs)
app.command("tiny-model")(tiny_model.tiny_model)
app.add_typer(data.app, name="data")
app.add_typer(score.app, name="score")
try:
    score.register()
    _BROKEN: AesError | None = None
except AesError as error:  # a package that brings a benchmark by half: said when a command runs, not by a traceback
    _BROKEN = error
app.add_typer(analyze.app, name="analyze")
app.add_typer(judge.app, name="judge")
app.add_typer(leaderboard.app, name="leaderboard")


def run() -> None:
    """Run the command; an error that names its remedy ends in that message and exit code 2."""
    from lmms_aes_tasks.board.errors import LeaderboardError
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.records import SourceError
    from lmms_aes_tasks.utils.embeddings import EncoderError
    from lmms_aes_tasks.utils.images import ImageError
    from lmms_aes_tasks.utils.prompts import PromptError
    from lmms_aes_tasks.utils.wordnet import WordNetError

    try:
        app()
    except (
        SourceError,
        PredictionError,
        ImageError,
        PromptError,
        WordNetError,
        EncoderError,
        LeaderboardError,
        FileExistsError,
    ) as error:
        typer.echo(f"lmms-aes: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe, such as head, has enough
        sys.stderr.close()
        sys.exit(0)
