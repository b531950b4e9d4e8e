"""Per-item values of a task's records, in the form in which two runs are compared: every metric is made of sums.

A share or a mean is a sum over another; corpus BLEU is made of ten. So one bootstrap serves them all, and a comparison
needs neither data nor models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import Unit
from lmms_aes_tasks.critiquecanvas import late as embedding
from lmms_aes_tasks.leaderboard.responses import Row

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.selection import Trial

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MetricForm:
    """How a metric is made of its items' sums.

    Attributes:
        of_sums: Value from sums, the sums along the last axis; NaN where it is not defined.
        right_wrong: Whether an item is simply right or wrong, so that McNemar's test applies.
        unit: As in `schema`.
        higher_is_better: Null where neither direction is better.
    """

    of_sums: Callable[[Floats], Floats]
    right_wrong: bool = False
    unit: Unit = "fraction"
    higher_is_better: bool | None = True


@dataclass(frozen=True)
class Item:
    """One item of a run.

    Attributes:
        id: Of the item: a document, or for VAB a task with its three trials.
        gold: What is right, which two runs must agree on.
        sums: What it adds to each metric that it enters.
        groups: Its group in each breakdown.
    """

    id: str
    gold: str
    sums: Mapping[str, tuple[float, ...]]
    groups: Mapping[str, str] = field(default_factory=dict)


def _ratio(sums: Floats) -> Floats:
    """Sum over count."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1], dtype=np.float64)


def _bleu(sums: Floats) -> Floats:
    """Corpus BLEU of each row of sums."""
    from lmms_aes_tasks.utils.text_metrics import bleu_of_sums

    rows = sums.reshape(-1, sums.shape[-1]).astype(np.int64)
    return np.array([bleu_of_sums(row) for row in rows], dtype=np.float64).reshape(sums.shape[:-1])


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}: give a text")
    return value


def _number(record: Mapping[str, Any], name: str) -> int:
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} is {value!r}: give a whole number")
    return value


def _labels(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = record[name]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name} is {value!r}: give a list of labels")
    return tuple(value)


def _contextcanvas(rows: Sequence[Row]) -> list[Item]:
    found = []
    for row in rows:
        answer = None if row.record["answer"] is None else _text(row.record, "answer")
        gold, options = _text(row.record, "gold"), row.record["options"]
        if not isinstance(options, list):
            raise ValueError(f"options are {options!r}: give a list")
        found.append(Item(row.id, gold, {"accuracy": (float(answer == gold), 1.0)}, {"n_options": str(len(options))}))
    return found


def _trial(record: Mapping[str, Any]) -> Trial:
    from lmms_aes_tasks.utils.selection import Trial

    return Trial(
        task_id=_text(record, "task_id"),
        trial=_number(record, "trial"),
        n_images=_number(record, "n_images"),
        answer=None if record["answer"] is None else _labels(record, "answer"),
        gold=_labels(record, "gold"),
        domain=_text(record, "domain"),
        substyle=_text(record, "substyle"),
    )


def _vab(rows: Sequence[Row]) -> list[Item]:
    """Items are tasks: the trials of one are not independent."""
    from lmms_aes_tasks.utils.selection import by_task, is_complete

    found = []
    for task_id, trials in by_task(_trial(row.record) for row in rows).items():
        right = sum(trial.correct for trial in trials)
        sums = {"ap@1": (float(right), float(len(trials)))}
        if is_complete(trials):
            sums["pass^3"] = (float(right == len(trials)), 1.0)
        first = trials[0]
        groups = {"domain": first.domain, "substyle": first.substyle, "n_images": str(first.n_images)}
        found.append(Item(task_id, repr(sorted({trial.gold for trial in trials})), sums, groups))
    return found


def _fineartbench(rows: Sequence[Row]) -> list[Item]:
    """Only pairs that the experts decided enter; ratings and their ρ are no sums of pairs, and are left out."""
    found = []
    for row in rows:
        human, winner = _text(row.record, "human"), _text(row.record, "winner")
        sums = {"pair_agreement": (float(human == winner), 1.0)} if human in {"left", "right"} else {}
        groups = {
            "content": str(_number(row.record, "content_index")),
            "style": str(_number(row.record, "style_index")),
        }
        found.append(Item(row.id, human, sums, groups))
    return found


def _critiquecanvas(rows: Sequence[Row]) -> list[Item]:
    from lmms_aes_tasks.critiquecanvas.items import item_of_record

    found = []
    for row in rows:
        item = item_of_record(row.record)
        sums = {
            "bleu": tuple(map(float, item.lexical.bleu.as_list())),
            "rouge_l": (item.lexical.rouge_l, 1.0),
            "meteor": (item.lexical.meteor, 1.0),
            "avg_length": (float(item.style.words), 1.0),
            "dim_hits": (float(len(item.style.mentions)), 1.0),
            **{name: (value, 1.0) for name, value in embedding.values_of_record(row.record).items()},
        }
        gold = f"{item.style.reference_words} words, focus {', '.join(sorted(item.style.focus))}"
        found.append(Item(row.id, gold, sums, {"domain": item.domain} if item.domain else {}))
    return found


_READERS: Mapping[str, Callable[[Sequence[Row]], list[Item]]] = {
    "contextcanvas": _contextcanvas,
    "critiquecanvas": _critiquecanvas,
    "fineartbench": _fineartbench,
    "vab": _vab,
}
FORMS: Mapping[str, Mapping[str, MetricForm]] = {
    "contextcanvas": {"accuracy": MetricForm(_ratio, right_wrong=True)},
    "critiquecanvas": {
        "bleu": MetricForm(_bleu),
        "rouge_l": MetricForm(_ratio),
        "meteor": MetricForm(_ratio),
        # where the records of both hold them: an entry keeps them where its encoders were at hand
        "bert_f1": MetricForm(_ratio),
        "sbert_cos": MetricForm(_ratio),
        "clip_cos": MetricForm(_ratio),
        "avg_length": MetricForm(_ratio, unit="words", higher_is_better=None),
        "dim_hits": MetricForm(_ratio, unit="dimensions", higher_is_better=None),
    },
    "fineartbench": {"pair_agreement": MetricForm(_ratio, right_wrong=True)},
    "vab": {"ap@1": MetricForm(_ratio), "pass^3": MetricForm(_ratio, right_wrong=True)},
}
"""What is compared of each benchmark, in the order in which it is shown."""


def items_of(benchmark: str, rows: Sequence[Row], where: str) -> list[Item]:
    """The items of a task's rows.

    Raises:
        LeaderboardError: The benchmark is not known, or a record is not sound.
    """
    if benchmark not in _READERS:
        raise LeaderboardError(f"{where}: benchmark is {benchmark!r}; use one of {', '.join(_READERS)}.")
    try:
        return _READERS[benchmark](rows)
    except KeyError as error:
        raise LeaderboardError(f"{where}: a record lacks {error}. Build the entry again.") from None
    except (ValueError, TypeError) as error:
        raise LeaderboardError(f"{where}: a record is not sound ({error}). Build the entry again.") from None
