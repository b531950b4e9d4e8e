"""Building an entry from runs: `entry.json` and the responses, scored anew and free of everything local."""

from __future__ import annotations

import collections
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

from lmms_aes_tasks.board.digests import lines_sha256, response_digest
from lmms_aes_tasks.board.errors import BuildError, EntryError
from lmms_aes_tasks.board.schema import (
    ENTRY_FILE,
    VERIFICATION_FILE,
    Entry,
    Metric,
    PromptUse,
    Subject,
    TaskResult,
)
from lmms_aes_tasks.critiquecanvas import items as critiquecanvas
from lmms_aes_tasks.critiquecanvas import late as embedding
from lmms_aes_tasks.critiquecanvas.late import EmbeddingValues
from lmms_aes_tasks.leaderboard.benchmarks import Adapter, Read, adapter_of
from lmms_aes_tasks.leaderboard.data import Data, data_of
from lmms_aes_tasks.leaderboard.reading import texts_of
from lmms_aes_tasks.leaderboard.responses import FOLDER, Row, write_rows
from lmms_aes_tasks.leaderboard.results import result_of
from lmms_aes_tasks.leaderboard.runs import (
    TaskRun,
    backend_of,
    decoding_of,
    find_task_runs,
    images_of,
    versions,
)
from lmms_aes_tasks.leaderboard.safe_reading import MAX_JSON_BYTES, is_plain, looks_local, printable
from lmms_aes_tasks.leaderboard.tasks import expected_items
from lmms_aes_tasks.predictions import Prediction, PredictionError, check_ids, read_predictions
from lmms_aes_tasks.utils.errors import bulleted
from lmms_aes_tasks.utils.unicode_text import well_formed

TOLERANCE = 1e-9
"""Two figures that are computed from the same responses differ by rounding alone."""


@dataclass(frozen=True)
class Wanted:
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


def _prompts(run: TaskRun, predictions: Sequence[Prediction], images: Mapping[str, Any]) -> list[PromptUse]:
    """Prompts by use; of critiques, whose prompt is each record's own, the digest over ids and instructions."""
    import importlib

    if run.task.benchmark == "critiquecanvas":
        given = sorted((item.id, item.prompt) for item in predictions if item.prompt is not None)
        own_words = not any(key.startswith(("pre_", "post_")) for key in images)
        if own_words and len(given) == len(predictions):
            return [PromptUse(id="instruction", sha256=lines_sha256(map(list, given)), n=len(given))]
        return [PromptUse(id="other", n=len(predictions))]
    name_of = importlib.import_module(f"lmms_aes_tasks.{run.task.benchmark}").prompt_name
    counts = collections.Counter(name_of(item.prompt) if item.prompt else "other" for item in predictions)
    found = []
    for name, count in sorted(counts.items()):
        match = re.fullmatch(r"(?P<id>.*?) sha256:(?P<sha>[0-9a-f]{64})(?P<more>.*)", name, re.DOTALL)
        if match:
            found.append(PromptUse(id=match["id"] + match["more"], sha256=match["sha"], n=count))
        else:
            template = images.get("prompt_file_sha256")
            found.append(PromptUse(id="other", sha256=template if isinstance(template, str) else None, n=count))
    return found


def _document(adapter: Adapter, item: Prediction, data: Data | None, where: Path) -> Mapping[str, Any]:
    if item.record is None:
        raise PredictionError(f"{where}: {item.id} has no record. Run lmms-eval with --log_samples again.")
    if data is not None and item.id in data.documents:
        return data.documents[item.id]
    try:
        return adapter.document(item.record)
    except ValueError as error:
        raise PredictionError(f"{where}: the record of {printable(item.id)}: {error}") from None


def _read(adapter: Adapter, item: Prediction, response: str, data: Data | None, where: Path) -> Read:
    document = _document(adapter, item, data, where)
    assert item.record is not None
    try:
        found = adapter.read(document, response, item.record)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise PredictionError(f"{where}: {printable(item.id)} cannot be scored ({printable(error)}).") from None
    if str(document["id"]) != item.id:
        raise PredictionError(f"{where}: the sample {printable(item.id)} has the record of {document['id']}.")
    return found


def _compare_with_harness(run: TaskRun, metrics: Mapping[str, Metric]) -> None:
    """The figures must be those that the harness wrote.

    Raises:
        BuildError: One differs.
    """
    problems = []
    for name, theirs in run.metrics.items():
        if name not in metrics:
            continue
        ours = metrics[name].value
        tolerance = embedding.TOLERANCE if name in critiquecanvas.EMBEDDING_METRICS else TOLERANCE
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


def _embedding_metrics(run: TaskRun, found: EmbeddingValues, n: int) -> dict[str, Metric]:
    """Embedding metrics: those computed, else the run's own figures, else null with the reason."""
    made = {}
    for name in critiquecanvas.EMBEDDING_METRICS:
        if name in found.values:
            made[name] = embedding.mean_metric(found.values[name])
        elif (reported := run.metrics.get(name)) is not None:
            made[name] = Metric(value=reported, n=n)
        else:
            made[name] = Metric(value=None, n=0, reason=found.missing[name])
    return made


def _values_of(own_id: str, embedded: EmbeddingValues) -> dict[str, float]:
    return {name: values[own_id] for name, values in embedded.values.items() if own_id in values}


def _build_task(run: TaskRun, wanted: Wanted, folder: Path, encoders: dict[str, str]) -> TaskResult:
    """One task's result; what encoders were used is added to `encoders`."""
    task = run.task
    adapter = adapter_of(task)
    predictions = read_predictions(run.samples)
    data = data_of(task, wanted.data)
    _check_coverage(run, predictions, data, wanted.allow_incomplete)
    rows: list[Row] = []
    items: list[Any] = []
    texts: dict[str, str] = {}
    for item in _progress(predictions, task.name):
        response = well_formed(item.response)
        read = _read(adapter, item, response, data, run.samples)
        record = json.loads(json.dumps(read.record)) | {"response_digest": response_digest(response)}
        rows.append(Row(item.id, response, record))
        items.append(read.item)
        if task.benchmark == "critiquecanvas":
            texts[item.id] = str(read.answer)
    unsound = [own.id for own in rows if not is_plain(own.id) or looks_local(own.id)]
    if unsound:
        raise BuildError(f"{run.samples}: the id {printable(unsound[0])!r} holds <, > or a local path. Rename it.")
    try:
        figures = adapter.figures(items)
    except (ValueError, ArithmeticError) as error:
        raise BuildError(f"{run.samples}: {task.name} cannot be scored: {printable(error)}") from None
    more: dict[str, Metric] = {}
    if task.benchmark == "critiquecanvas":
        embedded = embedding.embedding_values(task, texts, wanted.data)
        more = _embedding_metrics(run, embedded, len(rows))
        encoders |= {embedding.library_name(name): own for name, own in embedded.encoders.items()}
        rows = [replace(row, record=row.record | _values_of(row.id, embedded)) for row in rows]
    images = images_of(run)
    file = write_rows(folder, task.name, rows)
    result = result_of(
        task,
        [row.id for row in rows],
        figures,
        parser=adapter.parser,
        version=task.version,
        plugin=versions().plugin,
        data_sha256=None if data is None else data.sha256,
        prompts=_prompts(run, predictions, images),
        decoding=decoding_of(run),
        images=images,
        more_metrics=more,
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


def build_entry(places: Sequence[Path], wanted: Wanted, folder: Path) -> Entry:
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
    encoders: dict[str, str] = {}
    results = {run.task.name: _build_task(run, wanted, folder, encoders) for run in runs}
    own = versions()
    entry = Entry(
        date=max(run.day for run in runs),
        evaluator=wanted.evaluator,
        model=subject,
        versions=own.model_copy(update={"libraries": own.libraries | encoders}),
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


def build(places: Sequence[Path], target: Path, wanted: Wanted, force: bool = False) -> Entry:
    """Build an entry; see `build_entry`. An existing one is replaced with `force` alone, and stays on failure.

    Raises:
        BuildError: See `build_entry` and `replacing`.
    """
    with replacing(target, force) as folder:
        return build_entry(places, wanted, folder)
