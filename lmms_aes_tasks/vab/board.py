"""The Visual Aesthetic Benchmark as the leaderboard and the commands ask for it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.board.benchmark import (
    RESAMPLES,
    SEED,
    Benchmark,
    Breakdowns,
    Document,
    Family,
    Figures,
    Item,
    MetricFacts,
    Row,
    ScoredResponse,
    Task,
)
from lmms_aes_tasks.board.figures import (
    MAX_GROUP_CHARS,
    REPLY_FACTS,
    by_group,
    item_metric,
    label_field,
    number_field,
    number_within,
    plain_text,
    reply_metrics,
    share_metric,
    text_field,
)
from lmms_aes_tasks.board.schema import BoardRow, Metric
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.utils import selection
from lmms_aes_tasks.utils.answers import PARSER_VERSION
from lmms_aes_tasks.utils.permutations import TRIALS, trial_permutations
from lmms_aes_tasks.utils.selection import PositionTest, SelectionScore, Trial
from lmms_aes_tasks.utils.sums import ratio
from lmms_aes_tasks.vab.prompts import PROMPT_TYPES, Settings, rubrics_sha256
from lmms_aes_tasks.vab.schema import MAX_IMAGES, MIN_IMAGES, task_problems
from lmms_aes_tasks.vab.task import asked, process_results

if TYPE_CHECKING:
    from lmms_aes_tasks.board.plots import Plot

_AP = "share answered right, mean over the three orders"
_PASS = "share of sets answered right in all three orders"
METRICS: Mapping[str, MetricFacts] = {
    "pass^3": MetricFacts("pass^3", _PASS, of_sums=ratio, right_wrong=True),
    "ap@1": MetricFacts("ap@1", _AP, of_sums=ratio),
    **{
        f"{part}_{metric}": MetricFacts(f"{part.title()} {metric}", f"the {part} image alone: {meaning}")
        for part in ("best", "worst")
        for metric, meaning in (("pass^3", _PASS), ("ap@1", _AP))
    },
    # experts and reward models answer a set once
    "accuracy": MetricFacts("Accuracy", "share of cases answered right"),
    "order_flip_rate": MetricFacts(
        "Order flips", "share of sets whose chosen image changes with the order", higher_is_better=False
    ),
    "position_p": MetricFacts(
        "Position p",
        "p of the hypothesis that the model chooses every position alike (chi-square)",
        unit="p",
        higher_is_better=None,
    ),
    "share": MetricFacts("Share", "share of answers that were read", higher_is_better=None),
    "parse_rate": MetricFacts("Parsed", "share of responses an answer could be read from"),
    "strict_parse_rate": MetricFacts("Parsed strictly", "share of responses in exactly the form asked for"),
    "incomplete_tasks": MetricFacts(
        "Incomplete sets",
        "sets left out of pass^3, with fewer than three orders",
        unit="count",
        higher_is_better=False,
    ),
    **REPLY_FACTS,
}
BREAKDOWNS: Mapping[str, str] = {
    "domain": "Domain",
    "substyle": "Substyle",
    "n_images": "Images in the set",
    "chosen_position": "Chosen position",
}


class _Vab(Benchmark):
    """Trials of one question; a record holds the task and its labels, and the order follows from the task's id."""

    name = "vab"
    title = "Visual Aesthetic Benchmark"
    summary = "Choosing the best and the worst image of a set, in three orders."
    order = 3
    parser = PARSER_VERSION
    settings = Settings
    metrics = METRICS
    breakdowns = BREAKDOWNS
    # pass^3: right in all three orders, so that luck and a habit of position do not pass (section 3.1)
    families = (
        Family("vab_tb1", "TB-1: the best and the worst", "pass^3"),
        Family("vab_top1", "Top-1: the best", "pass^3"),
        Family("vab_bot1", "Bot-1: the worst", "pass^3"),
    )
    text_settings = MappingProxyType({"rubric": rubrics_sha256})
    gold_fields = ("domain", "substyle", "n_images", "ground_truth_best", "ground_truth_worst")

    def variant_of(self, task: str) -> str:
        match = re.match(rf"vab_({'|'.join(PROMPT_TYPES)})", task)
        return match[1] if match else ""

    def expected(self, counts: Mapping[str, float], variant: str) -> int | None:
        return int(counts["tasks"]) * TRIALS if "tasks" in counts else None

    def documents(self, task: Task, rows: Sequence[Mapping[str, Any]]) -> dict[str, Document]:
        return {
            f"{row['id']}#{trial}": {
                **{name: row[name] for name in self.gold_fields},
                "id": f"{row['id']}#{trial}",
                "task_id": row["id"],
                "trial": trial,
                "question": task.variant,
                "prompt_type": asked(task.variant, row["n_images"]),
                "permutation": permutation,
            }
            for row in rows
            for trial, permutation in enumerate(trial_permutations(row["id"], row["n_images"], TRIALS))
        }

    def document(self, task: Task, record: Mapping[str, Any]) -> Document:
        task_id = plain_text(record, "task_id", empty=False)
        n_images = number_within(record, "n_images", MIN_IMAGES, MAX_IMAGES)
        trial = number_within(record, "trial", 0, TRIALS - 1)
        best, worst = record.get("ground_truth_best"), record.get("ground_truth_worst")
        problems = task_problems(task_id, n_images, best, worst)
        if problems:
            raise ValueError(printable("; ".join(problems)))
        return {
            "id": f"{task_id}#{trial}",
            "task_id": task_id,
            "trial": trial,
            "question": task.variant,
            "prompt_type": asked(task.variant, n_images),
            "permutation": trial_permutations(task_id, n_images)[trial],
            "domain": plain_text(record, "domain", MAX_GROUP_CHARS),
            "substyle": plain_text(record, "substyle", MAX_GROUP_CHARS),
            "n_images": n_images,
            "ground_truth_best": best,
            "ground_truth_worst": worst,
        }

    def read(self, task: Task, document: Document, response: str, record: Mapping[str, Any]) -> ScoredResponse:
        results = process_results(document, [response])
        trial: Trial = results["ap@1"]
        return ScoredResponse(trial, results["record"], trial.positions)

    def figures(self, task: Task, items: Sequence[Trial]) -> Figures:
        parsed = selection.parse_rate(items)
        incomplete = selection.incomplete_tasks(items)
        positions = selection.position_test(items)
        metrics = _scores(items)
        if task.variant == "tb1":
            for place, part in enumerate(("best", "worst")):
                scores = _scores(selection.part(items, place))
                metrics |= {f"{part}_{name}": score for name, score in scores.items()}
        metrics |= {
            "parse_rate": share_metric(METRICS["parse_rate"], parsed.value, parsed.n),
            "strict_parse_rate": _share("strict_parse_rate", selection.parse_rate(items, strict=True)),
            "order_flip_rate": _share("order_flip_rate", selection.order_flip_rate(items, RESAMPLES, SEED)),
            "incomplete_tasks": item_metric(
                METRICS["incomplete_tasks"], float(len(incomplete)), [(name, True) for name in incomplete]
            ),
            "position_p": item_metric(
                METRICS["position_p"],
                positions.p,
                [(str(item), list(item.positions)) for item in items if item.positions is not None],
                reason="no answer was read",
            ),
            **reply_metrics((str(item), item) for item in items),
        }
        breakdowns: Breakdowns = {
            name: {group: _scores(members) for group, members in by_group(items, key).items() if group}
            for name, key in (
                ("domain", lambda item: item.domain),
                ("n_images", lambda item: str(item.n_images)),
                ("substyle", lambda item: item.substyle),
            )
        }
        if positions.counts:
            breakdowns["chosen_position"] = _chosen_positions(positions)
        return Figures(metrics, breakdowns, parsed.value)

    def compared(self, rows: Sequence[Row]) -> list[Item]:
        """Items are sets: the trials of one are not independent."""
        items = []
        for task_id, trials in selection.by_task(_trial(row.record) for row in rows).items():
            right = sum(trial.correct for trial in trials)
            sums = {"ap@1": (float(right), float(len(trials)))}
            if selection.is_complete(trials):
                sums["pass^3"] = (float(right == len(trials)), 1.0)
            first = trials[0]
            groups = {"domain": first.domain, "substyle": first.substyle, "n_images": str(first.n_images)}
            items.append(Item(task_id, repr(sorted({trial.gold for trial in trials})), sums, groups))
        return items

    def published(self) -> list[BoardRow]:
        from lmms_aes_tasks.vab.published import published_rows

        return published_rows()

    def plots(self, rows: Sequence[BoardRow], family: Family) -> list[Plot]:
        from lmms_aes_tasks.vab.plots import selection_plots

        return selection_plots(rows, family)


def _share(name: str, score: SelectionScore) -> Metric:
    return share_metric(METRICS[name], score.value, score.n, score.interval)


def _scores(items: Sequence[Trial]) -> dict[str, Metric]:
    return {
        "ap@1": _share("ap@1", selection.ap_at_1(items, RESAMPLES, SEED)),
        "pass^3": _share("pass^3", selection.pass_pow_3(items, RESAMPLES, SEED)),
    }


def _chosen_positions(test: PositionTest) -> dict[str, dict[str, Metric]]:
    """Where the chosen image (of TB-1 the best) stood, from 1, as shares of the answers that were read.

    Without intervals: the three trials of a set are not independent.
    """
    counts = [sum(place) for place in itertools.zip_longest(*test.counts.values(), fillvalue=0)]
    n = sum(counts)
    return {
        str(place): {"share": share_metric(METRICS["share"], count / n, n)} for place, count in enumerate(counts, 1)
    }


def _trial(record: Mapping[str, Any]) -> Trial:
    return Trial(
        task_id=text_field(record, "task_id"),
        trial=number_field(record, "trial"),
        n_images=number_field(record, "n_images"),
        answer=None if record["answer"] is None else label_field(record, "answer"),
        gold=label_field(record, "gold"),
        domain=text_field(record, "domain"),
        substyle=text_field(record, "substyle"),
    )


BENCHMARK = _Vab()
