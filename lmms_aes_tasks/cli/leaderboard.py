"""`lmms-aes leaderboard`: entries built from runs, verified, gathered into a board, compared, exported and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_aes_tasks.cli import leaderboard_merge, leaderboard_page
from lmms_aes_tasks.sources import DATA_ENV

if TYPE_CHECKING:
    from lmms_aes_tasks.board.schema import Entry, Verification

app = typer.Typer(
    help="Turn runs into entries that anyone can recompute, and entries into a board, exports and a page.",
    no_args_is_help=True,
)

_DATA = typer.Option(
    exists=True, file_okay=False, help=f"Folder with one folder a benchmark; ${DATA_ENV} when not given."
)


@app.command("build")
def build(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR…", help="Output folders of lmms-eval, or results files in them.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="ENTRY_DIR", help="Folder of the entry to write.")],
    model_id: Annotated[str, typer.Option(metavar="ORG/NAME", help="The model, as on the Hugging Face Hub.")],
    revision: Annotated[str | None, typer.Option(help="Commit of the weights, or version of an API.")] = None,
    evaluator: Annotated[str | None, typer.Option(help="Who ran it; anonymous when not given.")] = None,
    data: Annotated[Path | None, _DATA] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only this task; repeat for several.")] = None,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Take a run with --limit, which no verifier will accept.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an entry that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the entry to standard output, too.")] = False,
) -> None:
    """Write an entry: entry.json and the responses, scored anew, with nothing local in them."""
    from lmms_aes_tasks.leaderboard.build import EntryRequest
    from lmms_aes_tasks.leaderboard.build import build as build_entry
    from lmms_aes_tasks.outputs import writing
    from lmms_aes_tasks.sources import data_root

    wanted = EntryRequest(model_id, revision, evaluator, data or data_root(), tuple(task or ()), allow_incomplete)
    with writing(out):
        entry = build_entry(runs, out, wanted, force)
    if as_json:
        typer.echo(json.dumps(entry.model_dump(mode="json"), allow_nan=False))
    else:
        _print_entry(entry, out)


def _print_entry(entry: Entry, folder: Path) -> None:
    from lmms_aes_tasks.cli.tables import console, table

    rows = []
    for name, result in entry.tasks.items():
        expected = "?" if result.n_expected is None else str(result.n_expected)
        data = "–" if result.data_sha256 is None else result.data_sha256[:8]
        rows.append((name, f"{result.n} of {expected}", data, str(len(result.metrics)), str(result.file.bytes)))
    console().print(table(f"{entry.model.id}: {folder}", ["task", "items", "data", "metrics", "bytes"], rows))
    typer.echo(f"status {entry.status}. Check it with `lmms-aes leaderboard verify {folder}`")


@app.command("verify")
def verify(
    entry: Annotated[Path, typer.Argument(metavar="ENTRY_DIR", help="The folder of an entry.")],
    data: Annotated[Path | None, _DATA] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to write the verification; verification.json in the entry.")
    ] = None,
    no_write: Annotated[bool, typer.Option("--no-write", help="Write no file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Check an entry's form, files and ids, and compute every score again.

    Exit code 0 when all is equal, 1 when something differs, 2 when it is no sound entry.
    """
    from lmms_aes_tasks.board.errors import EntryError
    from lmms_aes_tasks.board.schema import VERIFICATION_FILE
    from lmms_aes_tasks.leaderboard.verify import verify_entry, write_verification
    from lmms_aes_tasks.sources import data_root

    try:
        found = verify_entry(entry, data or data_root(), data_required=data is not None)
    except EntryError as error:
        if as_json:
            finding = {"kind": "error", "where": "entry", "message": str(error)}
            typer.echo(json.dumps({"status": None, "sound": False, "findings": [finding]}))
        raise
    if not no_write:
        write_verification(found, out or entry / VERIFICATION_FILE)
    if as_json:
        typer.echo(json.dumps(found.model_dump(mode="json"), allow_nan=False))
    else:
        _print_verification(found)
    if found.status is None:
        raise typer.Exit(1)


def _print_verification(found: Verification) -> None:
    from lmms_aes_tasks.cli.tables import console, table

    rows = [
        (name, str(len(equal)), ", ".join(found.not_recomputed.get(name, [])) or "–")
        for name, equal in found.recomputed.items()
    ]
    console().print(table("Verification", ["task", "recomputed", "not recomputed"], rows, numbers_from=3))
    for finding in found.findings:
        typer.echo(f"{finding.kind}: {finding.where}: {finding.message}")
    typer.echo("status recomputed" if found.status else "not verified: see the errors")


@app.command("schema")
def schema(
    form: Annotated[str, typer.Argument(help="entry, verification or board.")] = "entry",
) -> None:
    """Print the JSON Schema (2020-12) of a form."""
    from lmms_aes_tasks.board.errors import LeaderboardError
    from lmms_aes_tasks.board.schema import Board, Entry, Model, Verification, json_schema

    forms: dict[str, type[Model]] = {"entry": Entry, "verification": Verification, "board": Board}
    if form not in forms:
        raise LeaderboardError(f"form is {form!r}: use one of {', '.join(forms)}")
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    typer.echo(json.dumps(dialect | json_schema(forms[form]), indent=2))


for _name, _command in leaderboard_merge.COMMANDS.items():
    app.command(_name)(_command)
app.command("page")(leaderboard_page.page)
