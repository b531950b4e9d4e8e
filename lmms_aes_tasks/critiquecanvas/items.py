"""What is kept of one critique: its lexical values, its style, its text for the encoders, and its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lmms_aes_tasks.sources import nltk_folder
from lmms_aes_tasks.utils.answers import visible_text
from lmms_aes_tasks.utils.critique_style import PARTIAL_METRICS, STYLE_METRICS, CritiqueStyle, critique_style
from lmms_aes_tasks.utils.dimensions import DIMENSIONS, triggers
from lmms_aes_tasks.utils.failed_requests import failed_request
from lmms_aes_tasks.utils.reply_facts import PLAIN_REPLY, ReplyFacts, facts_of_record, reply_facts
from lmms_aes_tasks.utils.text_metrics import BleuStatistics, LexicalScores, lexical_scores
from lmms_aes_tasks.utils.unicode_text import well_formed
from lmms_aes_tasks.utils.visible_text import TEXT_VERSION
from lmms_aes_tasks.utils.wordnet import Lexicon, load_wordnet

LEXICAL_METRICS = ("bleu", "rouge_l", "meteor")
EMBEDDING_METRICS = ("bert_f1", "sbert_cos", "clip_cos")
METRICS = (*LEXICAL_METRICS, *EMBEDDING_METRICS, *STYLE_METRICS)


def parser_version() -> str:
    """What a critique's figures hang on: the trigger lists' version, and that of what is read of a reply at all."""
    return f"{triggers().version}+text{TEXT_VERSION}"


def lexicon() -> Lexicon:
    """WordNet for METEOR.

    Raises:
        WordNetError: It is missing or incomplete.
    """
    return load_wordnet(nltk_folder())


@dataclass(frozen=True)
class CritiqueItem:
    """What one critique adds to the lexical metrics and the style statistics.

    Attributes:
        id: Id of the record.
        domain: Its domain; empty when it names none.
        lexical: BLEU statistics, ROUGE-L, METEOR.
        style: Length and dimensions.
        reply: Facts of the reply; one whose request failed is scored as the empty critique, and enters no statistic of
            style.
    """

    id: str
    domain: str
    lexical: LexicalScores
    style: CritiqueStyle
    reply: ReplyFacts = PLAIN_REPLY

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True)
class CritiqueText:
    """One critique for the encoders; its image is looked up by id.

    Attributes:
        id: Id of the record.
        source: Name of the data set.
        text: The critique, reasoning removed.
        reference: Its reference.
    """

    id: str
    source: str
    text: str
    reference: str

    def __str__(self) -> str:
        return self.id


def critique_text(response: str) -> str:
    """What is scored of a response: `visible_text`, with half surrogate pairs replaced; nothing of a failed request.

    >>> critique_text("<think>Blue?</think> A calm scene. ")
    'A calm scene.'
    """
    return "" if failed_request(response) else visible_text(well_formed(response)).text


def score_critique(
    critique_id: str, domain: str, response: str, reference: str, instruction: str, words: Lexicon
) -> CritiqueItem:
    """Lexical values and style of one response: the one path of harness, offline scorer and verifier."""
    text = critique_text(response)
    lexical, style = lexical_scores(text, reference, words), critique_style(text, reference, instruction)
    return CritiqueItem(critique_id, domain, lexical, style, reply_facts(well_formed(response)))


def answered(items: Iterable[CritiqueItem]) -> list[CritiqueItem]:
    """The items whose request did not fail."""
    return [item for item in items if not item.reply.failed]


def entering(items: Sequence[CritiqueItem], metric: str) -> list[CritiqueItem]:
    """The items that enter a metric: one whose request failed has no text whose style could be counted.

    In what says how good a critique is (likeness to the reference, `prompt_align`) it counts as the empty one.
    """
    return answered(items) if metric in STYLE_METRICS and metric not in PARTIAL_METRICS else list(items)


def focus_of_record(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The dimensions that a record's instruction names.

    Raises:
        ValueError: There are none given, or one is unknown.
    """
    names = record.get("focus")
    if not isinstance(names, list) or not all(isinstance(name, str) and name in DIMENSIONS for name in names):
        raise ValueError(f"focus is {names!r}: give a list of {', '.join(DIMENSIONS)}")
    return tuple(names)


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
        **item.reply.as_record(),
        "parser": parser_version(),
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
        flags = (record["empty"], record["truncated"], record["other_script"])
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
        raise ValueError(f"empty, truncated and other_script are {flags!r}: give true or false")
    style = CritiqueStyle(counts[0], counts[1], mentions, focus, *flags)
    lexical = LexicalScores(bleu, float(values[0]), float(values[1]))
    return CritiqueItem(own_id, domain, lexical, style, facts_of_record(record))
