"""A task's result put together: what build writes and verification computes again, from one function."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_aes_tasks.board.benchmark import RESAMPLES, SEED, Figures, Task
from lmms_aes_tasks.board.digests import ids_sha256, lines_sha256
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


def _settings_digest(decoding: Mapping[str, Any], images: Mapping[str, Any]) -> str:
    """One digest over how the model was asked; 1.0 is 1, in whichever form a run has it."""

    def plain(value: Any) -> Any:
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return lines_sha256([{name: plain(value) for name, value in given.items()} for given in (decoding, images)])


def signature(result: TaskResult, plugin: str, encoders: Mapping[str, str]) -> str:
    """What affects a score, in one line, in the manner of SacreBLEU.

    Args:
        result: The result; its own signature is not looked at.
        plugin: Version of lmms-aes-tasks that scored.
        encoders: Identity of the encoder of each metric that has values of one.
    """
    parts = {
        "task": result.task,
        "v": result.version,
        "data": _first_eight(result.data_sha256),
        "prompt": _first_eight(prompt_digest(result.prompts)),
        "set": _first_eight(_settings_digest(result.decoding, result.images)),
        "parser": result.parser,
        "n": result.n,
        "boot": f"{RESAMPLES}/{SEED}",
        "enc": _first_eight(lines_sha256([dict(encoders)])) if encoders else None,
        "version": plugin,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items() if name != "enc" or encoders)


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
    decoding: Mapping[str, bool | int | float | str | list[str] | None],
    images: Mapping[str, bool | int | float | str | None],
    more_metrics: Mapping[str, Metric],
    n_data: int | None,
    file: ResponsesFile,
    encoders: Mapping[str, str],
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
        more_metrics: Metrics that are not computed here.
        n_data: Documents of the data at hand; what counts where no number is published.
        file: The responses.
        encoders: Identity of the encoder of each metric that has values of one.
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
    return result.model_copy(update={"signature": signature(result, plugin, encoders)})


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
