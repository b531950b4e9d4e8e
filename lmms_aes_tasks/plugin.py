"""What lmms-eval loads: our models, and our folder of task YAML.

lmms-eval 0.7 has an entry point for models and none for tasks. The entry point is loaded when `lmms_eval.models` is
imported, which its command does before it builds the task index; so that is where the index learns of our folder. In
Python, `import lmms_aes_tasks` is enough: `lmms_eval.tasks` then learns of it when it is imported.
Nothing here may raise: an exception would cost other plugins their models.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import inspect
import sys
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


def _hook_caches() -> None:
    """Our hooks into the harness's caches; here, for when the entry point is loaded half of the harness is not."""
    try:
        from lmms_aes_tasks import harness_cache

        harness_cache.install()
    except Exception as error:  # see above
        from loguru import logger

        logger.warning(
            f"lmms-aes-tasks: this lmms-eval has other caches than 0.7 ({type(error).__name__}: {error}); with "
            "--use_cache, name a new folder after each change of the data and after failed requests."
        )


def _hook_replies() -> None:
    """Our hooks into the harness's scoring."""
    try:
        from lmms_aes_tasks import harness_replies

        harness_replies.install()
    except Exception as error:  # see above
        from loguru import logger

        logger.warning(
            f"lmms-aes-tasks: this lmms-eval scores in another way than 0.7 ({type(error).__name__}: {error}); add "
            "--reasoning_tags none, and look at failed_requests among the results."
        )


def _with_our_tasks(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def initialize_tasks(
        self: Any, include_path: str | list[str] | None = None, include_defaults: bool = True, **others: Any
    ) -> Any:
        paths = [include_path] if isinstance(include_path, str) else list(include_path or [])
        _hook_caches()
        _hook_replies()
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


class _AfterImport(importlib.abc.MetaPathFinder):
    """Registers our tasks as soon as `lmms_eval.tasks` was imported, without importing it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "lmms_eval.tasks":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            register_tasks()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def register_on_import() -> None:
    """Make `lmms_eval.tasks` know our tasks wherever it is imported: now if it is there, else when it comes.

    `import lmms_aes_tasks` calls this, and costs no import of the harness.
    """
    module = sys.modules.get("lmms_eval.tasks")
    if module is None:
        if not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
            sys.meta_path.insert(0, _AfterImport())
    elif hasattr(module, "TaskManager"):  # else it is being imported, and the entry point does it
        register_tasks()


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
