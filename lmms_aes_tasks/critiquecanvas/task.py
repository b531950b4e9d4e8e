"""CritiqueCanvas: long critiques beside a reference (AesCanvas, III.B-C, S2.1.2, S2.3.2, S2.4, S3.2.1).

Documents, messages, record and metrics. The prompt is the record's own instruction; the model writes a critique, which
is set beside one reference. `items` has what is kept of a critique, `encoders` what needs neural encoders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks import sources
from lmms_aes_tasks.critiquecanvas.items import (
    EMBEDDING_METRICS,
    LEXICAL_METRICS,
    METRICS,
    CritiqueItem,
    CritiqueText,
    answered,
    critique_text,
    entering,
    lexicon,
    record_of,
    score_critique,
)
from lmms_aes_tasks.critiquecanvas.schema import DOMAINS
from lmms_aes_tasks.critiquecanvas.schema import MAX_TEXT_CHARS as MAX_TEXT_CHARS
from lmms_aes_tasks.critiquecanvas.schema import SCHEMA as SCHEMA
from lmms_aes_tasks.critiquecanvas.schema import instruction_text as instruction_text
from lmms_aes_tasks.critiquecanvas.schema import normalise_critique as normalise_critique
from lmms_aes_tasks.records import IMAGES_COLUMN
from lmms_aes_tasks.settings import read_settings
from lmms_aes_tasks.utils.aggregations import aggregation
from lmms_aes_tasks.utils.colour_profiles import Icc
from lmms_aes_tasks.utils.critique_style import style_statistic, unread_texts
from lmms_aes_tasks.utils.images import Fit, fit_image, load_image
from lmms_aes_tasks.utils.reply_facts import REPLY_METRICS, failed_requests, reasoning_rate
from lmms_aes_tasks.utils.sums import mean_items, ratio, score_of_sums
from lmms_aes_tasks.utils.text_metrics import corpus_bleu
from lmms_aes_tasks.utils.wordnet import WordNetError

if TYPE_CHECKING:
    import datasets
    from PIL.Image import Image

# -- Documents --------------------------------------------------------------------------------------------------------


def documents(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs`: the documents, each with the name of the data set that it is from (`source`).

    Raises:
        SystemExit: The data or WordNet is missing; a run that METEOR would end is not begun.
    """
    try:
        lexicon()
    except WordNetError as error:
        raise SystemExit(f"\nlmms-aes-tasks: {error}" if sources.is_first_rank() else 1) from None
    found = sources.documents(cards)
    return found.add_column("source", [cards[0]["name"]] * len(found))


def _of_domain(cards: datasets.Dataset, domain: str) -> datasets.Dataset:
    found = documents(cards)
    rows = [row for row, own in enumerate(found["domain"]) if own == domain]
    if not rows:
        named = ", ".join(sorted({own for own in found["domain"] if own})) or "none"
        message = f"{cards[0]['title']}: no record of the domain {domain} (domains there: {named}). Run critiquecanvas."
        raise SystemExit(f"\nlmms-aes-tasks: {message}" if sources.is_first_rank() else 1)
    return found.select(rows)


def photography_documents(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs` of `critiquecanvas_photography`; see `documents`."""
    return _of_domain(cards, "photography")


def painting_documents(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs` of `critiquecanvas_painting`; see `documents`."""
    return _of_domain(cards, "painting")


def virtual_documents(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs` of `critiquecanvas_virtual`; see `documents`."""
    return _of_domain(cards, "virtual")


# -- What the model sees ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What `lmms_eval_specific_kwargs` may set.

    Attributes:
        image_fit: `pad` (default), `stretch` or `none`.
        image_size: Side in pixels.
        icc: `ignore` (default: pixels as stored), or `srgb`: converted by the colour profile that a file embeds.
        pre_prompt: Text put before the record's instruction.
        post_prompt: Text put after it.
    """

    image_fit: Fit = "pad"
    image_size: int = 448
    icc: Icc = "ignore"
    pre_prompt: str = ""
    post_prompt: str = ""


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The record's own instruction, nothing else of the record."""
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    return f"{settings.pre_prompt}{doc['instruction']}{settings.post_prompt}"


def doc_to_visual(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[Image]:
    """The image, upright 8-bit RGB, fitted."""
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    (cell,) = doc[IMAGES_COLUMN]
    image = load_image(cell["bytes"], str(doc["id"]), settings.icc)
    return [fit_image(image, settings.image_fit, settings.image_size)]


def doc_to_messages(
    doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Image, then instruction, for chat models."""
    (image,) = doc_to_visual(doc, lmms_eval_specific_kwargs)
    text = doc_to_text(doc, lmms_eval_specific_kwargs)
    return [{"role": "user", "content": [{"type": "image", "url": image}, {"type": "text", "text": text}]}]


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The reference."""
    return str(doc["reference"])


# -- Scoring ----------------------------------------------------------------------------------------------------------


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One document's record and, for each metric, its item.

    Returns:
        `record` (readable, enough for every metric that needs no encoder), and an item under every metric's name.
    """
    response = results[0] if results and isinstance(results[0], str) else ""
    critique_id, reference, text = str(doc["id"]), str(doc["reference"]), critique_text(response)
    item = score_critique(critique_id, str(doc["domain"]), response, reference, str(doc["instruction"]), lexicon())
    for_encoders = CritiqueText(critique_id, str(doc["source"]), text, reference)
    by_metric = {name: for_encoders if name in EMBEDDING_METRICS else item for name in METRICS}
    return {"record": record_of(item), **by_metric, **dict.fromkeys(REPLY_METRICS, item)}


def lexical_or_style(items: Iterable[CritiqueItem], metric: str) -> float | None:
    """One metric that needs no encoder, over items in any order; None where none enters it.

    Raises:
        ValueError: The metric is unknown.
    """
    ordered = sorted(items, key=lambda item: item.id)
    if metric == "bleu":
        return corpus_bleu(item.lexical.bleu for item in ordered)
    if metric in LEXICAL_METRICS:
        return score_of_sums(mean_items([getattr(item.lexical, metric) for item in ordered]), ratio).value
    return style_statistic([item.style for item in entering(ordered, metric)], metric)


def _aggregation(metric: str, meaning: str) -> Callable[[Iterable[CritiqueItem]], float | None]:
    return aggregation(__name__, metric, meaning, lambda items: lexical_or_style(items, metric))


aggregate_bleu = _aggregation("bleu", "Corpus BLEU as a fraction (S1).")
aggregate_rouge_l = _aggregation("rouge_l", "Mean ROUGE-L (S2).")
aggregate_meteor = _aggregation("meteor", "Mean METEOR (S3 to S7).")
aggregate_avg_length = _aggregation("avg_length", "Mean number of words (S10).")
aggregate_len_ref = _aggregation("len_ref", "Average length over the references' average length.")
aggregate_dim_hits = _aggregation("dim_hits", "Mean number of dimensions addressed (S11).")
aggregate_density = _aggregation("density", "Trigger matches per 100 words (S12).")
aggregate_prompt_align = _aggregation(
    "prompt_align", "Share of focused prompts whose every dimension is addressed (S13); None without a focused prompt."
)
aggregate_empty_rate = _aggregation("empty_rate", "Share of empty critiques.")
aggregate_truncated_rate = _aggregation("truncated_rate", "Share of critiques that break off without a sentence mark.")


def aggregate_wordless_rate(items: Iterable[CritiqueItem]) -> float | None:
    """Share of critiques with text and no word of any script, said aloud, as are critiques in other scripts."""
    found = list(items)
    said = unread_texts([item.style for item in answered(found)])
    if said:
        from loguru import logger

        for text in said:
            logger.warning(f"critiquecanvas: {text}")
    return lexical_or_style(found, "wordless_rate")


def _embedded(metric: str, meaning: str) -> Callable[[Iterable[CritiqueText]], float | str]:
    def value(items: Iterable[CritiqueText]) -> float | str:
        from lmms_aes_tasks.critiquecanvas.in_run import aggregate

        return aggregate(sorted(items, key=lambda item: item.id), metric)

    return aggregation(__name__, metric, meaning, value)


aggregate_bert_f1 = _embedded(
    "bert_f1", "Mean BERT-F1; `not computed` where the setting says so or an encoder is not to be had."
)
aggregate_sbert_cos = _embedded("sbert_cos", "Mean cosine of sentence embeddings (S8), or `not computed`.")
aggregate_clip_cos = _embedded("clip_cos", "Mean raw cosine of CLIP's text and image features (S9), or `not computed`.")
aggregate_failed_requests = aggregation(__name__, "failed_requests", "Number of requests that failed.", failed_requests)
aggregate_reasoning_rate = aggregation(
    __name__, "reasoning_rate", "Share of replies with reasoning; None without a reply.", reasoning_rate
)


# -- Counts -----------------------------------------------------------------------------------------------------------


def count_cases(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Counts of a data set, under the names of the card's `expected`.

    Args:
        rows: Canonical records, each with `image_sha256` in place of its images; `images` counts distinct ones.
    """
    counts: dict[str, float | None] = {"critiques": len(rows)}
    counts |= {domain: sum(row["domain"] == domain for row in rows) for domain in DOMAINS}
    counts["images"] = len({digest for row in rows for digest in row["image_sha256"]})
    return counts


# -- Baselines --------------------------------------------------------------------------------------------------------


def baseline_choices(doc: Mapping[str, Any]) -> list[str]:
    """The answers a baseline may give: a critique that would fit any picture, one about no picture, and nothing."""
    return [
        "The composition is balanced and the colors are harmonious. The lighting creates a calm mood, and the "
        "technique supports the subject.",
        "This is an image.",
        "",
    ]


def baseline_reply(doc: Mapping[str, Any], choice: str) -> str:
    """A choice as it stands."""
    return choice
