"""A task's result put together: what build writes and verification computes again, from one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmms_aes_tasks.board.digests import ids_sha256, lines_sha256
from lmms_aes_tasks.board.schema import Metric, PromptUse, ResponsesFile, TaskResult
from lmms_aes_tasks.leaderboard.benchmarks import Figures
from lmms_aes_tasks.leaderboard.tasks import Task, expected_items


def _short(digest: str | None) -> str:
    return digest[:8] if digest else "none"


def prompt_digest(prompts: Sequence[PromptUse]) -> str | None:
    """One digest for the prompts of a task: that of its only one, else over all of them; None when none has one."""
    found = sorted({prompt.sha256 for prompt in prompts if prompt.sha256})
    return found[0] if len(found) == 1 else lines_sha256(found) if found else None


def signature(
    task: str,
    version: str,
    data: str | None,
    prompts: Sequence[PromptUse],
    parser: str | None,
    n: int,
    plugin: str,
) -> str:
    """What affects a score, in one line, in the manner of SacreBLEU."""
    prompt = _short(prompt_digest(prompts))
    return f"task:{task}|v:{version}|data:{_short(data)}|prompt:{prompt}|parser:{parser}|n:{n}|version:{plugin}"


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
    """
    published = expected_items(task)
    return TaskResult(
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
        signature=signature(task.name, version, data_sha256, prompts, parser, len(ids), plugin),
        file=file,
    )
