"""FineArtBench's settings and prompts: base, zero-shot CoT and the rounds of ArtCoT (Table 8 of the paper).

The templates in `prompts/fineartbench-*.txt` are protocol constants of the paper.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.settings import load_prompt
from lmms_aes_tasks.utils.answers import visible_text
from lmms_aes_tasks.utils.cells import is_empty
from lmms_aes_tasks.utils.colour_profiles import Icc, check_icc
from lmms_aes_tasks.utils.prompts import Prompt

PROMPT_KINDS = ("base", "cot", "artcot", "artcot_single")
STEPS = ("analyzer", "critic", "summarizer")
"""The rounds of ArtCoT; the first two can be left out (Table 5)."""
MAX_REPLY_CHARS = 20_000
"""An earlier round's reply is given to the next one up to this length."""


@dataclass(frozen=True)
class Settings:
    """What `lmms_eval_specific_kwargs` may set.

    Attributes:
        prompt: `base`, `cot`, `artcot` (rounds) or `artcot_single` (its steps in one reply).
        analyzer: Whether ArtCoT has its first step.
        critic: Whether ArtCoT has its second step.
        source: Whether the source image is shown.
        style: Whether the style is named.
        resolution: Factor on the figure's sides, in (0, 1].
        icc: `ignore` (default: pixels as stored), or `srgb`: converted by the colour profile that a file embeds.
        separate_images: Three labelled images in place of one figure.
        pre_prompt: Text put before the prompt.
        post_prompt: Text put after it.
    """

    prompt: str = "base"
    analyzer: bool = True
    critic: bool = True
    source: bool = True
    style: bool = True
    resolution: float = 1.0
    icc: Icc = "ignore"
    separate_images: bool = False
    pre_prompt: str = ""
    post_prompt: str = ""

    def __post_init__(self) -> None:
        if self.prompt not in PROMPT_KINDS:
            raise ValueError(f"prompt is {self.prompt!r}: use one of {', '.join(PROMPT_KINDS)}")
        check_icc(self.icc)
        number = isinstance(self.resolution, int | float) and not isinstance(self.resolution, bool)
        if not number or not 0 < self.resolution <= 1:
            raise ValueError(f"resolution is {self.resolution!r}: use a number above 0, up to 1")

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of ArtCoT that are asked."""
        left_out = {name for name in ("analyzer", "critic") if not getattr(self, name)}
        return tuple(step for step in STEPS if step not in left_out)


# How a template reads without the source image or the style: phrases of Table 8 that speak of them (our reading).
_WITHOUT_SOURCE = (
    ("A source image (top) and two different stylized images (bottom)", "Two different stylized images"),
    ("A source image (top) Two stylized images (bottom left and bottom right)", "Two stylized images (left and right)"),
    ("the two stylized images at the bottom", "the two stylized images"),
    (" Is the content at top well-preserved in the specific art style?", ""),
    ("which stylized image at the bottom", "which stylized image"),
    ("**painting of the original content (top) in another style**", "**painting**"),
    ("the content preservation and style fidelity", "the style fidelity"),
    ("both the content and style", "the style"),
)
_WITHOUT_STYLE = (
    (" in the style of '{style}'", ""),
    (" What visual features is essential for the style of '{style}'?", ""),
)


def _template(name: str, settings: Settings) -> str:
    """A template of Table 8, without what is not shown."""
    text = load_prompt(f"fineartbench-{name}-1", None, ()).text
    for applies, phrases in ((not settings.source, _WITHOUT_SOURCE), (not settings.style, _WITHOUT_STYLE)):
        for phrase, instead in phrases if applies else ():
            text = text.replace(phrase, instead)
    return text


def _filled(name: str, doc: Mapping[str, Any], settings: Settings) -> str:
    """A template with the name of the document's style.

    Raises:
        SourceError: The document's style has no name, and the settings ask for it.
    """
    if settings.style and is_empty(doc["style_prompt"]):
        raise SourceError(
            f"fineartbench: pair {doc.get('id')} has no style_prompt, which the prompt asks about. "
            "`lmms-aes data check fineartbench` lists every such pair. Write the style's name into the file of the "
            "pairs, or set style: false."
        )
    return _template(name, settings).replace("{style}", str(doc["style_prompt"]))


@functools.cache
def _first_prompts() -> tuple[Prompt, ...]:
    """The texts that a document may begin with, the style being left open, named by what they are."""
    found: dict[str, Prompt] = {}
    anything = {"style_prompt": "{" + "style" + "}"}
    for source, style, analyzer, critic in itertools.product((True, False), repeat=4):
        shown = Settings(source=source, style=style, analyzer=analyzer, critic=critic)
        without = [name for name in ("source", "style", "analyzer", "critic") if not getattr(shown, name)]
        for prompt in PROMPT_KINDS:
            text = first_text(anything, replace(shown, prompt=prompt))
            # base and cot have no steps, and ArtCoT's first round is the same with the critic and without
            found.setdefault(text, Prompt(f"fineartbench-{prompt}-1{' without '.join(['', *without])}", text))
    return tuple(found.values())


def prompt_name(given: str) -> str:
    """With which prompt a document began, from the text in a samples file: ours with its SHA-256, or `other`."""
    notes = [image_note(Settings(source=source, separate_images=True)) for source in (True, False)]
    body = next((given.removeprefix(note) for note in notes if given.startswith(note)), given)
    return next((f"{own.id} sha256:{own.sha256}" for own in _first_prompts() if own.recognises(body)), "other")


def image_note(settings: Settings) -> str:
    """Says which image is which when they are not one figure."""
    if not settings.separate_images:
        return ""
    names = ["the source image"] if settings.source else []
    names += ["the left stylized image", "the right stylized image"]
    return f"{len(names)} images are supplied, in this order: {', '.join(names)}.\n\n"


def step_text(doc: Mapping[str, Any], settings: Settings, replies: Sequence[str]) -> str:
    """The text of ArtCoT's next round: every earlier round with its reply, then the step's own template.

    Of a reply its reasoning is left out, and what is longer than `MAX_REPLY_CHARS` is cut, with a mark.
    """

    def shown(reply: str) -> str:
        text = visible_text(reply).text
        return text if len(text) <= MAX_REPLY_CHARS else f"{text[:MAX_REPLY_CHARS]} […]"

    earlier = [
        f"Earlier step {number} ({step}) was answered:\n{shown(reply)}\n\n"
        for number, (step, reply) in enumerate(zip(settings.steps, replies, strict=False), 1)
    ]
    return "".join(earlier) + _filled(settings.steps[len(replies)], doc, settings)


def _single_text(doc: Mapping[str, Any], settings: Settings) -> str:
    """The steps of ArtCoT in one text, each answered by its own dict (our reading)."""
    steps = [f"Step {number}. {_filled(step, doc, settings)}" for number, step in enumerate(settings.steps, 1)]
    return "Answer the following steps in order, each with its own Python Dict on a line of its own.\n\n" + "\n\n".join(
        steps
    )


def first_text(doc: Mapping[str, Any], settings: Settings) -> str:
    """The text that a document begins with."""
    if settings.prompt == "artcot":
        body = step_text(doc, settings, [])
    elif settings.prompt == "artcot_single":
        body = _single_text(doc, settings)
    else:
        body = _filled(settings.prompt, doc, settings)
    return f"{settings.pre_prompt}{image_note(settings)}{body}{settings.post_prompt}"
