"""Verifying an entry: its form, its files, its ids, and every score computed again from the responses.

What is not sound (a link, a bomb, JSON that is none) raises `EntryError`. What is sound and wrong becomes a finding
that names file, task, id or field, and both values. An entry is `recomputed` when no finding is an error.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_aes_tasks import __version__, registry
from lmms_aes_tasks.board.benchmark import Benchmark, Data, Row, Task
from lmms_aes_tasks.board.digests import response_digest
from lmms_aes_tasks.board.errors import CorruptError, EntryError
from lmms_aes_tasks.board.fingerprint import LocalData
from lmms_aes_tasks.board.late import NOT_COMPUTED, LateMetrics, differences, library_name, mean_metric
from lmms_aes_tasks.board.schema import (
    ENTRY_FILE,
    Entry,
    Metric,
    TaskResult,
    Verification,
    today,
)
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.leaderboard.data import data_of
from lmms_aes_tasks.leaderboard.entry_checks import check_entry, check_file, check_ids, check_settings
from lmms_aes_tasks.leaderboard.findings import (
    Findings,
    compare_breakdowns,
    compare_fields,
    compare_metrics,
    record_differences,
    shown,
)
from lmms_aes_tasks.leaderboard.reading import check_entry_folder, read_entry
from lmms_aes_tasks.leaderboard.responses import has_failed, read_rows
from lmms_aes_tasks.leaderboard.results import UNSOUND, Means, result_of
from lmms_aes_tasks.leaderboard.tasks import expected_items, known_tasks
from lmms_aes_tasks.outputs import atomic_path
from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.sources import read_card

_LEAST_PARSED = 0.5


# -- One task ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Subject:
    """One task of an entry, and all that its checks need."""

    folder: Path
    entry: Entry
    result: TaskResult
    task: Task
    benchmark: Benchmark
    local: LocalData
    data: Data | None
    findings: Findings

    @property
    def base(self) -> str:
        """Where the task stands in `entry.json`."""
        return f"tasks.{self.task.name}"

    @property
    def file(self) -> str:
        """Its file of responses."""
        return self.result.file.path


@dataclass
class _Gathered:
    """What is gathered of a task's rows, in their order."""

    ids: list[str] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    answers: list[Hashable] = field(default_factory=list)
    answer_by_id: dict[str, str] = field(default_factory=dict)
    late: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Recomputed:
    recomputed: list[str]
    not_recomputed: list[str]


def _read_row(row: Row, subject: _Subject, gathered: _Gathered) -> None:
    """Read one response again, and hold the record against what comes out."""
    findings, where, alike = subject.findings, f"{subject.file}, id {row.id}", f"{subject.file}: records"
    gathered.ids.append(row.id)
    digest = response_digest(row.response)
    if row.record.get("response_digest") != digest:
        findings.add(
            "error",
            where,
            f"the response was changed: its digest is {digest}, and its record says "
            f"{shown(row.record.get('response_digest'))}",
            f"{subject.file}: responses",
        )
    benchmark, late = subject.benchmark, subject.benchmark.late
    known = None if subject.data is None else subject.data.documents.get(row.id)
    try:
        document = known if known is not None else benchmark.document(subject.task, row.record)
        read = benchmark.read(subject.task, document, row.response, row.record)
        values = late.of_record(row.record) if late is not None else {}
    except UNSOUND as error:
        findings.add("error", where, f"its record is not sound: {printable(error, 400)}", alike)
        return
    record = json.loads(json.dumps(read.record)) | {"response_digest": row.record.get("response_digest")} | values
    for difference in record_differences(row.record, record):
        findings.add("error", where, f"record: {difference}", alike)
    if has_failed(row.response, read.record):
        message = "its request failed: no reply, but lmms-eval's mark. Ask again; such a run is not published"
        findings.add("error", where, message, f"{subject.file}: failed requests")
    if str(document["id"]) != row.id:
        findings.add("error", where, f"the id is another than that of its record, {document['id']!r}", alike)
    gathered.items.append(read.item)
    gathered.answers.append(read.answer)
    if late is not None:
        gathered.answer_by_id[row.id] = str(read.answer)
        for name, value in values.items():
            gathered.late.setdefault(name, {})[row.id] = value


def _flag(subject: _Subject, gathered: _Gathered, parse_rate: float | None) -> None:
    for message in subject.benchmark.flags(gathered.items, gathered.answers):
        subject.findings.add("flag", subject.task.name, message)
    if parse_rate is not None and parse_rate < _LEAST_PARSED:
        subject.findings.add(
            "flag",
            subject.task.name,
            f"parse rate {parse_rate:.3f} is below {_LEAST_PARSED}: the answers are mostly noise",
        )


# -- Metrics that need encoders ---------------------------------------------------------------------------------------


def _late_metrics(subject: _Subject, late: LateMetrics, gathered: _Gathered) -> dict[str, Metric]:
    """These metrics as the records add them up; where they hold none, as the entry has them, if it can be so."""
    metrics = {}
    for name in late.names:
        metric, where = subject.result.metrics.get(name), f"{subject.base}.metrics.{name}"
        if gathered.late.get(name):
            metrics[name] = mean_metric(gathered.late[name])
        elif metric is None:
            subject.findings.add("error", where, "the figure is missing; null with a reason where it is not computed")
        else:
            if metric.value is not None and not late.low <= metric.value <= late.high:
                subject.findings.add(
                    "error", f"{where}.value", f"is {metric.value}: use a number from {late.low:g} to {late.high:g}"
                )
            metrics[name] = metric
    return metrics


def _recompute_late(
    subject: _Subject, late: LateMetrics, gathered: _Gathered, encoders: Mapping[str, str | None]
) -> dict[str, str]:
    """Hold values of encoders against those of the same encoders, where they are at hand.

    Returns:
        Metrics that could not be, with the reason.
    """
    left_out = {name: "the entry holds no values of single critiques" for name in late.names if name not in encoders}
    if not encoders:
        return left_out
    ours = late.compute(subject.task, gathered.answer_by_id, subject.local)
    for name, encoder in encoders.items():
        if name not in ours.values:
            left_out[name] = f"added up from the records: {ours.missing[name].removeprefix(NOT_COMPUTED)}"
        elif ours.encoders[name] != encoder:
            left_out[name] = f"added up from the records: its encoder is {encoder}, the one here {ours.encoders[name]}"
        else:
            for item_id, message in differences(name, gathered.late[name], ours.values[name], late.tolerance):
                subject.findings.add("error", f"{subject.file}, id {item_id}", message, f"{subject.file}: {name}")
    return left_out


# -- What a task says of itself ---------------------------------------------------------------------------------------


def _check_versions(subject: _Subject) -> None:
    result, task, parser = subject.result, subject.task, subject.benchmark.parser
    if result.version.partition("-")[0] != task.version.partition("-")[0]:
        subject.findings.add(
            "error",
            f"{subject.base}.version",
            f"is {result.version}; this lmms-aes-tasks scores {task.version}. Install theirs",
        )
    if result.parser != parser:
        subject.findings.add(
            "error", f"{subject.base}.parser", f"is {result.parser}; this one's is {parser}. Install theirs"
        )
    for name, ours in subject.benchmark.resource_versions().items():
        theirs = subject.entry.versions.libraries.get(name)
        if theirs is not None and theirs != ours:
            subject.findings.add("note", f"versions.libraries.{name}", f"scored with {theirs}, verified with {ours}")


def _note_data(subject: _Subject) -> None:
    result, task, data, findings = subject.result, subject.task, subject.data, subject.findings
    if data is None:
        demo = "the demo's data is made from scikit-image's photographs: pip install 'lmms-aes-tasks[demo]'"
        remedy = demo if read_card(task.card).generator else "give --data"
        findings.add(
            "note",
            result.task,
            f"gold labels are those of the records, and the data's fingerprint is not checked: {remedy}",
        )
    elif result.data_sha256 is None:
        findings.add("note", result.task, "the entry was built without the data: it names no fingerprint of it")


def _task_of(entry: Entry, name: str) -> Task:
    """The task that an entry's result is about.

    Raises:
        EntryError: It is none of the benchmarks here.
    """
    result, task = entry.tasks[name], known_tasks().get(name)
    if task is None or result.task != name or result.benchmark != task.benchmark:
        raise EntryError(
            f"{ENTRY_FILE}, tasks.{name}: task {printable(result.task)} of {printable(result.benchmark)} is none of "
            f"ours: use {', '.join(known_tasks())}"
        )
    return task


# -- Recomputing ------------------------------------------------------------------------------------------------------


def _read_all(subject: _Subject, unchanged: bool) -> _Gathered | None:
    """Every row of a task, read again; None where the file was changed and does not decompress."""
    gathered = _Gathered()
    try:
        for row in read_rows(subject.folder, subject.file, subject.result.file.content_bytes):
            _read_row(row, subject, gathered)
    except CorruptError as error:
        if unchanged:
            raise
        subject.findings.add("error", subject.file, f"{printable(error)} Its digest says that it was changed")
        return None
    return gathered


def _check_counts(subject: _Subject, gathered: _Gathered) -> None:
    n, expected = len(gathered.ids), expected_items(subject.task)
    if n != subject.result.file.rows:
        subject.findings.add(
            "error", f"{subject.base}.file.rows", f"is {subject.result.file.rows}, and the file has {n}"
        )
    check_ids(subject.result, gathered.ids, subject.data, subject.findings)
    if expected is not None and n != expected:
        subject.findings.add("error", subject.file, f"{n} items of {expected}: a run with --limit, or cut")


def _means(subject: _Subject, gathered: _Gathered) -> Means:
    """What the entry says that its scores were computed with."""
    libraries = subject.entry.versions.libraries
    return Means(
        encoders={name: libraries.get(library_name(name)) for name in gathered.late},
        resources={name: libraries.get(name) for name in subject.benchmark.resources},
    )


def _recompute(subject: _Subject, gathered: _Gathered) -> _Recomputed:
    """Every figure again, held against the entry's."""
    result, data, findings, benchmark = subject.result, subject.data, subject.findings, subject.benchmark
    unchecked, means = benchmark.unchecked(data is not None), _means(subject, gathered)
    late: dict[str, Metric] = {}
    if benchmark.late is not None:
        late = _late_metrics(subject, benchmark.late, gathered)
        unchecked |= _recompute_late(subject, benchmark.late, gathered, means.encoders)
    try:
        figures = benchmark.figures(subject.task, gathered.items)
    except (ValueError, ArithmeticError) as error:
        findings.add("error", subject.base, f"cannot be scored: {printable(error)}")
        return _Recomputed([], sorted(result.metrics))
    ours = result_of(
        subject.task,
        gathered.ids,
        figures,
        parser=benchmark.parser,
        version=result.version,
        plugin=subject.entry.versions.plugin,
        data_sha256=result.data_sha256 if data is None or result.data_sha256 is None else data.sha256,
        prompts=result.prompts,
        decoding=result.decoding,
        images=result.images,
        more_metrics=late,
        means=means,
        n_data=result.n_expected if data is None else len(data.documents),
        file=result.file,
    )
    compare_fields(result, ours, findings)
    equal = compare_metrics(result.metrics, ours.metrics, f"{subject.base}.metrics", findings)
    compare_breakdowns(result, ours, findings)
    _flag(subject, gathered, figures.parse_rate)
    for message in [] if data is None else benchmark.prompt_problems(result.prompts, data):
        findings.add("error", f"{subject.base}.prompts", message)
    for reason in sorted(set(unchecked.values())):
        names = [metric for metric, own in unchecked.items() if own == reason]
        findings.add("note", subject.task.name, f"not recomputed: {', '.join(names)}: {reason}")
    return _Recomputed([name for name in equal if name not in unchecked], list(unchecked))


def _verify_task(
    folder: Path, entry: Entry, name: str, local: LocalData, required: bool, findings: Findings
) -> _Recomputed:
    task, result = _task_of(entry, name), entry.tasks[name]
    unchanged = check_file(folder, result, findings)
    benchmark = registry.benchmark(task.benchmark)
    subject = _Subject(folder, entry, result, task, benchmark, local, data_of(task, local, required), findings)
    _check_versions(subject)
    check_settings(result, findings)
    gathered = _read_all(subject, unchanged)
    if gathered is None:
        return _Recomputed([], sorted(result.metrics))
    _check_counts(subject, gathered)
    _note_data(subject)
    return _recompute(subject, gathered)


# -- The whole --------------------------------------------------------------------------------------------------------


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
    files = check_entry_folder(folder)
    entry, digest = read_entry(folder)
    findings = Findings()
    check_entry(entry, files, findings)
    local = LocalData(data)
    parts = {name: _verify_task(folder, entry, name, local, data_required, findings) for name in entry.tasks}
    return Verification(
        status=None if findings.has_error else "recomputed",
        entry_sha256=digest,
        verified=today(),
        plugin=__version__,
        recomputed={name: part.recomputed for name, part in parts.items()},
        not_recomputed={name: part.not_recomputed for name, part in parts.items() if part.not_recomputed},
        findings=findings.all(),
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
