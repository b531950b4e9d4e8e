"""What lmms-eval loads: our models, and our folder of task YAML.

lmms-eval 0.7 has an entry point for models and none for tasks. The entry point is loaded when `lmms_eval.models` is
imported, which its command does before it builds the task index; so that is where the index learns of our folder.
Nothing here may raise: an exception would cost other plugins their models.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from lmms_aes_tasks.task_folders import task_folders

FALLBACK = '--include_path "$(lmms-aes tasks-path)"'
_MARK = "_lmms_aes_tasks"


def _warn(what: str) -> None:
    from loguru import logger

    logger.warning(
        f"lmms-aes-tasks: {what}; its tasks are not registered by name. "
        f"lmms-eval itself works: add {FALLBACK} to use them."
    )


def _with_our_tasks(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def initialize_tasks(
        self: Any, include_path: str | list[str] | None = None, include_defaults: bool = True, **others: Any
    ) -> Any:
        paths = [include_path] if isinstance(include_path, str) else list(include_path or [])
        if include_defaults:
            # last: a folder that the user names wins over ours
            paths += [str(folder) for folder in task_folders() if str(folder) not in paths]
        return original(self, include_path=paths or None, include_defaults=include_defaults, **others)

    setattr(initialize_tasks, _MARK, True)
    return initialize_tasks


def register_tasks() -> bool:
    """Add our YAML folder to lmms-eval's task index.

    Returns:
        Whether lmms-eval could be extended; where not, a warning names the fallback.
    """
    try:
        from lmms_eval.tasks import TaskManager
    except Exception as error:
        _warn(f"this lmms-eval has no lmms_eval.tasks.TaskManager ({error})")
        return False
    original = getattr(TaskManager, "initialize_tasks", None)
    if getattr(original, _MARK, False):
        return True
    if original is None or not {"include_path", "include_defaults"} <= set(inspect.signature(original).parameters):
        _warn("this lmms-eval builds its task index in another way than 0.7")
        return False
    TaskManager.initialize_tasks = _with_our_tasks(original)
    return True


def register() -> list[Any]:
    """The entry point in the group `lmms_eval.models`.

    Returns:
        Manifests of our models; empty when this lmms-eval has no manifests.
    """
    register_tasks()
    try:
        from lmms_eval.models.registry_v2 import ModelManifest
    except ImportError as error:
        _warn(f"this lmms-eval has no model manifests ({error}), so the models aes_baseline and aes_replay are missing")
        return []
    return [
        ModelManifest(model_id="aes_baseline", chat_class_path="lmms_aes_tasks.models.aes_baseline.AesBaseline"),
        ModelManifest(model_id="aes_replay", chat_class_path="lmms_aes_tasks.models.aes_replay.AesReplay"),
    ]
