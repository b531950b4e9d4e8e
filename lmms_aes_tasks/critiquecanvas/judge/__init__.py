"""An MLLM as judge of critiques (AesCanvas, S2.2.3, S16): anonymous candidates, one strict JSON verdict a case.

A run's output is a JSONL file, one line a case, which is also its memory: a run begun again asks for what is missing.
Everything that comes back from the judge is hostile text: it is read as JSON, with limits, and never evaluated.
"""

from __future__ import annotations

from lmms_aes_tasks.critiquecanvas.judge.cases import ALIASES, JudgeCase, alias_order, judge_cases, sample_ids
from lmms_aes_tasks.critiquecanvas.judge.output import (
    JudgeFile,
    alias_means,
    check_lines,
    identity,
    open_output,
    read_judge_file,
    verdicts_of,
)
from lmms_aes_tasks.critiquecanvas.judge.request import (
    JudgeSettings,
    ResponseFormat,
    judge_prompt,
    judge_text,
    request_body,
    verdict_schema,
)
from lmms_aes_tasks.critiquecanvas.judge.run import (
    Budget,
    BudgetSpent,
    JudgeRun,
    RunOptions,
    ask,
    backoff_seconds,
    line_of,
    run_judge,
)
from lmms_aes_tasks.critiquecanvas.judge.transport import (
    Completion,
    NoResponse,
    Refused,
    Send,
    check_base_url,
    completion_of,
    hide_key,
    openai_transport,
)
from lmms_aes_tasks.critiquecanvas.judge.verdict import SCORES, Verdict, parse_verdict

__all__ = [
    "ALIASES",
    "SCORES",
    "Budget",
    "BudgetSpent",
    "Completion",
    "JudgeCase",
    "JudgeFile",
    "JudgeRun",
    "JudgeSettings",
    "NoResponse",
    "Refused",
    "ResponseFormat",
    "RunOptions",
    "Send",
    "Verdict",
    "alias_means",
    "alias_order",
    "ask",
    "backoff_seconds",
    "check_base_url",
    "check_lines",
    "completion_of",
    "hide_key",
    "identity",
    "judge_cases",
    "judge_prompt",
    "judge_text",
    "line_of",
    "open_output",
    "openai_transport",
    "parse_verdict",
    "read_judge_file",
    "request_body",
    "run_judge",
    "sample_ids",
    "verdict_schema",
    "verdicts_of",
]
