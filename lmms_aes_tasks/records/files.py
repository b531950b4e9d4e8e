"""Names of files: which kind one is, hidden ones, shards of one source, other Unicode forms, and what links may do."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from lmms_aes_tasks.records.schema import SourceError
from lmms_aes_tasks.utils.images import ImageError

RECORD_SUFFIXES = (".parquet", ".jsonl", ".json", ".csv", ".tsv")
"""Kinds of files of records; where a folder has several kinds, the first counts."""
_HUB_FOLDER = "data"
"""Where data sets on the Hub keep their files."""
_SHARD = re.compile(r"(?P<stem>.*?)-(?P<number>\d{5,})-of-(?P<count>\d{5,})(?:-[0-9a-f]{6,})?")
_GET_FILES = "`hf download --local-dir FOLDER` gets files in place of links, and so does `cp -rL`"


def kind_of(path: Path) -> str:
    """A file's suffix in small letters, whatever its spelling."""
    return path.suffix.lower()


# -- Sources: a file, or the shards of one ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shard:
    stem: str
    number: int
    count: int


def _shard_of(path: Path) -> _Shard | None:
    match = _SHARD.fullmatch(path.name[: -len(path.suffix)] if path.suffix else path.name)
    if match is None or int(match["count"]) < 1:
        return None
    return _Shard(match["stem"], int(match["number"]), int(match["count"]))


def visible_files(folder: Path, suffix: str) -> list[Path]:
    """Files of a kind in a folder, sorted; those with a leading dot, as archives of macOS have them, are none."""
    return sorted(
        path for path in folder.iterdir() if kind_of(path) == suffix and path.name[0] != "." and path.is_file()
    )


def shards_of(path: Path) -> list[Path]:
    """All files of the source that a file belongs to: itself, or every shard `*-00000-of-0000N` beside it, in order.

    Raises:
        SourceError: A shard is missing, or there twice; it is named.
    """
    shard = _shard_of(path)
    if shard is None:
        return [path]
    by_number: dict[int, list[Path]] = {}
    for file in visible_files(path.parent, kind_of(path)):
        other = _shard_of(file)
        if other is not None and (other.stem, other.count) == (shard.stem, shard.count):
            by_number.setdefault(other.number, []).append(file)
    missing = [number for number in range(shard.count) if number not in by_number]
    if missing:
        names = ", ".join(f"{shard.stem}-{number:05}-of-{shard.count:05}{path.suffix}" for number in missing[:10])
        raise SourceError(
            f"{path.parent}: {len(missing)} of {shard.count} shards missing ({names}). Download all of them."
        )
    beside = [path.name for number in sorted(by_number) for path in by_number[number]]
    if len(beside) != shard.count:
        raise SourceError(f"{path.parent}: {shard.count} shards are one source, and there are {', '.join(beside)}.")
    return [by_number[number][0] for number in range(shard.count)]


def _sources(folder: Path, suffix: str, besides: Path | None) -> list[Path]:
    """One file for every source of a kind: of shards the first that is there."""
    firsts: dict[object, Path] = {}
    for path in visible_files(folder, suffix):
        shard = _shard_of(path)
        if path != besides:
            firsts.setdefault(path if shard is None else (shard.stem, shard.count), path)
    return list(firsts.values())


def records_file(folder: Path, besides: Path | None = None) -> Path:
    """The one source of records in a folder, or in its folder `data`, or the file itself.

    Parquet counts before JSONL before JSON before CSV before TSV. Suffixes count in any case, hidden files not at all.
    Shards are one source, for which its first file stands.

    Args:
        folder: A folder, or a file.
        besides: A file that does not count: what an import writes is not what it reads.

    Raises:
        SourceError: There is none, there are several of the same kind, or a shard is missing.
    """
    if folder.is_file():
        return shards_of(folder)[0]
    kinds = ", ".join(RECORD_SUFFIXES)
    if not folder.is_dir():
        raise SourceError(f"{folder} does not exist. Name a folder with a {kinds} file in it.")
    for place in (folder, folder / _HUB_FOLDER):
        for suffix in RECORD_SUFFIXES if place.is_dir() else ():
            paths = _sources(place, suffix, besides)
            if len(paths) > 1:
                names = ", ".join(path.name for path in paths)
                raise SourceError(f"{place} holds several {suffix} files ({names}). Keep one, or name it.")
            if paths:
                return shards_of(paths[0])[0]
    raise SourceError(f"{folder} holds no records. Put one {kinds} file there.")


# -- Paths that records name ------------------------------------------------------------------------------------------


def _same_name(folder: Path, name: str) -> Path | None:
    """What stands under a name in a folder, else under its other Unicode form, else with its suffix in another case."""
    direct = folder / name
    if direct.exists() or not folder.is_dir():
        return direct if direct.exists() else None

    def form(text: str, suffix_too: bool) -> str:
        text = unicodedata.normalize("NFC", text)
        suffix = Path(text).suffix if suffix_too else ""
        return text[: len(text) - len(suffix)] + suffix.lower()

    entries = sorted(folder.iterdir())
    for suffix_too in (False, True):
        same = [path for path in entries if form(path.name, suffix_too) == form(name, suffix_too)]
        if len(same) == 1:
            return same[0]
    return None


def existing_file(root: Path, reference: str) -> Path | None:
    """The file below `root` that a path means; None where there is none.

    A name that is there in its other Unicode form (macOS writes é in two characters) is the same name, and so is one
    whose suffix is in another case.

    Raises:
        OSError: The path is too long for the system.
    """
    path = root / reference
    if path.is_file():
        return path
    place = root
    for part in Path(reference).parts:
        entry = place / part if part in ("..", "/") else _same_name(place, part)
        if entry is None:
            return None
        place = entry
    return place if place.is_file() else None


def _hub_blobs(root: Path) -> Path | None:
    """The folder `blobs` of the Hub cache's repository that a folder is a snapshot of, or lies in one."""
    for folder in (root, *root.parents):
        if folder.parent.name == "snapshots":
            blobs = folder.parent.parent / "blobs"
            return blobs if blobs.is_dir() else None
    return None


def inside(root: Path, reference: str) -> Path | None:
    """The file that a path below `root` means; see `existing_file`.

    Nothing outside is read, by `..`, an absolute path or a link, but for the links of the Hub's cache, which lead from
    a snapshot to the blobs of the same repository.

    Raises:
        ImageError: The path leaves the folder, or is none.
        OSError: It is too long for the system.
    """
    if "\0" in reference:
        raise ImageError(f"{reference!r} is no path. Give a path inside the data folder.")
    whole = root.resolve()
    leaves = f"{reference!r} leaves the data folder"
    lexical = Path(*_without_dots(whole, reference))
    if not lexical.is_relative_to(whole) and not (root / reference).resolve().is_relative_to(whole):
        raise ImageError(f"{leaves}. Give a path inside it.")
    path = existing_file(root, reference)
    if path is None:
        if (root / reference).is_symlink():
            raise ImageError(f"{reference!r} is a link to nothing. {_GET_FILES}.")
        return None
    target, blobs = path.resolve(), _hub_blobs(whole)
    if target.is_relative_to(whole):
        return path
    if blobs is not None and lexical.is_relative_to(whole) and target.is_relative_to(blobs):
        return path
    if lexical.is_relative_to(whole):
        raise ImageError(f"{leaves}: it is a link, or lies below one. {_GET_FILES}.")
    raise ImageError(f"{leaves}. Give a path inside it.")


def _without_dots(root: Path, reference: str) -> list[str]:
    """The parts of a path as it is written, `.` and `..` worked out, no link followed."""
    parts: list[str] = []
    for part in (root / reference).parts:
        if part == "..":
            parts = parts[:-1] or parts
        else:
            parts.append(part)
    return parts
