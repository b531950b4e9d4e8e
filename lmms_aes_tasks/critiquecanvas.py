"""CritiqueCanvas: long critiques beside a reference (AesCanvas, III.B-C, S2.1.2, S2.3.2, S2.4, S3.2.1).

Documents, messages, record and metrics. The prompt is the record's own instruction; the model writes a critique, which
is set beside one reference. What needs neural encoders is in `critique_embeddings`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks import sources
from lmms_aes_tasks.records import IMAGES_COLUMN, Field, RecordSchema, as_list
from lmms_aes_tasks.settings import read_settings
from lmms_aes_tasks.utils.answers import visible_text
from lmms_aes_tasks.utils.critique_style import STYLE_METRICS, CritiqueStyle, critique_style, style_statistic
from lmms_aes_tasks.utils.dimensions import DIMENSIONS, triggers
from lmms_aes_tasks.utils.images import Fit, fit_image, load_image
from lmms_aes_tasks.utils.text_metrics import BleuStatistics, LexicalScores, corpus_bleu, lexical_scores
from lmms_aes_tasks.utils.unicode_text import well_formed
from lmms_aes_tasks.utils.wordnet import Lexicon, WordNetError, load_wordnet

if TYPE_CHECKING:
    import datasets
    from PIL.Image import Image

DOMAINS = ("photography", "painting", "virtual")
"""The paper's three; records may name others, or none."""
MAX_TEXT_CHARS = 100_000
_SPELLINGS = {
    "photo": "photography",
    "photograph": "photography",
    "photographs": "photography",
    "photos": "photography",
    "paintings": "painting",
    "art": "painting",
    "virtual imagery": "virtual",
    "virtual image": "virtual",
    "virtual images": "virtual",
    "aigc": "virtual",
}
_PLACEHOLDER = re.compile(r"[ \t]*<\s*image\s*>[ \t]*\n?", re.IGNORECASE)
_HUMAN = frozenset({"human", "user"})
_ASSISTANT = frozenset({"gpt", "assistant"})


# -- Documents --------------------------------------------------------------------------------------------------------


def _columns() -> dict[str, Any]:
    from datasets import Value

    text = Value("string")
    return {"id": text, "domain": text, "instruction": text, "reference": text}


def _turn(item: Any) -> tuple[str, str] | None:
    """One turn as (role, text); None when it is none. A content of parts is the text parts together."""
    if not isinstance(item, Mapping):
        return None
    role = item.get("from", item.get("role"))
    content = item.get("value", item.get("content"))
    if isinstance(content, (list, tuple)):
        parts = [part.get("text") or "" for part in content if isinstance(part, Mapping)]
        content = "\n".join(part for part in parts if isinstance(part, str) and part)
    return (role.strip().lower(), content) if isinstance(role, str) and isinstance(content, str) else None


def _first_turns(conversations: Any) -> tuple[str, str, list[str]]:
    """The first instruction, the first reference after it, and what is wrong."""
    if isinstance(conversations, str):
        try:
            conversations = json.loads(conversations)
        except (ValueError, RecursionError):
            return "", "", ["conversations is a text that is no JSON; give a list of turns"]
    items = list(conversations) if isinstance(conversations, (list, tuple)) else []
    turns = [turn for turn in map(_turn, items) if turn is not None]
    if not items or len(turns) != len(items):
        return "", "", ["conversations is no list of turns; give [{from: human, value: …}, {from: gpt, value: …}]"]
    asked = next((place for place, (role, _) in enumerate(turns) if role in _HUMAN), None)
    answered = next((place for place, (role, _) in enumerate(turns) if role in _ASSISTANT), None)
    problems = []
    if asked is None:
        problems.append("no turn of human or user; the first one is the instruction")
    if answered is None:
        problems.append("no turn of gpt or assistant; the first one is the reference")
    if asked is not None and answered is not None and answered < asked:
        problems.append("the reference's turn stands before the instruction's; give the instruction first")
    instruction = turns[asked][1] if asked is not None else ""
    reference = turns[answered][1] if answered is not None else ""
    return instruction, reference, problems


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def instruction_text(value: str) -> str:
    r"""An instruction without LLaVA's `<image>` placeholders.

    >>> instruction_text("<image>\nCritique this.")
    'Critique this.'
    """
    return _PLACEHOLDER.sub("", value).strip()


def normalise_critique(record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Bring a record to the canonical form; see `lmms_aes_tasks.records.RecordSchema`."""
    problems: list[str] = []
    instruction, reference = _text(record.get("instruction")), _text(record.get("reference"))
    if not (instruction and reference):
        found_instruction, found_reference, problems = _first_turns(record.get("conversations"))
        instruction, reference = instruction or found_instruction, reference or found_reference
    domain = " ".join(_text(record.get("domain")).lower().replace("_", " ").replace("-", " ").split())
    images = as_list(record.get(IMAGES_COLUMN))
    row: dict[str, Any] = {
        "id": _text(record.get("id")),
        "domain": _SPELLINGS.get(domain, domain),
        "instruction": instruction_text(instruction),
        "reference": reference.strip(),
        IMAGES_COLUMN: images,
    }
    if not problems:
        problems = [f"empty {name}; give it a text" for name in ("instruction", "reference") if not row[name]]
    if not row["id"]:
        problems.append("empty id; give it a text")
    problems += [
        f"{name} has {len(row[name])} characters; {MAX_TEXT_CHARS} are allowed"
        for name in ("id", "instruction", "reference")
        if len(row[name]) > MAX_TEXT_CHARS
    ]
    if len(images) != 1:
        problems.append(f"{len(images)} images; give one")
    return row, problems


SCHEMA = RecordSchema(
    fields=(
        Field("id", ("sample_id", "question_id", "uid", "record_id")),
        Field(IMAGES_COLUMN, ("image", "image_path", "image_file", "file_name", "img")),
        Field("conversations", ("conversation", "messages", "dialogue", "turns"), required=False),
        Field("instruction", (), required=False),  # a canonical file has these two in place of conversations
        Field("reference", (), required=False),
        Field("domain", ("image_domain", "visual_domain"), required=False),
    ),
    columns=_columns,
    normalise=normalise_critique,
)


def nltk_folder() -> Any:
    """Where `lmms-aes data fetch wordnet` puts the corpus."""
    return sources.cache_root() / "nltk_data"


def lexicon() -> Lexicon:
    """WordNet for METEOR.

    Raises:
        WordNetError: It is missing or incomplete.
    """
    return load_wordnet(nltk_folder())


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
        pre_prompt: Text put before the record's instruction.
        post_prompt: Text put after it.
    """

    image_fit: Fit = "pad"
    image_size: int = 448
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
    return [fit_image(load_image(cell["bytes"], str(doc["id"])), settings.image_fit, settings.image_size)]


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


@dataclass(frozen=True)
class CritiqueItem:
    """What one critique adds to the lexical metrics and the style statistics.

    Attributes:
        id: Id of the record.
        domain: Its domain; empty when it names none.
        lexical: BLEU statistics, ROUGE-L, METEOR.
        style: Length and dimensions.
    """

    id: str
    domain: str
    lexical: LexicalScores
    style: CritiqueStyle

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True)
class CritiqueText:
    """One critique for the encoders; its reference and image are looked up by id.

    Attributes:
        id: Id of the record.
        source: Name of the data set.
        text: The critique, reasoning removed.
    """

    id: str
    source: str
    text: str

    def __str__(self) -> str:
        return self.id


def critique_text(response: str) -> str:
    """What is scored of a response: `visible_text`, with half surrogate pairs replaced.

    >>> critique_text("<think>Blue?</think> A calm scene. ")
    'A calm scene.'
    """
    return visible_text(well_formed(response)).text


def score_critique(
    critique_id: str, domain: str, response: str, reference: str, instruction: str, words: Lexicon
) -> CritiqueItem:
    """Lexical values and style of one response: the one path of harness, offline scorer and verifier."""
    text = critique_text(response)
    return CritiqueItem(
        critique_id, domain, lexical_scores(text, reference, words), critique_style(text, reference, instruction)
    )


def record_of(item: CritiqueItem) -> dict[str, Any]:
    """The readable record of an item, enough to add it up again; `item_of_record` reads it."""
    return {
        "id": item.id,
        "domain": item.domain,
        "bleu": item.lexical.bleu.as_list(),
        "rouge_l": item.lexical.rouge_l,
        "meteor": item.lexical.meteor,
        **asdict(item.style),
        "focus": list(item.style.focus),
        "triggers": triggers().version,
    }


def item_of_record(record: Mapping[str, Any]) -> CritiqueItem:
    """The item of a record.

    Raises:
        ValueError: A value is missing, or of the wrong kind or range.
    """
    try:
        mentions = {str(name): record["mentions"][name] for name in record["mentions"]}
        counts = (record["words"], record["reference_words"], *mentions.values())
        focus = tuple(str(name) for name in record["focus"])
        values = (record["rouge_l"], record["meteor"])
        flags = (record["empty"], record["truncated"])
        bleu = BleuStatistics.from_list(record["bleu"])
        own_id, domain = record["id"], record["domain"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"a record of critiquecanvas lacks {error}") from None
    if not isinstance(own_id, str) or not isinstance(domain, str):
        raise ValueError(f"id is {own_id!r} and domain {domain!r}: give texts")
    if any(isinstance(count, bool) or not isinstance(count, int) or count < 0 for count in counts):
        raise ValueError(f"word and trigger counts are {counts!r}: give whole numbers of at least 0")
    unknown = sorted({*mentions, *focus} - set(DIMENSIONS))
    if unknown:
        raise ValueError(f"unknown dimension {', '.join(unknown)}: use {', '.join(DIMENSIONS)}")
    if any(isinstance(v, bool) or not isinstance(v, (int, float)) or not 0 <= v <= 1 for v in values):
        raise ValueError(f"rouge_l and meteor are {values!r}: give numbers from 0 to 1")
    if not all(isinstance(flag, bool) for flag in flags):
        raise ValueError(f"empty and truncated are {flags!r}: give true or false")
    style = CritiqueStyle(counts[0], counts[1], mentions, focus, *flags)
    return CritiqueItem(own_id, domain, LexicalScores(bleu, float(values[0]), float(values[1])), style)


LEXICAL_METRICS = ("bleu", "rouge_l", "meteor")
EMBEDDING_METRICS = ("bert_f1", "sbert_cos", "clip_cos")
METRICS = (*LEXICAL_METRICS, *EMBEDDING_METRICS, *STYLE_METRICS)


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One document's record and, for each metric, its item.

    Returns:
        `record` (readable, enough for every metric that needs no encoder), and an item under every metric's name.
    """
    response = results[0] if results and isinstance(results[0], str) else ""
    critique_id, source = str(doc["id"]), str(doc["source"])
    item = score_critique(
        critique_id, str(doc["domain"]), response, str(doc["reference"]), str(doc["instruction"]), lexicon()
    )
    text = CritiqueText(critique_id, source, critique_text(response))
    by_metric = {name: text if name in EMBEDDING_METRICS else item for name in METRICS}
    return {"record": record_of(item), **by_metric}


def _mean(values: Sequence[float]) -> float | None:
    import numpy as np

    return float(np.mean(values)) if values else None


def lexical_or_style(items: Iterable[CritiqueItem], metric: str) -> float | None:
    """One metric that needs no encoder, over items in any order; None where none enters it.

    Raises:
        ValueError: The metric is unknown.
    """
    ordered = sorted(items, key=lambda item: item.id)
    if metric == "bleu":
        return corpus_bleu(item.lexical.bleu for item in ordered)
    if metric in LEXICAL_METRICS:
        return _mean([getattr(item.lexical, metric) for item in ordered])
    return style_statistic([item.style for item in ordered], metric)


def lexical_and_style(items: Iterable[CritiqueItem]) -> dict[str, float | None]:
    """Every metric that needs no encoder; see `lexical_or_style`."""
    kept = list(items)
    return {metric: lexical_or_style(kept, metric) for metric in (*LEXICAL_METRICS, *STYLE_METRICS)}


def aggregate_bleu(items: Iterable[CritiqueItem]) -> float | None:
    """Corpus BLEU as a fraction (S1)."""
    return lexical_or_style(items, "bleu")


def aggregate_rouge_l(items: Iterable[CritiqueItem]) -> float | None:
    """Mean ROUGE-L (S2)."""
    return lexical_or_style(items, "rouge_l")


def aggregate_meteor(items: Iterable[CritiqueItem]) -> float | None:
    """Mean METEOR (S3 to S7)."""
    return lexical_or_style(items, "meteor")


def aggregate_avg_length(items: Iterable[CritiqueItem]) -> float | None:
    """Mean number of words (S10)."""
    return lexical_or_style(items, "avg_length")


def aggregate_len_ref(items: Iterable[CritiqueItem]) -> float | None:
    """Average length over the references' average length."""
    return lexical_or_style(items, "len_ref")


def aggregate_dim_hits(items: Iterable[CritiqueItem]) -> float | None:
    """Mean number of dimensions addressed (S11)."""
    return lexical_or_style(items, "dim_hits")


def aggregate_density(items: Iterable[CritiqueItem]) -> float | None:
    """Trigger matches per 100 words (S12)."""
    return lexical_or_style(items, "density")


def aggregate_prompt_align(items: Iterable[CritiqueItem]) -> float | None:
    """Share of focused prompts whose every dimension is addressed (S13); None without a focused prompt."""
    return lexical_or_style(items, "prompt_align")


def aggregate_empty_rate(items: Iterable[CritiqueItem]) -> float | None:
    """Share of empty critiques."""
    return lexical_or_style(items, "empty_rate")


def aggregate_truncated_rate(items: Iterable[CritiqueItem]) -> float | None:
    """Share of critiques that break off without a sentence mark."""
    return lexical_or_style(items, "truncated_rate")


def _embedded(items: Iterable[CritiqueText], metric: str) -> float | str:
    from lmms_aes_tasks.critique_embeddings import aggregate

    return aggregate(sorted(items, key=lambda item: item.id), metric)


def aggregate_bert_f1(items: Iterable[CritiqueText]) -> float | str:
    """Mean BERT-F1; `not computed` where the setting says so or an encoder is not to be had."""
    return _embedded(items, "bert_f1")


def aggregate_sbert_cos(items: Iterable[CritiqueText]) -> float | str:
    """Mean cosine of sentence embeddings (S8), or `not computed`."""
    return _embedded(items, "sbert_cos")


def aggregate_clip_cos(items: Iterable[CritiqueText]) -> float | str:
    """Mean raw cosine of CLIP's text and image features (S9), or `not computed`."""
    return _embedded(items, "clip_cos")


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
