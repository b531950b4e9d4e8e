"""Responses to the Visual Aesthetic Benchmark made elsewhere, brought to trials: three kinds of files.

Our samples files; JSONL (or a JSON list) of `task_id, prompt_type, trial, response` with the tasks beside it; and the
result file that the authors' own evaluator writes. Everything in them is read as data, and scored anew from the text.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_aes_tasks.predictions import PredictionError
from lmms_aes_tasks.records import RECORD_SUFFIXES, SourceError, read_labels, read_records, records_file
from lmms_aes_tasks.utils.errors import problem_text
from lmms_aes_tasks.utils.permutations import TRIALS, trial_permutations
from lmms_aes_tasks.utils.selection import QUESTIONS, Trial
from lmms_aes_tasks.vab.task import (
    MAX_IMAGES,
    MIN_IMAGES,
    PROMPT_TYPES,
    SCHEMA,
    labels_of,
    prompt_name,
    read_trial,
    task_problems,
)

_QUESTION_OF = {prompt_type: question for question, prompt_type in PROMPT_TYPES.items()}
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
    """

    question: str
    task_id: str
    trial: int
    text: str
    permutation: tuple[int, ...] | None = None
    task: Mapping[str, Any] = field(default_factory=dict)


class _Problems(list[str]):
    """Problems collected before anything is raised."""

    def raise_all(self, where: str) -> None:
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


def read_tasks(path: Path) -> dict[str, dict[str, Any]]:
    """Tasks by id, from a JSON or JSONL file of the fields `TASK_FIELDS`.

    Raises:
        PredictionError: A task is unsound or repeated; every case is listed.
    """
    problems = _Problems()
    tasks: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(read_records(path), 1):
        missing = [name for name in TASK_FIELDS if name not in row]
        if missing:
            problems.append(f"task {number}: no field {', '.join(missing)}")
            continue
        task_id = str(row["task_id"])
        found = [
            f"{name} is {row[name]!r}; give a text" for name in ("domain", "substyle") if not isinstance(row[name], str)
        ]
        found += task_problems(task_id, row["n_images"], row["ground_truth_best"], row["ground_truth_worst"])
        if task_id in tasks:
            found.append("the id is already that of another task")
        problems.extend(f"task {number} ({task_id!r}): {problem}" for problem in found)
        tasks[task_id] = {name: row[name] for name in TASK_FIELDS} | {"task_id": task_id}
    problems.raise_all(str(path))
    if not tasks:
        raise PredictionError(f"{path} holds no tasks. Give one object a task with {', '.join(TASK_FIELDS)}.")
    return tasks


# -- Rows -------------------------------------------------------------------------------------------------------------


_SAMPLES_NAME = re.compile(r"(?P<date>.*)_samples_vab_(?:top1|bot1|tb1)(?P<variant>.*)\.jsonl")


def _files(path: Path) -> list[Path]:
    """A file itself, or the samples files of one run of our tasks below a folder (hidden folders included)."""
    if path.is_file():
        return [path]
    found = sorted(path.rglob("*_samples_vab_*.jsonl")) if path.is_dir() else []
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


def _permutation(value: Any, n_images: int, where: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or sorted(map(str, value)) != sorted(map(str, range(n_images))):
        raise ValueError(f"{where}: permutation is {value!r}; give an order of 0 to {n_images - 1}")
    return tuple(int(item) for item in value)


def _trial_number(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < TRIALS:
        raise ValueError(f"{where}: trial is {value!r}; use a number from 0 to {TRIALS - 1}")
    return value


def _sample_row(item: Mapping[str, Any], where: str) -> Row:
    """A line of lmms-eval's samples file: all that is needed is in our record."""
    record, text = item["record"], item.get("filtered_resps")
    while isinstance(text, list) and text:
        text = text[0]
    if not isinstance(record, dict) or record.get("question") not in QUESTIONS or not isinstance(text, str):
        raise ValueError(f"{where}: not a sample of a vab task with its text. Run it with --log_samples again")
    task = {name: record.get(name) for name in TASK_FIELDS}
    found = task_problems(str(task["task_id"]), task["n_images"], task["ground_truth_best"], task["ground_truth_worst"])
    if found:
        raise ValueError(f"{where}: {'; '.join(found)}")
    for name in ("domain", "substyle"):
        if not isinstance(task[name], str):
            raise ValueError(f"{where}: {name} is {task[name]!r}; give a text")
    return Row(
        record["question"],
        str(record["task_id"]),
        _trial_number(record.get("trial"), where),
        text,
        _permutation(record.get("permutation"), record["n_images"], where),
        task,
    )


def _authors_task(item: Mapping[str, Any]) -> dict[str, Any]:
    """What a row of the authors' result file says of its task; a row knows only the labels that it asked for."""
    truth = item.get("ground_truth")
    truth = truth if isinstance(truth, dict) else {}
    task = {name: item.get(name) for name in ("task_id", "domain", "substyle", "n_images")}
    return task | {"ground_truth_best": truth.get("best"), "ground_truth_worst": truth.get("worst")}


def _plain_row(item: Mapping[str, Any], where: str) -> Row:
    """A row of JSONL made elsewhere, or of the authors' result file."""
    by_authors = "model_response" in item
    text = item.get("model_response") if by_authors else item.get("response")
    prompt_type = item.get("prompt_type")
    if not isinstance(prompt_type, str) or prompt_type not in _QUESTION_OF:
        raise ValueError(f"{where}: prompt_type is {prompt_type!r}; use one of {', '.join(_QUESTION_OF)}")
    if not isinstance(item.get("task_id"), str):
        raise ValueError(f"{where}: task_id is {item.get('task_id')!r}; give a text")
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{where}: the response is of type {type(text).__name__}; give the model's text")
    permutation = None
    if by_authors and isinstance(item.get("n_images"), int):
        permutation = _permutation(item.get("permutation"), item["n_images"], where)
    return Row(
        _QUESTION_OF[prompt_type],
        item["task_id"],
        _trial_number(item.get("trial"), where),
        text or "",
        permutation,
        _authors_task(item) if by_authors else {},
    )


def _rows(path: Path, problems: _Problems) -> Iterator[Row]:
    for number, item in enumerate(read_records(path), 1):
        where = f"{path.name}, row {number}"
        if item.get("derived_from") is not None or item.get("error") is not None:
            continue  # the authors' derived rows are derived anew; a failed call is a missing trial, and listed as such
        try:
            row = _sample_row(item, where) if "record" in item else _plain_row(item, where)
        except ValueError as error:
            problems.append(str(error))
            continue
        yield row


def count_prompts(paths: Sequence[Path]) -> dict[str, int]:
    """How many responses of samples files were asked with which prompt; nothing is known of other files."""
    given = (item.get("input") for path in paths for file in _files(path) for item in read_records(file))
    return dict(collections.Counter(prompt_name(text) for text in given if isinstance(text, str)))


# -- Trials -----------------------------------------------------------------------------------------------------------


def _merge_tasks(rows: Sequence[Row], problems: _Problems) -> dict[str, dict[str, Any]]:
    """Tasks as the files themselves describe them; what is unsound, or contradicts itself, is a problem."""
    tasks: dict[str, dict[str, Any]] = {}
    for row in rows:
        known = tasks.setdefault(row.task_id, {"task_id": row.task_id})
        for name, value in row.task.items():
            if value is not None and known.setdefault(name, value) != value:
                problems.append(f"{row.task_id}: {name} is {known[name]!r} in one row and {value!r} in another")
    asked_of: dict[str, set[str]] = {}
    for row in rows:
        asked_of.setdefault(row.task_id, set()).add(row.question)
    for task_id, task in tasks.items():
        problems.extend(f"{task_id}: {problem}" for problem in _completed(task, asked_of[task_id]))
    return tasks


def _completed(task: dict[str, Any], questions: set[str]) -> list[str]:
    """Fill in what no row said and no question needs; what a question needs, and is not sound, is a problem."""
    for name in ("domain", "substyle"):
        task.setdefault(name, "")
        if not isinstance(task[name], str):
            return [f"{name} is {task[name]!r}; give a text"]
    n_images, best, worst = (task.get(name) for name in ("n_images", "ground_truth_best", "ground_truth_worst"))
    if isinstance(n_images, bool) or not isinstance(n_images, int) or not MIN_IMAGES <= n_images <= MAX_IMAGES:
        return task_problems("x", n_images, best, worst)
    labels = labels_of(n_images)
    if worst is None and n_images == 2 and best in labels:
        worst = next(name for name in labels if name != best)
    # a label that was not asked for may be unknown: any other sound one stands in, and no score looks at it
    if best is None and questions == {"bot1"}:
        best = next((name for name in labels if name != worst), None)
    if worst is None and questions == {"top1"}:
        worst = next((name for name in labels if name != best), None)
    task |= {"ground_truth_best": best, "ground_truth_worst": worst}
    return task_problems("x", n_images, best, worst)


def _contradictions(rows: Iterable[Row], tasks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Where rows say something else of a task than the tasks that were given."""
    found: dict[str, None] = {}
    for row in rows:
        for name in ("n_images", "ground_truth_best", "ground_truth_worst"):
            given, said = tasks[row.task_id][name], row.task.get(name)
            if said is not None and said != given:
                found[f"{row.task_id}: {name} is {said!r} in the responses and {given!r} in the tasks"] = None
    return list(found)


def _derived(rows: Sequence[Row], tasks: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """TB-1 of two images, from Top-1, where it was not asked in its own right."""
    asked_there = {row.task_id for row in rows if row.question == "tb1"}
    pairs = {task_id for task_id, task in tasks.items() if task["n_images"] == 2}
    if not asked_there and pairs != set(tasks):
        return []  # TB-1 was not asked at all: half of it would be no score
    return [
        Row("tb1", row.task_id, row.trial, row.text, row.permutation, row.task)
        for row in rows
        if row.question == "top1" and row.task_id in pairs and row.task_id not in asked_there
    ]


def _coverage(rows: Sequence[Row], tasks: Mapping[str, Any], allow_incomplete: bool) -> list[str]:
    """Missing and repeated trials of every question that was asked."""
    problems = []
    counts = collections.Counter((row.question, row.task_id, row.trial) for row in rows)
    for question in sorted({row.question for row in rows}, key=QUESTIONS.index):
        for task_id in tasks:
            repeated = [str(trial) for trial in range(TRIALS) if counts[question, task_id, trial] > 1]
            missing = [str(trial) for trial in range(TRIALS) if not counts[question, task_id, trial]]
            if repeated:
                problems.append(f"{question}, {task_id}: trial {', '.join(repeated)} repeated")
            if missing and not allow_incomplete:
                problems.append(f"{question}, {task_id}: trial {', '.join(missing)} missing")
    return problems


def read_trials(
    paths: Sequence[Path],
    tasks: Mapping[str, Mapping[str, Any]] | None = None,
    allow_incomplete: bool = False,
    fallback: Path | None = None,
) -> dict[str, list[Trial]]:
    """Read responses of any of the three kinds, check them, and score each.

    Args:
        paths: Files, or output folders of lmms-eval.
        tasks: The tasks; needed for plain JSONL, and checked against where given.
        allow_incomplete: Whether trials may be missing (a run with --limit).
        fallback: The data, from which the tasks are taken when they are not given and the responses do not bring them.

    Returns:
        Trials by question; a question that was not asked is absent.

    Raises:
        PredictionError: A trial is missing or repeated, a task unknown, a row unsound; every case is listed.
    """
    where = ", ".join(map(str, paths))
    problems = _Problems()
    try:
        rows = [row for path in paths for file in _files(path) for row in _rows(file, problems)]
    except SourceError as error:
        raise PredictionError(str(error)) from None
    problems.raise_all(where)
    if not rows:
        raise PredictionError(f"{where}: no responses. Give a samples file, JSONL of responses, or the authors' file.")
    bare = sorted({row.task_id for row in rows if not row.task}) if tasks is None else []
    if bare and fallback is not None:
        tasks = tasks_of_data(fallback)
    if tasks is None:
        if bare:
            raise PredictionError(
                f"{where}: nothing says what the tasks are ({', '.join(bare[:3])} …). Give --tasks FILE or --data DIR."
            )
        tasks = _merge_tasks(rows, problems)
    unknown = sorted({row.task_id for row in rows} - set(tasks))
    problems.extend(f"{task_id}: not one of the tasks" for task_id in unknown)
    problems.raise_all(where)
    problems.extend(_contradictions(rows, tasks))
    problems.raise_all(where)
    rows += _derived(rows, tasks)
    problems.extend(_coverage(rows, tasks, allow_incomplete))
    problems.raise_all(where)
    trials: dict[str, list[Trial]] = {}
    for row in rows:
        task = tasks[row.task_id]
        order = row.permutation or trial_permutations(row.task_id, task["n_images"])[row.trial]
        trial, _ = read_trial(task, row.question, row.trial, order, row.text)
        trials.setdefault(row.question, []).append(trial)
    return {question: trials[question] for question in QUESTIONS if question in trials}
