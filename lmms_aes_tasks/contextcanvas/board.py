"""ContextCanvas as the leaderboard and the commands ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.board.benchmark import (
    RESAMPLES,
    SEED,
    Benchmark,
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
    REPLY_FACTS,
    by_group,
    item_metric,
    plain_text,
    reply_metrics,
    share_metric,
    text_field,
)
from lmms_aes_tasks.board.schema import BoardRow, Metric
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.contextcanvas.schema import MAX_OPTIONS
from lmms_aes_tasks.contextcanvas.task import Settings, process_results
from lmms_aes_tasks.utils.answers import PARSER_VERSION
from lmms_aes_tasks.utils.suitability import Decision, Score, suitability_score, suitability_scores
from lmms_aes_tasks.utils.sums import ratio

if TYPE_CHECKING:
    from lmms_aes_tasks.board.plots import Plot

METRICS: Mapping[str, MetricFacts] = {
    "accuracy": MetricFacts("Accuracy", "share of cases answered right", of_sums=ratio, right_wrong=True),
    "macro_f1": MetricFacts("Macro-F1", "mean of the F1 of Yes and of No, two-option cases"),
    "yes_rate": MetricFacts(
        "Yes rate",
        "share of Yes among two-option cases; 38.14% of ContextCanvas's gold labels are Yes",
        higher_is_better=None,
    ),
    "yes_f1": MetricFacts("Yes F1", "F1 of the answer Yes"),
    "no_f1": MetricFacts("No F1", "F1 of the answer No"),
    "ega": MetricFacts("Grounded accuracy", "right, with the decisive cue named and linked to the use"),
    "unsupported": MetricFacts(
        "Unsupported", "share of right answers without the decisive cue", higher_is_better=False
    ),
    "ncu": MetricFacts("Net correct update", "right less wrong changes of the answer, over pairs", unit="ratio"),
    "parse_rate": MetricFacts("Parsed", "share of responses an answer could be read from"),
    **REPLY_FACTS,
}
_SHARES = frozenset({"accuracy", "parse_rate", "yes_rate"})
BREAKDOWNS: Mapping[str, str] = {
    "n_options": "Options of the case",
    "category": "Category",
    "visual information": "Visual information",
    "counterfactual": "Counterfactual pairs",
    "grounding": "Decisive-cue grounding",
}


class _ContextCanvas(Benchmark):
    """Cases of 2 to 26 options; a record holds options and gold label."""

    name = "contextcanvas"
    title = "ContextCanvas"
    summary = "Is this image right for this use? Judging cultural and practical suitability beside beauty."
    order = 1
    parser = PARSER_VERSION
    settings = Settings
    metrics = METRICS
    breakdowns = BREAKDOWNS
    # accuracy: every case counts, ties with nothing else; Macro-F1 leaves out the three-way cases
    families = (Family("contextcanvas", "Suitability judgements", "accuracy"),)
    gold_fields = ("options", "gold")

    def expected(self, counts: Mapping[str, float], variant: str) -> int | None:
        return int(counts["cases"]) if "cases" in counts else None

    def document(self, task: Task, record: Mapping[str, Any]) -> Document:
        options = record.get("options")
        pairs = [
            (pair[0], pair[1])
            for pair in (options if isinstance(options, list) else [])
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
        ]
        letters = [chr(ord("A") + place) for place in range(len(pairs))]
        whole = isinstance(options, list) and len(pairs) == len(options)
        if not whole or not 2 <= len(pairs) <= MAX_OPTIONS or [option_id for option_id, _ in pairs] != letters:
            raise ValueError("options are no list of [id, text] with ids A, B, … of 2 to 26 options")
        if record.get("gold") not in letters:
            raise ValueError(f"gold is {printable(repr(record.get('gold')), 80)}: use one of {', '.join(letters)}")
        return {
            "id": plain_text(record, "id", empty=False),
            "options": [{"id": option_id, "text": text} for option_id, text in pairs],
            "gold": record["gold"],
        }

    def read(self, task: Task, document: Document, response: str, record: Mapping[str, Any]) -> ScoredResponse:
        results = process_results(document, [response])
        decision: Decision = results["accuracy"]
        return ScoredResponse(decision, results["record"], decision.answer)

    def figures(self, task: Task, items: Sequence[Decision]) -> Figures:
        scores = suitability_scores(items, RESAMPLES, SEED)
        two_option = [item for item in items if len(item.options) == 2]
        judged = [(item.id, [item.gold, item.answer]) for item in two_option]
        metrics = {
            name: _share(name, score)
            if name in _SHARES
            else item_metric(METRICS[name], score.value, judged, interval=score.interval)
            for name, score in scores.items()
        } | reply_metrics((item.id, item) for item in items)
        by_size = by_group(items, lambda item: str(len(item.options)))
        breakdown = {
            size: {
                name: _share(name, suitability_score(members, name, RESAMPLES, SEED))
                for name in ("accuracy", "parse_rate")
            }
            for size, members in by_size.items()
        }
        return Figures(metrics, {"n_options": breakdown}, scores["parse_rate"].value)

    def compared(self, rows: Sequence[Row]) -> list[Item]:
        items = []
        for row in rows:
            answer = None if row.record["answer"] is None else text_field(row.record, "answer")
            gold, options = text_field(row.record, "gold"), row.record["options"]
            if not isinstance(options, list):
                raise ValueError(f"options are {options!r}: give a list")
            sums = {"accuracy": (float(answer == gold), 1.0)}
            items.append(Item(row.id, gold, sums, {"n_options": str(len(options))}))
        return items

    def published(self) -> list[BoardRow]:
        from lmms_aes_tasks.contextcanvas.published import published_rows

        return published_rows()

    def plots(self, rows: Sequence[BoardRow], family: Family) -> list[Plot]:
        from lmms_aes_tasks.contextcanvas.plots import suitability_plots

        return suitability_plots(rows, family)


def _share(name: str, score: Score) -> Metric:
    return share_metric(METRICS[name], score.value, score.n, score.interval)


BENCHMARK = _ContextCanvas()
