"""What an entry and a board hold: pydantic models, their version, and their JSON Schema.

`entry.json` is written by the one who ran the model (`self-reported`), `verification.json` by the one who recomputed it
(`recomputed`), `board.json` gathers both with the papers' own rows (`published`). Numbers are JSON numbers, never
texts; NaN and infinities are refused.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ENTRY_SCHEMA_VERSION: Final = "1"
BOARD_SCHEMA_VERSION: Final = "1"
ENTRY_FILE: Final = "entry.json"
VERIFICATION_FILE: Final = "verification.json"

Status = Literal["self-reported", "recomputed", "published"]
"""Who stands for a figure: its submitter, a verifier who computed it again from the responses, or a paper."""
Unit = Literal["fraction", "words", "per 100 words", "ratio", "dimensions", "count", "rho", "p", "rating"]
"""Fractions are in [0, 1]; showing them as percent is a matter of display.

A `rating` is from 1 (worst) to 5 (best), given by people or by an MLLM as judge (AesCanvas, Tables 4 and S6).
"""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(max_length=2_000)]
TaskName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,100}$")]
MODEL_PART: Final = r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}"
SEGMENT: Final = r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,199}"
ModelId = Annotated[str, StringConstraints(pattern=f"^{MODEL_PART}/{MODEL_PART}$")]
"""ORG/NAME, as on the Hugging Face Hub."""
Segment = Annotated[str, StringConstraints(pattern=f"^{SEGMENT}$")]
"""A part of a path: never `..`, never hidden."""


class Model(BaseModel):
    """Strict, closed, immutable, without NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Metric(Model):
    """One figure.

    Attributes:
        value: Null where it is not defined, or not computed (`reason` says which).
        n: Items that enter it.
        numerator: For a share: how many.
        denominator: For a share: of how many; value is their quotient.
        per_item_sha256: For a figure that is no share: digest of its per-item values (see `digests`).
        low: Lower end of the 95% interval; null where there is none.
        high: Upper end.
        unit: What it is measured in.
        higher_is_better: Null where neither direction is better.
        reason: Why the value is null.
    """

    value: float | None
    n: int = Field(ge=0)
    numerator: float | None = None
    denominator: float | None = None
    per_item_sha256: Sha256 | None = None
    low: float | None = None
    high: float | None = None
    unit: Unit = "fraction"
    higher_is_better: bool | None = True
    reason: Text | None = None


class Versions(Model):
    """Versions of what was run: package name to version."""

    harness: Name
    plugin: Name
    libraries: dict[Name, Name] = Field(default_factory=dict)


class Subject(Model):
    """The model that was evaluated.

    Attributes:
        id: ORG/NAME.
        revision: Commit of the weights, or version of an API; null when unknown.
        backend: lmms-eval's model name, for example `qwen3_vl` or `openai`.
    """

    id: ModelId
    revision: Segment | None = None
    backend: Name


class ResponsesFile(Model):
    """A file of responses beside the entry.

    Attributes:
        path: `responses/<task>.jsonl.zst`, relative to the entry's folder.
        sha256: Of the file as it is.
        rows: Lines in it.
        bytes: Its size.
        content_bytes: Size when decompressed.
    """

    path: Annotated[str, StringConstraints(pattern=r"^responses/[a-z0-9_]{1,100}\.jsonl\.zst$")]
    sha256: Sha256
    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)
    content_bytes: int = Field(ge=0)


class PromptUse(Model):
    """A prompt and for how many items it was used; `id` is `other` when the text is none of ours."""

    id: Name
    sha256: Sha256 | None = None
    n: int = Field(ge=0)


class TaskResult(Model):
    """One task of an entry.

    Attributes:
        task: Name of the task.
        benchmark: Name of the benchmark.
        version: The task's version, N-X.
        data_sha256: Data fingerprint: digest over ids, gold labels and image hashes; null without the data at hand.
        ids_sha256: Digest over the sorted ids that were answered.
        prompts: Prompts used.
        parser: Version of the answer parser (of the trigger lists, for critiques); null where nothing is parsed.
        decoding: Generation settings in force: numbers, texts, truth values, lists of texts.
        images: Image settings (`image_fit`, `image_size`, …).
        n: Items answered.
        n_expected: Items of the whole task; null when unknown.
        parse_rate: Share of items whose answer was read; null where nothing is parsed.
        metrics: Figures by name.
        breakdowns: Breakdown (`domain`, `n_images`, `artist`, …) to group to figures by name.
        signature: `task:…|v:…|data:<8>|prompt:<8>|set:<8>|parser:…|…|n:…|version:…`, which travels with every figure;
            see `leaderboard.results.signature`.
        file: Its responses.
    """

    task: TaskName
    benchmark: TaskName
    version: Name
    data_sha256: Sha256 | None = None
    ids_sha256: Sha256
    prompts: list[PromptUse] = Field(default_factory=list, max_length=100)
    parser: Name | None = None
    decoding: dict[Name, bool | int | float | Text | list[Text] | None] = Field(default_factory=dict)
    images: dict[Name, bool | int | float | Text | None] = Field(default_factory=dict)
    n: int = Field(ge=0)
    n_expected: int | None = Field(default=None, ge=0)
    parse_rate: float | None = None
    metrics: dict[Name, Metric]
    breakdowns: dict[Name, dict[Name, dict[Name, Metric]]] = Field(default_factory=dict)
    signature: Text
    file: ResponsesFile


class Entry(Model):
    """`entry.json`: one model, evaluated on one or more tasks by one evaluator.

    Attributes:
        schema_version: Version of this form.
        status: Always `self-reported`: an entry cannot say of itself that it was recomputed.
        date: Day of the run.
        evaluator: Who ran it; null for anonymous.
        model: What was evaluated.
        versions: What it was run with.
        tasks: Results by task name.
    """

    schema_version: Literal["1"] = ENTRY_SCHEMA_VERSION
    status: Literal["self-reported"] = "self-reported"
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    evaluator: Name | None = None
    model: Subject
    versions: Versions
    tasks: dict[TaskName, TaskResult] = Field(min_length=1)


class Finding(Model):
    """What a verification found.

    Attributes:
        kind: `error` (refuse), `flag` (implausible, look at it) or `note` (not recomputed, for example).
        where: File, task, id or field.
        message: The value, what is allowed, the next step.
    """

    kind: Literal["error", "flag", "note"]
    where: Text
    message: Text


class Verification(Model):
    """`verification.json`, the verifier's file beside an entry.

    Attributes:
        status: `recomputed` when every score that could be recomputed is equal, else null.
        entry_sha256: Digest of the `entry.json` that was verified: an entry that was changed since is not verified.
        verified: Day.
        plugin: Version of lmms-aes-tasks that recomputed.
        recomputed: Metric names by task that were recomputed and are equal.
        not_recomputed: Metric names by task that could not be, for want of data or models.
        findings: Everything else.
    """

    schema_version: Literal["1"] = ENTRY_SCHEMA_VERSION
    status: Literal["recomputed"] | None
    entry_sha256: Sha256
    verified: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    plugin: Name
    recomputed: dict[TaskName, list[Name]] = Field(default_factory=dict)
    not_recomputed: dict[TaskName, list[Name]] = Field(default_factory=dict)
    findings: list[Finding] = Field(default_factory=list)


class BoardRow(Model):
    """One model on one task: a row of the board's tables.

    Attributes:
        key: Identity: `<org>__<model>/<revision>/<run>/<task>`; for a paper's row
            `published/<benchmark>/<model>/<task>`.
        status: Who stands for it.
        model: Name shown; ORG/NAME of an entry, the paper's spelling of a published row.
        group: Kind of model (`Closed-source MLLMs`, …); empty for an entry.
        revision: Of the weights.
        backend: lmms-eval's model name; null for a published row.
        evaluator: Who ran it.
        benchmark: Name of the benchmark.
        task: Task name; of a published row the task it corresponds to.
        version: Task version; null for a published row.
        prompt: Prompt id with the first 8 digits of its SHA-256; null for a published row.
        decoding: Short form of the decoding settings, for filtering; null for a published row.
        date: Day of the run; null for a published row.
        source: Table of the paper, of a published row.
        n: Items.
        n_expected: Items of the whole task: a run with fewer is partial; null when unknown, and for a published row.
        parse_rate: Share of items read.
        metrics: Figures by name.
        breakdowns: As in `TaskResult`.
        signature: As in `TaskResult`; null for a published row.
        entry: Path of the entry's folder below the submissions; null for a published row.
        findings: Flags and notes of its verification.
        superseded: Whether a newer verified run of the same model, revision, prompt, decoding and version is there.
    """

    key: Text
    status: Status
    model: Name
    group: Text = ""
    revision: Text | None = None
    backend: Name | None = None
    evaluator: Name | None = None
    benchmark: TaskName
    task: TaskName
    version: Name | None = None
    prompt: Text | None = None
    decoding: Text | None = None
    date: Text | None = None
    source: Text | None = None
    n: int | None = None
    n_expected: int | None = None
    parse_rate: float | None = None
    metrics: dict[Name, Metric]
    breakdowns: dict[Name, dict[Name, dict[Name, Metric]]] = Field(default_factory=dict)
    signature: Text | None = None
    entry: Text | None = None
    findings: list[Finding] = Field(default_factory=list)
    superseded: bool = False


class Board(Model):
    """`board.json`: every row, entries before published ones, in a fixed order."""

    schema_version: Literal["1"] = BOARD_SCHEMA_VERSION
    plugin: Name
    rows: list[BoardRow]


def json_schema(kind: type[Model]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a form, for other tools."""
    return kind.model_json_schema()


def today() -> str:
    """The day as ISO 8601, in UTC."""
    return datetime.now(UTC).date().isoformat()


def is_day(text: str) -> bool:
    """Whether a text is a day that exists."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_future(day: str) -> bool:
    """Whether a day is after tomorrow in UTC, which the east of the Earth reaches first."""
    return date.fromisoformat(day) > date.fromisoformat(today()) + timedelta(days=1)
