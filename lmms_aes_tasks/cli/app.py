"""The application: sub-commands put together, and errors turned into messages."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

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
    context_settings={"help_option_names": ["-h", "--help"]},  # sub-commands have them from here
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
app.command("parse", help=parse.HELP)(parse.parse)
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
    """Run the command; an error that names its remedy ends in that message and exit code 2.

    So does an error of the system about a file. When the reader of a pipe, such as head, has enough, the command ends
    at once, without a word and with exit code 0.
    """
    from lmms_aes_tasks.cli import streams
    from lmms_aes_tasks.utils.errors import AesError

    streams.prepare()
    try:
        app()
    except AesError as error:
        _end(str(error))
    except SystemExit as end:  # as every command ends
        # typer and rich make exit code 1 of a closed pipe
        closed = streams.code_of_closed_pipe(end)
        if closed is not None:
            streams.leave_quietly(closed)
        failure = streams.output_error()
        if failure is not None:
            _fail(failure)
        raise
    except OSError as error:
        _fail(error)


def _end(message: str) -> NoReturn:
    """End with a message and exit code 2, which stays when nobody reads the message."""
    from lmms_aes_tasks.cli import streams

    try:
        typer.echo(f"lmms-aes: {message}", err=True)
        sys.stdout.flush()
    except OSError:
        streams.leave_quietly(2)
    sys.exit(2)


def _fail(error: OSError) -> NoReturn:
    """End with the one line that a system's error makes, and exit code 2."""
    from lmms_aes_tasks.cli import streams
    from lmms_aes_tasks.outputs import reason_of

    if isinstance(error, BrokenPipeError):
        streams.leave_quietly(0)
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, (str, bytes))]
    if not names:  # what writes a file of ours names it (outputs.py)
        _end(f"standard output cannot be written ({reason_of(error)}). Write it elsewhere.")
    _end(
        f"{' and '.join(names)}: {reason_of(error)}. "
        "Name another file or folder, or see to its permissions and its disk."
    )
