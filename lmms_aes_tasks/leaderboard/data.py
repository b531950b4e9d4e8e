"""The data at hand: a task's documents without their images, and the fingerprint of what they, and the images, are."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_aes_tasks import sources
from lmms_aes_tasks.board.digests import lines_sha256
from lmms_aes_tasks.leaderboard.tasks import Task
from lmms_aes_tasks.records import IMAGES_COLUMN, SourceError
from lmms_aes_tasks.utils.permutations import TRIALS, trial_permutations

_GOLD: Mapping[str, tuple[str, ...]] = {
    "contextcanvas": ("options", "gold"),
    "critiquecanvas": ("domain", "instruction", "reference"),
    "vab": ("domain", "substyle", "n_images", "ground_truth_best", "ground_truth_worst"),
}
"""What of a record its fingerprint covers, beside the id and the images."""


@dataclass(frozen=True)
class Data:
    """A task's data.

    Attributes:
        documents: What scoring needs of every document, by its id.
        sha256: Fingerprint over ids, gold labels and image digests, sorted by id.
    """

    documents: Mapping[str, Mapping[str, Any]]
    sha256: str


# -- Records with their images ----------------------------------------------------------------------------------------


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Records of a canonical file with `image_sha256` in place of the images; one row group in memory at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            for row in file.read_row_group(group).to_pylist():
                cells = row.pop(IMAGES_COLUMN)
                yield row | {"image_sha256": [hashlib.sha256(cell["bytes"]).hexdigest() for cell in cells]}


@functools.lru_cache(maxsize=8)
def _records(benchmark: str, path: Path, changed: int) -> tuple[tuple[dict[str, Any], ...], str]:
    """Records without images, and their fingerprint; `changed` is the file's time, so that a new file is read anew."""
    fields = _GOLD[benchmark]
    rows = sorted(_rows(path), key=lambda row: str(row["id"]))
    digest = lines_sha256([row["id"], {name: row[name] for name in fields}, row["image_sha256"]] for row in rows)
    return tuple(rows), digest


def _demo(card: sources.SourceCard, required: bool) -> Path | None:
    """A demo's data, generated; None on a machine without the photographs that it is made from."""
    try:
        return sources.canonical_file(card)
    except SourceError:
        if required:
            raise
        return None


def _parquet(card: sources.SourceCard, root: Path | None, required: bool) -> Path | None:
    """The canonical file where the data is at hand; nothing is downloaded."""
    if card.generator:
        return _demo(card, required)
    folder = None if root is None else root / card.name
    if folder is not None and folder.exists() and (folder.is_file() or any(folder.iterdir())):
        return sources.canonical_file(card, folder)
    return sources.hub_copy(card)


def _vab_documents(rows: tuple[dict[str, Any], ...], question: str) -> dict[str, dict[str, Any]]:
    from lmms_aes_tasks.vab.task import asked

    return {
        f"{row['id']}#{trial}": {
            **{name: row[name] for name in _GOLD["vab"]},
            "id": f"{row['id']}#{trial}",
            "task_id": row["id"],
            "trial": trial,
            "question": question,
            "prompt_type": asked(question, row["n_images"]),
            "permutation": permutation,
        }
        for row in rows
        for trial, permutation in enumerate(trial_permutations(row["id"], row["n_images"], TRIALS))
    }


# -- FineArtBench, whose images are files of their own ----------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def _fineartbench(root: Path, mode: str) -> Data:
    """Pairs with the experts' judgements; the fingerprint is over them and over the JSON files, not over paintings."""
    from lmms_aes_tasks.fineartbench.files import find_file, judgements_of, read_json, same_pairs

    names = (f"2AFC_{mode}_N_5000.json", f"{mode}_annotation.json", "content_style_combination.json")
    paths = {name: find_file(root, name) for name in names}
    pairs = judgements_of(read_json(paths[names[0]]), names[0], judged=False)
    humans = judgements_of(read_json(paths[names[1]]), names[1])
    same_pairs(pairs, humans, names[1])
    documents = {
        f"{mode}-{human.id}": {
            "id": f"{mode}-{human.id}",
            "number": human.id,
            "content_index": human.content,
            "style_index": human.style,
            "method_left": human.left,
            "method_right": human.right,
            "human": human.winner,
        }
        for human in sorted(humans, key=lambda judgement: judgement.id)
    }
    files = [[name, hashlib.sha256(path.read_bytes()).hexdigest()] for name, path in paths.items()]
    return Data(documents, lines_sha256([*documents.values(), *files]))


# -- One way in -------------------------------------------------------------------------------------------------------


def data_file(task: Task, root: Path | None, required: bool = False) -> Path | None:
    """The canonical file of a task's records with their images; None where it is not at hand; see `data_of`.

    Raises:
        SourceError: It is there, and not sound.
    """
    return _parquet(sources.read_card(task.card), root, required)


def data_of(task: Task, root: Path | None, required: bool = False) -> Data | None:
    """A task's data where it is at hand: generated for a demo, below `root`, or in the cache of the Hub's.

    Args:
        task: The task.
        root: A folder with one folder a benchmark, as `$LMMS_AES_DATA`; None for none.
        required: Whether a demo's data that cannot be generated is an error.

    Returns:
        The data, or None where it is not at hand.

    Raises:
        SourceError: It is there, and not sound; or as `required` says.
    """
    if task.benchmark == "fineartbench":
        folder = None if root is None else root / task.card
        return _fineartbench(folder, task.variant) if folder is not None and folder.is_dir() else None
    path = data_file(task, root, required)
    if path is None:
        return None
    rows, digest = _records(task.benchmark, path, path.stat().st_mtime_ns)
    if task.benchmark == "vab":
        return Data(_vab_documents(rows, task.variant), digest)
    if task.variant:
        rows = tuple(row for row in rows if row["domain"] == task.variant)
    if task.benchmark == "critiquecanvas":
        return Data({row["id"]: row | {"source": task.card} for row in rows}, digest)
    return Data({row["id"]: row for row in rows}, digest)
