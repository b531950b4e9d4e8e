"""What the judge is sent: the image at 448×448, the instruction, the anonymous critiques; and what a run shares."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lmms_aes_tasks.critiquecanvas.judge.cases import JudgeCase
from lmms_aes_tasks.critiquecanvas.judge.verdict import SCORES
from lmms_aes_tasks.records import IMAGES_COLUMN
from lmms_aes_tasks.settings import PROMPTS
from lmms_aes_tasks.utils.images import Fit, fit_image, load_image
from lmms_aes_tasks.utils.prompts import Prompt, read_prompt
from lmms_aes_tasks.utils.ratings import SCALE
from lmms_aes_tasks.utils.unicode_text import well_formed

PROMPT_ID = "critique-judge-1"
IMAGE_SIZE = 448
JPEG_QUALITY = 90
MAX_TOKENS = 320
"""Of the reply (S2.2.3), as are image size, JPEG quality and temperature 0."""
EMPTY = "(empty)"

ResponseFormat = Literal["json_schema", "json_object", "none"]


def judge_prompt(prompt_file: Path | None = None) -> Prompt:
    """Our prompt, or a user's file in its place.

    Raises:
        PromptError: The file cannot be used, or lacks `{instruction}` or `{critiques}`.
    """
    required = ("instruction", "critiques")
    if prompt_file is not None:
        return read_prompt(prompt_file, required)
    return read_prompt(PROMPTS / f"{PROMPT_ID}.txt", required, PROMPT_ID)


@dataclass(frozen=True)
class JudgeSettings:
    """What every request of a run shares.

    Attributes:
        judge: Model name at the endpoint.
        seed: Of the sample, the orders and the jitter.
        prompt: The template.
        image_fit: `pad` or `stretch`.
        response_format: What the endpoint is asked to enforce.
    """

    judge: str
    seed: int
    prompt: Prompt
    image_fit: Fit = "pad"
    response_format: ResponseFormat = "json_schema"


def verdict_schema(aliases: Sequence[str]) -> dict[str, Any]:
    """JSON schema of a verdict: every alias, every score, whole numbers from 1 to 5, nothing else."""
    score = {"type": "integer", "enum": list(SCALE)}
    one = {
        "type": "object",
        "properties": dict.fromkeys(SCORES, score),
        "required": list(SCORES),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": dict.fromkeys(aliases, one),
        "required": list(aliases),
        "additionalProperties": False,
    }


def image_url(content: bytes, name: str, fit: Fit) -> str:
    """An image as the judge gets it: 448×448 JPEG of quality 90, as a data URL (S2.2.3).

    Raises:
        ImageError: It does not decode.
    """
    fitted = fit_image(load_image(content, name), fit, IMAGE_SIZE)
    buffer = io.BytesIO()
    fitted.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def judge_text(case: JudgeCase, instruction: str, prompt: Prompt) -> str:
    """The prompt of a case. The candidates stand in a JSON object, so that no text can pass for another's alias."""
    critiques = {alias: case.candidates[model] or EMPTY for alias, model in case.order.items()}
    fields = {
        "aliases": ", ".join(case.order),
        "instruction": well_formed(instruction),
        "critiques": json.dumps(critiques, ensure_ascii=False, indent=1),
    }
    return prompt.render(fields)


def request_body(case: JudgeCase, document: Mapping[str, Any], settings: JudgeSettings) -> dict[str, Any]:
    """One chat completion: the image, then the text; nothing else of the record, the reference least of all."""
    (cell,) = document[IMAGES_COLUMN]
    url = image_url(cell["bytes"], case.id, settings.image_fit)
    text = judge_text(case, document["instruction"], settings.prompt)
    formats: dict[str, Any] = {
        "json_schema": {
            "type": "json_schema",
            "json_schema": {"name": "critique_verdict", "strict": True, "schema": verdict_schema(list(case.order))},
        },
        "json_object": {"type": "json_object"},
    }
    wanted = {"response_format": formats[settings.response_format]} if settings.response_format in formats else {}
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": text}]
    return {
        "model": settings.judge,
        "messages": [{"role": "user", "content": content}],
        "temperature": 0,
        "max_tokens": MAX_TOKENS,
        **wanted,
    }
