"""`lmms-aes data`: bring data in, and check it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_aes_tasks.outputs import writing
from lmms_aes_tasks.records import Import, SourceError, check_records, import_file
from lmms_aes_tasks.sources import CACHE_ENV, DATA_ENV, card_names, data_root, locate, read_card, schema_of

app = typer.Typer(help="Bring a benchmark's data in, and check it.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(help="Benchmark, for example contextcanvas or contextcanvas_demo.")]


def _print_mapping(report: Import) -> None:
    from lmms_aes_tasks.cli.tables import console, table

    rows = [(own, canonical) for canonical, own in report.mapping.items()]
    rows += [(name, "not used") for name in report.unused]
    console().print(table("Fields", ["in the file", "taken as"], rows, numbers_from=2))


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
        Path, typer.Argument(help="Folder with one JSON, JSONL or Parquet file and the images, or the file.")
    ],
    to: Annotated[Path | None, typer.Option(help=f"Folder to write to; ${DATA_ENV}/NAME when not given.")] = None,
) -> None:
    """Check records and images, and write them as one canonical Parquet file.

    Every problem is listed at once, and nothing is written until there is none.
    """
    card = read_card(name)
    if card.generator:
        raise SourceError(f"{name} is generated and takes no import: run `lmms-aes data check {name}`")
    if name == "fineartbench":
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
    if name == "fineartbench":
        from lmms_aes_tasks.cli.fineartbench import check_files

        check_files(card, data, as_json)
        return
    path = locate(card, data)
    report, rows = check_records(path, schema_of(card), progress=not as_json)
    report.raise_problems(str(path))
    counts: dict[str, float | None] = importlib.import_module(card.module).count_cases(rows)
    if as_json:
        content: dict[str, Any] = {"name": name, "file": str(path), "counts": counts, "expected": dict(card.expected)}
        typer.echo(json.dumps(content))
        return
    from lmms_aes_tasks.cli.tables import console, table

    _print_mapping(report)
    listed = [(key, _number(value), _number(card.expected.get(key))) for key, value in counts.items()]
    known = "made" if card.generator else "published"
    console().print(table(f"{card.title}: {path}", ["count", "here", known], listed))
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
