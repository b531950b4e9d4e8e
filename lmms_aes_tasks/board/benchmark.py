"""What the leaderboard and the commands ask of a benchmark, and the forms in which it answers.

`Benchmark` is the whole interface: a class with the empty defaults, from which each benchmark's `board.py` derives its
one object. What only some have (metrics that need encoders, plots, checks of the installation) is empty here.
"""

from __future__ import annotations

import collections
import importlib
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks import sources
from lmms_aes_tasks.board.fingerprint import LocalData
from lmms_aes_tasks.board.schema import BoardRow, Metric, PromptUse, Unit
from lmms_aes_tasks.board.text import printable

if TYPE_CHECKING:
    from lmms_aes_tasks.board.checks import Check, DataReport
    from lmms_aes_tasks.board.late import LateMetrics
    from lmms_aes_tasks.board.plots import Plot
    from lmms_aes_tasks.predictions import Prediction

Floats = npt.NDArray[np.float64]
Document = Mapping[str, Any]
Breakdowns = dict[str, dict[str, dict[str, Metric]]]

RESAMPLES = 1_000
"""Bootstrap resamples of an entry's intervals, seed 0: an end has a Monte-Carlo error of about a fifteenth of the
interval's width, and a verifier computes every interval of a full entry again in seconds."""
SEED = 0
_FEWEST_FOR_CONSTANT = 10
"""Fewer equal answers are no sign of a broken run."""


# -- Facts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricFacts:
    """What is known of a metric wherever it is shown, told once.

    Attributes:
        label: Printed name.
        meaning: What it is, in a few words.
        unit: What it is measured in.
        higher_is_better: None where neither direction is better.
        of_sums: Its value from the sums of its items, sums along the last axis, NaN where it is not defined; None
            where two runs cannot be compared item by item.
        right_wrong: Whether an item is simply right or wrong, so that McNemar's test applies.
    """

    label: str
    meaning: str
    unit: Unit = "fraction"
    higher_is_better: bool | None = True
    of_sums: Callable[[Floats], Floats] | None = None
    right_wrong: bool = False


@dataclass(frozen=True)
class Family:
    """Tasks whose rows are comparable, hence share a table: a task and its variants (`<task>_<variant>`).

    Attributes:
        task: Name of the main task.
        title: Heading of the table.
        headline: The metric that stands for the task where a format has room for one, and by which rows are sorted;
            empty for a task that no benchmark knows.
    """

    task: str
    title: str
    headline: str = ""

    def holds(self, task: str) -> bool:
        """Whether a task is the main one or a variant; a demo is another, tiny data set and compares with nothing."""
        return task == self.task or (task.startswith(f"{self.task}_") and "demo" not in task.split("_"))

    def variant(self, task: str) -> str:
        """What a task adds to the main one's name: `greedy` of `<task>_greedy`."""
        return task[len(self.task) :].lstrip("_")


@dataclass(frozen=True)
class Task:
    """A task of a benchmark.

    Attributes:
        name: Its name in lmms-eval.
        benchmark: The benchmark's name.
        card: Name of its data set.
        version: N-X; results of two N are not comparable.
        variant: What is scored of the benchmark (a question, a mode, a domain); empty where there is one thing.
    """

    name: str
    benchmark: str
    card: str
    version: str
    variant: str = ""


# -- Answers read -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """A task's data at hand.

    Attributes:
        documents: What scoring needs of every document, by its id.
        sha256: Fingerprint over ids, gold labels and image digests, sorted by id.
    """

    documents: Mapping[str, Document]
    sha256: str


@dataclass(frozen=True)
class Row:
    """One line of an entry's responses.

    Attributes:
        id: Id of the document.
        response: The text that is scored.
        record: The benchmark's record, with `response_digest`.
    """

    id: str
    response: str
    record: dict[str, Any]


@dataclass(frozen=True)
class ScoredResponse:
    """One response, read.

    Attributes:
        item: What the benchmark's scores are computed from.
        record: The record, computed anew; its `failed` is true where the request failed, which no entry may hold.
        answer: What was answered, as far as an implausible constancy can be seen in it; None when nothing was read.
    """

    item: Any
    record: dict[str, Any]
    answer: Hashable


@dataclass(frozen=True)
class Figures:
    """The figures of a task.

    Attributes:
        metrics: By name.
        breakdowns: By breakdown, group and name.
        parse_rate: Share of items whose answer was read; None where nothing is parsed.
    """

    metrics: dict[str, Metric]
    breakdowns: Breakdowns = field(default_factory=dict)
    parse_rate: float | None = None


@dataclass(frozen=True)
class Item:
    """One independent item of a run, in the form in which two runs are compared.

    Attributes:
        id: Of the item: a document, or a set of documents that are not independent.
        gold: What is right, which two runs must agree on.
        sums: What it adds to each metric that it enters.
        groups: Its group in each breakdown.
    """

    id: str
    gold: str
    sums: Mapping[str, tuple[float, ...]]
    groups: Mapping[str, str] = field(default_factory=dict)


# -- The interface ----------------------------------------------------------------------------------------------------


class Benchmark:
    """A benchmark; derive from it, fill in what is declared, and override what differs.

    Attributes:
        name: Its folder, its card, and `metadata.benchmark` of its YAML.
        title: Printed name.
        summary: One sentence.
        order: Its place among the benchmarks of a page.
        parser: Version of what reads its answers, which goes into results.
        settings: The dataclass behind `lmms_eval_specific_kwargs`.
        metrics: Facts by metric, in the order of the columns.
        breakdowns: Heading by breakdown.
        families: Its tables, in order; a task of none of them gets a table of its own.
        gold_fields: What of a record its fingerprint covers, beside the id and the images.
        importable: Whether `data import` takes its records; else its data is used as it was downloaded.
        late: Metrics that need encoders; None for none.
        resources: Names of what its scores are computed with beside packages, a lexicon for example.
        text_settings: Digest by setting of the text of ours that the setting brings into the prompt.
        resampled: Whether its intervals are bootstrapped.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    order: ClassVar[int] = 100
    settings: ClassVar[type]
    metrics: Mapping[str, MetricFacts] = MappingProxyType({})
    breakdowns: Mapping[str, str] = MappingProxyType({})
    families: ClassVar[tuple[Family, ...]] = ()
    gold_fields: ClassVar[tuple[str, ...]] = ()
    importable: ClassVar[bool] = True
    late: LateMetrics | None = None
    resources: ClassVar[tuple[str, ...]] = ()
    text_settings: Mapping[str, Callable[[], str]] = MappingProxyType({})
    resampled: ClassVar[bool] = True
    parser: str

    # -- what a task is

    def variant_of(self, task: str) -> str:
        """What a task scores of the benchmark, from its name; empty where there is one thing."""
        return ""

    def expected(self, counts: Mapping[str, float], variant: str) -> int | None:
        """How many documents a whole task has by its card's counts; None where none is published."""
        return None

    def family_of(self, task: str) -> Family:
        """The table that a task belongs to; a demo, or a task of no family, has one of its own."""
        for family in self.families:
            if family.holds(task):
                return family
            if task == f"{family.task}_demo":
                return Family(task, f"{family.title} (demo on generated data)", family.headline)
        return Family(task, task.replace("_", " "))

    # -- its data

    def data_place(self, card: sources.SourceCard, root: Path | None) -> Path | None:
        """Where the data is, if it is at hand: a file of records or a folder; nothing is downloaded."""
        return sources.at_hand(card, root)

    def documents(self, task: Task, rows: Sequence[Mapping[str, Any]]) -> dict[str, Document]:
        """What scoring needs of every document of a task, by id, from the canonical records."""
        return {str(row["id"]): row for row in rows}

    def data(self, task: Task, local: LocalData, required: bool = False) -> Data | None:
        """A task's data where it is at hand: generated for a demo, in the user's folder, or in the cache of the Hub's.

        Args:
            task: The task.
            local: The data sets at hand.
            required: Whether a demo's data that cannot be generated is an error.

        Raises:
            SourceError: It is there, and not sound; or as `required` says.
        """
        path = local.file(sources.read_card(task.card), required)
        if path is None:
            return None
        rows, digest = local.records(path, self.gold_fields)
        return Data(self.documents(task, rows), digest)

    def check_data(self, card: sources.SourceCard, data: Path | None, progress: bool) -> DataReport:
        """Check every record and image.

        Raises:
            SourceError: The data is not there, or not sound.
        """
        from lmms_aes_tasks.board.checks import check_records_of

        return check_records_of(card, data, progress)

    # -- reading and scoring

    def document(self, task: Task, record: Mapping[str, Any]) -> Document:
        """The document that a record is about.

        Raises:
            ValueError: The record does not hold it.
        """
        raise NotImplementedError

    def read(self, task: Task, document: Document, response: str, record: Mapping[str, Any]) -> ScoredResponse:
        """Read one response; `record` is the one that was given, for what the document alone cannot tell."""
        raise NotImplementedError

    def figures(self, task: Task, items: Sequence[Any]) -> Figures:
        """Every figure of a task's items, in any order."""
        raise NotImplementedError

    def resource_versions(self) -> dict[str, str]:
        """Versions of `resources`, of those that are at hand."""
        return {}

    def unchecked(self, with_data: bool) -> dict[str, str]:
        """Metrics that are taken over and not computed anew, with the reason."""
        return {}

    def flags(self, items: Sequence[Any], answers: Sequence[Hashable]) -> list[str]:
        """What is implausible about a run, as sentences; `answers` are those of the items, None where none was read."""
        given = set(answers)
        if len(answers) < _FEWEST_FOR_CONSTANT or len(given) != 1 or None in given:
            return []
        shown = printable(repr(next(iter(given))), 120)
        return [f"every answer is the same ({shown}): a constant, or a broken run?"]

    def compared(self, rows: Sequence[Row]) -> list[Item]:
        """The independent items of a task's rows.

        Raises:
            KeyError: A record lacks a field.
            ValueError: A field is not sound.
        """
        raise NotImplementedError

    # -- prompts

    def prompt_name(self, given: str) -> str:
        """Which prompt a model was given: `<id> sha256:<digest>…` of one of ours, or `other`."""
        name: str = importlib.import_module(sources.read_card(self.name).module).prompt_name(given)
        return name

    def prompts(self, predictions: Sequence[Prediction], images: Mapping[str, Any]) -> list[PromptUse]:
        """Prompts by use, with how many items were asked with each."""
        counts = collections.Counter(self.prompt_name(item.prompt) if item.prompt else "other" for item in predictions)
        uses = []
        for name, count in sorted(counts.items()):
            match = re.fullmatch(r"(?P<id>.*?) sha256:(?P<sha>[0-9a-f]{64})(?P<more>.*)", name, re.DOTALL)
            if match:
                uses.append(PromptUse(id=match["id"] + match["more"], sha256=match["sha"], n=count))
            else:
                template = images.get("prompt_file_sha256")
                uses.append(PromptUse(id="other", sha256=template if isinstance(template, str) else None, n=count))
        return uses

    def prompt_problems(self, uses: Iterable[PromptUse], data: Data) -> list[str]:
        """What the data at hand says against an entry's prompts."""
        return []

    # -- what is shown

    def published(self) -> list[BoardRow]:
        """The papers' own rows."""
        return []

    def plots(self, rows: Sequence[BoardRow], family: Family) -> list[Plot]:
        """Plots of one table."""
        return []

    def board_plots(self, rows: Sequence[BoardRow]) -> list[Plot]:
        """Plots across benchmarks, for the front page."""
        return []

    def checks(self) -> list[Check]:
        """What this benchmark needs of an installation, for `doctor`."""
        return []
