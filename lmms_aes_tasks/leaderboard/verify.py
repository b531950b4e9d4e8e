"""Verifying an entry: its form, its files, its ids, and every score computed again from the responses.

What is not sound (a link, a bomb, JSON that is none) raises `EntryError`. What is sound and wrong becomes a finding
that names file, task, id or field, and both values. An entry is `recomputed` when no finding is an error.
"""

from __future__ import annotations

import collections
import json
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_aes_tasks import __version__
from lmms_aes_tasks.board.digests import lines_sha256, response_digest
from lmms_aes_tasks.board.errors import CorruptError, EntryError
from lmms_aes_tasks.board.schema import (
    ENTRY_FILE,
    Entry,
    Finding,
    Metric,
    TaskResult,
    Verification,
    is_day,
    is_future,
    today,
)
from lmms_aes_tasks.critiquecanvas import items as critiquecanvas
from lmms_aes_tasks.critiquecanvas import late as embedding
from lmms_aes_tasks.leaderboard.benchmarks import Adapter, Figures, Read, adapter_of
from lmms_aes_tasks.leaderboard.build import TOLERANCE
from lmms_aes_tasks.leaderboard.data import Data, data_of
from lmms_aes_tasks.leaderboard.reading import check_folder, read_entry, unnamed_files
from lmms_aes_tasks.leaderboard.responses import Row, path_of, read_rows
from lmms_aes_tasks.leaderboard.results import result_of
from lmms_aes_tasks.leaderboard.runs import DECODING_KEYS, setting_keys, versions
from lmms_aes_tasks.leaderboard.safe_reading import (
    MAX_TOTAL_BYTES,
    check_sizes,
    file_facts,
    printable,
)
from lmms_aes_tasks.leaderboard.tasks import Task, expected_items, known_tasks
from lmms_aes_tasks.outputs import atomic_path
from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.settings import PROMPTS
from lmms_aes_tasks.sources import read_card
from lmms_aes_tasks.utils.prompts import read_prompt

_LISTED = 20
"""Findings of one kind about one task that are listed one by one; the rest is counted."""
_MOST = 500
"""Findings of a kind that are listed at all."""
_FEWEST_FOR_CONSTANT = 10
_SAME_CRITIQUES = 0.9
_LEAST_PARSED = 0.5


class Findings:
    """What was found so far; of many alike, the first few and how many more."""

    def __init__(self) -> None:
        self._found: list[Finding] = []
        self._counts: collections.Counter[tuple[str, str]] = collections.Counter()

    def add(self, kind: str, where: str, message: str, alike: str = "") -> None:
        """Keep a finding; those with the same `alike` in one task are listed up to a number."""
        key = (kind, alike or "the rest")
        self._counts[key] += 1
        if self._counts[key] <= (_LISTED if alike else _MOST):
            self._found.append(
                Finding(kind=kind, where=printable(where, 500), message=printable(message, 1_500))  # type: ignore[arg-type]
            )

    def all(self) -> list[Finding]:
        """Errors first, then flags, then notes, each in the order found."""
        more = [
            Finding(kind=kind, where=alike, message=f"and {count - most} more of these")  # type: ignore[arg-type]
            for (kind, alike), count in self._counts.items()
            if count > (most := _MOST if alike == "the rest" else _LISTED)
        ]
        order = {"error": 0, "flag": 1, "note": 2}
        return sorted([*self._found, *more], key=lambda finding: order[finding.kind])

    @property
    def has_error(self) -> bool:
        """Whether anything is wrong."""
        return any(finding.kind == "error" for finding in self._found)


# -- One task ---------------------------------------------------------------------------------------------------------


@dataclass
class _Checked:
    """What verification gathers of one task."""

    ids: list[str] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    answers: collections.Counter[Hashable] = field(default_factory=collections.Counter)
    texts: dict[str, str] = field(default_factory=dict)
    embedded: dict[str, dict[str, float]] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)


def _same(one: Any, two: Any) -> bool:
    """Equal values; numbers within the tolerance, and a truth value is no number."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return math.isclose(one, two, rel_tol=0, abs_tol=TOLERANCE)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return set(one) == set(two) and all(_same(one[key], two[key]) for key in one)
    return type(one) is type(two) and bool(one == two)


def _shown(value: Any) -> str:
    return printable(repr(value), 120)


def _record_differences(given: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[str]:
    for key in [*made, *(key for key in given if key not in made)]:
        if key not in given:
            yield f"{key} is missing"
        elif key not in made:
            yield f"{printable(key, 60)} does not belong in the record"
        elif not _same(given[key], made[key]):
            yield f"{key} is {_shown(given[key])}, and {_shown(made[key])} recomputed"


def _read_row(
    row: Row, task: Task, adapter: Adapter, data: Data | None, where: str, found: Findings, checked: _Checked
) -> None:
    """Read one response again, and hold the record against what comes out."""
    alike = f"{where}: records"
    digest = response_digest(row.response)
    if row.record.get("response_digest") != digest:
        found.add(
            "error",
            f"{where}, id {row.id}",
            f"the response was changed: its digest is {digest}, and its record says "
            f"{_shown(row.record.get('response_digest'))}",
            f"{where}: responses",
        )
    known = None if data is None else data.documents.get(row.id)
    try:
        document = known if known is not None else adapter.document(row.record)
        read: Read = adapter.read(document, row.response, row.record)
        embedded = embedding.values_of_record(row.record) if task.benchmark == "critiquecanvas" else {}
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        found.add("error", f"{where}, id {row.id}", f"its record is not sound: {printable(error, 400)}", alike)
        return
    made = json.loads(json.dumps(read.record)) | {"response_digest": row.record.get("response_digest")} | embedded
    for difference in _record_differences(row.record, made):
        found.add("error", f"{where}, id {row.id}", f"record: {difference}", alike)
    if str(document["id"]) != row.id:
        found.add(
            "error", f"{where}, id {row.id}", f"the id is another than that of its record, {document['id']!r}", alike
        )
    checked.items.append(read.item)
    if read.answer is not None and task.benchmark != "critiquecanvas":
        checked.answers[read.answer] += 1
    elif task.benchmark == "critiquecanvas":
        checked.texts[row.id] = str(read.answer)
        for name, value in embedded.items():
            checked.embedded.setdefault(name, {})[row.id] = value
        lexical = read.item.lexical
        if lexical.rouge_l == 1.0 and lexical.bleu.counts == lexical.bleu.totals and lexical.bleu.length:
            checked.copies.append(row.id)


def _check_ids(task: TaskResult, ids: Sequence[str], data: Data | None, found: Findings) -> None:
    where = task.file.path
    repeated = [own for own, count in collections.Counter(ids).items() if count > 1]
    for own in repeated:
        found.add("error", f"{where}, id {own}", "the id is there more than once", f"{where}: ids")
    if data is not None:
        for own in sorted(set(ids) - set(data.documents)):
            found.add("error", f"{where}, id {own}", "the id is none of the data's", f"{where}: ids")
        for own in sorted(set(data.documents) - set(ids)):
            found.add("error", f"{where}, id {own}", "the id is missing", f"{where}: missing ids")


def _flags(name: str, checked: _Checked, parse_rate: float | None, found: Findings) -> None:
    n = len(checked.items)
    if n >= _FEWEST_FOR_CONSTANT and len(checked.answers) == 1 and sum(checked.answers.values()) == n:
        answer = next(iter(checked.answers))
        found.add("flag", name, f"every answer is the same ({_shown(answer)}): a constant, or a broken run?")
    if checked.texts and n >= _FEWEST_FOR_CONSTANT:
        (_, most), *_ = collections.Counter(checked.texts.values()).most_common(1)
        if most > _SAME_CRITIQUES * n:
            found.add("flag", name, f"{most} of {n} critiques are the same text: a constant, or a broken run?")
    if checked.copies:
        shown = ", ".join(checked.copies[:5])
        found.add("flag", name, f"{len(checked.copies)} critiques equal their reference ({shown}): was it shown?")
    if parse_rate is not None and parse_rate < _LEAST_PARSED:
        found.add("flag", name, f"parse rate {parse_rate:.3f} is below {_LEAST_PARSED}: the answers are mostly noise")


_VALUES = ("value", "n", "numerator", "denominator", "per_item_sha256", "low", "high", "unit", "higher_is_better")


def _metric_differences(given: Metric, made: Metric) -> Iterator[tuple[str, Any, Any]]:
    for name in (*_VALUES, "reason"):
        one, two = getattr(given, name), getattr(made, name)
        if not _same(one, two):
            yield name, one, two


def _compare_metrics(given: Mapping[str, Metric], made: Mapping[str, Metric], where: str, found: Findings) -> list[str]:
    """Hold figures against recomputed ones.

    Returns:
        Names of those that are equal.
    """
    equal = []
    for name in [*made, *(name for name in given if name not in made)]:
        if name not in given:
            found.add("error", f"{where}.{name}", "the figure is missing")
            continue
        if name not in made:
            found.add("error", f"{where}.{name}", f"no figure of this task: it has {', '.join(made)}")
            continue
        differences = list(_metric_differences(given[name], made[name]))
        for part, one, two in differences:
            found.add("error", f"{where}.{name}.{part}", f"is {_shown(one)}, and {_shown(two)} recomputed")
        if not differences:
            equal.append(name)
    return equal


def _compare_fields(given: TaskResult, made: TaskResult, found: Findings) -> None:
    skipped = {"metrics", "breakdowns", "file", "decoding", "images", "prompts", "task", "parser"}
    for name in sorted(set(TaskResult.model_fields) - skipped):
        one, two = getattr(given, name), getattr(made, name)
        if not _same(one, two):
            found.add("error", f"tasks.{given.task}.{name}", f"is {_shown(one)}, and {_shown(two)} recomputed")


def _compare_breakdowns(given: TaskResult, made: TaskResult, found: Findings) -> None:
    base = f"tasks.{given.task}.breakdowns"
    for name in sorted(set(given.breakdowns) | set(made.breakdowns)):
        ours, theirs = made.breakdowns.get(name, {}), given.breakdowns.get(name, {})
        for group in sorted(set(ours) | set(theirs)):
            where = f"{base}.{name}.{group}"
            if group not in theirs:
                found.add("error", where, "the group is missing")
            elif group not in ours:
                found.add("error", where, "no group of this task's items")
            else:
                _compare_metrics(theirs[group], ours[group], where, found)


def _given_embeddings(given: Mapping[str, Metric], checked: _Checked, where: str, found: Findings) -> dict[str, Metric]:
    """Embedding metrics as the records add them up; where they hold none, as the entry has them, if it can be so."""
    kept = {}
    for name in critiquecanvas.EMBEDDING_METRICS:
        metric = given.get(name)
        if checked.embedded.get(name):
            kept[name] = embedding.mean_metric(checked.embedded[name])
        elif metric is None:
            found.add("error", f"{where}.{name}", "the figure is missing; null with a reason where it is not computed")
        else:
            if metric.value is not None and not -1 <= metric.value <= 1:
                found.add("error", f"{where}.{name}.value", f"is {metric.value}: use a number from -1 to 1")
            kept[name] = metric
    return kept


def _recompute_embeddings(
    task: Task, entry: Entry, checked: _Checked, root: Path | None, found: Findings
) -> dict[str, str]:
    """Hold embedding values against those of the same encoders, where they are at hand.

    Returns:
        Metrics that could not be, with the reason.
    """
    file = entry.tasks[task.name].file.path
    named = {name: entry.versions.libraries.get(embedding.library_name(name)) for name in checked.embedded}
    left_out = {
        name: "the entry holds no values of single critiques"
        for name in critiquecanvas.EMBEDDING_METRICS
        if name not in named
    }
    if not named:
        return left_out
    ours = embedding.embedding_values(task, checked.texts, root)
    for name, encoder in named.items():
        if name not in ours.values:
            left_out[name] = f"added up from the records: {ours.missing[name].removeprefix('not computed: ')}"
        elif ours.encoders[name] != encoder:
            left_out[name] = f"added up from the records: its encoder is {encoder}, the one here {ours.encoders[name]}"
        else:
            for own, message in embedding.differences(name, checked.embedded[name], ours.values[name]):
                found.add("error", f"{file}, id {own}", message, f"{file}: {name}")
    return left_out


def _own_prompt(prompt_id: str) -> str | None:
    """SHA-256 of a prompt of ours; None for any other id (`other`, `instruction`, a prompt without some parts)."""
    if not re.fullmatch(r"[a-z0-9\-]{1,60}", prompt_id) or not (PROMPTS / f"{prompt_id}.txt").is_file():
        return None
    return read_prompt(PROMPTS / f"{prompt_id}.txt", (), prompt_id).sha256


def _check_settings(result: TaskResult, found: Findings) -> None:
    base = f"tasks.{result.task}"
    for name, given, allowed in (
        ("decoding", result.decoding, DECODING_KEYS),
        ("images", result.images, setting_keys(result.benchmark)),
    ):
        for key in sorted(set(given) - allowed):
            found.add("error", f"{base}.{name}.{key}", f"no such setting: use {', '.join(sorted(allowed))}")
    for prompt in result.prompts:
        ours = _own_prompt(prompt.id)
        if ours is not None and prompt.sha256 != ours:
            found.add("error", f"{base}.prompts", f"{prompt.id} has the SHA-256 {prompt.sha256}, ours is {ours}")
    asked = sum(prompt.n for prompt in result.prompts)
    if asked != result.n:
        found.add("error", f"{base}.prompts", f"name {asked} items, and there are {result.n}")


@dataclass(frozen=True)
class _Recomputed:
    recomputed: list[str]
    not_recomputed: list[str]


def _check_file(folder: Path, result: TaskResult, found: Findings) -> bool:
    """Size and digest of a file of responses; whether it is the one that the entry names."""
    file = result.file
    if file.path != path_of(result.task):
        raise EntryError(f"tasks.{result.task}.file.path is {printable(file.path)}: use {path_of(result.task)}")
    facts = file_facts(folder, file.path)
    check_sizes(file.path, facts.bytes, file.content_bytes)
    for name, ours, theirs in (("bytes", facts.bytes, file.bytes), ("sha256", facts.sha256, file.sha256)):
        if ours != theirs:
            found.add("error", file.path, f"its {name} is {ours}, and the entry says {theirs}")
    return facts.sha256 == file.sha256


def _verify_task(
    folder: Path, entry: Entry, name: str, root: Path | None, required: bool, found: Findings
) -> _Recomputed:
    result = entry.tasks[name]
    base = f"tasks.{name}"
    task = known_tasks().get(name)
    if task is None or result.task != name or result.benchmark != task.benchmark:
        raise EntryError(
            f"{ENTRY_FILE}, {base}: task {printable(result.task)} of {printable(result.benchmark)} is none of ours: "
            f"use {', '.join(known_tasks())}"
        )
    unchanged = _check_file(folder, result, found)
    adapter = adapter_of(task)
    if result.version.partition("-")[0] != task.version.partition("-")[0]:
        found.add(
            "error",
            f"{base}.version",
            f"is {result.version}; this lmms-aes-tasks scores {task.version}. Install theirs",
        )
    if result.parser != adapter.parser:
        found.add("error", f"{base}.parser", f"is {result.parser}; this one's is {adapter.parser}. Install theirs")
    _check_settings(result, found)
    data = data_of(task, root, required)
    checked = _Checked()
    try:
        for row in read_rows(folder, result.file.path, result.file.content_bytes):
            checked.ids.append(row.id)
            _read_row(row, task, adapter, data, result.file.path, found, checked)
    except CorruptError as error:
        if unchanged:
            raise
        found.add("error", result.file.path, f"{printable(error)} Its digest says that it was changed")
        return _Recomputed([], sorted(result.metrics))
    if len(checked.ids) != result.file.rows:
        found.add("error", f"{base}.file.rows", f"is {result.file.rows}, and the file has {len(checked.ids)}")
    _check_ids(result, checked.ids, data, found)
    expected = expected_items(task)
    if expected is not None and len(checked.ids) != expected:
        found.add("error", result.file.path, f"{len(checked.ids)} items of {expected}: a run with --limit, or cut")
    _note_data(result, task, data, found)
    unchecked = adapter.unchecked(data is not None)
    kept: dict[str, Metric] = {}
    if task.benchmark == "critiquecanvas":
        kept = _given_embeddings(result.metrics, checked, f"{base}.metrics", found)
        unchecked |= _recompute_embeddings(task, entry, checked, root, found)
    try:
        figures: Figures = adapter.figures(checked.items)
    except (ValueError, ArithmeticError) as error:
        found.add("error", base, f"cannot be scored: {printable(error)}")
        return _Recomputed([], sorted(result.metrics))
    made = result_of(
        task,
        checked.ids,
        figures,
        parser=adapter.parser,
        version=result.version,
        plugin=entry.versions.plugin,
        data_sha256=result.data_sha256 if data is None or result.data_sha256 is None else data.sha256,
        prompts=result.prompts,
        decoding=result.decoding,
        images=result.images,
        more_metrics=kept,
        n_data=result.n_expected if data is None else len(data.documents),
        file=result.file,
    )
    _compare_fields(result, made, found)
    equal = _compare_metrics(result.metrics, made.metrics, f"{base}.metrics", found)
    _compare_breakdowns(result, made, found)
    _flags(name, checked, figures.parse_rate, found)
    if data is not None and task.benchmark == "critiquecanvas":
        _check_instructions(result, data, found)
    for reason in sorted(set(unchecked.values())):
        names = [metric for metric, own in unchecked.items() if own == reason]
        found.add("note", name, f"not recomputed: {', '.join(names)}: {reason}")
    return _Recomputed([own for own in equal if own not in unchecked], list(unchecked))


def _note_data(result: TaskResult, task: Task, data: Data | None, found: Findings) -> None:
    if data is None:
        demo = "the demo's data is made from scikit-image's photographs: pip install 'lmms-aes-tasks[demo]'"
        remedy = demo if read_card(task.card).generator else "give --data"
        found.add(
            "note",
            result.task,
            f"gold labels are those of the records, and the data's fingerprint is not checked: {remedy}",
        )
    elif result.data_sha256 is None:
        found.add("note", result.task, "the entry was built without the data: it names no fingerprint of it")


def _check_instructions(result: TaskResult, data: Data, found: Findings) -> None:
    ours = lines_sha256([own, document["instruction"]] for own, document in sorted(data.documents.items()))
    for prompt in result.prompts:
        if prompt.id == "instruction" and prompt.sha256 != ours:
            found.add(
                "error",
                f"tasks.{result.task}.prompts",
                f"instruction has the digest {prompt.sha256}, the data's {ours}",
            )


# -- The whole --------------------------------------------------------------------------------------------------------


def _check_entry(entry: Entry, files: Sequence[str], found: Findings) -> None:
    if not is_day(entry.date):
        raise EntryError(f"{ENTRY_FILE}: date is {printable(entry.date)}, which is no day")
    if is_future(entry.date):
        found.add("error", "date", f"is {entry.date}, and today is {today()} (UTC): give the day of the run")
    for problem in unnamed_files(files, entry):
        raise EntryError(problem)
    total = sum(result.file.content_bytes for result in entry.tasks.values())
    if total > MAX_TOTAL_BYTES:
        raise EntryError(f"{ENTRY_FILE}: {total} bytes of content in all, and {MAX_TOTAL_BYTES} are allowed.")
    here = versions()
    if entry.versions.plugin != here.plugin:
        found.add("note", "versions.plugin", f"built with {entry.versions.plugin}, verified with {here.plugin}")
    for name in ("scipy", "numpy", "sacrebleu", "nltk"):
        theirs, ours = entry.versions.libraries.get(name), here.libraries.get(name)
        if theirs is not None and theirs != ours:
            found.add("note", f"versions.libraries.{name}", f"scored with {theirs}, verified with {ours}")


def verify_entry(folder: Path, data: Path | None = None, data_required: bool = False) -> Verification:
    """Verify an entry; nothing is written.

    Args:
        folder: The entry's folder, of a stranger.
        data: A folder with one folder a benchmark; None for none. Demo data is generated.
        data_required: Whether a demo's data that cannot be generated here is an error rather than a note.

    Raises:
        EntryError: The entry is not sound, or breaks a limit.
        SourceError: The data at hand is not sound.
    """
    files = check_folder(folder)
    entry, digest = read_entry(folder)
    found = Findings()
    _check_entry(entry, files, found)
    parts = {name: _verify_task(folder, entry, name, data, data_required, found) for name in entry.tasks}
    return Verification(
        status=None if found.has_error else "recomputed",
        entry_sha256=digest,
        verified=today(),
        plugin=__version__,
        recomputed={name: part.recomputed for name, part in parts.items()},
        not_recomputed={name: part.not_recomputed for name, part in parts.items() if part.not_recomputed},
        findings=found.all(),
    )


def write_verification(verification: Verification, target: Path) -> None:
    """Write a verifier's file through a temporary name.

    Raises:
        SourceError: It cannot be written.
    """
    text = json.dumps(verification.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    try:
        if target.is_symlink() or target.is_dir():
            raise SourceError(f"{target} is a link or a folder. Name a file with --out.")
        with atomic_path(target) as temporary:
            temporary.write_text(text, "utf-8")
    except OSError as error:
        raise SourceError(f"{target} cannot be written ({error.strerror}). Use --out FILE or --no-write.") from None
