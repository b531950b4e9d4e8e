"""What lmms-eval left of a run, and the little of it that may be published.

A results file is full of local things: paths of data sets and models, arguments that may hold keys. Nothing is copied
from it but what a list here names, and each value is held against what it may be.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.benchmark import Task
from lmms_aes_tasks.board.schema import is_day
from lmms_aes_tasks.board.text import looks_local
from lmms_aes_tasks.harness_results import not_results, read_results, results_files
from lmms_aes_tasks.leaderboard.tasks import known_tasks
from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.utils.errors import problem_text
from lmms_aes_tasks.utils.reasoning_tags import foreign_tags

Value = bool | int | float | str | list[str] | None


@dataclass(frozen=True)
class TaskRun:
    """One task of one run.

    Attributes:
        task: The task.
        results: The results file.
        samples: Its samples file.
        config: The run's arguments, as the results file has them; local.
        task_config: The task's configuration, likewise.
        metrics: The harness's own figures by name; None where one is not defined.
        limited: Whether documents were left out with --limit or --offset.
        day: Day of the run.
        system_instruction: The system prompt, if one was set; local.
    """

    task: Task
    results: Path
    samples: Path
    config: Mapping[str, Any]
    task_config: Mapping[str, Any]
    metrics: Mapping[str, float | None]
    limited: bool
    day: str
    system_instruction: str | None = None


def _day(text: Any) -> str:
    match = re.match(r"(\d{4})-?(\d{2})-?(\d{2})", str(text))
    day = "-".join(match.groups()) if match else ""
    if not is_day(day):
        raise ValueError(f"date is {text!r}")
    return day


def _task_runs(path: Path) -> list[TaskRun]:
    """The tasks of ours in one results file.

    Raises:
        SourceError: It is no results file of lmms-eval.
    """
    runs = []
    for found in read_results(path):
        task = known_tasks().get(found.task)
        try:
            if task is None or (found.task_config.get("metadata") or {}).get("benchmark") != task.benchmark:
                continue
            limited = found.config.get("limit") is not None or bool(found.config.get("offset"))
            runs.append(
                TaskRun(
                    task=task,
                    results=path,
                    samples=found.samples,
                    config=found.config,
                    task_config=found.task_config,
                    metrics=found.metrics,
                    limited=limited or found.n != found.n_all,
                    day=_day(found.run["date"]),
                    system_instruction=found.run.get("system_instruction"),
                )
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise not_results(path, error) from None
    return runs


def find_task_runs(places: Sequence[Path], only: Sequence[str] = ()) -> list[TaskRun]:
    """The runs of our tasks below folders (hidden ones included), or in results files that are named themselves.

    Args:
        places: Output folders of lmms-eval, or results files: naming one chooses it among several of a folder.
        only: Names of tasks; all when empty.

    Returns:
        One run a task, by task name.

    Raises:
        SourceError: There is none, a task was run twice, a samples file is missing, or the runs are of different
            models.
    """
    unknown = sorted(set(only) - set(known_tasks()))
    if unknown:
        raise SourceError(f"no task {', '.join(unknown)}: use {', '.join(known_tasks())}")
    files: dict[Path, Path] = {}
    for place in places:
        if not place.is_dir() and not place.is_file():
            what = "is neither a file nor a folder" if place.exists() else "does not exist"
            raise SourceError(f"{place} {what}. Name an output folder of lmms-eval, or a results file in it.")
        for path in results_files(place) if place.is_dir() else [place]:
            files.setdefault(path.resolve(), path)
    runs = [run for path in files.values() for run in _task_runs(path) if not only or run.task.name in only]
    names = ", ".join(map(str, places))
    if not runs:
        wanted = f" of {', '.join(only)}" if only else " of a task of ours"
        raise SourceError(
            f"{names}: no results{wanted}. Name the --output_path of a run (lmms-eval exits 0 even when it fails)."
        )
    by_task: dict[str, list[TaskRun]] = {}
    for run in runs:
        by_task.setdefault(run.task.name, []).append(run)
    problems = [
        f"{task} was run {len(own)} times: name one of {', '.join(str(run.results) for run in own)}"
        for task, own in by_task.items()
        if len(own) > 1
    ]
    problems += [
        f"{run.task.name}: no {run.samples.name} beside its results. Run lmms-eval with --log_samples"
        for run in runs
        if not run.samples.is_file()
    ]
    if missing := sorted(set(only) - set(by_task)):
        problems.append(f"no run of {', '.join(missing)}")
    for what, key in (("--model", _backend), ("model (in --model_args)", _weights)):
        if len({key(run) for run in runs}) > 1:
            problems.append(f"runs with different {what}: an entry is of one model. Name its runs alone")
    if problems:
        raise SourceError(problem_text(names, problems, ":"))
    return [own[0] for _, own in sorted(by_task.items())]


# -- What may be published --------------------------------------------------------------------------------------------


def arguments_of(value: Any) -> dict[str, str]:
    """`key=value,key=value`, or a mapping, as a mapping of texts."""
    if isinstance(value, Mapping):
        return {str(key): str(own) for key, own in value.items()}
    pairs = (part.partition("=") for part in str(value or "").split(","))
    return {key.strip(): own.strip() for key, sign, own in pairs if sign}


def _backend(run: TaskRun) -> str:
    return str(run.config.get("model"))


def _weights(run: TaskRun) -> str:
    given = arguments_of(run.config.get("model_args"))
    return json.dumps([given.get(key) for key in ("pretrained", "model_version", "model", "peft", "model_id")])


def backend_of(runs: Sequence[TaskRun]) -> str:
    """lmms-eval's name of the model.

    Raises:
        SourceError: It is no such name.
    """
    name = _backend(runs[0])
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,99}", name):
        raise SourceError(f"{runs[0].results}: --model is {name[:100]!r}: letters, digits, _, - and . are allowed")
    return name


_DECODING: Mapping[str, str] = {
    "max_new_tokens": "number",
    "max_tokens": "number",
    "temperature": "number",
    "top_p": "number",
    "top_k": "number",
    "min_p": "number",
    "num_beams": "number",
    "repetition_penalty": "number",
    "presence_penalty": "number",
    "frequency_penalty": "number",
    "length_penalty": "number",
    "no_repeat_ngram_size": "number",
    "seed": "number",
    "do_sample": "flag",
    "until": "texts",
}
_FLOATS = ("float16", "float32", "bfloat16")
_DTYPES = ("auto", "half", "float", "fp16", "fp32", "bf16", *_FLOATS, *(f"torch.{name}" for name in _FLOATS))
_ATTENTION = ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention")
_MODEL_ARGS: Mapping[str, Sequence[str] | None] = {
    "dtype": _DTYPES,
    "torch_dtype": _DTYPES,
    "attn_implementation": _ATTENTION,
    "tensor_parallel_size": None,
    "max_model_len": None,
}
_IMAGE_ARGS = ("max_pixels", "min_pixels", "max_image_size")
_PRIVATE_SETTINGS = frozenset({"prompt_file", "pair_prompt_file", "pre_prompt", "post_prompt"})
DECODING_KEYS = frozenset(
    {*_DECODING, *_MODEL_ARGS, "torch_seed", "num_fewshot", "system_instruction_sha256", "reasoning_tags"}
)
"""Every key that an entry's `decoding` may have."""
IMAGE_KEYS = frozenset({*_IMAGE_ARGS, "force_simple"})
"""Keys that an entry's `images` may have, beside the benchmark's own settings."""


def _number(text: Any) -> int | float | None:
    """A finite number, also from a text as the command line has it."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int):
        return text if abs(text) < 2**53 else None
    if isinstance(text, float):
        return text if math.isfinite(text) else None
    if isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,15}", text):
        return int(text)
    if isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:e-?[0-9]{1,2})?", text):
        return float(text)
    return None


def _stop_texts(value: Any) -> list[str] | None:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or len(texts) > 50 or not all(isinstance(own, str) for own in texts):
        return None
    sound = [own for own in texts if len(own) <= 100 and not looks_local(own)]
    return sound if len(sound) == len(texts) else None


def decoding_of(run: TaskRun) -> dict[str, Value]:
    """Generation settings in force: the task's, then the command line's, listed keys alone."""
    config_given = run.config.get("gen_kwargs")
    given = {**(run.task_config.get("generation_kwargs") or {})}
    given |= config_given if isinstance(config_given, Mapping) else arguments_of(config_given)
    found: dict[str, Value] = {}
    for key, kind in _DECODING.items():
        if key not in given:
            continue
        value = given[key]
        if kind == "flag":
            flag = {"true": True, "false": False}.get(str(value).lower())
            if flag is not None:
                found[key] = flag
        elif kind == "texts":
            texts = _stop_texts(value)
            if texts is not None:
                found[key] = texts
        elif (number := _number(value)) is not None:
            found[key] = number
    arguments = arguments_of(run.config.get("model_args"))
    for key, allowed in _MODEL_ARGS.items():
        value = arguments.get(key)
        if allowed is None and (number := _number(value)) is not None:
            found[key] = number
        elif allowed is not None and value in allowed:
            found[key] = value
    if (seed := _number(run.config.get("torch_seed"))) is not None:
        found["torch_seed"] = seed
    if fewshot := _number(run.task_config.get("num_fewshot")):
        found["num_fewshot"] = fewshot
    tags = _stop_texts([mark for pair in foreign_tags(_reasoning_tags(run)) for mark in pair])
    if tags:
        found["reasoning_tags"] = tags
    if run.system_instruction:
        found["system_instruction_sha256"] = _sha256(str(run.system_instruction))
    return found


def _reasoning_tags(run: TaskRun) -> Any:
    """lmms-eval's `--reasoning_tags` in force: the task's own, else the command line's."""
    own = run.task_config.get("reasoning_tags")
    return (run.config.get("resolved_cli_args") or {}).get("reasoning_tags") if own is None else own


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _settings(run: TaskRun) -> dict[str, Any]:
    """The benchmark's settings in force: the running model's block, else the default one, else our defaults."""
    from lmms_aes_tasks.settings import read_settings

    kind = registry.benchmark(run.task.benchmark).settings
    given = run.task_config.get("lmms_eval_specific_kwargs") or {}
    block = given.get(_backend(run))
    if not isinstance(block, Mapping):
        default = given.get("default")
        block = {**(default if isinstance(default, Mapping) else {})}
        block |= {key: value for key, value in given.items() if not isinstance(value, Mapping)}
    try:
        found: Any = read_settings(kind, block)
    except (ValueError, TypeError) as error:
        raise SourceError(f"{run.results}: settings of {run.task.name}: {error}") from None
    return {item.name: getattr(found, item.name) for item in fields(found)}


def setting_keys(benchmark: str) -> frozenset[str]:
    """Every key that an entry's `images` may have for a benchmark."""
    asked = registry.benchmark(benchmark)
    kind = asked.settings
    own = {item.name for item in fields(kind)}
    hashed = {f"{name}_sha256" for name in (own & _PRIVATE_SETTINGS) | set(asked.text_settings)}
    return frozenset((own - _PRIVATE_SETTINGS) | hashed | IMAGE_KEYS)


def text_digests(benchmark: str, images: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the texts of ours that settings in force bring into the prompt, rubrics for example."""
    texts = registry.benchmark(benchmark).text_settings
    return {f"{name}_sha256": digest() for name, digest in texts.items() if images.get(name)}


def images_of(run: TaskRun) -> dict[str, bool | int | float | str | None]:
    """Image and prompt settings in force; texts and files of the user's as digests alone."""
    found: dict[str, bool | int | float | str | None] = {}
    for key, value in _settings(run).items():
        if key in _PRIVATE_SETTINGS:
            if value:
                digest = _file_sha256(value) if key.endswith("file") else _sha256(value)
                found[f"{key}_sha256"] = digest
        elif (
            isinstance(value, bool)
            or (isinstance(value, str) and re.fullmatch(r"[a-z0-9_]{1,40}", value))
            or (not isinstance(value, str) and _number(value) is not None)
        ):
            found[key] = value
    found |= text_digests(run.task.benchmark, found)
    arguments = arguments_of(run.config.get("model_args"))
    for key in _IMAGE_ARGS:
        if (number := _number(arguments.get(key))) is not None:
            found[key] = number
    if (run.config.get("resolved_cli_args") or {}).get("force_simple") is True:
        found["force_simple"] = True
    return found


def _file_sha256(name: str) -> str | None:
    """Digest of a user's prompt template as `utils.prompts` has it; None where the file is not at hand any more."""
    from lmms_aes_tasks.utils.prompts import PromptError, read_prompt

    try:
        return read_prompt(Path(name).expanduser(), ()).sha256
    except (PromptError, OSError):
        return None
