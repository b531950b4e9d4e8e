"""FineArtBench's files: where they are, and the pairs joined to their images and human judgements.

The authors' download has `2AFC/`, `human_annotation/`, `base/` and `painting/`; the JSON files are found by name in any
of these, and the images by their pattern.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lmms_aes_tasks.records import SourceError, existing_file, kind_of, read_records
from lmms_aes_tasks.sources import (
    DATA_ENV,
    SourceCard,
    access_remedy,
    cache_root,
    cache_writing,
    data_root,
    is_first_rank,
)
from lmms_aes_tasks.utils.alignment import Judgement
from lmms_aes_tasks.utils.cells import is_empty, is_nothing, text_of, whole_number
from lmms_aes_tasks.utils.colour_profiles import is_other_than_srgb
from lmms_aes_tasks.utils.errors import bulleted, problem_text
from lmms_aes_tasks.utils.images import ImageError, load_with_profile

Mode = Literal["global", "instance"]
MODES: tuple[str, ...] = ("global", "instance")
_FOLDERS = ("", "2AFC", "human_annotation", "base")
_PARTS = ["2AFC/*", "human_annotation/*", "base/*.json", "base/images/*", "painting/*"]
"""What is downloaded from the Hub."""
_MAX_BYTES = 512 * 1024 * 1024


def find_file(root: Path, name: str) -> Path:
    """A JSON file of the download.

    Raises:
        SourceError: It is in none of the folders.
    """
    for folder in _FOLDERS:
        path = existing_file(root / folder, name)
        if path is not None:
            return path
    places = ", ".join(str(root / folder) for folder in _FOLDERS)
    raise SourceError(f"no {name} in {places}. Download it from the Hub data set into one of them.")


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        SourceError: It is too large, or not JSON.
    """
    if not path.is_file():
        raise SourceError(f"{path} is not a file. Name a JSON file.")
    if path.stat().st_size > _MAX_BYTES:
        raise SourceError(f"{path}: {path.stat().st_size} bytes, {_MAX_BYTES} are allowed. Is it the right file?")
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not JSON ({error}). Download it again.") from None


def read_rows(path: Path) -> Any:
    """The content of a JSON file, or the rows of a JSONL, CSV, TSV or Parquet file.

    Raises:
        SourceError: It is none of these.
    """
    return read_json(path) if kind_of(path) == ".json" else list(read_records(path))


_NUMBERS = ("id", "content_index", "style_index")
_METHODS = ("method_left", "method_right")


def _winner(row: Mapping[str, Any]) -> str:
    """`left`, `right`, `skipped` (null) or "" (not annotated).

    Raises:
        ValueError: Anything else.
    """
    winner = row.get("winner")
    if is_nothing(winner):
        return "skipped"
    if winner not in ("left", "right", ""):
        raise ValueError(f'winner is {winner!r}; use "left", "right", null (skipped) or "" (none)')
    return str(winner)


def _judgement(row: Mapping[str, Any], judged: bool) -> Judgement:
    """One row as a judgement.

    Raises:
        ValueError: A field is missing or of another kind, or a method is set against itself.
    """
    numbers = [whole_number(row.get(field)) for field in _NUMBERS]
    for field, number in zip(_NUMBERS, numbers, strict=True):
        if number is None:
            raise ValueError(f"{field} is {row.get(field)!r}; give a number")
    for field in _METHODS:
        if not isinstance(row.get(field), str) or is_empty(row[field]):
            raise ValueError(f"{field} is {row.get(field)!r}; give a text")
    if row["method_left"] == row["method_right"]:
        raise ValueError(f"{row['method_left']} is set against itself; give two methods")
    if judged and "winner" not in row:
        raise ValueError('winner is missing; give "left", "right", null (skipped) or "" (none)')
    pair_id, content, style = (number for number in numbers if number is not None)
    return Judgement(pair_id, content, style, row["method_left"], row["method_right"], _winner(row))


def judgements_of(rows: Any, name: str, judged: bool = True) -> list[Judgement]:
    """Rows of a pairs, annotation or predictions file as judgements.

    Args:
        rows: What the file holds.
        name: Its name, for messages.
        judged: Whether every row must have a `winner`, as it must but in the pairs file.

    Raises:
        SourceError: There are no rows, a row is unsound, or an id repeated; every case is listed.
    """
    if not isinstance(rows, list):
        raise SourceError(f"{name}: JSON of type {type(rows).__name__}. Give the list of pairs.")
    if not rows:
        raise SourceError(f"{name}: no pairs. Is it the right file?")
    found: list[Judgement] = []
    problems: list[str] = []
    seen: set[int] = set()
    for number, row in enumerate(rows, 1):
        try:
            if not isinstance(row, dict):
                raise ValueError(f"{type(row).__name__} in place of an object")
            pair = _judgement(row, judged)
            if pair.id in seen:
                raise ValueError(f"id {pair.id} is already that of another pair")
            found.append(pair)
            seen.add(pair.id)
        except ValueError as error:
            problems.append(f"pair {number}: {error}")
    if problems:
        raise SourceError(problem_text(name, problems, ":"))
    return found


def same_pairs(pairs: Sequence[Judgement], others: Sequence[Judgement], name: str, partial: bool = False) -> None:
    """Check that two files are about the same pairs.

    Args:
        pairs: The pairs as they should be.
        others: Those to check.
        name: The name of their file, for messages.
        partial: Whether some may be missing.

    Raises:
        SourceError: The lengths differ, a pair is another one or there twice; the cases are listed.
    """
    known = {pair.id: pair for pair in pairs}
    problems = []
    if len(pairs) != len(others) and not partial:
        problems.append(f"{len(others)} pairs, and {len(pairs)} are judged by the experts")
    counts = collections.Counter(other.id for other in others)
    problems += [f"pair {number} is there {count} times" for number, count in counts.items() if count > 1]
    for other in others:
        pair = known.get(other.id)
        if pair is None:
            problems.append(f"pair {other.id} is not one of them")
        elif (pair.content, pair.style, pair.left, pair.right) != (other.content, other.style, other.left, other.right):
            problems.append(
                f"pair {other.id} is {other.left} against {other.right}, there {pair.left} against {pair.right}"
            )
    if problems:
        raise SourceError(f"{name}: other pairs than those of the human file:\n{bulleted(problems)}")


# -- The download -----------------------------------------------------------------------------------------------------


def _laid_out(card: SourceCard, root: Path | None) -> Path | None:
    """The user's own folder of the download, where it holds something."""
    folder = None if root is None else root / card.name
    return folder if folder is not None and folder.is_dir() and any(folder.iterdir()) else None


def at_hand(card: SourceCard, root: Path | None) -> Path | None:
    """The folder of the download, if it is at hand: the user's, else the copy in the Hub's cache.

    Args:
        card: The benchmark.
        root: A folder with one folder a benchmark, as `$LMMS_AES_DATA`; None for none.
    """
    folder = _laid_out(card, root)
    if folder is not None:
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                card.hub_id,
                repo_type="dataset",
                revision=card.revision or None,
                allow_patterns=_PARTS,
                local_files_only=True,
            )
        )
    except Exception:  # the Hub's client raises many kinds, and each means that it is not there
        return None


def root_folder(card: SourceCard) -> Path:
    """Where the files are: `$LMMS_AES_DATA/fineartbench`, else the Hub's, downloaded into its cache.

    Raises:
        SourceError: Neither is to be had.
    """
    folder = _laid_out(card, data_root())
    if folder is not None:
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(  # asks the Hub for what is missing of a download that was broken off
            snapshot_download(card.hub_id, repo_type="dataset", revision=card.revision or None, allow_patterns=_PARTS)
        )
    except Exception as error:  # the Hub's client raises many kinds, and each means that the data is not to be had
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SourceError(
            f"{card.title}: no data. ${DATA_ENV}/{card.name} does not exist, and {card.hub_id} could not be loaded "
            f"from the Hub ({reason}). Either {access_remedy(card)} and run where there is a network; or lay the "
            f"download out as FOLDER/{card.name}/ with 2AFC/, human_annotation/, base/ and painting/, and "
            f"`export {DATA_ENV}=FOLDER`."
        ) from None


@dataclass(frozen=True)
class PairFiles:
    """A pair and its three images, None where a file is missing.

    Attributes:
        row: The pair as its file has it, its numbers as numbers.
        style: Name of the style; empty where the file has none.
        human: How the experts judged it.
        source: The content image.
        left: The painting shown left.
        right: The painting shown right.
    """

    row: Mapping[str, Any]
    style: str
    human: str
    source: Path | None
    left: Path | None
    right: Path | None

    @property
    def complete(self) -> bool:
        """Whether all three images are there."""
        return None not in (self.source, self.left, self.right)


def join_pairs(root: Path, mode: Mode) -> list[PairFiles]:
    """Every pair of a mode with its images and its human judgement, in question order.

    Paintings are `painting/<method>/content_<c>_style_<k>.jpg`, k being the place of the style, from 1 on, among those
    of the content in `content_style_combination.json`; contents are `base/images/<c>.png`.

    Raises:
        SourceError: A JSON file is missing or unsound.
    """
    rows = read_json(find_file(root, f"2AFC_{mode}_N_5000.json"))
    pairs = judgements_of(rows, f"2AFC_{mode}_N_5000.json", judged=False)
    annotated = find_file(root, f"{mode}_annotation.json")
    humans = judgements_of(read_json(annotated), annotated.name)
    same_pairs(pairs, humans, annotated.name)
    winner = {human.id: human.winner for human in humans}
    combined = find_file(root, "content_style_combination.json")
    combination = read_json(combined)
    if not isinstance(combination, dict) or not all(isinstance(own, list) for own in combination.values()):
        raise SourceError(f"{combined}: not the styles by content. Download it again.")
    by_id = {whole_number(row["id"]): row for row in rows}
    joined = []
    for pair in sorted(pairs, key=lambda judgement: judgement.id):
        styles = [whole_number(style) for style in combination.get(str(pair.content), [])]
        place = styles.index(pair.style) + 1 if pair.style in styles else 0
        paintings = [
            existing_file(root, f"painting/{method}/content_{pair.content}_style_{place}.jpg") if place else None
            for method in (pair.left, pair.right)
        ]
        row = by_id[pair.id]
        joined.append(
            PairFiles(
                {**row, "id": pair.id, "content_index": pair.content, "style_index": pair.style},
                text_of(row.get("style_prompt")),
                winner[pair.id],
                existing_file(root, f"base/images/{pair.content}.png"),
                *paintings,
            )
        )
    return joined


def style_problems(pairs: Sequence[PairFiles]) -> list[str]:
    """Pairs whose style has no name, which the prompts ask about unless the setting `style` is false."""
    return [
        f"pair {pair.row['id']}: style_prompt is {pair.row.get('style_prompt')!r}; give the name of the style"
        for pair in pairs
        if not pair.style
    ]


@dataclass(frozen=True)
class CheckedImages:
    """What decoding every image of some pairs showed.

    Attributes:
        images: How many there are.
        problems: What does not decode, by file.
        other_profiles: How many have another colour profile than sRGB's.
    """

    images: int
    problems: list[str]
    other_profiles: int


def check_images(pairs: Sequence[PairFiles], progress: bool = False) -> CheckedImages:
    """Decode every image of these pairs once, in threads."""
    from tqdm import tqdm

    paths = sorted({path for pair in pairs for path in (pair.source, pair.left, pair.right) if path is not None})

    def check(path: Path) -> tuple[str, bool]:
        try:
            return "", is_other_than_srgb(load_with_profile(path)[1])
        except ImageError as error:
            return str(error), False

    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        found = list(tqdm(pool.map(check, paths), total=len(paths), desc="checking images", disable=not progress))
    return CheckedImages(len(paths), [text for text, _ in found if text], sum(other for _, other in found))


def verify_images(name: str, pairs: Sequence[PairFiles]) -> None:
    """Make sure before a run that every image decodes, once for every state of the files.

    Raises:
        SourceError: Some do not; they are listed.
    """
    from filelock import FileLock

    paths = sorted({path for pair in pairs for path in (pair.source, pair.left, pair.right) if path is not None})
    digest = hashlib.sha256()
    for path in paths:
        status = path.stat()
        digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    done = cache_root() / name / f"decoded-{digest.hexdigest()[:16]}"
    with cache_writing():
        done.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(done.with_suffix(".lock")):
            if done.is_file():
                return
            problems = check_images(pairs, progress=is_first_rank()).problems
            if problems:
                raise SourceError(f"{len(problems)} image(s) do not decode:\n{bulleted(problems)}")
            done.touch()


def missing_by_method(pairs: Sequence[PairFiles]) -> dict[str, int]:
    """Number of paintings, by method, and of content images that are not there."""
    counts: dict[str, set[tuple[int, int]]] = {}
    for pair in pairs:
        key = (pair.row["content_index"], pair.row["style_index"])
        for side in ("left", "right"):
            if getattr(pair, side) is None:
                counts.setdefault(str(pair.row[f"method_{side}"]), set()).add(key)
        if pair.source is None:
            counts.setdefault("content", set()).add((key[0], 0))
    return {name: len(found) for name, found in sorted(counts.items())}
