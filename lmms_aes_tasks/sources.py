"""Where a benchmark's data is (its card, a folder, the Hub, a generator), and its loading for the harness."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_aes_tasks.cards import SourceCard as SourceCard
from lmms_aes_tasks.cards import card_names as card_names
from lmms_aes_tasks.cards import card_of
from lmms_aes_tasks.cards import card_of_samples as card_of_samples
from lmms_aes_tasks.cards import read_card as read_card
from lmms_aes_tasks.cards import schema_of as schema_of
from lmms_aes_tasks.outputs import reason_of, writing
from lmms_aes_tasks.records import (
    RECORD_SUFFIXES,
    RecordStream,
    SourceError,
    features_of,
    import_file,
    import_records,
    is_canonical,
    records_file,
    schema_fingerprint,
    visible_files,
)
from lmms_aes_tasks.utils.errors import AesError

if TYPE_CHECKING:
    import datasets

DATA_ENV = "LMMS_AES_DATA"
CACHE_ENV = "LMMS_AES_CACHE"


# -- Loading for the harness -------------------------------------------------------------------------------------------


def data_root() -> Path | None:
    """`$LMMS_AES_DATA`, or None when it is not set."""
    value = os.environ.get(DATA_ENV, "").strip()
    return Path(value).expanduser() if value else None


def cache_root() -> Path:
    """`$LMMS_AES_CACHE`, else the user's cache folder for this package."""
    value = os.environ.get(CACHE_ENV, "").strip()
    if value:
        return Path(value).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("lmms-aes-tasks"))


def cache_writing() -> AbstractContextManager[None]:
    """Around what writes into the cache: an `OutputError` that says which folder it is and how to name another."""
    return writing(cache_root(), f"Set {CACHE_ENV} to a folder that can be written, with room for the data.")


def nltk_folder() -> Path:
    """Where `lmms-aes data fetch wordnet` puts the corpus."""
    return cache_root() / "nltk_data"


def _fingerprint(path: Path) -> str:
    """Changes when the records file, or any file beside or below it, changes its name, size or time."""
    digest = hashlib.sha256()
    for item in sorted(path.parent.rglob("*")):
        if item.is_file():
            status = item.stat()
            digest.update(f"{item.relative_to(path.parent)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _cache_path(card: SourceCard, state: str) -> Path:
    return cache_root() / card.name / f"{state}-{schema_fingerprint(schema_of(card))}" / "data.parquet"


def _cached(card: SourceCard, state: str, make: Callable[[Path], object]) -> Path:
    """A canonical file in the cache, made under a lock where it is not there, so that several ranks make it once.

    Args:
        card: The benchmark.
        state: Names what the file is made from; another state is another file.
        make: Writes the file, atomically.
    """
    from filelock import FileLock

    target = _cache_path(card, state)
    with cache_writing():
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_suffix(".lock")):
            if not target.is_file():
                make(target)
    return target


def _generated(card: SourceCard) -> Path:
    """A demo's data, made on first use."""
    module_name, function = card.generator.rsplit(".", 1)
    module = importlib.import_module(module_name)
    return _cached(card, str(module.DEMO_VERSION), lambda target: getattr(module, function)(target, schema_of(card)))


_HUB_TIMEOUT = 10.0
"""Seconds after which the Hub is taken for unreachable; a copy in the cache is then used."""


def _hub_state(commit: str) -> str:
    return f"hub-{commit}"


def hub_commit(card: SourceCard) -> str | None:
    """The commit of a Hub data set that is loaded: the pinned one, else that of its main branch; None out of reach."""
    if card.revision:
        return card.revision
    from huggingface_hub import HfApi

    try:
        commit = HfApi().dataset_info(card.hub_id, timeout=_HUB_TIMEOUT).sha
    except Exception as error:  # the client raises many kinds: no network, terms not accepted, no such data set
        from loguru import logger

        logger.debug(f"{card.hub_id}: its commit cannot be asked for ({type(error).__name__})")
        return None
    return commit if isinstance(commit, str) and commit else None


def hub_copy(card: SourceCard) -> Path | None:
    """The canonical copy of a Hub data set in the cache, of the pinned commit or else the last that was loaded."""
    if not card.hub_id:
        return None
    if card.revision:
        path = _cache_path(card, _hub_state(card.revision))
        return path if path.is_file() else None
    copies = (cache_root() / card.name).glob(f"hub-*-{schema_fingerprint(schema_of(card))}/data.parquet")
    return max(copies, key=lambda path: path.stat().st_mtime_ns, default=None)


class _OutOfReachError(SourceError):
    """A data set that the Hub does not give: no network, no log-in, terms not accepted."""


def _hub_file(card: SourceCard) -> Path:
    """The canonical copy of a Hub data set as it is there now, or the last copy where the Hub is out of reach."""
    commit = hub_commit(card)
    copy = hub_copy(card)
    if commit is None and copy is not None:
        return copy
    try:
        return _cached(
            card,
            _hub_state(commit or "unknown"),
            lambda target: import_records(_hub_stream(card, commit), target, schema_of(card), progress=is_first_rank()),
        )
    except _OutOfReachError:
        if copy is None:
            raise
        from loguru import logger

        logger.warning(f"{card.hub_id}: commit {commit} cannot be loaded; the copy {copy.parent.name} is used")
        return copy


def at_hand(card: SourceCard, root: Path | None) -> Path | None:
    """Where the records of a benchmark are, if they are at hand: the user's folder or file, else the Hub's copy.

    The one answer to "is the data there" for every command; nothing is made, and nothing is downloaded.

    Args:
        card: The benchmark.
        root: A folder with one folder a benchmark, as `$LMMS_AES_DATA`; None for none.
    """
    return _users_place(card, root) or hub_copy(card)


def _users_place(card: SourceCard, root: Path | None) -> Path | None:
    """The user's own folder or file of a benchmark, where there is something in it."""
    place = None if root is None else root / card.name
    there = place is not None and place.exists() and (place.is_file() or any(place.iterdir()))
    return place if there else None


def access_remedy(card: SourceCard) -> str:
    """How to get a Hub data set."""
    page = f"https://huggingface.co/datasets/{card.hub_id}"
    return f"accept its terms at {page} and log in with `hf auth login`" if card.gated else f"see {page}"


def _hub_stream(card: SourceCard, commit: str | None) -> RecordStream:
    """The records of a data set on the Hub at a commit (None: its main branch), with the images' bytes as stored.

    Raises:
        SourceError: It cannot be had: not accepted, not logged in, no network.
    """
    import datasets

    try:
        loaded = datasets.load_dataset(card.hub_id, split="test", revision=commit)
    except Exception as error:  # the Hub's client raises many kinds, and each means that the data is not to be had
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise _OutOfReachError(
            f"{card.title}: no data. ${DATA_ENV}/{card.name} does not exist, and {card.hub_id} could not be loaded "
            f"from the Hub ({reason}). Either {access_remedy(card)}, and run again; or put the records and images into "
            f"a folder SOURCE, `export {DATA_ENV}=FOLDER`, and `lmms-aes data import {card.name} SOURCE`. "
            f"To try the suite without data, run the task {card.demo}."
        ) from None
    rows = (row for batch in loaded.with_format("arrow").iter(32) for row in batch.to_pylist())
    return RecordStream(card.hub_id, Path(), rows)


def locate(card: SourceCard, data: Path | None = None) -> Path:
    """The file of a benchmark's records: in `data`, else generated for a demo, below `$LMMS_AES_DATA`, or of the Hub.

    Args:
        card: The benchmark.
        data: A folder or file that the user names.

    Raises:
        SourceError: The data is not there; the message says how to get it.
    """
    if data is not None:
        return records_file(data)
    if card.generator:
        return _generated(card)
    root = data_root()
    place = _users_place(card, root)
    if place is not None:
        return records_file(place)
    if card.hub_id:
        return _hub_file(card)
    looked = f"${DATA_ENV} is not set" if root is None else f"{root / card.name} does not exist"
    raise SourceError(
        f"{card.title}: no data ({looked}). {card.where} Then: `export {DATA_ENV}=FOLDER` and "
        f"`lmms-aes data import {card.name} SOURCE`, which checks the records in SOURCE and writes "
        f"FOLDER/{card.name}/{card.name}.parquet. To try the suite without data, run the task {card.demo}."
    )


def is_first_rank() -> bool:
    """Whether this process is the one that speaks, of several ranks."""
    return os.environ.get("RANK", "0") == "0"


def _warn_of_newer_records(card: SourceCard, path: Path) -> None:
    """Say so when records beside an import were changed after it: the import is what counts."""
    from loguru import logger

    written = path.stat().st_mtime_ns
    others = [item for suffix in RECORD_SUFFIXES for item in visible_files(path.parent, suffix) if item != path]
    newer = sorted(item.name for item in others if item.stat().st_mtime_ns > written)
    if newer:
        logger.warning(
            f"{path} is used, and {', '.join(newer)} beside it is newer. If it was corrected, run "
            f"`lmms-aes data import {card.name} {path.parent}` again"
        )


def canonical_file(card: SourceCard, data: Path | None = None) -> Path:
    """The canonical Parquet file of a benchmark, made first where it is not there yet.

    A folder with JSON, JSONL or foreign Parquet is imported into the cache, once per state of the folder, so that
    every image is known to decode before a run starts.

    Args:
        card: The benchmark.
        data: A folder or file that the user names; see `locate`.

    Raises:
        SourceError: The data is not there, or not sound.
    """
    path = locate(card, data)
    schema = schema_of(card)
    if is_canonical(path, schema):
        _warn_of_newer_records(card, path)
        return path
    return _cached(card, _fingerprint(path), lambda target: import_file(path, target, schema, progress=is_first_rank()))


def load(card: SourceCard, data: Path | None = None) -> datasets.Dataset:
    """A benchmark's records as a memory-mapped data set; images are bytes until a model asks.

    Args:
        card: The benchmark.
        data: A folder or file that the user names; see `locate`.

    Raises:
        SourceError: The data is not there, or not sound.
    """
    import datasets

    path = canonical_file(card, data)
    return datasets.Dataset.from_parquet(str(path), features=features_of(schema_of(card)))


@contextmanager
def stopping(card: SourceCard) -> Iterator[None]:
    """End the command with one message when a benchmark's data cannot be had or prepared.

    Raises:
        SystemExit: With the message. The harness makes documents inside a retry of five tries with waits, wraps what
            comes out of it, prints a traceback and exits 0; a SystemExit passes through all of that and ends the
            command with the message alone and exit code 1.
    """
    try:
        yield
    except AesError as error:
        text = str(error)
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        text = (
            f"{card.title}: the data could not be prepared ({place}{reason_of(error)}). See to the file's permissions, "
            f"or set {CACHE_ENV} to a folder that can be written and has room."
        )
    else:
        return
    raise SystemExit(f"\nlmms-aes-tasks: {text}" if is_first_rank() else 1)  # one message, not one per rank


def documents(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs` of every benchmark: the one-row data set of the card becomes the real documents.

    Raises:
        SystemExit: The data is not to be had, or cannot be prepared; see `stopping`.
    """
    card = card_of(cards[0])
    with stopping(card):
        return load(card)
