"""`lmms-aes data`: bring data in, and check it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_aes_tasks import registry
from lmms_aes_tasks.outputs import writing
from lmms_aes_tasks.records import Import, SourceError, import_file
from lmms_aes_tasks.sources import CACHE_ENV, DATA_ENV, SourceCard, card_names, data_root, read_card, schema_of

if TYPE_CHECKING:
    from lmms_aes_tasks.board.checks import DataReport

app = typer.Typer(help="Bring a benchmark's data in, and check it.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(help="Benchmark, or the demo of one; `lmms-aes data list` names them.")]


def _print_mapping(report: Import) -> None:
    from lmms_aes_tasks.cli.tables import console, table

    rows = [(own, canonical) for canonical, own in report.mapping.items()]
    rows += [(name, "not used") for name in report.unused]
    console().print(table("Fields", ["in the file", "taken as"], rows, numbers_from=2))


def _print_remarks(report: Import) -> None:
    for line in report.remark_lines():
        typer.echo(f"note: {line}")


def _refuse_foreign(target: Path) -> None:
    """Make sure that a file which is replaced is one that the importer wrote, and not somebody's records.

    Raises:
        SourceError: It is another one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not target.is_file():
        return
    try:
        metadata = pq.read_schema(target).metadata or {}
    except (pa.ArrowException, OSError):
        metadata = {}
    if not any(key.startswith(b"lmms_aes_tasks.") for key in metadata):
        raise SourceError(
            f"{target} is there already, and no import wrote it. Move it out of the way, or name another folder with "
            "--to."
        )


@app.command("import")
def import_data(
    name: _Name,
    source: Annotated[
        Path,
        typer.Argument(help="Folder with one JSON, JSONL, CSV, TSV or Parquet file and the images, or the file."),
    ],
    to: Annotated[Path | None, typer.Option(help=f"Folder to write to; ${DATA_ENV}/NAME when not given.")] = None,
) -> None:
    """Check records and images, and write them as one canonical Parquet file.

    Every problem is listed at once, and nothing is written until there is none.
    """
    card = read_card(name)
    if card.generator:
        raise SourceError(f"{name} is generated and takes no import: run `lmms-aes data check {name}`")
    if not registry.benchmark(name).importable:
        raise SourceError(
            f"{name} is used as it was downloaded: lay it out below ${DATA_ENV}/{name}, and run data check"
        )
    root = data_root()
    folder = to or (root / name if root else None)
    if folder is None:
        raise SourceError(f"where to? Set {DATA_ENV} to a folder for all benchmarks' data, or give --to FOLDER")
    target = folder / f"{name}.parquet"
    _refuse_foreign(target)
    with writing(target):
        report = import_file(source, target, schema_of(card), progress=True)
    _print_mapping(report)
    _print_remarks(report)
    typer.echo(f"{target}: {report.records} records, {report.images} images")


@app.command("check")
def check(
    name: _Name,
    data: Annotated[
        Path | None, typer.Option(help=f"Folder or file of records; ${DATA_ENV}/NAME when not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Check every record and image, and print the counts beside the published ones."""
    card = read_card(name)
    report = registry.benchmark_of(card).check_data(card, data, progress=not as_json)
    if as_json:
        place = "file" if report.place.is_file() else "folder"
        content: dict[str, Any] = {"name": name, place: str(report.place), "counts": dict(report.counts)}
        typer.echo(json.dumps(content | {"expected": dict(card.expected)} | dict(report.details)))
    else:
        _print_report(card, report)
    if report.problems:
        raise SourceError("\n".join(report.problems))


def _print_report(card: SourceCard, report: DataReport) -> None:
    from lmms_aes_tasks.cli.tables import console, table

    if report.fields is not None:
        _print_mapping(report.fields)
    listed = [(key, _number(value), _number(card.expected.get(key))) for key, value in report.counts.items()]
    known = "made" if card.generator else "published"
    out = console()
    out.print(table(f"{card.title}: {report.place}", ["count", "here", known], listed))
    for title, (columns, rows) in report.tables.items():
        out.print(table(title, list(columns), list(rows)))
    for remark in report.remarks:
        typer.echo(f"note: {remark}")
    typer.echo(f"licence: {card.licence}")
    if any(here != published for key, here, published in listed if key in card.expected):
        typer.echo("The counts differ from the published ones: scores are not comparable with the paper's.")


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) and not value.is_integer() else str(int(value))


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="wordnet, the only one.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Folder of WordNet's database files; Debian's is found without it."),
    ] = None,
    to: Annotated[Path | None, typer.Option(help="Folder of NLTK data to put it into; our cache's otherwise.")] = None,
) -> None:
    """Get the WordNet that METEOR needs: from database files at hand, else from NLTK's server."""
    from lmms_aes_tasks.sources import nltk_folder
    from lmms_aes_tasks.utils.wordnet import (
        DEBIAN_FOLDER,
        WordNetError,
        build_corpus,
        find_wordnet,
        has_database,
        load_wordnet,
    )

    if name != "wordnet":
        raise SourceError(f"nothing to fetch under the name {name!r}: use wordnet; data is brought in by data import")
    folder = to or nltk_folder()
    with writing(folder, f"Name another folder with --to, or set {CACHE_ENV}."):
        if source is not None or (find_wordnet(folder) is None and has_database(DEBIAN_FOLDER)):
            build_corpus(source or DEBIAN_FOLDER, folder)
        elif find_wordnet(folder) is None:
            import nltk

            if not nltk.download("wordnet", download_dir=str(folder), quiet=True):
                raise WordNetError(
                    "WordNet could not be downloaded from NLTK's server. On Debian or Ubuntu: `apt-get install "
                    "wordnet-base wordnet-sense-index`, and run this again; or give its database's folder with --from."
                )
    found = load_wordnet(folder)
    typer.echo(f"WordNet {found.version}: {find_wordnet(folder)}")


@app.command("list")
def list_data() -> None:
    """Print the benchmarks' names, one a line."""
    for name in card_names():
        typer.echo(name)
