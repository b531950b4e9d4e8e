"""The object that the leaderboard and the commands ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toy_shades.task import SHADES, Answer, Settings, process_results

from lmms_aes_tasks.board.benchmark import (
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
from lmms_aes_tasks.board.figures import counted_metric, item_metric, plain_text, text_field
from lmms_aes_tasks.utils.sums import ratio

METRICS = {
    "accuracy": MetricFacts("Shades right", "share of pictures named rightly", of_sums=ratio, right_wrong=True),
    "answered": MetricFacts("Answered", "pictures that a shade was named for", unit="count"),
}


class _Shades(Benchmark):
    name = "shades"
    title = "Shades of grey"
    summary = "Is a grey picture light or dark?"
    parser = "1"
    settings = Settings
    metrics = METRICS
    families = (Family("shades", "Light or dark", "accuracy"),)
    gold_fields = ("shade",)

    def expected(self, counts: Mapping[str, float], variant: str) -> int | None:
        return int(counts["pictures"]) if "pictures" in counts else None

    def document(self, task: Task, record: Mapping[str, Any]) -> Document:
        if record.get("gold") not in SHADES:
            raise ValueError(f"gold is {record.get('gold')!r}: use one of {', '.join(SHADES)}")
        return {"id": plain_text(record, "id", empty=False), "shade": record["gold"]}

    def read(self, task: Task, document: Document, response: str, record: Mapping[str, Any]) -> ScoredResponse:
        results = process_results(document, [response])
        item: Answer = results["accuracy"]
        return ScoredResponse(item, results["record"], item.answer)

    def figures(self, task: Task, items: Sequence[Answer]) -> Figures:
        right = sum(item.answer == item.gold for item in items)
        answered = [(item.id, item.answer) for item in items if item.answer is not None]
        metrics = {
            "accuracy": counted_metric(METRICS["accuracy"], right, len(items)),
            "answered": item_metric(METRICS["answered"], float(len(answered)), answered),
        }
        return Figures(metrics, parse_rate=len(answered) / len(items) if items else None)

    def compared(self, rows: Sequence[Row]) -> list[Item]:
        golds = {row.id: text_field(row.record, "gold") for row in rows}
        return [
            Item(row.id, golds[row.id], {"accuracy": (float(row.record["answer"] == golds[row.id]), 1.0)})
            for row in rows
        ]


BENCHMARK = _Shades()
