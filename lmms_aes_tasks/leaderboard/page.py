"""The board as a static site: HTML files, one style sheet, one script, no network.

Everything that a submitter can write (names, prompts, findings) is text to the templates, which escape it; the site's
content policy would refuse a script or a style in it even so.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_aes_tasks import __version__, registry
from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.plots import Plot
from lmms_aes_tasks.board.schema import Board
from lmms_aes_tasks.board.text import shown
from lmms_aes_tasks.leaderboard.page_entries import entries_of
from lmms_aes_tasks.leaderboard.page_tables import FamilyView, RowView, benchmarks_of, families_of, family_view
from lmms_aes_tasks.leaderboard.page_text import STATUS_TEXT, Words, benchmark_file
from lmms_aes_tasks.utils.errors import bulleted

TITLE = "Visual aesthetics leaderboard"
MARKER = ".lmms-aes-page.json"
"""File that says a folder is a site of ours, and which files are."""

_TEMPLATES = Path(__file__).parent / "page_templates"
_ASSETS = ("page.css", "page.js")
_TOP = 3
"""Rows of each class in a benchmark's card."""


# -- Pages -------------------------------------------------------------------------------------------------------------


def _filters(families: Sequence[FamilyView]) -> list[dict[str, Any]]:
    """Menus of what tells rows apart; a text is offered as it is shown, for that is what the script compares."""
    views = [view for family in families for section in family.sections for view in section.rows]
    menus: dict[str, tuple[str, str, Callable[[RowView], str | None]]] = {
        "status": ("Status", "none", lambda view: view.row.status),
        "group": ("Group", "no group (runs)", lambda view: view.row.group),
        "variant": ("Variant", "main", lambda view: view.variant),
        "prompt": ("Prompt", "not said", lambda view: view.row.prompt),
        "decoding": ("Decoding", "not said", lambda view: view.row.decoding),
    }
    filters = []
    for name, (label, empty, text_of) in menus.items():
        values = sorted({shown(text_of(view) or "") for view in views}, key=lambda value: (value == "", value))
        if len(values) > 1:
            filters.append({"name": name, "label": label, "choices": [(value, value or empty) for value in values]})
    return filters


def _card(benchmark: Words, families: Sequence[FamilyView], n: int) -> dict[str, Any]:
    """A benchmark on the index: the first rows of its first table, runs and papers apart, by what sorts them."""
    first = families[0]
    tops = []
    for section in first.sections:
        place = next((i for i, column in enumerate(first.columns) if column.metric == section.metric), None)
        rows = [
            (row, row.cells[place])
            for row in section.rows
            if place is not None and row.cells[place].value is not None and not row.row.superseded and not row.partial
        ][:_TOP]
        views = [
            {
                "organisation": row.organisation,
                "name": row.name,
                "href": row.href,
                "status": row.row.status,
                "status_text": row.status_text,
                "status_meaning": row.status_meaning,
                "variant": row.variant,
                "text": cell.text,
                "width": round(100 * min(1.0, max(0.0, cell.value or 0.0)), 2),
            }
            for row, cell in rows
        ]
        if views and place is not None:
            title = "Papers" if rows[0][0].row.status == "published" else "Runs"
            metric = f"{benchmark.metric_label(section.metric)} {first.columns[place].unit}".strip()
            tops.append({"title": title, "metric": metric, "rows": views})
    return {
        "title": benchmark.title,
        "summary": benchmark.summary,
        "href": benchmark_file(benchmark),
        "tops": tops,
        "n": n,
    }


def _plots(benchmark: Words, view: FamilyView) -> list[Plot]:
    return registry.benchmark(benchmark.name).plots(view.rows, view.family) if benchmark.known else []


def _finalized(value: Any) -> Any:
    """What a template writes: no text of a stranger's reaches a page but as `shown`; what is escaped already stays."""
    from markupsafe import Markup

    if value is None:
        return ""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,  # whatever a template is called
        finalize=_finalized,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def site_files(board: Board, title: str = TITLE) -> dict[str, str]:
    """Every file of the site by its path below the site's root; the same board gives the same files."""
    environment = _environment()
    benchmarks = benchmarks_of(board)
    entries = entries_of(board)
    files = {name: (_TEMPLATES / name).read_text(encoding="utf-8") for name in _ASSETS}
    site = {
        "title": title if shown(title) else TITLE,
        "version": __version__,
        "plugin": board.plugin,
        "digest": hashlib.sha256(board.model_dump_json().encode()).hexdigest()[:12],
        "benchmarks": [{"title": b.title, "href": benchmark_file(b)} for b, _ in benchmarks],
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
        families = [family_view(family, members, benchmark) for family, members in families_of(benchmark, rows)]
        cards.append(_card(benchmark, families, len(rows)))
        render(
            "benchmark.html.j2",
            benchmark_file(benchmark),
            benchmark=benchmark,
            families=families,
            filters=_filters(families),
            plots={view.id: _plots(benchmark, view) for view in families},
            superseded=sum(row.superseded for row in rows),
        )
    for entry in entries:
        render("entry.html.j2", entry.href, entry=entry)
    crossing = [plot for known in registry.benchmarks() for plot in known.board_plots(board.rows)]
    render("index.html.j2", "index.html", cards=cards, entries=entries, crossing=crossing)
    return files


# -- Writing -----------------------------------------------------------------------------------------------------------


def _own_files(folder: Path) -> set[str]:
    try:
        content = json.loads((folder / MARKER).read_bytes())
        return {str(name) for name in content["files"]} | {MARKER}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def check_site_folder(folder: Path) -> None:
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
    check_site_folder(folder.resolve())  # before the work
    return write_files(site_files(board, title), folder)


def write_files(files: Mapping[str, str], folder: Path) -> list[str]:
    """Write a site's files, all of them or none, and the marker that says they are ours; else as `write_site`."""
    folder = folder.resolve()
    check_site_folder(folder)
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
