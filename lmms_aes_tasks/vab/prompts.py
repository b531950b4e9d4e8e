"""VAB's settings and prompts: what is asked, in whose words, with which rubric."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass

from lmms_aes_tasks.board.digests import canonical_json, text_sha256
from lmms_aes_tasks.settings import PROMPTS, load_prompt
from lmms_aes_tasks.utils.colour_profiles import Icc
from lmms_aes_tasks.utils.images import Fit
from lmms_aes_tasks.vab.schema import label

PROMPT_TYPES: Mapping[str, str] = {"top1": "pick_best", "bot1": "pick_worst", "tb1": "pick_best_and_worst"}
"""What each task asks; TB-1 of two images is asked as best, and the worst is the other one."""
PROMPT_IDS: Mapping[str, str] = {
    "pick_best": "vab-best-1",
    "pick_worst": "vab-worst-1",
    "pick_best_and_worst": "vab-best-and-worst-1",
}
RUBRICS_ID = "vab-rubrics-1"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True)
class Settings:
    """What `lmms_eval_specific_kwargs` may set.

    Attributes:
        image_fit: `none` (default: the images as they are), `pad` or `stretch`.
        image_size: Side in pixels, for the latter two.
        icc: `ignore` (default: pixels as stored), or `srgb`: converted by the colour profile that a file embeds.
        rubric: Whether the prompt carries the domain's rubric (appendix C.1, in our words).
        prompt_file: A template of the user's for the question; null for ours.
        pair_prompt_file: The same for TB-1 of two images, which is asked as best.
        pre_prompt: Text put before the prompt.
        post_prompt: Text put after it.
    """

    image_fit: Fit = "none"
    image_size: int = 448
    icc: Icc = "ignore"
    rubric: bool = False
    prompt_file: str | None = None
    pair_prompt_file: str | None = None
    pre_prompt: str = ""
    post_prompt: str = ""


@functools.cache
def rubrics() -> Mapping[str, str]:
    """Rubric by domain, in our words; `default` for a domain that has none."""
    found: dict[str, str] = json.loads((PROMPTS / f"{RUBRICS_ID}.json").read_text("utf-8"))
    return found


@functools.cache
def rubrics_sha256() -> str:
    """SHA-256 over the canonical JSON of all rubrics: which words `rubric: true` brings into a prompt."""
    return text_sha256(canonical_json(dict(rubrics())))


def prompt_name(given: str) -> str:
    """Which prompt a model was given, from the text in a samples file: ours with its SHA-256, or `other`.

    Of the rubrics, if one is in it, the first 8 digits of theirs.
    """
    for prompt_id in PROMPT_IDS.values():
        prompt = load_prompt(prompt_id, None, ("labels",))
        if prompt.recognises(given):
            with_rubric = any(text in given for text in rubrics().values())
            return f"{prompt.id} sha256:{prompt.sha256}" + (
                f" with {RUBRICS_ID}@{rubrics_sha256()[:8]}" if with_rubric else ""
            )
    return "other"


def order_note(n_images: int) -> str:
    """Says which image is which, also to models that get all images first or last."""
    named = [
        f"Image {label(i)} is the {_ORDINALS[i]} image" if i < len(_ORDINALS) else f"Image {label(i)} is image {i + 1}"
        for i in range(n_images)
    ]
    return ", ".join(named) + "."
