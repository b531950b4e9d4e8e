"""Gathering entries into a board: the path is the identity, and the same folder gives the same bytes."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import (
    Board,
    BoardRow,
    Entry,
    Finding,
    TaskResult,
)
from lmms_aes_tasks.leaderboard.reading import (
    list_folder,
    named,
    raise_problems,
    responses_digest,
    task_rows,
    unnamed_files,
)
from lmms_aes_tasks.leaderboard.submissions import StoredEntry, entry_folders, entry_problems, find_entry, rows_of

SAME_SCORE = 1e-4
"""Two scores of the same responses are the same up to this share: on another machine encoders differ a little."""


# -- Several entries --------------------------------------------------------------------------------------------------


def _content(entry: Entry) -> str:
    return json.dumps(entry.model_dump(mode="json"), sort_keys=True)


def _scores_differ(one: TaskResult, other: TaskResult) -> list[str]:
    """Names of the metrics that both have, with another value."""

    def same(name: str) -> bool:
        first, second = one.metrics[name].value, other.metrics[name].value
        if first is None or second is None:  # an encoder that one of the two did without
            return True
        return math.isclose(first, second, rel_tol=SAME_SCORE, abs_tol=SAME_SCORE / 100)

    return [name for name in sorted(set(one.metrics) & set(other.metrics)) if not same(name)]


def _scored_alike(one: TaskResult, other: TaskResult) -> bool:
    """Whether the same responses must have the same scores: same data, same reading."""
    same_data = None in (one.data_sha256, other.data_sha256) or one.data_sha256 == other.data_sha256
    return same_data and (one.version, one.parser) == (other.version, other.parser)


def _duplicates(entries: Sequence[StoredEntry]) -> list[str]:
    """The same entry twice, and the same responses with other scores."""
    problems = []
    by_content: dict[str, str] = {}
    for found in entries:
        earlier = by_content.setdefault(_content(found.entry), found.path)
        if earlier != found.path:
            problems.append(f"{found.path} holds the same entry as {earlier}; keep one")
    for (task, _), group in sorted(_same_responses(entries).items()):
        for one, two in itertools.combinations(group, 2):
            first, second = one.entry.tasks[task], two.entry.tasks[task]
            differing = _scores_differ(first, second) if _scored_alike(first, second) else []
            if differing:
                shown = "; ".join(
                    f"{name} {first.metrics[name].value!r} and {second.metrics[name].value!r}" for name in differing[:3]
                )
                problems.append(
                    f"{one.path} and {two.path} hold the same responses to {task} with other scores ({shown}); "
                    "verify both, and keep the right one"
                )
    return problems


def _same_responses(entries: Sequence[StoredEntry]) -> dict[tuple[str, str], list[StoredEntry]]:
    """Entries with the same responses to a task, by task and digest; only groups of two and more."""
    groups: dict[tuple[str, str], list[StoredEntry]] = {}
    for found in entries:
        for task, digest in (found.responses or {}).items():
            groups.setdefault((task, digest), []).append(found)
    return {key: group for key, group in groups.items() if len(group) > 1}


def _borrowed(entries: Sequence[StoredEntry]) -> dict[str, list[Finding]]:
    """Flags, by row key, where another model gave the very same responses."""
    flags: dict[str, list[Finding]] = {}
    for (task, _), group in _same_responses(entries).items():
        for found in group:
            others = sorted({one.path for one in group if one.entry.model.id != found.entry.model.id})
            if others:
                message = f"every response is the same as in {', '.join(others[:3])}, which is another model"
                flags.setdefault(f"{found.path}/{task}", []).append(Finding(kind="flag", where=task, message=message))
    return flags


def _identity(found: StoredEntry, task: str) -> str | None:
    """What runs must share for the newer one to stand for both; None when it cannot be told.

    Beside model, revision, task, version, prompt and decoding also the parser, the image settings and the answered ids:
    a run with --limit does not stand for a whole one.
    """
    result = found.entry.tasks[task]
    if any(use.sha256 is None for use in result.prompts):  # another's prompt, of which the text is not known
        return None
    prompts = sorted({(use.id, use.sha256) for use in result.prompts})
    model = found.entry.model
    parts: list[Any] = [model.id, model.revision, task, result.version, result.parser, prompts]
    parts += [result.decoding, result.images, result.ids_sha256]
    return json.dumps(parts, sort_keys=True)


def _superseded(entries: Sequence[StoredEntry], rows: Mapping[str, BoardRow]) -> set[str]:
    """Keys of the rows for which a newer verified run stands; without a verified one, a newer run."""
    groups: dict[str, list[tuple[bool, str, str]]] = {}
    for found in entries:
        for task in found.entry.tasks:
            identity = _identity(found, task)
            key = f"{found.path}/{task}"
            if identity is not None:
                rank = (rows[key].status == "recomputed", found.entry.date, key)
                groups.setdefault(identity, []).append(rank)
    return {key for group in groups.values() for _, _, key in sorted(group)[:-1]}


def _order(row: BoardRow) -> tuple[Any, ...]:
    """By task, then who stands for a row, then the newest first."""
    newest_first = tuple(-int(part) for part in (row.date or "0-0-0").split("-"))
    return row.benchmark, row.task, row.superseded, row.status != "recomputed", newest_first, row.key


def board_of(entries: Sequence[StoredEntry], published: Sequence[BoardRow] = ()) -> Board:
    """The board of entries, in whatever order they come, and the papers' rows after them, in theirs.

    Raises:
        LeaderboardError: Two rows have one key.
    """
    from lmms_aes_tasks import __version__

    ordered = sorted(entries, key=lambda found: found.path)
    rows = {row.key: row for found in ordered for row in rows_of(found)}
    flags = _borrowed(ordered)
    older = _superseded(ordered, rows)
    made = [
        row.model_copy(update={"superseded": key in older, "findings": [*row.findings, *flags.get(key, [])]})
        for key, row in rows.items()
    ]
    every = [*sorted(made, key=_order), *published]
    keys = [row.key for row in every]
    repeated = sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) != len(keys) else []
    raise_problems("board", [f"two rows have the key {key!r}; give each its own" for key in repeated])
    return Board(plugin=__version__, rows=every)


def _looked_at(folder: Path, path: str) -> tuple[StoredEntry, list[str]]:
    """An entry, its responses left out, with everything that is wrong with its folder and its place."""
    files, strange = list_folder(folder)
    found = find_entry(folder, path)
    strange += unnamed_files(files, found.entry)
    return found, [*(f"{path}: {problem}" for problem in strange), *entry_problems(found)]


def _with_digests(folder: Path, found: StoredEntry) -> StoredEntry:
    with named(found.path):
        responses = {task: responses_digest(task_rows(folder, found.entry, task)) for task in found.entry.tasks}
    return replace(found, responses=responses)


def merge_submissions(folder: Path, published: Sequence[BoardRow] = ()) -> Board:
    """Gather every entry below a folder `<org>__<model>/<revision>/<run>/`.

    Args:
        folder: The submissions.
        published: The papers' rows, which stand after the entries.

    Raises:
        LeaderboardError: Anything is not sound; every problem is listed.
    """
    if not folder.is_dir():
        raise LeaderboardError(f"{folder} is not a folder. Name the folder of submissions.")
    problems: list[str] = []
    entries = []
    for path in entry_folders(folder, problems):
        try:
            found, own = _looked_at(folder / path, path)
            problems += own
            if not own:
                entries.append(_with_digests(folder / path, found))
        except LeaderboardError as error:
            problems.append(str(error))
    problems += _duplicates(entries)
    raise_problems(str(folder), problems, "; nothing was written")
    return board_of(entries, published)


def board_text(board: Board) -> str:
    """A board as JSON: no NaN, numbers as numbers, one form for one content."""
    return json.dumps(board.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def write_board(board: Board, path: Path) -> None:
    """Write a board, whole or not at all."""
    from lmms_aes_tasks.outputs import atomic_path

    with atomic_path(path) as temporary:
        temporary.write_text(board_text(board), "utf-8")
