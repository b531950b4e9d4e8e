"""The records at hand: without their images, and with the fingerprint of what they, and the images, are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lmms_aes_tasks import sources
from lmms_aes_tasks.board.digests import lines_sha256
from lmms_aes_tasks.records import IMAGES_COLUMN, SourceError


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Records of a canonical file with `image_sha256` in place of the images; one row group in memory at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            for row in file.read_row_group(group).to_pylist():
                cells = row.pop(IMAGES_COLUMN)
                yield row | {"image_sha256": [hashlib.sha256(cell["bytes"]).hexdigest() for cell in cells]}


def records(path: Path, fields: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """Records of a canonical file without their images, sorted by id, and their fingerprint.

    Args:
        path: The canonical Parquet file.
        fields: What of a record the fingerprint covers, beside the id and the images.
    """
    rows = sorted(_rows(path), key=lambda row: str(row["id"]))
    digest = lines_sha256([row["id"], {name: row[name] for name in fields}, row["image_sha256"]] for row in rows)
    return rows, digest


class LocalData:
    """The data sets at hand on this machine; each is read once, however many tasks of an entry are over it.

    Args:
        root: A folder with one folder a benchmark, as `$LMMS_AES_DATA`; None for none.
    """

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self._records: dict[tuple[Path, tuple[str, ...]], tuple[list[dict[str, Any]], str]] = {}

    def file(self, card: sources.SourceCard, required: bool = False) -> Path | None:
        """The canonical file of a benchmark's records with their images; None where it is not at hand.

        Args:
            card: The card of the data.
            required: Whether a demo's data that cannot be generated is an error.

        Raises:
            SourceError: It is there, and not sound; or as `required` says.
        """
        if card.generator:
            try:
                return sources.canonical_file(card)
            except SourceError:
                if required:
                    raise
                return None
        place = sources.at_hand(card, self.root)
        return None if place is None else sources.canonical_file(card, place)

    def records(self, path: Path, fields: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
        """As the function `records`."""
        key = path, tuple(fields)
        if key not in self._records:
            self._records[key] = records(path, fields)
        return self._records[key]
