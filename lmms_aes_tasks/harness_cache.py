"""lmms-eval's caches beside our tasks: answers belong to the data they were given for, and a failure is no answer.

The response cache (`--use_cache`) tells documents apart by their place in the data set, their prompt and the task's
configuration, and takes every text for an answer; the request cache (`--cache_requests`) tells data sets apart by the
task's name alone. What is replaced here is looked up by the harness when a run begins (seen in 0.7.3).
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sqlite3
import stat
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.task_folders import entry_points
from lmms_aes_tasks.utils.failed_requests import failed_request

if TYPE_CHECKING:
    import datasets

_MARK = "_lmms_aes_tasks"
_PACKAGE = __name__.partition(".")[0]


# -- The data ---------------------------------------------------------------------------------------------------------


def _cell(value: Any) -> Any:
    """A cell as JSON can hold it: of bytes a digest, of the path of a file its name, size and time."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Mapping):
        return {str(key): _cell(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cell(item) for item in value]
    if isinstance(value, str) and Path(value[:4096]).is_absolute():
        with suppress(OSError, ValueError):
            status = os.stat(value)  # noqa: PTH116 - an os.PathLike would be made for each of 15,000 cells
            if stat.S_ISREG(status.st_mode):
                return [Path(value).name, status.st_size, status.st_mtime_ns]
    return value


def data_fingerprint(documents: datasets.Dataset) -> str:
    """Digest of a task's documents in their order: every field, every image.

    Images within the data count with their content; those that are named by a path with name, size and time.
    """
    digest = hashlib.sha256()
    for batch in documents.with_format("arrow").iter(32):
        for row in batch.to_pylist():
            digest.update(json.dumps(_cell(row), sort_keys=True, default=str).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]


def is_ours(task: Any) -> bool:
    """Whether a task of the harness is made of our functions: ours, another package's benchmark's, or a user's YAML."""
    config = getattr(task, "config", None)
    hooks = (getattr(config, name, None) for name in ("process_docs", "doc_to_text", "process_results"))
    modules = (getattr(getattr(hook, "func", hook), "__module__", None) or "" for hook in hooks)
    packages = {_PACKAGE, *(point.module.partition(".")[0] for point in entry_points())}
    return any(module.partition(".")[0] in packages for module in modules)


def _tasks(tasks: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for name, task in tasks.items():
        if isinstance(task, Mapping):
            yield from _tasks(task)
        elif is_ours(task):
            yield name, task


def _with_data(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def create(cls: Any, *arguments: Any, task_dict: Any = None, **others: Any) -> Any:
        from loguru import logger

        cache = original(cls, *arguments, task_dict=task_dict, **others)
        for name, task in _tasks(task_dict or {}):
            try:
                state = data_fingerprint(task.task_docs)
            except Exception as error:  # a run must not end for want of a cache
                logger.warning(
                    f"lmms-aes-tasks: {name}: no answers from --use_cache, its data cannot be read ({error})"
                )
                state = uuid.uuid4().hex
            before = cache._task_fingerprints.get(name, "")
            cache._task_fingerprints[name] = hashlib.sha256(f"{before}\0{state}".encode()).hexdigest()[:16]
            logger.info(f"lmms-aes-tasks: {name}: --use_cache gives answers about the data of this state: {state}")
        return cache

    return create


# -- Failed requests --------------------------------------------------------------------------------------------------


def is_failure(response: Any) -> bool:
    """Whether a response, or one of several, is the harness's mark of a request that failed."""
    if isinstance(response, (list, tuple)):
        return any(map(is_failure, response))
    text = getattr(response, "text", response)
    return isinstance(text, str) and failed_request(text)


def _without_failures(original: Callable[..., bool]) -> Callable[..., bool]:
    @functools.wraps(original)
    def is_valid_response(response: Any, *others: Any, **named: Any) -> bool:
        return not is_failure(response) and original(response, *others, **named)

    return is_valid_response


def _passing_failures(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def lookup(self: Any, *arguments: Any, **others: Any) -> Any:
        response = original(self, *arguments, **others)
        return None if is_failure(response) else response

    return lookup


def remove_failures(database: Path) -> int:
    """Delete failed requests from a file of the response cache; merging would keep them before a new answer.

    Returns:
        How many there were; 0 when the file cannot be read as one.
    """
    if not database.is_file():
        return 0
    with suppress(sqlite3.Error), closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        rows = connection.execute("SELECT cache_key, response FROM responses WHERE response LIKE '%[LMMS_EVAL_%'")
        failed = [(key,) for key, response in rows if is_failure(_stored(response))]
        connection.executemany("DELETE FROM responses WHERE cache_key = ?", failed)
        return len(failed)
    return 0


def _stored(text: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return text


def _merging_answers(original: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(original)
    def merge_shards(shard_paths: Sequence[str], output_path: str) -> int:
        for path in (*shard_paths, output_path):
            remove_failures(Path(path))
        return original(shard_paths, output_path)

    return merge_shards


# -- Requests ---------------------------------------------------------------------------------------------------------


def _building_requests(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def build_all_requests(self: Any, *arguments: Any, **others: Any) -> Any:
        if is_ours(self) and others.get("cache_requests"):
            from loguru import logger

            logger.info(
                "lmms-aes-tasks: --cache_requests is left out, for it does not know one state of data from another"
            )
            others["cache_requests"] = False
        return original(self, *arguments, **others)

    return build_all_requests


# -- The hooks --------------------------------------------------------------------------------------------------------


def replace_hook(
    owner: Any, name: str, wrap: Callable[[Any], Any], kind: Callable[[Any], Any] = lambda hook: hook
) -> None:
    """Put a wrapper around a function of a class or module of the harness; a second call changes nothing.

    Raises:
        KeyError: There is no such function.
    """
    original = vars(owner)[name]
    plain = getattr(original, "__func__", original)
    if getattr(plain, _MARK, False):
        return
    wrapped = wrap(plain)
    setattr(wrapped, _MARK, True)
    setattr(owner, name, kind(wrapped))


def install() -> None:
    """Put our hooks into lmms-eval's caches; a second call changes nothing.

    Raises:
        Exception: This lmms-eval has other caches.
    """
    from lmms_eval.api.task import Task
    from lmms_eval.caching.response_cache import ResponseCache

    replace_hook(ResponseCache, "_is_valid_response", _without_failures, staticmethod)
    replace_hook(ResponseCache, "_lookup", _passing_failures)
    replace_hook(ResponseCache, "merge_shards", _merging_answers, staticmethod)
    replace_hook(ResponseCache, "create", _with_data, classmethod)
    replace_hook(Task, "build_all_requests", _building_requests)
