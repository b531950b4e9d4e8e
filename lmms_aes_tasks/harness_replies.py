"""lmms-eval's handling of replies beside our tasks: reasoning is left to us, and what a run lacks is said at its end.

By default lmms-eval takes `<think>` and `<analysis>` blocks off a reply before a task sees it, so that no record could
say that there was reasoning, and in a transcript of rounds it cuts through the middle. Marks that we take off ourselves
stay in the reply until we do. What is replaced here is looked up by the harness when a run ends (seen in 0.7.3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lmms_aes_tasks.harness_cache import is_ours, replace_hook
from lmms_aes_tasks.utils.reasoning_tags import foreign_tags
from lmms_aes_tasks.utils.reply_facts import Replied, count_replies, reply_remarks


def _with_reasoning(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def process(item: Any, *, task: Any, reasoning_tags: Any, **others: Any) -> Any:
        if reasoning_tags is not None and is_ours(task):
            reasoning_tags = foreign_tags(reasoning_tags) or None
        return original(item, task=task, reasoning_tags=reasoning_tags, **others)

    return process


def _with_remarks(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def calculate(self: Any, *arguments: Any, **others: Any) -> Any:
        result = original(self, *arguments, **others)
        if is_ours(self.task):
            from loguru import logger

            found = (own for (name, _), own in self.sample_metrics.items() if name == "failed_requests")
            items: list[Replied] = next(found, [])
            for text in reply_remarks(self.task_name, count_replies(items)):
                logger.warning(f"lmms-aes-tasks: {text}")
        return result

    return calculate


def install() -> None:
    """Put our hooks around the scoring of a document and of a task; a second call changes nothing.

    Raises:
        Exception: This lmms-eval scores in another way.
    """
    from lmms_eval import evaluator
    from lmms_eval.evaluator_utils import TaskOutput

    replace_hook(evaluator, "_process_document_results", _with_reasoning)
    replace_hook(TaskOutput, "calculate_aggregate_metric", _with_remarks)
