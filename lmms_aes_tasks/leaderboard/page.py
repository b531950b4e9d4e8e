"""The board as a static site: HTML files, one style sheet, one script, no network.

Everything that a submitter can write (names, prompts, findings) is text to the templates, which escape it; the site's
content policy would refuse a script or a style in it even so.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_aes_tasks import __version__
from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import Board, BoardRow, Status
from lmms_aes_tasks.leaderboard.page_tables import (
    Cell,
    Column,
    FamilyView,
    benchmarks_of,
    cell_of,
    columns_of,
    entry_path,
    families_of,
    family_view,
    group_order,
)
from lmms_aes_tasks.leaderboard.page_text import (
    BENCHMARKS,
    STATUS_TEXT,
    Benchmark,
    breakdown_label,
    metric_label,
    number,
    shown,
    split_name,
)
from lmms_aes_tasks.utils.errors import bulleted

TITLE = "Visual aesthetics leaderboard"
MARKER = ".lmms-aes-page.json"
"""File that says a folder is a site of ours, and which files are."""
SUBMISSIONS = "leaderboard/submissions"

_TEMPLATES = Path(__file__).parent / "page_templates"
_ASSETS = ("page.css", "page.js")
_TOP = 3
"""Rows of each class in a benchmark's card."""


# -- Entries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricView:
    """A figure of an entry's page."""

    column: Column
    cell: Cell
    n: str


@dataclass(frozen=True)
class GroupTable:
    """A breakdown of an entry's page: a row a group, a column a metric."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class FindingView:
    """What a verification found, as it is shown."""

    kind: str
    where: str
    message: str


@dataclass(frozen=True)
class TaskView:
    """One task of an entry's page."""

    task: str
    benchmark: str
    href: str
    status: Status
    status_text: str
    status_meaning: str
    version: str
    prompt: str
    decoding: str
    n: str
    parsed: str
    signature: str
    superseded: bool
    metrics: tuple[MetricView, ...]
    breakdowns: tuple[GroupTable, ...]
    findings: tuple[FindingView, ...]


@dataclass(frozen=True)
class EntryView:
    """An entry's page."""

    model: str
    organisation: str
    name: str
    entry: str
    href: str
    status: Status
    status_text: str
    status_meaning: str
    evaluator: str
    date: str
    revision: str
    backend: str
    verify: str
    rerun: str
    tasks: tuple[TaskView, ...]


def _group_tables(row: BoardRow) -> tuple[GroupTable, ...]:
    tables = []
    for name, groups in row.breakdowns.items():
        columns = columns_of(groups.values())
        rows = tuple(
            (shown(group), tuple(cell_of(groups[group], column.metric) for column in columns))
            for group in group_order(groups)
        )
        tables.append(GroupTable(breakdown_label(name), columns, rows))
    return tuple(tables)


def _task_view(row: BoardRow, benchmark: Benchmark) -> TaskView:
    text, meaning = STATUS_TEXT[row.status]
    columns = columns_of([row.metrics])
    return TaskView(
        task=row.task,
        benchmark=benchmark.title,
        href=_benchmark_file(benchmark),
        status=row.status,
        status_text=text,
        status_meaning=meaning,
        version=shown(row.version or ""),
        prompt=shown(row.prompt or ""),
        decoding=shown(row.decoding or ""),
        n="" if row.n is None else f"{row.n:,}",
        parsed="" if row.parse_rate is None else number(row.parse_rate, "fraction"),
        signature=shown(row.signature or ""),
        superseded=row.superseded,
        metrics=tuple(
            MetricView(column, cell_of(row.metrics, column.metric), f"{row.metrics[column.metric].n:,}")
            for column in columns
        ),
        breakdowns=_group_tables(row),
        findings=tuple(FindingView(f.kind, shown(f.where), shown(f.message)) for f in row.findings),
    )


def commands(entry: str, rows: Sequence[BoardRow]) -> tuple[str, str]:
    """The commands that verify an entry and run its model again, quoted for a POSIX shell."""
    first = rows[0]
    arguments = f"pretrained={first.model}" + (f",revision={first.revision}" if first.revision else "")
    rerun = [
        *("lmms-eval", "--model", first.backend or "BACKEND", "--model_args", arguments),
        *("--tasks", ",".join(row.task for row in rows), "--log_samples", "--output_path", "runs"),
    ]
    verify = ["lmms-aes", "leaderboard", "verify", f"{SUBMISSIONS}/{entry}"]
    return shlex.join(map(shown, verify)), shlex.join(map(shown, rerun))


def _weakest(rows: Iterable[BoardRow]) -> Status:
    """An entry is recomputed when every task of it is."""
    return "self-reported" if any(row.status == "self-reported" for row in rows) else "recomputed"


def entries_of(board: Board) -> list[EntryView]:
    """Every entry of the board, in its order."""
    named = {benchmark.name: benchmark for benchmark, _ in benchmarks_of(board)}
    grouped: dict[str, list[BoardRow]] = {}
    for row in board.rows:
        if row.entry is not None:
            grouped.setdefault(row.entry, []).append(row)
    views = []
    for entry, rows in grouped.items():
        rows.sort(key=lambda row: (list(named).index(row.benchmark), row.task))
        first, status = rows[0], _weakest(rows)
        verify, rerun = commands(entry, rows)
        organisation, name = split_name(shown(first.model))
        views.append(
            EntryView(
                model=shown(first.model),
                organisation=organisation,
                name=name,
                entry=shown(entry),
                href=entry_path(first) or "",
                status=status,
                status_text=STATUS_TEXT[status][0],
                status_meaning=STATUS_TEXT[status][1],
                evaluator=shown(first.evaluator or ""),
                date=shown(first.date or ""),
                revision=shown(first.revision or ""),
                backend=shown(first.backend or ""),
                verify=verify,
                rerun=rerun,
                tasks=tuple(_task_view(row, named[row.benchmark]) for row in rows),
            )
        )
    return views


# -- Pages -------------------------------------------------------------------------------------------------------------


def _benchmark_file(benchmark: Benchmark) -> str:
    known = benchmark in BENCHMARKS
    return f"{benchmark.name}.html" if known else f"benchmark-{benchmark.name}.html"  # none can be called index


def _filters(families: Sequence[FamilyView]) -> list[dict[str, Any]]:
    rows = [row for view in families for section in view.sections for row in section.rows]
    names = {
        "status": "Status",
        "group": "Group",
        "variant": "Variant",
        "prompt": "Prompt",
        "decoding": "Decoding",
    }
    empty = {"group": "no group (runs)", "variant": "main", "prompt": "not said", "decoding": "not said"}
    filters = []
    for name, label in names.items():
        values = sorted({getattr(row, name) for row in rows}, key=lambda value: (value == "", value))
        if len(values) > 1:
            choices = [(value, value or empty.get(name, "none")) for value in values]
            filters.append({"name": name, "label": label, "choices": choices})
    return filters


def _card(benchmark: Benchmark, families: Sequence[FamilyView], n: int) -> dict[str, Any]:
    """A benchmark on the index: the first rows of its first table, runs and papers apart."""
    first = families[0]
    place = next((i for i, column in enumerate(first.columns) if column.metric == first.family.primary), None)
    tops = []
    for section in first.sections:
        rows = [
            (row, row.cells[place])
            for row in section.rows
            if place is not None and row.cells[place].value is not None and not row.superseded and not row.partial
        ][:_TOP]
        views = [
            {
                "organisation": row.organisation,
                "name": row.name,
                "href": row.href,
                "status": row.status,
                "status_text": row.status_text,
                "status_meaning": row.status_meaning,
                "variant": row.variant,
                "text": cell.text,
                "width": round(100 * min(1.0, max(0.0, cell.value or 0.0)), 2),
            }
            for row, cell in rows
        ]
        if views:
            tops.append({"title": "Papers" if rows[0][0].status == "published" else "Runs", "rows": views})
    metric = "" if place is None else f"{metric_label(first.family.primary)} {first.columns[place].unit}".strip()
    return {
        "title": benchmark.title,
        "summary": benchmark.summary,
        "href": _benchmark_file(benchmark),
        "metric": metric,
        "tops": tops,
        "n": n,
    }


def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,  # whatever a template is called
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def site_files(board: Board, title: str = TITLE) -> dict[str, str]:
    """Every file of the site by its path below the site's root; the same board gives the same files."""
    from lmms_aes_tasks.leaderboard.page_plots import cross_plot, plots_of

    environment = _environment()
    benchmarks = benchmarks_of(board)
    entries = entries_of(board)
    files = {name: (_TEMPLATES / name).read_text(encoding="utf-8") for name in _ASSETS}
    site = {
        "title": shown(title) or TITLE,
        "version": __version__,
        "plugin": shown(board.plugin),
        "digest": hashlib.sha256(board.model_dump_json().encode()).hexdigest()[:12],
        "benchmarks": [{"title": b.title, "href": _benchmark_file(b)} for b, _ in benchmarks],
        "statuses": list(STATUS_TEXT.items()),
        "n_rows": len(board.rows),
        "n_entries": len(entries),
        "n_runs": sum(row.status != "published" for row in board.rows),
        "n_published": sum(row.status == "published" for row in board.rows),
    }
    environment.globals["site"] = site  # macros see it, too

    def render(template: str, path: str, **content: Any) -> None:
        root = "../" * path.count("/")
        files[path] = environment.get_template(template).render(root=root, here=path, **content)

    cards = []
    for benchmark, rows in benchmarks:
        families = [family_view(family, own) for family, own in families_of(benchmark, rows)]
        cards.append(_card(benchmark, families, len(rows)))
        render(
            "benchmark.html.j2",
            _benchmark_file(benchmark),
            benchmark=benchmark,
            families=families,
            filters=_filters(families),
            plots={view.id: plots_of(benchmark.name, view.rows, view.family) for view in families},
            superseded=sum(row.superseded for row in rows),
        )
    for entry in entries:
        render("entry.html.j2", entry.href, entry=entry)
    render("index.html.j2", "index.html", cards=cards, entries=entries, cross=cross_plot(board.rows))
    return files


# -- Writing -----------------------------------------------------------------------------------------------------------


def _own_files(folder: Path) -> set[str]:
    try:
        content = json.loads((folder / MARKER).read_bytes())
        return {str(name) for name in content["files"]} | {MARKER}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def check_folder(folder: Path) -> None:
    """Make sure that a folder can be replaced: it is not there, empty, or a site of ours and nothing else.

    Raises:
        LeaderboardError: It is something else.
    """
    if folder.exists() and not folder.is_dir():
        raise LeaderboardError(f"{folder} is a file. Name a folder for the site.")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    own = _own_files(folder)
    if not own:
        raise LeaderboardError(
            f"{folder} holds files and no {MARKER}, so it is no site of ours and stays as it is. Name another folder."
        )
    there = (path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    foreign = sorted(name for path in there if (name := path.relative_to(folder).as_posix()) not in own)
    if foreign:
        raise LeaderboardError(
            f"{folder} holds {len(foreign)} file(s) besides the site, which replacing it would delete. "
            f"Move them, or name another folder.\n{bulleted(foreign)}"
        )


def _replace(new: Path, folder: Path) -> None:
    """Put a whole folder in another's place; the old one comes back if that fails."""
    if not folder.exists():
        new.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".old", dir=folder.parent))
    folder.rename(old)  # onto the empty folder
    try:
        new.rename(folder)
    except BaseException:
        old.rename(folder)
        raise
    shutil.rmtree(old)


def write_site(board: Board, folder: Path, title: str = TITLE) -> list[str]:
    """Write the site, all of it or nothing.

    Args:
        board: What is shown.
        folder: The site's root; an older site of ours there is replaced.
        title: The site's name.

    Returns:
        The files written, relative to the folder.

    Raises:
        LeaderboardError: The folder is in use for something else.
    """
    check_folder(folder.resolve())  # before the work
    return write_files(site_files(board, title), folder)


def write_files(files: Mapping[str, str], folder: Path) -> list[str]:
    """Write a site's files, all of them or none, and the marker that says they are ours; else as `write_site`."""
    folder = folder.resolve()
    check_folder(folder)
    marker = json.dumps({"site": "lmms-aes-tasks", "files": sorted(files)}, indent=1) + "\n"
    files = {**files, MARKER: marker}
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        for name, text in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        new.chmod(0o755)
        _replace(new, folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return sorted(files)
