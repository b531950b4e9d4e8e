"""A whole benchmark in a package of its own: is a grey picture light or dark?"""

from __future__ import annotations

from toy_shades.task import (
    SCHEMA,
    Settings,
    aggregate_accuracy,
    aggregate_answered,
    baseline_choices,
    baseline_reply,
    count_cases,
    doc_to_messages,
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    process_results,
    prompt_name,
)

__all__ = [
    "SCHEMA",
    "Settings",
    "aggregate_accuracy",
    "aggregate_answered",
    "baseline_choices",
    "baseline_reply",
    "count_cases",
    "doc_to_messages",
    "doc_to_target",
    "doc_to_text",
    "doc_to_visual",
    "process_results",
    "prompt_name",
]
