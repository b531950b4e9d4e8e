"""What an entry says of itself, held against its files, its ids and this installation."""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence
from pathlib import Path

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.benchmark import Data
from lmms_aes_tasks.board.errors import EntryError
from lmms_aes_tasks.board.schema import (
    ENTRY_FILE,
    Entry,
    TaskResult,
    is_day,
    is_future,
    today,
)
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.leaderboard.findings import (
    Findings,
    shown,
)
from lmms_aes_tasks.leaderboard.reading import unnamed_files
from lmms_aes_tasks.leaderboard.responses import path_of
from lmms_aes_tasks.leaderboard.runs import DECODING_KEYS, setting_keys, text_digests
from lmms_aes_tasks.leaderboard.safe_reading import MAX_TOTAL_BYTES, check_sizes, file_facts
from lmms_aes_tasks.leaderboard.versions import versions
from lmms_aes_tasks.settings import PROMPTS
from lmms_aes_tasks.utils.prompts import read_prompt


def _own_prompt(prompt_id: str) -> str | None:
    """SHA-256 of a prompt of ours; None for any other id (`other`, `instruction`, a prompt without some parts)."""
    if not re.fullmatch(r"[a-z0-9\-]{1,60}", prompt_id) or not (PROMPTS / f"{prompt_id}.txt").is_file():
        return None
    return read_prompt(PROMPTS / f"{prompt_id}.txt", (), prompt_id).sha256


def check_settings(result: TaskResult, findings: Findings) -> None:
    """Hold settings against those that there are, and prompts of ours against their text."""
    base = f"tasks.{result.task}"
    for name, given, allowed in (
        ("decoding", result.decoding, DECODING_KEYS),
        ("images", result.images, setting_keys(result.benchmark)),
    ):
        for key in sorted(set(given) - allowed):
            findings.add("error", f"{base}.{name}.{key}", f"no such setting: use {', '.join(sorted(allowed))}")
    texts, all_texts = text_digests(result.benchmark, result.images), registry.benchmark(result.benchmark).text_settings
    for key in sorted(f"{name}_sha256" for name in all_texts):
        digest, own = result.images.get(key), texts.get(key)
        if digest != own:
            findings.add("error", f"{base}.images.{key}", f"is {shown(digest)}, ours is {shown(own)}")
    for prompt in result.prompts:
        ours = _own_prompt(prompt.id)
        if ours is not None and prompt.sha256 != ours:
            findings.add("error", f"{base}.prompts", f"{prompt.id} has the SHA-256 {prompt.sha256}, ours is {ours}")
    asked = sum(prompt.n for prompt in result.prompts)
    if asked != result.n:
        findings.add("error", f"{base}.prompts", f"name {asked} items, and there are {result.n}")


def check_file(folder: Path, result: TaskResult, findings: Findings) -> bool:
    """Size and digest of a file of responses; whether it is the one that the entry names."""
    file = result.file
    if file.path != path_of(result.task):
        raise EntryError(f"tasks.{result.task}.file.path is {printable(file.path)}: use {path_of(result.task)}")
    facts = file_facts(folder, file.path)
    check_sizes(file.path, facts.bytes, file.content_bytes)
    for name, ours, theirs in (("bytes", facts.bytes, file.bytes), ("sha256", facts.sha256, file.sha256)):
        if ours != theirs:
            findings.add("error", file.path, f"its {name} is {ours}, and the entry says {theirs}")
    return facts.sha256 == file.sha256


def check_ids(result: TaskResult, ids: Sequence[str], data: Data | None, findings: Findings) -> None:
    """Hold ids against each other and the data's: each once, and no other."""
    where = result.file.path
    repeated = [item_id for item_id, count in collections.Counter(ids).items() if count > 1]
    for item_id in repeated:
        findings.add("error", f"{where}, id {item_id}", "the id is there more than once", f"{where}: ids")
    if data is not None:
        for item_id in sorted(set(ids) - set(data.documents)):
            findings.add("error", f"{where}, id {item_id}", "the id is none of the data's", f"{where}: ids")
        for item_id in sorted(set(data.documents) - set(ids)):
            findings.add("error", f"{where}, id {item_id}", "the id is missing", f"{where}: missing ids")


def check_entry(entry: Entry, files: Sequence[str], findings: Findings) -> None:
    """Hold the day, the sizes and the versions of an entry against what there is.

    Raises:
        EntryError: A file is named by no task, or a limit is broken.
    """
    if not is_day(entry.date):
        raise EntryError(f"{ENTRY_FILE}: date is {printable(entry.date)}, which is no day")
    if is_future(entry.date):
        findings.add("error", "date", f"is {entry.date}, and today is {today()} (UTC): give the day of the run")
    for problem in unnamed_files(files, entry):
        raise EntryError(problem)
    total = sum(result.file.content_bytes for result in entry.tasks.values())
    if total > MAX_TOTAL_BYTES:
        raise EntryError(f"{ENTRY_FILE}: {total} bytes of content in all, and {MAX_TOTAL_BYTES} are allowed.")
    here = versions()
    if entry.versions.plugin != here.plugin:
        findings.add("note", "versions.plugin", f"built with {entry.versions.plugin}, verified with {here.plugin}")
    for name in ("scipy", "numpy", "sacrebleu", "nltk"):
        theirs, ours = entry.versions.libraries.get(name), here.libraries.get(name)
        if theirs is not None and theirs != ours:
            findings.add("note", f"versions.libraries.{name}", f"scored with {theirs}, verified with {ours}")
