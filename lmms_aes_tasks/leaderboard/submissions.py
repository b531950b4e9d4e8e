"""Entries as they stand in the folder of submissions: the path is the identity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_aes_tasks.board.schema import (
    MODEL_PART,
    SEGMENT,
    VERIFICATION_FILE,
    BoardRow,
    Entry,
    Finding,
    Status,
    Verification,
    is_day,
    is_future,
)
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.leaderboard.reading import (
    children,
    named,
    read_entry,
    read_verification,
)
from lmms_aes_tasks.leaderboard.responses import path_of
from lmms_aes_tasks.leaderboard.results import decoding_text, prompt_text, short_text

FOLDER_OF_SUBMISSIONS = "leaderboard/submissions"
"""Where they are in the repository."""
UNKNOWN = "unknown"
"""Segment of a revision that is not known."""
BESIDES = frozenset({".gitkeep", "README.md"})
"""What may stand beside the folders of the models."""
MODEL_FOLDER = re.compile(f"{MODEL_PART}__{MODEL_PART}")
FOLDER_NAME = re.compile(SEGMENT)
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
class StoredEntry:
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


def find_entry(folder: Path, path: str) -> StoredEntry:
    """Read an entry's folder, its responses left out.

    Raises:
        EntryError: A file is missing or not sound.
    """
    with named(path):
        entry, digest = read_entry(folder)
        return StoredEntry(path, entry, digest, read_verification(folder))


def entry_problems(found: StoredEntry) -> list[str]:
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


def _status(found: StoredEntry, task: str) -> Status:
    known = found.verified
    # a task none of whose scores could be recomputed was not recomputed
    if known is not None and known.status == "recomputed" and known.recomputed.get(task):
        return "recomputed"
    return "self-reported"


def _findings(found: StoredEntry, task: str) -> list[Finding]:
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
        kept.append(Finding(kind="note", where=task, message=short_text(f"not recomputed: {', '.join(sorted(left))}")))
    return kept


def rows_of(found: StoredEntry) -> list[BoardRow]:
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
