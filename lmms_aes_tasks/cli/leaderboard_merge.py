"""`lmms-aes leaderboard merge`, `compare`, `export`, `changed` and `review`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lmms_aes_tasks.leaderboard.compare import Comparison, Difference
    from lmms_aes_tasks.leaderboard.export_forms import Export, Source


def merge(
    submissions: Annotated[Path, typer.Argument(help="Folder with <org>__<model>/<revision>/<run>/.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The board to write.")] = Path("board.json"),
    published: Annotated[bool, typer.Option(help="Add the papers' own rows.")] = True,
) -> None:
    """Gather every entry of a folder into a board, the papers' own rows after them.

    The same folder gives the same file. If anything is not sound, every problem is listed and nothing is written.
    """
    from lmms_aes_tasks.leaderboard.merge import merge_submissions, write_board
    from lmms_aes_tasks.leaderboard.published_rows import published_rows

    board = merge_submissions(submissions, published_rows() if published else ())
    write_board(board, output)
    entries = [row for row in board.rows if row.entry is not None]
    typer.echo(
        f"{output}: {len(entries)} row(s) of {len({row.entry for row in entries})} entries, "
        f"{sum(row.status == 'recomputed' for row in entries)} recomputed, "
        f"{sum(row.superseded for row in entries)} superseded; {len(board.rows) - len(entries)} published"
    )
    for row in entries:
        for finding in row.findings:
            if finding.kind == "flag":
                typer.echo(f"flag: {row.key}: {_safe(finding.message)}", err=True)


def _safe(text: str) -> str:
    """A stranger's text without control characters."""
    from lmms_aes_tasks.board.text import printable

    return printable(text)


def _number(value: float | None, one: Difference) -> str:
    from lmms_aes_tasks.cli.tables import percent

    if value is None:
        return "–"
    return percent(value) if one.unit == "fraction" else f"{value:.2f}"


def _cells(one: Difference) -> tuple[str, ...]:
    interval = "–" if one.low is None else f"[{_number(one.low, one)}, {_number(one.high, one)}]"
    tested = one.p is not None
    return (
        one.metric,
        "all" if one.group is None else f"{one.breakdown} {_safe(one.group)}",
        str(one.n),
        *(_number(value, one) for value in (one.first, one.second, one.difference)),
        interval,
        f"{one.only_first}/{one.only_second}" if tested else "",
        f"{one.p:.4f}" if tested else "",
        f"{one.p_bonferroni:.4f}" if tested else "",
    )


def _print_comparison(comparison: Comparison) -> None:
    from lmms_aes_tasks.cli.tables import console, table

    out = console()
    typer.echo(f"first:  {comparison.first}\nsecond: {comparison.second}")
    heads = ["", "over", "n", "first", "second", "second − first", "95% interval", "only first/second", "McNemar p"]
    for task in dict.fromkeys(one.task for one in comparison.differences):
        rows = [_cells(one) for one in comparison.differences if one.task == task]
        out.print(table(f"{task} (shares in %)", [*heads, "p, Bonferroni"], rows, numbers_from=2))
        for what in comparison.stated.get(task, []):
            typer.echo(f"differs: {_safe(what)}")
        for what in comparison.left_out.get(task, []):
            typer.echo(f"left out: {what}")
    for task, why in comparison.not_comparable.items():
        typer.echo(f"not comparable: {task}: {_safe(why)}")
    typer.echo(
        f"{comparison.tests} McNemar test(s), by which each p is multiplied (Bonferroni). Intervals: percentile "
        f"bootstrap over items, {comparison.resamples} resamples, seed {comparison.seed}, not adjusted."
    )


def compare(
    first: Annotated[Path, typer.Argument(help="Folder of an entry.")],
    second: Annotated[Path, typer.Argument(help="Folder of another; differences are second minus first.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    resamples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """Print paired differences of two entries, by task and breakdown, with intervals and exact McNemar tests.

    Tasks are compared when version, data and answered ids agree; other prompts, decodings or parsers are stated.
    """
    from lmms_aes_tasks.leaderboard.compare import compare_entries

    comparison = compare_entries(first, second, resamples, seed)
    if as_json:
        typer.echo(json.dumps(comparison.as_json(), allow_nan=False))
    else:
        _print_comparison(comparison)


def _source(path: Path, datasets: dict[str, str], source_url: str | None) -> Source:
    """What a path names: a board, an entry's folder, or its entry.json."""
    from lmms_aes_tasks.board.schema import ENTRY_FILE
    from lmms_aes_tasks.leaderboard.export_forms import Source
    from lmms_aes_tasks.leaderboard.reading import named, read_board, read_entry
    from lmms_aes_tasks.leaderboard.submissions import entry_path, find_entry, rows_of

    if not path.is_dir() and path.name != ENTRY_FILE:
        return Source(read_board(path).rows, {}, datasets, source_url)
    folder = (path if path.is_dir() else path.parent).resolve()
    with named(path):
        place = entry_path(read_entry(folder)[0], folder.name)
    found = find_entry(folder, place)
    return Source(rows_of(found), {place: found.entry}, datasets, source_url)


def _datasets(given: list[str]) -> dict[str, str]:
    from lmms_aes_tasks import registry
    from lmms_aes_tasks.board.errors import LeaderboardError

    found = {}
    for text in given:
        benchmark, _, dataset = text.partition("=")
        if benchmark not in registry.names() or dataset.count("/") != 1:
            raise LeaderboardError(
                f"--dataset is {text!r}: give BENCHMARK=ORG/NAME, with one of {', '.join(registry.names())}"
            )
        found[benchmark] = dataset
    return found


def _write(export: Export, output: Path) -> list[Path]:
    """One file, or a folder of several."""
    from lmms_aes_tasks.outputs import atomic_path

    documents = export.documents
    single = len(documents) == 1 and not output.is_dir()
    targets = [output] if single else [output / document.name for document in documents]
    for target, document in zip(targets, documents, strict=True):
        with atomic_path(target) as temporary:
            temporary.write_bytes(document.text.encode("utf-8"))
    return targets


def export(
    board_or_entry: Annotated[Path, typer.Argument(help="A board.json, or an entry's folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; a folder when there are several.")],
    form: Annotated[str, typer.Option("--format", help="hf-eval-results, model-index, eee, csv or latex.")],
    dataset: Annotated[
        list[str] | None, typer.Option(help="BENCHMARK=ORG/NAME: its data set on the Hub (repeat for several).")
    ] = None,
    source_url: Annotated[str | None, typer.Option(help="A page to name as the source.")] = None,
) -> None:
    """Write a board or an entry for others: Hugging Face, Every Eval Ever, CSV, LaTeX.

    hf-eval-results: `.eval_results/*.yaml` for a model's repository. model-index: metadata for its card. eee: Every
    Eval Ever. Where a format has one file a model or a run, several make a folder.
    """
    from lmms_aes_tasks.board.errors import LeaderboardError
    from lmms_aes_tasks.leaderboard.exports import FORMATS
    from lmms_aes_tasks.outputs import refuse_input

    if form not in FORMATS:
        raise LeaderboardError(f"--format is {form!r}: use one of {', '.join(FORMATS)}")
    refuse_input(output, board_or_entry)
    made = FORMATS[form](_source(board_or_entry, _datasets(dataset or []), source_url))
    for target in _write(made, output):
        typer.echo(f"wrote {target}")
    for note in made.notes:
        typer.echo(f"left out: {_safe(note)}", err=True)


def _paths_of(file: Path) -> list[str]:
    """Paths of a file, ended by NUL as `git diff -z` writes them, or one a line."""
    from lmms_aes_tasks.leaderboard.safe_reading import MAX_JSON_BYTES, read_named

    text = read_named(file, MAX_JSON_BYTES, "Name the file that `git diff` wrote.").decode("utf-8", "backslashreplace")
    return [path for path in text.split("\0" if "\0" in text else "\n") if path]


def changed(
    paths: Annotated[
        Path, typer.Argument(help="File with the changed paths, as `git diff --name-only -z` gives them.")
    ],
    head: Annotated[Path | None, typer.Option(help="The submissions as they would become.")] = None,
) -> None:
    """Print the folders of the entries that a pull request changes, one a line.

    A path that does not belong below the submissions is an error.
    """
    from lmms_aes_tasks.leaderboard.review import changed_entries

    for folder in changed_entries(_paths_of(paths), head).entries:
        typer.echo(folder)


def review(
    base: Annotated[Path, typer.Argument(help="The submissions as they are.")],
    head: Annotated[Path, typer.Argument(help="The submissions as they would become.")],
    paths: Annotated[
        Path, typer.Argument(help="File with the changed paths, as `git diff --name-only -z` gives them.")
    ],
    resamples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Bootstrap resamples.")] = 2_000,
) -> None:
    """Print Markdown that sets each changed entry beside the best one of each of its tasks."""
    from lmms_aes_tasks.board.errors import LeaderboardError
    from lmms_aes_tasks.leaderboard.review import changed_entries
    from lmms_aes_tasks.leaderboard.review import review as written

    if not head.is_dir():
        raise LeaderboardError(f"{head} is not a folder. Name the submissions as they would become.")
    typer.echo(written(base, head, changed_entries(_paths_of(paths), head), resamples), nl=False)


COMMANDS: dict[str, Any] = {
    "merge": merge,
    "compare": compare,
    "export": export,
    "changed": changed,
    "review": review,
}
"""The sub-commands of this file, for `lmms-aes leaderboard`."""
