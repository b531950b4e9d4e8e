"""Gathering entries into a board: the path is the identity, and the same folder gives the same bytes."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import (
    MODEL_PART,
    SEGMENT,
    VERIFICATION_FILE,
    Board,
    BoardRow,
    Entry,
    Finding,
    Status,
    TaskResult,
    Verification,
    is_day,
    is_future,
)
from lmms_aes_tasks.leaderboard.reading import (
    children,
    list_folder,
    named,
    raise_problems,
    read_entry,
    read_verification,
    responses_digest,
    task_rows,
    unnamed_files,
)
from lmms_aes_tasks.leaderboard.responses import path_of
from lmms_aes_tasks.leaderboard.safe_reading import printable

UNKNOWN = "unknown"
"""Segment of a revision that is not known."""
BESIDES = frozenset({".gitkeep", "README.md"})
"""What may stand beside the folders of the models."""
MODEL_FOLDER = re.compile(f"{MODEL_PART}__{MODEL_PART}")
FOLDER_NAME = re.compile(SEGMENT)
SAME_SCORE = 1e-4
"""Two scores of the same responses are the same up to this share: on another machine encoders differ a little."""
_DECODING_CHARS = 300
_SUBJECT = {"model": "<org>__<model>", "revision": "revision", "run": "run"}


# -- Folders ----------------------------------------------------------------------------------------------------------


def model_segment(model_id: str) -> str:
    """ORG/NAME as one part of a path.

    >>> model_segment("org/name")
    'org__name'
    """
    return model_id.replace("/", "__", 1)


def entry_path(entry: Entry, run: str) -> str:
    """Where an entry belongs below the submissions."""
    return f"{model_segment(entry.model.id)}/{entry.model.revision or UNKNOWN}/{run}"


def _subfolders(folder: Path, shown: str, level: str, problems: list[str]) -> list[str]:
    pattern = MODEL_FOLDER if level == "model" else FOLDER_NAME
    names = []
    for child in children(folder):
        if child.is_symlink():
            problems.append(f"{shown}{printable(child.name)} is a link; put the file itself there")
            continue
        if level == "model" and child.name in BESIDES and child.is_file():
            continue
        if not child.is_dir():
            problems.append(f"{shown}{printable(child.name)} is a file; only folders ({_SUBJECT[level]}) belong here")
        elif not pattern.fullmatch(child.name):
            name = printable(child.name)
            problems.append(f"{shown}{name}: name the folder {_SUBJECT[level]}, of letters, digits, . _ and -")
        else:
            names.append(child.name)
    if not names and level != "model":
        problems.append(f"{shown} holds no {_SUBJECT[level]}; remove it")
    return names


def entry_folders(root: Path, problems: list[str]) -> list[str]:
    """Paths `<org>__<model>/<revision>/<run>` below a folder, in a fixed order; what does not belong is a problem."""
    found: list[str] = []
    for model in _subfolders(root, "", "model", problems):
        for revision in _subfolders(root / model, f"{model}/", "revision", problems):
            runs = _subfolders(root / model / revision, f"{model}/{revision}/", "run", problems)
            found += [f"{model}/{revision}/{run}" for run in runs]
    return found


# -- One entry --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """An entry as it stands in the submissions.

    Attributes:
        path: `<org>__<model>/<revision>/<run>`.
        entry: The entry.
        entry_sha256: Of `entry.json` as it is.
        verification: The file beside it, whether it belongs to the entry or not.
        responses: Digest of what the model said, by task.
    """

    path: str
    entry: Entry
    entry_sha256: str
    verification: Verification | None = None
    responses: Mapping[str, str] | None = None

    @property
    def verified(self) -> Verification | None:
        """The verification, when it is of this entry as it is now."""
        known = self.verification
        return known if known is not None and known.entry_sha256 == self.entry_sha256 else None


def find_entry(folder: Path, path: str) -> Found:
    """Read an entry's folder, its responses left out.

    Raises:
        EntryError: A file is missing or not sound.
    """
    with named(path):
        entry, digest = read_entry(folder)
        return Found(path, entry, digest, read_verification(folder))


def _entry_problems(found: Found) -> list[str]:
    """Where a path and its entry do not agree."""
    entry, path = found.entry, found.path
    model, revision, _ = path.split("/")
    problems = []
    if model != model_segment(entry.model.id):
        problems.append(f"{path}: model.id is {entry.model.id!r}; put it under {model_segment(entry.model.id)}/")
    if revision != (entry.model.revision or UNKNOWN):
        problems.append(
            f"{path}: model.revision is {entry.model.revision!r}; put it under {entry.model.revision or UNKNOWN}/"
        )
    if not is_day(entry.date):
        problems.append(f"{path}: date is {entry.date!r}; give a day that exists")
    elif is_future(entry.date):
        problems.append(f"{path}: date is {entry.date!r}, which is to come; give the day of the run")
    for name, result in entry.tasks.items():
        if result.task != name:
            problems.append(f"{path}: tasks.{name} is about {result.task!r}; make them agree")
        if result.file.path != path_of(name):
            problems.append(f"{path}: tasks.{name} names {result.file.path}; name {path_of(name)}")
    known = found.verified
    if known is not None:
        refused = [finding for finding in known.findings if finding.kind == "error"]
        if refused:
            problems.append(
                f"{path}: its verification refuses it ({printable(refused[0].where)}: {printable(refused[0].message)}"
                f"{f' and {len(refused) - 1} more' if len(refused) > 1 else ''}); correct the entry or take it out"
            )
    return problems


def prompt_text(result: TaskResult) -> str | None:
    """Prompt ids with the first 8 digits of their SHA-256, for people; None where nothing is told of them."""
    names = sorted({f"{use.id}@{use.sha256[:8]}" if use.sha256 else use.id for use in result.prompts})
    text = " + ".join(names)
    return _short(text) if names else None


def _short(text: str) -> str:
    """A text that fits a column; what is cut is told apart by a digest."""
    import hashlib

    if len(text) <= _DECODING_CHARS:
        return text
    return f"{text[:_DECODING_CHARS]}… ({hashlib.sha256(text.encode('utf-8')).hexdigest()[:8]})"


def decoding_text(result: TaskResult) -> str:
    """Decoding settings in one line, in a fixed order.

    The default of a setting is not known here: a setting that is not given is not shown.
    """
    return _short(
        " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(result.decoding.items()))
    )


def _status(found: Found, task: str) -> Status:
    known = found.verified
    # a task none of whose scores could be recomputed was not recomputed
    if known is not None and known.status == "recomputed" and known.recomputed.get(task):
        return "recomputed"
    return "self-reported"


def _findings(found: Found, task: str) -> list[Finding]:
    """What a verification says of a task: what names it, or names none of the entry's tasks."""
    if found.verification is None:
        return []
    known = found.verified
    if known is None:
        return [
            Finding(
                kind="flag",
                where=VERIFICATION_FILE,
                message=f"it is of an entry with SHA-256 {found.verification.entry_sha256[:8]}…, and this one has "
                f"{found.entry_sha256[:8]}…: the entry was changed since; verify it again",
            )
        ]
    kept = []
    for finding in known.findings:
        named = set(re.findall(r"[a-z0-9_]+", finding.where)) & set(found.entry.tasks)
        if not named or task in named:
            kept.append(finding)
    left = known.not_recomputed.get(task, [])
    if left:
        kept.append(Finding(kind="note", where=task, message=_short(f"not recomputed: {', '.join(sorted(left))}")))
    return kept


def rows_of(found: Found) -> list[BoardRow]:
    """The rows of an entry, one a task."""
    entry = found.entry
    return [
        BoardRow(
            key=f"{found.path}/{name}",
            status=_status(found, name),
            model=entry.model.id,
            revision=entry.model.revision,
            backend=entry.model.backend,
            evaluator=entry.evaluator,
            benchmark=result.benchmark,
            task=name,
            version=result.version,
            prompt=prompt_text(result),
            decoding=decoding_text(result),
            date=entry.date,
            n=result.n,
            n_expected=result.n_expected,
            parse_rate=result.parse_rate,
            metrics=result.metrics,
            breakdowns=result.breakdowns,
            signature=result.signature,
            entry=found.path,
            findings=_findings(found, name),
        )
        for name, result in sorted(entry.tasks.items())
    ]


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


def _duplicates(entries: Sequence[Found]) -> list[str]:
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


def _same_responses(entries: Sequence[Found]) -> dict[tuple[str, str], list[Found]]:
    """Entries with the same responses to a task, by task and digest; only groups of two and more."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for found in entries:
        for task, digest in (found.responses or {}).items():
            groups.setdefault((task, digest), []).append(found)
    return {key: group for key, group in groups.items() if len(group) > 1}


def _borrowed(entries: Sequence[Found]) -> dict[str, list[Finding]]:
    """Flags, by row key, where another model gave the very same responses."""
    flags: dict[str, list[Finding]] = {}
    for (task, _), group in _same_responses(entries).items():
        for found in group:
            others = sorted({one.path for one in group if one.entry.model.id != found.entry.model.id})
            if others:
                message = f"every response is the same as in {', '.join(others[:3])}, which is another model"
                flags.setdefault(f"{found.path}/{task}", []).append(Finding(kind="flag", where=task, message=message))
    return flags


def _identity(found: Found, task: str) -> str | None:
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


def _superseded(entries: Sequence[Found], rows: Mapping[str, BoardRow]) -> set[str]:
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


def board_of(entries: Sequence[Found], published: Sequence[BoardRow] = ()) -> Board:
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


def _looked_at(folder: Path, path: str) -> tuple[Found, list[str]]:
    """An entry, its responses left out, with everything that is wrong with its folder and its place."""
    files, strange = list_folder(folder)
    found = find_entry(folder, path)
    strange += unnamed_files(files, found.entry)
    return found, [*(f"{path}: {problem}" for problem in strange), *_entry_problems(found)]


def _with_digests(folder: Path, found: Found) -> Found:
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


def published_rows() -> list[BoardRow]:
    """The papers' own rows."""
    from lmms_aes_tasks.leaderboard import published_rows as module

    return module.published_rows()


def board_text(board: Board) -> str:
    """A board as JSON: no NaN, numbers as numbers, one form for one content."""
    return json.dumps(board.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def write_board(board: Board, path: Path) -> None:
    """Write a board, whole or not at all."""
    from lmms_aes_tasks.outputs import atomic_path

    with atomic_path(path) as temporary:
        temporary.write_text(board_text(board), "utf-8")
