"""Responses to the Visual Aesthetic Benchmark made elsewhere, brought to trials: three kinds of files.

Our samples files; JSONL (or a JSON list, CSV, TSV) of `task_id, prompt_type, trial, response` with the tasks beside it;
and the result file that the authors' own evaluator writes. Everything in them is read as data, and scored anew from the
text.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_aes_tasks.predictions import PredictionError
from lmms_aes_tasks.utils.permutations import TRIALS, trial_permutations
from lmms_aes_tasks.utils.reply_facts import ReplyCounts, count_replies
from lmms_aes_tasks.utils.selection import QUESTIONS, Trial
from lmms_aes_tasks.vab.prompts import prompt_name
from lmms_aes_tasks.vab.rows import Problems, Row, Tasks, read_rows, tasks_of_data
from lmms_aes_tasks.vab.schema import MAX_IMAGES, MIN_IMAGES, labels_of, task_problems
from lmms_aes_tasks.vab.task import read_trial


@dataclass(frozen=True)
class Responses:
    """What the files of a run hold.

    Attributes:
        trials: Trials by question; a question that was not asked is absent.
        prompts: How many responses were asked with which prompt, where the files say so.
        failed: Rows left out because their call failed (`error`).
        rules: How many answers of each question each of the parser's rules read.
        replies: Facts of the responses counted, each once, wherever its answer is used.
    """

    trials: dict[str, list[Trial]]
    prompts: dict[str, int]
    failed: int
    rules: dict[str, dict[str, int]]
    replies: ReplyCounts


# -- Trials -----------------------------------------------------------------------------------------------------------


def _merge_tasks(rows: Sequence[Row], problems: Problems) -> dict[str, dict[str, Any]]:
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


def _tasks_of_rows(
    rows: Sequence[Row], tasks: Tasks | None, fallback: Path | None, where: str, problems: Problems
) -> Mapping[str, Mapping[str, Any]]:
    """The tasks that rows are of: those given, else those of the data, else what the rows say of them."""
    if tasks is not None:
        return tasks
    bare = sorted({row.task_id for row in rows if not row.task})
    if not bare:
        return _merge_tasks(rows, problems)
    if fallback is None:
        raise PredictionError(
            f"{where}: nothing says what the tasks are ({', '.join(bare[:3])} …). Give --tasks FILE or --data DIR."
        )
    return tasks_of_data(fallback)


def read_responses(
    paths: Sequence[Path],
    tasks: Tasks | None = None,
    allow_incomplete: bool = False,
    fallback: Path | None = None,
) -> Responses:
    """Read responses of any of the three kinds, check them, and score each.

    Args:
        paths: Files, or output folders of lmms-eval.
        tasks: The tasks; needed for plain JSONL, and checked against where given.
        allow_incomplete: Whether trials may be missing (a run with --limit).
        fallback: The data, from which the tasks are taken when they are not given and the responses do not bring them.

    Raises:
        PredictionError: A trial is missing or repeated, a task unknown, a row unsound; every case is listed.
    """
    where = ", ".join(map(str, paths))
    problems = Problems()
    rows, failed = read_rows(paths, tasks, fallback, problems)
    problems.raise_all(where)
    if not rows:
        left_out = f" ({failed} row(s) with an error)" if failed else ""
        raise PredictionError(
            f"{where}: no responses{left_out}. Give a samples file, JSONL of responses, or the authors' file."
        )
    known = _tasks_of_rows(rows, tasks, fallback, where, problems)
    unknown = sorted({row.task_id for row in rows} - set(known))
    problems.extend(f"{task_id}: not one of the tasks" for task_id in unknown)
    problems.raise_all(where)
    problems.extend(_contradictions(rows, known))
    problems.raise_all(where)
    n_given = len(rows)
    rows += _derived(rows, known)
    problems.extend(_coverage(rows, known, allow_incomplete))
    problems.raise_all(where)
    trials: dict[str, list[Trial]] = {}
    rules: dict[str, collections.Counter[str]] = {}
    given: list[Trial] = []
    for place, row in enumerate(rows):
        task = known[row.task_id]
        order = row.permutation or trial_permutations(row.task_id, task["n_images"])[row.trial]
        trial, parsed = read_trial(task, row.question, row.trial, order, row.text)
        trials.setdefault(row.question, []).append(trial)
        rules.setdefault(row.question, collections.Counter())[parsed.rule] += 1
        if place < n_given:
            given.append(trial)
    if failed:
        from loguru import logger

        logger.warning(f"{where}: {failed} row(s) with an error left out; their trials are missing")
    in_order = {question: trials[question] for question in QUESTIONS if question in trials}
    prompts = collections.Counter(prompt_name(row.prompt) for row in rows if row.prompt is not None)
    fired = {question: dict(sorted(rules[question].items())) for question in in_order}
    return Responses(in_order, dict(prompts), failed, fired, count_replies(given))


def read_trials(
    paths: Sequence[Path],
    tasks: Tasks | None = None,
    allow_incomplete: bool = False,
    fallback: Path | None = None,
) -> dict[str, list[Trial]]:
    """The trials of `read_responses` alone, by question."""
    return read_responses(paths, tasks, allow_incomplete, fallback).trials
