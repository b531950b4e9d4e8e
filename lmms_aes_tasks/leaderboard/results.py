"""A task's result put together: what build writes and verification computes again, from one function."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.benchmark import RESAMPLES, SEED, Figures, Task
from lmms_aes_tasks.board.digests import canonical_json, ids_sha256, lines_sha256, text_sha256
from lmms_aes_tasks.board.schema import Metric, PromptUse, ResponsesFile, TaskResult
from lmms_aes_tasks.leaderboard.tasks import expected_items

TOLERANCE = 1e-9
"""Two figures that are computed from the same responses differ by rounding alone."""
_TEXT_CHARS = 300
UNSOUND = (ValueError, TypeError, KeyError, OverflowError, RecursionError)
"""What reading a record that is not sound raises."""


def _first_eight(digest: str | None) -> str:
    return digest[:8] if digest else "none"


def prompt_digest(prompts: Sequence[PromptUse]) -> str | None:
    """One digest for the prompts of a task: that of its only one, else over all of them; None when none has one."""
    found = sorted({prompt.sha256 for prompt in prompts if prompt.sha256})
    return found[0] if len(found) == 1 else lines_sha256(found) if found else None


Settings = Mapping[str, bool | int | float | str | list[str] | None]


@dataclass(frozen=True)
class Means:
    """What scores are computed with, beside the package.

    Attributes:
        encoders: Identity of the encoder by metric, of the figures that are added up from the items' values.
        resources: Version by name of what `Benchmark.resources` lists, WordNet for example; None where it is not known.
    """

    encoders: Mapping[str, str | None] = field(default_factory=dict)
    resources: Mapping[str, str | None] = field(default_factory=dict)


def _one_form(value: Any) -> Any:
    """A whole number is an integer, however it was given: `temperature=0.0` is `temperature: 0`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _one_form(part) for key, part in value.items()}
    return value


def settings_digest(decoding: Settings, images: Settings) -> str:
    """SHA-256 over the canonical JSON of both kinds of settings.

    >>> settings_digest({"temperature": 0.0}, {}) == settings_digest({"temperature": 0}, {})
    True
    """
    return text_sha256(canonical_json({"decoding": _one_form(decoding), "images": _one_form(images)}))


def _encoders(more_metrics: Mapping[str, Metric], means: Means) -> str:
    """A digest over the encoders behind the figures that need one; empty where there is no such figure."""
    used = {
        name: means.encoders.get(name) or "unknown" for name, metric in more_metrics.items() if metric.value is not None
    }
    return text_sha256(canonical_json(used)) if used else ""


def signature(result: TaskResult, encoders: str, resources: Mapping[str, str | None], plugin: str) -> str:
    """What affects a score, in one line, in the manner of SacreBLEU.

    Args:
        result: The result; its own `signature` is not looked at.
        encoders: Digest over the encoders; empty where no figure needs one.
        resources: Version by name of what scores are computed with, beside packages.
        plugin: Version of lmms-aes-tasks that scored.
    """
    parts = {
        "task": result.task,
        "v": result.version,
        "data": _first_eight(result.data_sha256),
        "prompt": _first_eight(prompt_digest(result.prompts)),
        "set": settings_digest(result.decoding, result.images)[:8],
        "parser": result.parser,
    }
    if encoders:
        parts["enc"] = encoders[:8]
    parts |= {name: version or "unknown" for name, version in sorted(resources.items())}
    if registry.benchmark(result.benchmark).resampled:
        parts["boot"] = f"{RESAMPLES}/{SEED}"
    parts |= {"n": str(result.n), "version": plugin}
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def result_of(
    task: Task,
    ids: Sequence[str],
    figures: Figures,
    *,
    parser: str,
    version: str,
    plugin: str,
    data_sha256: str | None,
    prompts: Sequence[PromptUse],
    decoding: Settings,
    images: Mapping[str, bool | int | float | str | None],
    more_metrics: Mapping[str, Metric],
    means: Means,
    n_data: int | None,
    file: ResponsesFile,
) -> TaskResult:
    """A task's result.

    Args:
        task: The task.
        ids: Ids that were answered.
        figures: What was computed from the responses.
        parser: Version of the parser, or of the trigger lists.
        version: The task's version.
        plugin: Version of lmms-aes-tasks that scored.
        data_sha256: Fingerprint of the data; None without it.
        prompts: Prompts used.
        decoding: Generation settings.
        images: Image settings.
        more_metrics: Metrics that are not computed here, for they need encoders.
        means: The encoders behind these, and versions of what else scores are computed with.
        n_data: Documents of the data at hand; what counts where no number is published.
        file: The responses.
    """
    published = expected_items(task)
    result = TaskResult(
        task=task.name,
        benchmark=task.benchmark,
        version=version,
        data_sha256=data_sha256,
        ids_sha256=ids_sha256(ids),
        prompts=list(prompts),
        parser=parser,
        decoding=dict(decoding),
        images=dict(images),
        n=len(ids),
        n_expected=n_data if published is None else published,
        parse_rate=figures.parse_rate,
        metrics={**figures.metrics, **more_metrics},
        breakdowns=figures.breakdowns,
        signature="",
        file=file,
    )
    line = signature(result, _encoders(more_metrics, means), means.resources, plugin)
    return result.model_copy(update={"signature": line})


# -- In one line ------------------------------------------------------------------------------------------------------


def prompt_text(result: TaskResult) -> str | None:
    """Prompt ids with the first 8 digits of their SHA-256, for people; None where nothing is told of them."""
    names = sorted({f"{use.id}@{use.sha256[:8]}" if use.sha256 else use.id for use in result.prompts})
    text = " + ".join(names)
    return short_text(text) if names else None


def short_text(text: str) -> str:
    """A text that fits a column; what is cut is told apart by a digest."""
    if len(text) <= _TEXT_CHARS:
        return text
    return f"{text[:_TEXT_CHARS]}… ({hashlib.sha256(text.encode('utf-8')).hexdigest()[:8]})"


def decoding_text(result: TaskResult) -> str:
    """Decoding settings in one line, in a fixed order.

    The default of a setting is not known here: a setting that is not given is not shown.
    """
    return short_text(
        " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(result.decoding.items()))
    )
