"""What `doctor` and `data check` report, in the forms that a benchmark fills in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lmms_aes_tasks.records import Import
    from lmms_aes_tasks.sources import SourceCard

OK: Final = "ok"
WARN: Final = "warn"
BAD: Final = "bad"


@dataclass(frozen=True)
class Check:
    """One line of `doctor`'s report.

    Attributes:
        name: What was looked at.
        status: `ok`; `warn`, something optional is missing; `bad`, a run would fail.
        found: What is there.
        remedy: What to do; empty for `ok`.
    """

    name: str
    status: str
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class DataReport:
    """What `data check` found.

    Attributes:
        place: The file or folder that was read.
        counts: Counts under the names of the card's `expected`.
        fields: How a file's fields were taken, where it is one of records.
        tables: Further tables by title: their columns and rows.
        remarks: What is sound and worth knowing, as sentences.
        details: What `--json` holds beside name, place, counts and the expected ones.
        problems: What is wrong although every record is sound, after all has been printed; empty when nothing is.
    """

    place: Path
    counts: Mapping[str, float | None]
    fields: Import | None = None
    tables: Mapping[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def check_records_of(card: SourceCard, data: Path | None, progress: bool) -> DataReport:
    """Check every record and image of a benchmark whose data is one file of records.

    Raises:
        SourceError: The data is not there, or not sound.
    """
    import importlib

    from lmms_aes_tasks.records import check_records
    from lmms_aes_tasks.sources import locate, schema_of

    path = locate(card, data)
    report, rows = check_records(path, schema_of(card), progress=progress)
    report.raise_problems(str(path))
    counts = importlib.import_module(card.module).count_cases(rows)
    counted = {text: count for text, count in report.remarks.items() if count}
    return DataReport(path, counts, report, remarks=tuple(report.remark_lines()), details={"remarks": counted})
