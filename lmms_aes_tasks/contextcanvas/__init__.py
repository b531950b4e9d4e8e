"""ContextCanvas, everything that knows it. The names handed on are those that YAML files and cards use."""

from __future__ import annotations

from lmms_aes_tasks.contextcanvas.task import (
    SCHEMA,
    Settings,
    aggregate_accuracy,
    aggregate_failed_requests,
    aggregate_macro_f1,
    aggregate_no_f1,
    aggregate_parse_rate,
    aggregate_reasoning_rate,
    aggregate_yes_f1,
    aggregate_yes_rate,
    baseline_choices,
    baseline_reply,
    count_cases,
    doc_to_messages,
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    normalise_case,
    process_results,
    prompt_name,
)

__all__ = [
    "SCHEMA",
    "Settings",
    "aggregate_accuracy",
    "aggregate_failed_requests",
    "aggregate_macro_f1",
    "aggregate_no_f1",
    "aggregate_parse_rate",
    "aggregate_reasoning_rate",
    "aggregate_yes_f1",
    "aggregate_yes_rate",
    "baseline_choices",
    "baseline_reply",
    "count_cases",
    "doc_to_messages",
    "doc_to_target",
    "doc_to_text",
    "doc_to_visual",
    "normalise_case",
    "process_results",
    "prompt_name",
]
