"""Export in the aggregate form of Every Eval Ever."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.board.schema import BoardRow, Metric, Unit

if TYPE_CHECKING:
    pass
from lmms_aes_tasks.leaderboard.export_forms import (
    NAME,
    Export,
    ExportFile,
    Source,
    dataset_of,
    required,
    runs_of,
    title_of,
)

EEE_VERSION = "0.2.2"
"""Version of Every Eval Ever's aggregate form that is written (evaleval/every_eval_ever, eval.schema.json)."""

_BOUNDS: Mapping[Unit, tuple[float, float]] = {"fraction": (0.0, 1.0), "rho": (-1.0, 1.0), "p": (0.0, 1.0)}
"""Units with both ends; the form has no place for a number without bounds."""
_EEE_UNITS: Mapping[str, str] = {"fraction": "proportion"}
_GLOBAL_METRICS = {"accuracy": "accuracy", "macro_f1": "f1_macro"}
"""Ids that the form's own text names; all others are named after their benchmark."""
_GENERATION = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_new_tokens": "max_tokens"}


def _epoch(day: str | None) -> str:
    """A day's beginning in UTC as Unix time, a text as the form wants it; the same day gives the same text."""
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(day or "1970-01-01").replace(tzinfo=UTC)
    return str(int(moment.timestamp()))


def _bounds(metric: Metric) -> tuple[float, float] | None:
    from lmms_aes_tasks.utils.dimensions import DIMENSIONS

    return (0.0, float(len(DIMENSIONS))) if metric.unit == "dimensions" else _BOUNDS.get(metric.unit)


def _eee_obstacle(metric: Metric) -> str | None:
    """Why the form has no place for a figure."""
    if metric.value is None:
        return metric.reason or "it is not defined"
    if metric.higher_is_better is None:
        return "neither direction is better"
    bounds = _bounds(metric)
    if bounds is None:
        return f"{metric.unit} has no upper bound"
    return None if bounds[0] <= metric.value <= bounds[1] else f"{metric.value!r} is out of bounds"


def _eee_source_data(row: BoardRow, source: Source) -> dict[str, Any]:
    dataset = dataset_of(row, source)
    found: dict[str, Any] = {"dataset_name": title_of(row)}
    if dataset is None:
        return found | {"source_type": "other"}
    found |= {"source_type": "hf_dataset", "hf_repo": dataset}
    return found if row.n is None else found | {"samples_number": row.n}


def _eee_generation(row: BoardRow, source: Source) -> dict[str, Any]:
    """Settings that the form has a place for, and all of them as texts."""
    details = {"decoding": row.decoding, "prompt": row.prompt, "task_version": row.version}
    found: dict[str, Any] = {
        "additional_details": {name: value for name, value in details.items() if value is not None}
    }
    entry = source.entries.get(row.entry or "")
    decoding = entry.tasks[row.task].decoding if entry is not None and row.task in entry.tasks else {}
    typed = {
        theirs: decoding[ours]
        for ours, theirs in _GENERATION.items()
        if isinstance(decoding.get(ours), int | float) and not isinstance(decoding.get(ours), bool)
    }
    tokens = typed.get("max_tokens", 1)
    if not isinstance(tokens, int) or tokens < 1:
        del typed["max_tokens"]
    return {"generation_args": typed} | found if typed else found


def _eee_result(row: BoardRow, name: str, metric: Metric, source: Source) -> dict[str, Any]:
    bounds = _bounds(metric)
    assert bounds is not None  # see _eee_obstacle
    uncertainty: dict[str, Any] = {"num_samples": metric.n}
    if metric.low is not None and metric.high is not None:
        uncertainty["confidence_interval"] = {"lower": metric.low, "upper": metric.high, "confidence_level": 0.95}
    details = {"status": row.status, "signature": row.signature}
    return {
        "evaluation_result_id": f"{row.key}/{name}",
        "evaluation_name": row.task,
        "source_data": _eee_source_data(row, source),
        "evaluation_timestamp": row.date or "unknown",
        "metric_config": {
            "evaluation_description": f"{name} of {row.task}",
            "metric_id": _GLOBAL_METRICS.get(name, f"{row.benchmark}.{name}"),
            "metric_name": name,
            "metric_unit": _EEE_UNITS.get(metric.unit, metric.unit),
            "lower_is_better": not metric.higher_is_better,
            "score_type": "continuous",
            "min_score": bounds[0],
            "max_score": bounds[1],
        },
        "score_details": {
            "score": metric.value,
            "details": {key: value for key, value in details.items() if value is not None},
            "uncertainty": uncertainty,
        },
        "generation_config": _eee_generation(row, source),
    }


def eee_log(path: str, rows: Sequence[BoardRow], source: Source) -> tuple[dict[str, Any] | None, list[str]]:
    """One run in the aggregate form of Every Eval Ever, and what the form has no place for.

    The form wants bounds and a direction for every figure: what has none (lengths, densities, counts, the share of Yes)
    is left out and named, here and in the document. Days stand for the moments that it asks for, so that the same run
    gives the same document. Of the evaluator we do not know how close they are to the model: `other`.
    """
    left, results = [], []
    for row in rows:
        for name, metric in row.metrics.items():
            obstacle = _eee_obstacle(metric)
            if obstacle is None:
                results.append(_eee_result(row, name, metric, source))
            else:
                left.append(f"{row.key}/{name}: {obstacle}")
    if not results:
        return None, left
    first = rows[0]
    entry = source.entries.get(path)
    _, revision, run = path.split("/")
    libraries = {} if entry is None else {NAME: entry.versions.plugin} | dict(entry.versions.libraries)
    details = {"statuses": ", ".join(sorted({row.status for row in rows})), "left_out": "; ".join(left)}
    model = {"revision": first.revision or "unknown", "backend": first.backend or "unknown"}
    log = {
        "schema_version": EEE_VERSION,
        "evaluation_id": f"{NAME}/{first.model}/{_epoch(first.date)}/{revision}/{run}",
        "evaluation_timestamp": first.date or "unknown",
        "retrieved_timestamp": _epoch(first.date),
        "source_metadata": {
            "source_name": f"{NAME} leaderboard",
            "source_type": "evaluation_run",
            "source_organization_name": first.evaluator or "anonymous",
            "evaluator_relationship": "other",
            "additional_details": {key: value for key, value in details.items() if value},
        },
        "eval_library": {
            "name": "lmms-eval",
            "version": "unknown" if entry is None else entry.versions.harness,
            "additional_details": libraries,
        },
        "model_info": {
            "name": first.model,
            "id": first.model,
            "developer": first.model.split("/")[0],
            # later versions of the form ask for the last two; neither is known from an entry
            "additional_details": model | {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": results,
    }
    return log, left


def every_eval_ever(source: Source) -> Export:
    """One aggregate JSON of Every Eval Ever for each run."""
    by_run: dict[str, list[BoardRow]] = {}
    for row in runs_of(source):
        by_run.setdefault(str(row.entry), []).append(row)
    documents, notes = [], []
    for path, rows in sorted(by_run.items()):
        log, left = eee_log(path, rows, source)
        notes += left
        if log is not None:
            text = json.dumps(log, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
            documents.append(ExportFile(f"{path.replace('/', '__')}.json", text))
    return required(documents, notes, "eee")
