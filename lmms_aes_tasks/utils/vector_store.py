"""Arrays and numbers kept on disk under a digest of what they were made from, so that nothing is encoded twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.utils.errors import AesError

Array = npt.NDArray[np.float32]
_ASKED_AT_ONCE = 500
"""Keys in one SQL statement; SQLite allows 999 in old builds."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, rows INTEGER, columns INTEGER, content BLOB)",
    "CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, value REAL)",
)


def content_key(*parts: str | bytes) -> str:
    """SHA-256 over parts, each with its length, so that no two lists of parts are one."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8") if isinstance(part, str) else part
        digest.update(f"{len(content)}:".encode() + content)
    return digest.hexdigest()


class StoreError(AesError):
    """A store that cannot be written or read."""


def _store_error(path: Path, reason: object) -> StoreError:
    return StoreError(
        f"{path}: computed values cannot be kept or read there ({reason}). Set LMMS_AES_CACHE to a folder that can be "
        "written; remove the file if it is damaged."
    )


class VectorStore:
    """A file of float32 matrices and of numbers, each under its key; several processes may use it.

    What was put is there after a crash: every `put` is one transaction.

    Args:
        path: SQLite file; made with its folder where it is not there.

    Raises:
        StoreError: The file cannot be written or read; so does every method.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _store_error(path, error.strerror) from None
        self.path = path
        with self._connection() as connection:
            for table in _TABLES:
                connection.execute(table)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=120)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                with connection:
                    yield connection
        except sqlite3.Error as error:
            raise _store_error(self.path, error) from None

    def _rows(self, question: str, keys: Sequence[str]) -> Iterator[tuple[object, ...]]:
        with self._connection() as connection:
            for start in range(0, len(keys), _ASKED_AT_ONCE):
                part = keys[start : start + _ASKED_AT_ONCE]
                marks = ",".join("?" * len(part))
                yield from connection.execute(question.format(marks), part)

    def known(self, keys: Sequence[str]) -> set[str]:
        """Which of the keys have a matrix."""
        return {str(key) for (key,) in self._rows("SELECT key FROM vectors WHERE key IN ({})", keys)}

    def vectors(self, keys: Sequence[str]) -> dict[str, Array]:
        """The matrices of those keys that have one, each of shape (rows, columns)."""
        found = self._rows("SELECT key, rows, columns, content FROM vectors WHERE key IN ({})", keys)
        return {
            str(key): np.frombuffer(content, np.float32).reshape(rows, columns)  # type: ignore[call-overload]
            for key, rows, columns, content in found
        }

    def put_vectors(self, items: Mapping[str, Array]) -> None:
        """Keep matrices of shape (rows, columns)."""
        rows = [(k, *v.shape, np.ascontiguousarray(v, np.float32).tobytes()) for k, v in items.items()]
        with self._connection() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)", rows)

    def scores(self, keys: Sequence[str]) -> dict[str, float]:
        """The numbers of those keys that have one."""
        found = self._rows("SELECT key, value FROM scores WHERE key IN ({})", keys)
        return {str(key): float(value) for key, value in found}  # type: ignore[arg-type]

    def put_scores(self, items: Mapping[str, float]) -> None:
        """Keep numbers."""
        with self._connection() as connection:
            connection.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?)", list(items.items()))
