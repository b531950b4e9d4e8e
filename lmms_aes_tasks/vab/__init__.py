"""Visual Aesthetic Benchmark, everything that knows it. The names handed on are those that YAML files and cards use."""

from __future__ import annotations

from lmms_aes_tasks.vab.prompts import Settings, prompt_name
from lmms_aes_tasks.vab.task import (
    SCHEMA,
    aggregate_ap_at_1,
    aggregate_failed_requests,
    aggregate_incomplete_tasks,
    aggregate_order_flip_rate,
    aggregate_parse_rate,
    aggregate_pass_pow_3,
    aggregate_reasoning_rate,
    aggregate_strict_parse_rate,
    baseline_choices,
    baseline_reply,
    count_cases,
    doc_to_messages,
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    documents_bot1,
    documents_tb1,
    documents_top1,
    normalise_task,
    process_results,
)

__all__ = [
    "SCHEMA",
    "Settings",
    "aggregate_ap_at_1",
    "aggregate_failed_requests",
    "aggregate_incomplete_tasks",
    "aggregate_order_flip_rate",
    "aggregate_parse_rate",
    "aggregate_pass_pow_3",
    "aggregate_reasoning_rate",
    "aggregate_strict_parse_rate",
    "baseline_choices",
    "baseline_reply",
    "count_cases",
    "doc_to_messages",
    "doc_to_target",
    "doc_to_text",
    "doc_to_visual",
    "documents_bot1",
    "documents_tb1",
    "documents_top1",
    "normalise_task",
    "process_results",
    "prompt_name",
]
