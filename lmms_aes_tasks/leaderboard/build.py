"""Building an entry from runs: `entry.json` and the responses, scored anew and free of everything local."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.benchmark import Benchmark, Data, Row, ScoredResponse
from lmms_aes_tasks.board.digests import response_digest
from lmms_aes_tasks.board.errors import BuildError, EntryError
from lmms_aes_tasks.board.fingerprint import LocalData
from lmms_aes_tasks.board.late import LateValues, library_name, mean_metric
from lmms_aes_tasks.board.schema import (
    ENTRY_FILE,
    VERIFICATION_FILE,
    Entry,
    Metric,
    Subject,
    TaskResult,
)
from lmms_aes_tasks.board.text import is_plain, looks_local, printable
from lmms_aes_tasks.leaderboard.data import data_of
from lmms_aes_tasks.leaderboard.reading import texts_of
from lmms_aes_tasks.leaderboard.responses import FOLDER, has_failed, write_rows
from lmms_aes_tasks.leaderboard.results import TOLERANCE, UNSOUND, Means, result_of
from lmms_aes_tasks.leaderboard.runs import (
    TaskRun,
    backend_of,
    decoding_of,
    find_task_runs,
    images_of,
)
from lmms_aes_tasks.leaderboard.safe_reading import MAX_JSON_BYTES
from lmms_aes_tasks.leaderboard.tasks import expected_items
from lmms_aes_tasks.leaderboard.versions import versions
from lmms_aes_tasks.predictions import Prediction, PredictionError, check_ids, read_predictions
from lmms_aes_tasks.utils.errors import bulleted
from lmms_aes_tasks.utils.reply_facts import AGAIN
from lmms_aes_tasks.utils.unicode_text import well_formed


@dataclass(frozen=True)
class EntryRequest:
    """What the submitter says of an entry.

    Attributes:
        model_id: ORG/NAME.
        revision: Commit of the weights or version of an API.
        evaluator: Who ran it; None for anonymous.
        data: Folder with one folder a benchmark; None for none.
        tasks: Names of tasks; all that were run when empty.
        allow_incomplete: Whether a run with --limit is taken; a verifier will refuse it.
    """

    model_id: str
    revision: str | None = None
    evaluator: str | None = None
    data: Path | None = None
    tasks: tuple[str, ...] = ()
    allow_incomplete: bool = False


# -- One task ---------------------------------------------------------------------------------------------------------


def _check_coverage(run: TaskRun, predictions: Sequence[Prediction], data: Data | None, allow_incomplete: bool) -> None:
    """Every document once, and no other.

    Raises:
        PredictionError: Ids are repeated, unknown or missing.
    """
    check_ids(predictions, None if data is None else data.documents, run.samples, allow_incomplete)
    n, expected = len(predictions), expected_items(run.task)
    if allow_incomplete:
        return
    if run.limited:
        raise PredictionError(
            f"{run.results}: {run.task.name} was run with --limit or --offset. Run it whole; --allow-incomplete takes "
            "it, and no verifier will accept the entry."
        )
    if expected is not None and n != expected:
        raise PredictionError(
            f"{run.samples}: {n} samples of {run.task.name}, {expected} expected. Run it whole; --allow-incomplete "
            "takes it, and no verifier will accept the entry."
        )


def _document(benchmark: Benchmark, run: TaskRun, item: Prediction, data: Data | None) -> Mapping[str, Any]:
    if item.record is None:
        raise PredictionError(f"{run.samples}: {item.id} has no record. Run lmms-eval with --log_samples again.")
    if data is not None and item.id in data.documents:
        return data.documents[item.id]
    try:
        return benchmark.document(run.task, item.record)
    except ValueError as error:
        raise PredictionError(f"{run.samples}: the record of {printable(item.id)}: {error}") from None


def _read(benchmark: Benchmark, run: TaskRun, item: Prediction, response: str, data: Data | None) -> ScoredResponse:
    document = _document(benchmark, run, item, data)
    assert item.record is not None
    try:
        read = benchmark.read(run.task, document, response, item.record)
    except UNSOUND as error:
        raise PredictionError(f"{run.samples}: {printable(item.id)} cannot be scored ({printable(error)}).") from None
    if str(document["id"]) != item.id:
        raise PredictionError(f"{run.samples}: the sample {printable(item.id)} has the record of {document['id']}.")
    return read


def _compare_with_harness(run: TaskRun, metrics: Mapping[str, Metric]) -> None:
    """The figures must be those that the harness wrote.

    Raises:
        BuildError: One differs.
    """
    late = registry.benchmark(run.task.benchmark).late
    problems = []
    for name, theirs in run.metrics.items():
        if name not in metrics:
            continue
        ours = metrics[name].value
        tolerance = late.tolerance if late is not None and name in late.names else TOLERANCE
        if (ours is None) != (theirs is None) or (
            ours is not None and theirs is not None and not math.isclose(ours, theirs, rel_tol=0, abs_tol=tolerance)
        ):
            problems.append(f"{name} is {ours} from the samples and {theirs} in the results")
    if problems:
        raise BuildError(
            f"{run.results}: {run.task.name}: the samples do not give the figures of the results file. Were the "
            "samples changed, or scored by another version of lmms-aes-tasks? Run it again, or build with that "
            f"version.\n{bulleted(problems)}"
        )


def _late_metrics(run: TaskRun, names: Sequence[str], given: LateValues, n: int) -> dict[str, Metric]:
    """Metrics that need encoders: those computed, else the run's own figures, else null with the reason."""
    metrics = {}
    for name in names:
        if name in given.values:
            metrics[name] = mean_metric(given.values[name])
        elif (reported := run.metrics.get(name)) is not None:
            metrics[name] = Metric(value=reported, n=n)
        else:
            metrics[name] = Metric(value=None, n=0, reason=given.missing[name])
    return metrics


def _values_of(item_id: str, late: LateValues) -> dict[str, float]:
    return {name: values[item_id] for name, values in late.values.items() if item_id in values}


def _read_rows(
    run: TaskRun, benchmark: Benchmark, predictions: Sequence[Prediction], data: Data | None
) -> tuple[list[Row], list[ScoredResponse]]:
    """Every response with its record, computed anew.

    Raises:
        PredictionError: A record is not sound.
        BuildError: Requests failed, or an id is none that may be published.
    """
    rows: list[Row] = []
    reads: list[ScoredResponse] = []
    for item in _progress(predictions, run.task.name):
        response = well_formed(item.response)
        read = _read(benchmark, run, item, response, data)
        record = json.loads(json.dumps(read.record)) | {"response_digest": response_digest(response)}
        rows.append(Row(item.id, response, record))
        reads.append(read)
    failed = [row.id for row in rows if has_failed(row.response, row.record)]
    if failed:
        raise BuildError(
            f"{run.samples}: {len(failed)} of {len(rows)} requests of {run.task.name} failed ({printable(failed[0])} "
            f"…): such a run is not published. {AGAIN}, and build from the results of that run."
        )
    unsound = [row.id for row in rows if not is_plain(row.id) or looks_local(row.id)]
    if unsound:
        raise BuildError(f"{run.samples}: the id {printable(unsound[0])!r} holds <, > or a local path. Rename it.")
    return rows, reads


def _build_task(
    run: TaskRun, wanted: EntryRequest, local: LocalData, folder: Path, libraries: dict[str, str]
) -> TaskResult:
    """One task's result; encoders and other means that were used are added to `libraries`."""
    task = run.task
    benchmark = registry.benchmark(task.benchmark)
    predictions = read_predictions(run.samples)
    data = data_of(task, local)
    _check_coverage(run, predictions, data, wanted.allow_incomplete)
    rows, reads = _read_rows(run, benchmark, predictions, data)
    try:
        figures = benchmark.figures(task, [read.item for read in reads])
    except (ValueError, ArithmeticError) as error:
        raise BuildError(f"{run.samples}: {task.name} cannot be scored: {printable(error)}") from None
    more: dict[str, Metric] = {}
    resources = benchmark.resource_versions()
    means = Means(resources=dict.fromkeys(benchmark.resources) | resources)
    libraries |= resources
    if benchmark.late is not None:
        answers = {row.id: str(read.answer) for row, read in zip(rows, reads, strict=True)}
        values = benchmark.late.compute(task, answers, local)
        more = _late_metrics(run, benchmark.late.names, values, len(rows))
        means = replace(means, encoders=values.encoders)
        libraries |= {library_name(name): encoder for name, encoder in values.encoders.items()}
        rows = [replace(row, record=row.record | _values_of(row.id, values)) for row in rows]
    images = images_of(run)
    file = write_rows(folder, task.name, rows)
    result = result_of(
        task,
        [row.id for row in rows],
        figures,
        parser=benchmark.parser,
        version=task.version,
        plugin=versions().plugin,
        data_sha256=None if data is None else data.sha256,
        prompts=benchmark.prompts(predictions, images),
        decoding=decoding_of(run),
        images=images,
        more_metrics=more,
        means=means,
        n_data=None if data is None else len(data.documents),
        file=file,
    )
    _compare_with_harness(run, result.metrics)
    return result


def _progress(items: Sequence[Prediction], name: str) -> Iterator[Prediction]:
    from tqdm import tqdm

    yield from tqdm(items, desc=name, unit=" items", disable=None)  # None: shown on a terminal only


# -- Nothing local goes out -------------------------------------------------------------------------------------------


def _local_texts() -> dict[str, str]:
    """Texts of this machine that no entry may hold, and what they are."""
    found = {str(Path.home()): "the home folder", str(Path.cwd()): "the working folder"}
    for name, value in os.environ.items():
        if re.search(r"KEY|TOKEN|SECRET|PASSWORD", name.upper()) and len(value) >= 8:
            found[value] = f"${name}"
    return {text: what for text, what in found.items() if len(text) >= 5}


def refuse_local(content: Mapping[str, Any]) -> None:
    """A last look at `entry.json`: no key, token or path of this machine in any text of it.

    Raises:
        BuildError: There is one; the message names the field, not the text.
    """
    local = _local_texts()
    for where, text in texts_of(content):
        what = next((what for own, what in local.items() if own in text), None)
        if what is None and looks_local(text):
            what = "a key, a token or a local path"
        if what is not None:
            raise BuildError(f"{where} would publish {what}. Change it and build again.")


# -- The entry --------------------------------------------------------------------------------------------------------


def build_entry(places: Sequence[Path], wanted: EntryRequest, folder: Path) -> Entry:
    """Score runs and write their entry into a folder that is there and empty.

    Args:
        places: Output folders of lmms-eval, or results files.
        wanted: What the submitter says.
        folder: Where to write.

    Raises:
        BuildError: The samples contradict the results, or something local would be published.
        SourceError: Runs or data are missing or unsound.
        PredictionError: A samples file is unsound or incomplete.
        EntryError: A limit of a verifier would be broken.
    """
    runs = find_task_runs(places, wanted.tasks)
    try:
        subject = Subject(id=wanted.model_id, revision=wanted.revision, backend=backend_of(runs))
    except ValidationError as error:
        raise BuildError(_validation(error)) from None
    if wanted.evaluator is not None and (not is_plain(wanted.evaluator) or not 0 < len(wanted.evaluator) <= 200):
        raise BuildError(f"--evaluator is {printable(wanted.evaluator)!r}: use 1 to 200 visible characters, no < and >")
    libraries: dict[str, str] = {}
    local = LocalData(wanted.data)
    results = {run.task.name: _build_task(run, wanted, local, folder, libraries) for run in runs}
    own = versions()
    entry = Entry(
        date=max(run.day for run in runs),
        evaluator=wanted.evaluator,
        model=subject,
        versions=own.model_copy(update={"libraries": own.libraries | libraries}),
        tasks=results,
    )
    content = entry.model_dump(mode="json")
    refuse_local(content)
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    if len(text.encode("utf-8")) > MAX_JSON_BYTES:
        raise EntryError(f"{ENTRY_FILE} would have {len(text)} bytes, {MAX_JSON_BYTES} are allowed. Build fewer tasks.")
    (folder / ENTRY_FILE).write_text(text, "utf-8")
    return entry


def _validation(error: ValidationError) -> str:
    first = error.errors()[0]
    names = {"id": "--model-id", "revision": "--revision"}
    where = ".".join(str(part) for part in first["loc"])
    what = {"id": "ORG/NAME of letters, digits, ., _ and -", "revision": "letters, digits, ., _ and -"}
    return (
        f"{names.get(where, where)} is {printable(first['input'])!r}: use {what.get(where, first['msg'])}, "
        "for example Qwen/Qwen3-VL-8B-Instruct"
    )


def is_entry_folder(folder: Path) -> bool:
    """Whether a folder holds what an entry holds, and nothing else: what --force may replace."""
    allowed = {ENTRY_FILE, VERIFICATION_FILE, FOLDER}
    names = {path.name for path in folder.iterdir()}
    inner = folder / FOLDER
    responses = [path.name for path in inner.iterdir()] if inner.is_dir() and not inner.is_symlink() else []
    return names <= allowed and all(name.endswith(".jsonl.zst") for name in responses)


@contextmanager
def replacing(target: Path, force: bool) -> Iterator[Path]:
    """A new folder beside `target` that takes its place when the block ends well; else everything stays as it was.

    Raises:
        BuildError: The target is there and may not be replaced.
    """
    if target.is_symlink() or target.exists():
        if not force:
            raise BuildError(f"{target} is there already. Name another folder, or replace it with --force.")
        if target.is_symlink() or not target.is_dir() or not is_entry_folder(target):
            raise BuildError(f"{target} is no folder of an entry alone. Remove it yourself, or name another.")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        made, old = beside / "new", beside / "old"
        made.mkdir()
        yield made
        if target.exists():
            target.rename(old)
        try:
            made.rename(target)
        except BaseException:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def build(places: Sequence[Path], target: Path, wanted: EntryRequest, force: bool = False) -> Entry:
    """Build an entry; see `build_entry`. An existing one is replaced with `force` alone, and stays on failure.

    Raises:
        BuildError: See `build_entry` and `replacing`.
    """
    with replacing(target, force) as folder:
        return build_entry(places, wanted, folder)
