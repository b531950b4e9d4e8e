"""Rows of responses to the Visual Aesthetic Benchmark, and the tasks they are of, as the files have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_aes_tasks.predictions import PredictionError, is_sample, placed, read_items, response_text, sample_of
from lmms_aes_tasks.records import RECORD_SUFFIXES, SourceError, read_labels, read_records, records_file
from lmms_aes_tasks.sources import card_of_samples, locate, read_card
from lmms_aes_tasks.utils.cells import id_text, is_empty, is_nothing, json_value, whole_number
from lmms_aes_tasks.utils.errors import problem_text
from lmms_aes_tasks.utils.permutations import TRIALS, trial_permutations
from lmms_aes_tasks.utils.selection import QUESTIONS
from lmms_aes_tasks.vab.prompts import PROMPT_TYPES
from lmms_aes_tasks.vab.schema import SCHEMA, gold_label, label, task_problems
from lmms_aes_tasks.vab.task import asked, gold_of

_QUESTION_OF = {prompt_type: question for question, prompt_type in PROMPT_TYPES.items()}
Tasks = Mapping[str, Mapping[str, Any]]
TASK_FIELDS = ("task_id", "domain", "substyle", "n_images", "ground_truth_best", "ground_truth_worst")


@dataclass(frozen=True)
class Row:
    """One response before it is checked.

    Attributes:
        question: `top1`, `bot1` or `tb1`.
        task_id: The set.
        trial: Which order.
        text: The reply.
        permutation: The order that the file says was shown; None when it does not say.
        task: What the file itself says of the task; empty when nothing.
        prompt: The text that the model was given, where the file has it.
    """

    question: str
    task_id: str
    trial: int
    text: str
    permutation: tuple[int, ...] | None = None
    task: Mapping[str, Any] = field(default_factory=dict)
    prompt: str | None = None


class Problems(list[str]):
    """Problems collected before anything is raised."""

    def raise_all(self, where: str) -> None:
        """Raise when there are any.

        Raises:
            PredictionError: With all of them.
        """
        if self:
            raise PredictionError(problem_text(where, self))


# -- Tasks ------------------------------------------------------------------------------------------------------------


def tasks_of_data(path: Path) -> dict[str, dict[str, Any]]:
    """Tasks by id, from the data (a folder or file of records); its images are not needed.

    Raises:
        SourceError: A record is unsound; every case is listed.
    """
    rows = read_labels(records_file(path), SCHEMA, ["id", *TASK_FIELDS[1:]])
    return {row["id"]: {"task_id": row.pop("id"), **row} for row in rows}


def _numbers_and_labels(row: Mapping[str, Any]) -> dict[str, Any]:
    """The size and the truth that a row says of its task: a number in any spelling, labels in capitals; else None."""
    size = row.get("n_images")
    number = whole_number(size)
    found = {"n_images": size if number is None and not is_empty(size) else number}
    return found | {name: gold_label(row.get(name)) for name in TASK_FIELDS[4:]}


def read_tasks(path: Path) -> dict[str, dict[str, Any]]:
    """Tasks by id, from a JSON, JSONL, CSV or TSV file of the fields `TASK_FIELDS`.

    Raises:
        PredictionError: A task is unsound or repeated; every case is listed.
    """
    problems = Problems()
    tasks: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(read_records(path), 1):
        missing = [name for name in TASK_FIELDS if name not in row]
        if missing:
            problems.append(f"task {number}: no field {', '.join(missing)}")
            continue
        task_id = id_text(row["task_id"])
        task = {name: row[name] for name in ("domain", "substyle")} | {"task_id": task_id}
        task |= _numbers_and_labels(row)
        found = [
            f"{name} is {row[name]!r}; give a text"
            for name in ("domain", "substyle")
            if not isinstance(row[name], str) or (row[name] and is_empty(row[name]))
        ]
        found += task_problems(task_id, *(task[name] for name in TASK_FIELDS[3:]))
        if task_id in tasks:
            found.append("the id is already that of another task")
        problems.extend(f"task {number} ({task_id!r}): {problem}" for problem in found)
        tasks[task_id] = task
    problems.raise_all(str(path))
    if not tasks:
        raise PredictionError(f"{path} holds no tasks. Give one object a task with {', '.join(TASK_FIELDS)}.")
    return tasks


# -- Rows -------------------------------------------------------------------------------------------------------------


_SAMPLES_NAME = re.compile(r"(?P<date>.*)_samples_vab_(?P<question>top1|bot1|tb1)(?P<variant>.*)\.jsonl")


def _files(path: Path) -> list[Path]:
    """A file itself, or the samples files of one run of our tasks below a folder (hidden folders included)."""
    if path.is_file():
        return [path]
    found = sorted(path.rglob("*_samples_vab_*.jsonl")) if path.is_dir() else []
    found = [file for file in found if not file.name.startswith(".")]  # such as archives of macOS have beside each
    named = [(file, match) for file in found if (match := _SAMPLES_NAME.fullmatch(file.name))]
    runs = {(file.parent, match["date"], match["variant"]) for file, match in named}
    if len(runs) > 1:
        listing = "\n".join(f"  - {file}" for file in found)
        raise PredictionError(
            f"{path} holds {len(runs)} runs (by folder, date and variant), which are not one score. "
            f"Name the files of one:\n{listing}"
        )
    if not found:
        kinds = ", ".join(RECORD_SUFFIXES[1:])
        raise PredictionError(
            f"{path}: no samples file of vab there. Name a {kinds} file, or lmms-eval's output folder."
        )
    return found


def _permutation(value: Any, n_images: int) -> tuple[int, ...] | None:
    if is_empty(value):
        return None
    order = json_value(value)
    numbers = [whole_number(item) for item in order] if isinstance(order, list) else []
    if sorted(number for number in numbers if number is not None) != list(range(n_images)):
        raise ValueError(f"permutation is {value!r}; give an order of 0 to {n_images - 1}")
    return tuple(number for number in numbers if number is not None)


def _trial_number(value: Any) -> int:
    number = whole_number(value)
    if number is None or not 0 <= number < TRIALS:
        raise ValueError(f"trial is {value!r}; use a number from 0 to {TRIALS - 1}")
    return number


def _sample_row(item: Mapping[str, Any], where: str) -> Row:
    """A line of lmms-eval's samples file: all that is needed is in our record."""
    try:
        sample = sample_of(item, where)
    except PredictionError:
        sample = None
    record = None if sample is None else sample.record
    if sample is None or record is None or record.get("question") not in QUESTIONS:
        raise ValueError("not a sample of a vab task with its text. Run it with --log_samples again")
    task = {name: record.get(name) for name in TASK_FIELDS}
    problems = task_problems(str(task["task_id"]), *(task[name] for name in TASK_FIELDS[3:]))
    if problems:
        raise ValueError("; ".join(problems))
    for name in ("domain", "substyle"):
        if not isinstance(task[name], str):
            raise ValueError(f"{name} is {task[name]!r}; give a text")
    return Row(
        record["question"],
        str(record["task_id"]),
        _trial_number(record.get("trial")),
        sample.response,
        _permutation(record.get("permutation"), record["n_images"]),
        task,
        sample.prompt,
    )


def _authors_task(item: Mapping[str, Any], task_id: str) -> dict[str, Any]:
    """What a row of the authors' result file says of its task; a row knows only the labels that it asked for."""
    truth = json_value(item.get("ground_truth"))
    truth = truth if isinstance(truth, dict) else {}
    task = {name: None if is_nothing(item.get(name)) else item[name] for name in ("domain", "substyle")}
    labels = {"ground_truth_best": truth.get("best"), "ground_truth_worst": truth.get("worst")}
    return task | {"task_id": task_id} | _numbers_and_labels(labels | {"n_images": item.get("n_images")})


def _plain_row(item: Mapping[str, Any]) -> Row:
    """A row of JSONL made elsewhere, or of the authors' result file."""
    by_authors = "model_response" in item
    prompt_type = item.get("prompt_type")
    if not isinstance(prompt_type, str) or prompt_type not in _QUESTION_OF:
        raise ValueError(f"prompt_type is {prompt_type!r}; use one of {', '.join(_QUESTION_OF)}")
    task_id = id_text(item.get("task_id"))
    if not task_id:
        raise ValueError(f"task_id is {item.get('task_id')!r}; give a text")
    text = item.get("model_response") if by_authors else item.get("response")
    if not is_nothing(text) and not isinstance(text, str):
        raise ValueError(f"the response is of type {type(text).__name__}; give the model's text")
    task = _authors_task(item, task_id) if by_authors else {}
    permutation = None
    if isinstance(task.get("n_images"), int):
        permutation = _permutation(item.get("permutation"), task["n_images"])
    response = response_text(text)
    return Row(_QUESTION_OF[prompt_type], task_id, _trial_number(item.get("trial")), response, permutation, task)


def _placed_rows(file: Path, items: Sequence[Mapping[str, Any]], known: Tasks | None) -> list[Row]:
    """Samples of --predict_only, each the trial in its place: three a task, in the order of the data.

    Raises:
        PredictionError: The data is not at hand, or it is other data.
    """
    samples = [sample_of(item, file.name) for item in items]
    match = _SAMPLES_NAME.fullmatch(file.name)
    if known is None or match is None:
        placed(samples, None, file)
        return []
    question = match["question"]
    documents = []
    rows: dict[str, tuple[str, int]] = {}
    for task_id, task in known.items():
        for trial, order in enumerate(trial_permutations(task_id, task["n_images"])):
            gold = gold_of(question, task["ground_truth_best"], task["ground_truth_worst"])
            shown = [label(order.index(ord(name) - ord("A"))) for name in gold]
            one = asked(question, task["n_images"]) == "pick_best"
            documents.append((f"{task_id}#{trial}", ",".join(shown[:1] if one else shown)))
            rows[documents[-1][0]] = (task_id, trial)
    return [
        Row(question, *rows[sample.id], sample.response, None, known[rows[sample.id][0]], sample.prompt)
        for sample in placed(samples, documents, file)
    ]


def _left_out(item: Mapping[str, Any]) -> bool:
    """Whether a row is a failed call: a missing trial, and listed as such."""
    return not is_empty(item.get("error")) and item["error"] is not False


def _file_rows(file: Path, known: Tasks | None, problems: Problems) -> tuple[list[Row], int]:
    """The rows of a file, and how many were left out for an error.

    Raises:
        PredictionError: The file cannot be read.
    """
    rows: list[Row] = []
    failed = 0
    without_record = []
    for number, item in read_items(file):
        try:
            if not isinstance(item, dict):
                raise ValueError(f"{type(item).__name__} in place of an object")
            if not is_empty(item.get("derived_from")):
                continue  # the authors' derived rows are derived anew
            if _left_out(item):
                failed += 1
            elif is_sample(item) and "record" not in item:
                without_record.append(item)
            else:
                rows.append(_sample_row(item, file.name) if "record" in item else _plain_row(item))
        except ValueError as error:
            problems.append(f"{file.name}, row {number}: {error}")
    if without_record:
        rows += _placed_rows(file, without_record, known)
    return rows, failed


def _known_at_hand(file: Path, tasks: Tasks | None, fallback: Path | None) -> Tasks | None:
    """Tasks in the order of the data, for samples that hold their place alone; a demo's are generated."""
    if tasks is not None:
        return tasks
    name = card_of_samples(file, "vab")
    if name == "vab":
        return tasks_of_data(fallback) if fallback is not None else None
    return tasks_of_data(locate(read_card(name)))


def read_rows(
    paths: Sequence[Path], tasks: Tasks | None, fallback: Path | None, problems: Problems
) -> tuple[list[Row], int]:
    """Rows of all files, and how many were left out."""
    rows: list[Row] = []
    failed = 0
    for file in (file for path in paths for file in _files(path)):
        try:
            without_record = _begins_without_record(file)
            known = _known_at_hand(file, tasks, fallback) if without_record else None
            more, left_out = _file_rows(file, known, problems)
        except SourceError as error:
            raise PredictionError(str(error)) from None
        rows += more
        failed += left_out
    return rows, failed


def _begins_without_record(file: Path) -> bool:
    first = next(iter(read_items(file)), (0, None))[1]
    return isinstance(first, dict) and is_sample(first) and "record" not in first
