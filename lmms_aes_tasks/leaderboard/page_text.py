"""Words of the page: names of benchmarks and metrics, how a figure is written, and names of files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lmms_aes_tasks import registry
from lmms_aes_tasks.board.benchmark import MetricFacts
from lmms_aes_tasks.board.schema import Metric, Status
from lmms_aes_tasks.board.text import number, shown

STATUS_TEXT: dict[Status, tuple[str, str]] = {
    "recomputed": ("✔ recomputed", "scored again from the submitted responses, with the same result"),
    "self-reported": ("self-reported", "stated by the submitter; nobody has computed it again"),
    "published": ("published", "printed in a paper; not computed by us"),
}
"""A status as it is shown, and what it means."""


_UNIT_SUFFIX = {"fraction": "%", "words": "words", "per 100 words": "per 100 words", "rating": "1–5"}


def split_name(model: str) -> tuple[str, str]:
    """Organisation with its slash, and name, of ORG/NAME; anything else is all name.

    >>> split_name("org/model"), split_name("GPT-5.2")
    (('org/', 'model'), ('', 'GPT-5.2'))
    """
    organisation, slash, name = model.partition("/")
    return (organisation + slash, name) if organisation and name and "/" not in name else ("", model)


def slug(readable: str, identity: str) -> str:
    """A file name that no text can turn into anything else: lower-case letters, digits, hyphens, and a digest.

    >>> slug("Org/../My Model<script>", "x")
    'org-my-model-script-2d711642b7'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", readable.lower()).strip("-")[:48].strip("-")
    digest = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:10]
    return f"{plain}-{digest}" if plain else digest


@dataclass(frozen=True)
class Words:
    """The printed words of a benchmark; of one that is not installed here, its names serve as words.

    Attributes:
        name: As in the board.
        title: Printed name.
        summary: One sentence.
        known: Whether the benchmark is installed here.
        metrics: Facts by metric, in the order of the columns.
        breakdowns: Heading by breakdown.
    """

    name: str
    title: str
    summary: str = ""
    known: bool = False
    metrics: Mapping[str, MetricFacts] = field(default_factory=dict)
    breakdowns: Mapping[str, str] = field(default_factory=dict)

    def metric_label(self, metric: str) -> str:
        """A metric's printed name."""
        return self.metrics[metric].label if metric in self.metrics else shown(metric).replace("_", " ")

    def metric_meaning(self, metric: str) -> str:
        """What a metric is; empty for one that is not known."""
        return self.metrics[metric].meaning if metric in self.metrics else ""

    def metric_place(self, metric: str) -> tuple[int, str]:
        """Sorts metrics into the order of the columns: known ones first."""
        names = list(self.metrics)
        return (names.index(metric) if metric in self.metrics else len(names), metric)

    def breakdown_label(self, breakdown: str) -> str:
        """A breakdown's heading."""
        return self.breakdowns.get(breakdown, shown(breakdown).replace("_", " ").capitalize())


def words_of(name: str) -> Words:
    """The words of a benchmark of the board."""
    if name not in registry.names():
        return Words(name, name.replace("_", " "))
    known = registry.benchmark(name)
    return Words(name, known.title, known.summary, True, known.metrics, known.breakdowns)


def unit_suffix(metric: Metric) -> str:
    """What stands behind a column's name."""
    return _UNIT_SUFFIX.get(metric.unit, "")


def interval(metric: Metric) -> str:
    """The 95% interval as text; empty where there is none."""
    if metric.low is None or metric.high is None:
        return ""
    return f"[{number(metric.low, metric.unit)}, {number(metric.high, metric.unit)}]"


def direction(metric: Metric) -> tuple[str, str]:
    """Arrow and words for the better direction; empty where neither is better."""
    if metric.higher_is_better is None:
        return "", ""
    return ("↑", "higher is better") if metric.higher_is_better else ("↓", "lower is better")


def benchmark_file(words: Words) -> str:
    """A benchmark's page; that of one which is not installed here can never be called index."""
    return f"{words.name}.html" if words.known else f"benchmark-{words.name}.html"
