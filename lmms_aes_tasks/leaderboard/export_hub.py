"""Exports for the Hugging Face Hub: `.eval_results` and `model-index`, by huggingface_hub's own serializers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.board.schema import BoardRow, Metric
from lmms_aes_tasks.leaderboard.headlines import headline_of
from lmms_aes_tasks.leaderboard.submissions import model_segment

if TYPE_CHECKING:
    pass
from lmms_aes_tasks.leaderboard.export_forms import (
    DEMO,
    NAME,
    Export,
    ExportFile,
    Source,
    dataset_of,
    passed_over,
    required,
    rows_by_model,
    title_of,
)


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


def _hf_notes(row: BoardRow) -> str:
    return ", ".join(part for part in (row.status, headline_of(row.benchmark, row.task), row.signature) if part)


def hf_eval_results(source: Source) -> Export:
    """`.eval_results/*.yaml` for each model's repository: one headline metric a task id, higher is better.

    Written by huggingface_hub's own serializer. Values are fractions and ρ as on the board. No verify token: that is
    for the Hub to give. The Hub shows results of data sets that are registered there as benchmarks and define these
    task ids.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    documents, notes = [], []
    models = rows_by_model(source)
    for model, rows in models.items():
        results = []
        for row in rows:
            name = headline_of(row.benchmark, row.task)
            metric = row.metrics.get(name or "")
            dataset = dataset_of(row, source)
            if row.task.endswith(DEMO):
                notes.append(f"{row.key}: a demo's data is generated, and on no Hub")
            elif dataset is None:
                notes.append(f"{row.key}: {row.benchmark} has no data set on the Hub; name one with --dataset")
            elif metric is None or metric.value is None:
                notes.append(f"{row.key}: has no {name}")
            else:
                results.append(
                    EvalResultEntry(
                        dataset_id=dataset,
                        task_id=row.task,
                        value=metric.value,
                        date=row.date,
                        source_url=source.source_url,
                        source_name=f"{NAME} leaderboard" if source.source_url else None,
                        notes=_hf_notes(row),
                    )
                )
        if results:
            documents.append(ExportFile(f"{model_segment(model)}.yaml", _yaml(eval_result_entries_to_yaml(results))))
    return required(documents, notes + passed_over(source, models), "hf-eval-results")


def model_index(source: Source) -> Export:
    """`model-index` metadata for each model's card: every figure of every task, by huggingface_hub's serializer."""
    from huggingface_hub import EvalResult, ModelCardData

    documents = []
    models = rows_by_model(source)
    for model, rows in models.items():
        results = [
            EvalResult(
                task_type="image-text-to-text",
                task_name=row.task,
                dataset_type=dataset_of(row, source) or row.benchmark,
                dataset_name=title_of(row),
                dataset_config=row.task,
                metric_type=name,
                metric_name=name,
                metric_value=metric.value,
                metric_args=_metric_facts(row, metric),
                source_url=source.source_url,
                source_name=f"{NAME} leaderboard" if source.source_url else None,
            )
            for row in rows
            for name, metric in row.metrics.items()
            if metric.value is not None
        ]
        if results:
            data = ModelCardData(model_name=model, eval_results=results).to_dict()
            documents.append(ExportFile(f"{model_segment(model)}.yaml", _yaml(data)))
    return required(documents, passed_over(source, models), "model-index")


def _metric_facts(row: BoardRow, metric: Metric) -> dict[str, Any]:
    facts: dict[str, Any] = {"n": metric.n, "low": metric.low, "high": metric.high, "unit": metric.unit}
    facts |= {"status": row.status, "signature": row.signature}
    return {name: value for name, value in facts.items() if value is not None}
