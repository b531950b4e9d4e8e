"""The Hub's data: a copy is named by the commit it was loaded from; the client is a stand-in, nothing is asked."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest

from lmms_aes_tasks import sources
from lmms_aes_tasks.records import RecordStream, file_stream
from lmms_aes_tasks.sources import canonical_file, hub_copy, read_card
from tests.colours import write_colour_tasks


class Hub:
    """A Hub that has one commit, or is out of reach (None)."""

    def __init__(self, folder: Path) -> None:
        self.commit: str | None = None
        self.folder = folder
        self.loaded: list[str | None] = []

    def dataset_info(self, hub_id: str, **_: Any) -> Any:
        if self.commit is None:
            raise ConnectionError("no network")
        return SimpleNamespace(sha=self.commit)

    def stream(self, card: Any, commit: str | None) -> RecordStream:
        self.loaded.append(commit)
        return file_stream(self.folder / "tasks.json")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    write_colour_tasks(tmp_path / "vab-files", [2, 3])
    found = Hub(tmp_path / "vab-files")
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LMMS_AES_DATA", raising=False)
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: SimpleNamespace(dataset_info=found.dataset_info))
    monkeypatch.setattr(sources, "_hub_stream", found.stream)
    return found


def test_the_commit_that_was_loaded_names_the_copy(hub: Hub) -> None:
    card = read_card("vab")
    assert hub_copy(card) is None
    hub.commit = "a" * 40
    first = canonical_file(card)
    assert first.parent.name.startswith(f"hub-{'a' * 40}-")
    assert canonical_file(card) == first  # the same commit is loaded once
    hub.commit = "b" * 40  # the data set was corrected
    second = canonical_file(card)
    assert second != first
    assert hub.loaded == ["a" * 40, "b" * 40]
    hub.commit = None
    assert canonical_file(card) == second == hub_copy(card)  # out of reach: the last copy
    assert hub.loaded == ["a" * 40, "b" * 40]


def test_a_commit_that_is_not_given_leaves_the_last_copy(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.commit = "a" * 40
    first = canonical_file(read_card("vab"))
    hub.commit = "b" * 40

    def refused(card: Any, commit: str | None) -> RecordStream:
        raise sources._OutOfReachError("accept its terms")

    monkeypatch.setattr(sources, "_hub_stream", refused)
    assert canonical_file(read_card("vab")) == first


def test_a_pinned_commit_is_not_asked_for(hub: Hub) -> None:
    card = dataclasses.replace(read_card("vab"), revision="c" * 40)
    hub.commit = "a" * 40
    canonical_file(read_card("vab"))
    assert hub_copy(card) is None  # another commit is not what is pinned
    assert canonical_file(card) == hub_copy(card)
    assert hub.loaded == ["a" * 40, "c" * 40]


def test_without_a_commit_the_copy_says_so(hub: Hub) -> None:
    path = canonical_file(read_card("vab"))  # the Hub's own cache may have it
    assert path.parent.name.startswith("hub-unknown-")
    assert hub.loaded == [None]
    assert hub_copy(read_card("vab")) == path
