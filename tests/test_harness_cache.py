"""lmms-eval's caches with our hooks: the real ones, on real files."""

from __future__ import annotations

import os
import sqlite3
import types
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import datasets
import pytest

from lmms_aes_tasks import harness_cache
from lmms_aes_tasks.harness_cache import data_fingerprint, is_failure, remove_failures

FAILED = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Connection error."
BUDGET = "[LMMS_EVAL_BUDGET_EXCEEDED]"


def documents(*rows: dict[str, Any]) -> datasets.Dataset:
    return datasets.Dataset.from_list(list(rows))


def image(content: bytes) -> dict[str, Any]:
    return {"bytes": content, "path": "a.png"}


def test_the_fingerprint_is_that_of_the_content() -> None:
    first = {"id": "1", "text": "é", "images": [image(b"one"), image(b"two")]}
    second = {"id": "2", "text": "", "images": [image(b"three")]}
    whole = data_fingerprint(documents(first, second))
    assert whole == data_fingerprint(documents(first, second))
    # kept in another order of rows, or chosen from a larger set: what counts is what the documents are
    assert whole == data_fingerprint(documents(second, first).select([1, 0]))
    others = [
        documents(second, first),
        documents(first),
        documents(first | {"text": "e"}, second),
        documents(first | {"id": "3"}, second),
        documents(first | {"images": [image(b"one"), image(b"twO")]}, second),
        documents(first | {"images": [image(b"two"), image(b"one")]}, second),
        documents(first | {"images": [image(b"one")]}, second | {"images": [image(b"two"), image(b"three")]}),
    ]
    assert len({whole, *map(data_fingerprint, others)}) == len(others) + 1


def test_files_named_by_a_path_count_with_size_and_time(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"one")
    os.utime(picture, (1, 1))
    named = documents({"id": "1", "left": str(picture)})
    first = data_fingerprint(named)
    assert data_fingerprint(named) == first
    picture.write_bytes(b"other")
    os.utime(picture, (1, 1))
    second = data_fingerprint(named)
    os.utime(picture, (2, 2))
    third = data_fingerprint(named)
    picture.unlink()
    assert len({first, second, third, data_fingerprint(named)}) == 4


@pytest.mark.parametrize("text", ["/", "/no/such/file", "/" + "x" * 100_000, "\0/x", "/x\0", "~", ""])
def test_texts_that_look_like_paths_are_texts(text: str) -> None:
    assert data_fingerprint(documents({"id": text})) != data_fingerprint(documents({"id": text + "."}))


@pytest.mark.parametrize("text", [FAILED, BUDGET, f"\n{FAILED}"])
def test_what_is_a_failure(text: str) -> None:
    assert is_failure(text)
    assert is_failure([text, "A"])
    assert is_failure(types.SimpleNamespace(text=text))


@pytest.mark.parametrize("response", [None, "", "A", "It says [LMMS_EVAL_BUDGET_EXCEEDED].", [], 3, ["A", None]])
def test_what_is_none(response: Any) -> None:
    assert not is_failure(response)


def test_a_file_that_is_no_cache_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no database" * 100)
    assert remove_failures(tmp_path / "x") == 0
    assert remove_failures(tmp_path / "missing") == 0
    assert (tmp_path / "x").read_bytes() == b"no database" * 100


# -- The harness's own cache ------------------------------------------------------------------------------------------


class Model:
    """Answers what it is told to, and counts."""

    def __init__(self, reply: Callable[[int], str]) -> None:
        self.reply = reply
        self.asked: list[int] = []

    def generate_until(self, requests: list[Any]) -> list[str]:
        self.asked += [request.doc_id for request in requests]
        return [self.reply(request.doc_id) for request in requests]


@pytest.fixture
def caches() -> Any:
    from lmms_eval.caching import response_cache

    harness_cache.install()
    harness_cache.install()  # a second time changes nothing
    return response_cache


def requests(number: int = 4) -> list[Any]:
    from lmms_eval.api.instance import Instance

    def request(doc_id: int) -> Any:
        arguments = ("prompt", {"temperature": 0}, None, doc_id, "task", "test")
        metadata = {"task": "task", "doc_id": doc_id, "repeats": 1}
        return Instance(request_type="generate_until", arguments=arguments, idx=0, metadata=metadata)

    return [request(doc_id) for doc_id in range(number)]


def run(caches: Any, folder: Path, reply: Callable[[int], str], tasks: dict[str, Any] | None = None) -> list[int]:
    """One run with --use_cache; which documents the model was asked about."""
    model = Model(reply)
    cache = caches.ResponseCache.create(str(folder), model="m", task_dict=tasks)
    cache.execute(model, "generate_until", requests())
    cache.finalize(success=True)
    return model.asked


def rows(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "cache.db")) as connection:
        return [row for (row,) in connection.execute("SELECT response FROM responses ORDER BY doc_id")]


@pytest.mark.harness
@pytest.mark.parametrize("mark", [FAILED, BUDGET])
def test_failed_requests_are_asked_again(mark: str, caches: Any, tmp_path: Path) -> None:
    assert run(caches, tmp_path, lambda doc_id: mark if doc_id % 2 else "A") == [0, 1, 2, 3]
    assert rows(tmp_path) == ['"A"', '"A"']
    assert run(caches, tmp_path, lambda doc_id: "B") == [1, 3]
    assert rows(tmp_path) == ['"A"', '"B"', '"A"', '"B"']
    assert run(caches, tmp_path, lambda doc_id: "C") == []


@pytest.mark.harness
def test_a_cache_of_before_our_hooks_loses_its_failures(caches: Any, tmp_path: Path) -> None:
    assert run(caches, tmp_path, lambda doc_id: "A") == [0, 1, 2, 3]
    with closing(sqlite3.connect(tmp_path / "cache.db")) as connection, connection:  # as it would have been
        connection.execute("UPDATE responses SET response = ? WHERE doc_id < 2", (f'"{FAILED}"',))
    assert run(caches, tmp_path, lambda doc_id: "B") == [0, 1]
    assert rows(tmp_path) == ['"B"', '"B"', '"A"', '"A"']
    assert run(caches, tmp_path, lambda doc_id: "C") == []


@pytest.mark.harness
def test_a_run_that_goes_on_under_its_own_number_asks_again(
    caches: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log beside the database has every reply, failures too, and is read into it when a job is restarted."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert run(caches, tmp_path, lambda doc_id: FAILED) == [0, 1, 2, 3]
    assert run(caches, tmp_path, lambda doc_id: "A") == [0, 1, 2, 3]
    assert rows(tmp_path) == ['"A"'] * 4


@pytest.mark.harness
def test_what_the_harness_keeps_or_not_is_as_before(caches: Any) -> None:
    valid = caches.ResponseCache._is_valid_response
    assert valid("A", "generate_until")
    assert not valid(None, "generate_until")
    assert not valid(" ", "generate_until")
    assert valid((-1.5, True), "loglikelihood")
    assert not valid((-1.5,), "loglikelihood")


def hook_of_ours(document: Any) -> Any:
    return document


hook_of_ours.__module__ = "lmms_aes_tasks.contextcanvas"


def task(data: Any, hook: Any = hook_of_ours) -> Any:
    config = types.SimpleNamespace(process_docs=None, doc_to_text=hook, process_results=None)
    return types.SimpleNamespace(config=config, task_docs=data, dump_config=lambda: {"task": "task"})


@pytest.mark.harness
def test_other_data_is_asked_about_again(caches: Any, tmp_path: Path) -> None:
    one, two = documents({"id": "1", "image": image(b"one")}), documents({"id": "1", "image": image(b"two")})
    everything = [0, 1, 2, 3]
    assert run(caches, tmp_path, lambda doc_id: "A", {"task": task(one)}) == everything
    assert run(caches, tmp_path, lambda doc_id: "A", {"task": task(one)}) == []
    assert run(caches, tmp_path, lambda doc_id: "A", {"task": task(two)}) == everything
    assert run(caches, tmp_path, lambda doc_id: "A", {"group": {"inner": {"task": task(two)}}}) == []
    assert run(caches, tmp_path, lambda doc_id: "A", {"task": task(one)}) == []
    # a task of others keeps the harness's key, whatever its data
    foreign = str.upper
    assert run(caches, tmp_path, lambda doc_id: "A", {"task": task(one, foreign)}) == everything
    assert run(caches, tmp_path, lambda doc_id: "A", {"task": task(two, foreign)}) == []


@pytest.mark.harness
def test_data_that_cannot_be_read_is_asked_about_each_time(caches: Any, tmp_path: Path) -> None:
    for _ in range(2):
        assert run(caches, tmp_path, lambda doc_id: "A", {"task": task(None)}) == [0, 1, 2, 3]


@pytest.mark.harness
def test_requests_of_ours_are_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    class Task:
        config = task(None).config

        def build_all_requests(self, **others: Any) -> None:
            seen.append(others)

    build = harness_cache._building_requests(Task.build_all_requests)
    build(Task(), limit=3, cache_requests=True)
    foreign = Task()
    foreign.config = task(None, str.upper).config
    build(foreign, limit=3, cache_requests=True)
    assert seen == [{"limit": 3, "cache_requests": False}, {"limit": 3, "cache_requests": True}]
