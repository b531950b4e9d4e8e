"""Reading entries, their verifications and boards: the one way in for verification, merge, comparison and page.

`safe_reading` reads bytes, JSON and compressed lines within limits, `responses` the rows; here they become forms.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lmms_aes_tasks.board.benchmark import Row
from lmms_aes_tasks.board.digests import per_item_sha256, text_sha256
from lmms_aes_tasks.board.errors import EntryError, LeaderboardError
from lmms_aes_tasks.board.schema import ENTRY_FILE, VERIFICATION_FILE
from lmms_aes_tasks.board.text import is_plain, looks_local, printable
from lmms_aes_tasks.leaderboard.responses import FOLDER, path_of, read_rows
from lmms_aes_tasks.leaderboard.safe_reading import (
    REBUILD,
    check_sizes,
    file_facts,
    read_limited,
    read_named,
    strict_json,
)
from lmms_aes_tasks.utils.errors import bulleted, problem_text

if TYPE_CHECKING:
    from lmms_aes_tasks.board.schema import Board, Entry, Model, Verification

    Form = TypeVar("Form", bound=Model)

MAX_BOARD_BYTES = 64 * 1024 * 1024
"""Some ten thousand rows with breakdowns."""
_LISTED = 20
"""Fields of a form that are named one by one."""


@contextmanager
def named(where: object) -> Iterator[None]:
    """Put a place before the message of an `EntryError`, which names files inside an entry alone."""
    try:
        yield
    except EntryError as error:
        raise type(error)(f"{where}: {error}") from None


def raise_problems(name: str, problems: list[str], note: str = "") -> None:
    """Raise all problems at once.

    Raises:
        LeaderboardError: There is one.
    """
    if problems:
        raise LeaderboardError(problem_text(name, problems, f"{note}. Correct them:"))


# -- The folder of an entry -------------------------------------------------------------------------------------------


def children(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds, by name."""
    with os.scandir(folder) as found:
        return sorted(found, key=lambda item: item.name)


def _responses_folder(folder: Path) -> Iterator[tuple[str, str | None]]:
    for item in children(folder):
        name = f"{FOLDER}/{printable(item.name)}"
        if item.is_symlink():
            yield name, f"{name} is a symbolic link. An entry holds regular files only."
        elif not item.is_file(follow_symlinks=False) or not re.fullmatch(r"[a-z0-9_]{1,100}\.jsonl\.zst", item.name):
            yield name, f"{name} does not belong in an entry; {FOLDER}/ holds <task>.jsonl.zst. Take it away."
        else:
            yield name, None


def list_folder(folder: Path) -> tuple[list[str], list[str]]:
    """What an entry's folder holds: its files of responses, and everything that does not belong in it, as messages."""
    if not folder.is_dir():
        return [], [f"{folder} is not a folder. Name the folder that `lmms-aes leaderboard build` wrote."]
    files: list[str] = []
    problems: list[str] = []
    for item in children(folder):
        name = printable(item.name)
        if item.is_symlink():
            problems.append(f"{name} is a symbolic link. An entry holds regular files only.")
        elif item.name in {ENTRY_FILE, VERIFICATION_FILE}:
            if not item.is_file(follow_symlinks=False):
                problems.append(f"{name} is no regular file. An entry holds regular files only.")
        elif item.name != FOLDER or not item.is_dir(follow_symlinks=False):
            problems.append(
                f"{name} does not belong in an entry, which holds {ENTRY_FILE}, {VERIFICATION_FILE} and {FOLDER}/. "
                "Take it away."
            )
        else:
            for inner, problem in _responses_folder(folder / FOLDER):
                if problem is None:
                    files.append(inner)
                else:
                    problems.append(problem)
    if not os.path.lexists(folder / ENTRY_FILE):
        problems.append(f"{folder} holds no {ENTRY_FILE}. Name the folder that `lmms-aes leaderboard build` wrote.")
    return files, problems


def check_entry_folder(folder: Path) -> list[str]:
    """The names of the files of responses of an entry's folder, which holds nothing else than an entry does.

    Raises:
        EntryError: It is no folder, or something in it does not belong there: a link, a strange file.
    """
    files, problems = list_folder(folder)
    if problems:
        raise EntryError(problems[0])
    return files


def unnamed_files(files: Iterable[str], entry: Entry) -> list[str]:
    """Files of responses that no task of the entry names, as messages."""
    known = {result.file.path for result in entry.tasks.values()}
    return [
        f"{name} is named by no task of {ENTRY_FILE}. Take it away, or build the entry again."
        for name in sorted(set(files) - known)
    ]


# -- Forms ------------------------------------------------------------------------------------------------------------


def form_of(kind: type[Form], value: Any, where: str, remedy: str = REBUILD) -> Form:
    """A decoded JSON value as one of our forms.

    Raises:
        EntryError: It is not of the form; the fields are named with what they hold.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problems = [
            f"{printable('.'.join(str(part) for part in found['loc']) or 'the whole')}: {printable(found['msg'])}, "
            f"and it is {printable(repr(found['input']), 80)}"
            for found in error.errors(include_url=False)[:_LISTED]
        ]
        if (more := error.error_count() - len(problems)) > 0:
            problems.append(f"and {more} more")
        raise EntryError(f"{where}: {error.error_count()} problem(s). {remedy}\n{bulleted(problems)}") from None


def read_entry(folder: Path) -> tuple[Entry, str]:
    """An entry's form, and the SHA-256 of its file.

    Raises:
        EntryError: It is not sound JSON, or not of the form; every field is named.
    """
    from lmms_aes_tasks.board.schema import Entry

    content = read_limited(folder, ENTRY_FILE)
    entry = form_of(Entry, strict_json(content, ENTRY_FILE), ENTRY_FILE)
    _check_texts(entry)
    return entry, hashlib.sha256(content).hexdigest()


def texts_of(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, names of fields included, with the place where it stands."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, own in value.items():
            yield f"{where}: a name", str(key)
            yield from texts_of(own, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for own in value:
            yield from texts_of(own, where)


def _check_texts(entry: Entry) -> None:
    """Names of an entry hold no markup, no control character and nothing local.

    Raises:
        EntryError: One does; the field is named.
    """
    for where, text in texts_of(entry.model_dump(mode="json")):
        stop_text = re.fullmatch(r"tasks\.[a-z0-9_]+\.decoding\.(?:until|reasoning_tags)", where) is not None
        if not stop_text and not is_plain(text):
            raise EntryError(
                f"{ENTRY_FILE}, {printable(where)} is {printable(repr(text), 80)}: names hold visible characters "
                "without < and >."
            )
        if looks_local(text):
            raise EntryError(f"{ENTRY_FILE}, {printable(where)} holds a key, a token or a local path. Build it again.")


def read_verification(folder: Path) -> Verification | None:
    """The verification beside an entry; None when there is none.

    Raises:
        EntryError: It is not sound.
    """
    from lmms_aes_tasks.board.schema import Verification

    if not os.path.lexists(folder / VERIFICATION_FILE):
        return None
    remedy = "Verify the entry again."
    content = read_limited(folder, VERIFICATION_FILE, remedy=remedy)
    return form_of(Verification, strict_json(content, VERIFICATION_FILE, remedy), VERIFICATION_FILE, remedy)


def read_board(path: Path) -> Board:
    """A board, strictly.

    Raises:
        EntryError: The file is missing, too large, no JSON, or not a board; every problem is named.
    """
    from lmms_aes_tasks.board.schema import Board

    remedy = "Write it with `lmms-aes leaderboard merge`."
    content = read_named(path, MAX_BOARD_BYTES, remedy)
    return form_of(Board, strict_json(content, str(path), remedy), str(path), remedy)


# -- Responses --------------------------------------------------------------------------------------------------------


def task_rows(folder: Path, entry: Entry, task: str) -> Iterator[Row]:
    """The responses of one task, one at a time, from the very file that the entry names.

    Raises:
        EntryError: It is another file (digest, sizes, rows), or a line is not sound.
    """
    file = entry.tasks[task].file
    if file.path != path_of(task):
        raise EntryError(f"tasks.{task}.file.path is {printable(file.path)}: use {path_of(task)}")
    facts = file_facts(folder, file.path)
    check_sizes(file.path, facts.bytes, file.content_bytes)
    if facts.sha256 != file.sha256:
        raise EntryError(
            f"{file.path}: its SHA-256 is {facts.sha256[:8]}… and the entry says {file.sha256[:8]}…. Build the entry "
            "again."
        )
    ids: set[str] = set()
    number = 0
    for number, row in enumerate(read_rows(folder, file.path, file.content_bytes), 1):
        if row.record.get("id") != row.id:
            raise EntryError(f"{file.path}, line {number}: its record is of another id. Build the entry again.")
        if row.id in ids:
            raise EntryError(f"{file.path}, line {number}: the id {row.id} is there twice. Answer each case once.")
        ids.add(row.id)
        yield row
    if number != file.rows:
        raise EntryError(f"{file.path}: has {number} rows and the entry says {file.rows}. Build the entry again.")


def responses_digest(rows: Iterable[Row]) -> str:
    """Digest of what a model said, whatever was read from it, in whatever order, and however it is compressed."""
    return per_item_sha256((row.id, text_sha256(row.response)) for row in rows)
