"""CritiqueCanvas as the leaderboard and the commands ask for it."""

from __future__ import annotations

import collections
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.board.benchmark import (
    RESAMPLES,
    SEED,
    Benchmark,
    Data,
    Document,
    Family,
    Figures,
    Item,
    MetricFacts,
    Row,
    ScoredResponse,
    Task,
)
from lmms_aes_tasks.board.digests import lines_sha256
from lmms_aes_tasks.board.figures import (
    MAX_GROUP_CHARS,
    REPLY_FACTS,
    by_group,
    item_metric,
    plain_text,
    reply_metrics,
    share_metric,
)
from lmms_aes_tasks.board.schema import BoardRow, Metric, PromptUse
from lmms_aes_tasks.critiquecanvas import items as critiques
from lmms_aes_tasks.critiquecanvas.items import CritiqueItem
from lmms_aes_tasks.critiquecanvas.late import EncoderMetrics
from lmms_aes_tasks.critiquecanvas.schema import DOMAINS
from lmms_aes_tasks.critiquecanvas.scoring import Scored, computed, metric_score
from lmms_aes_tasks.critiquecanvas.task import Settings
from lmms_aes_tasks.utils.critique_style import critique_style
from lmms_aes_tasks.utils.reply_facts import reply_facts
from lmms_aes_tasks.utils.sums import bleu, ratio
from lmms_aes_tasks.utils.text_metrics import LexicalScores, bleu_statistics, rouge_l
from lmms_aes_tasks.utils.wordnet import Lexicon, WordNetError

if TYPE_CHECKING:
    from lmms_aes_tasks.board.checks import Check
    from lmms_aes_tasks.board.plots import Plot
    from lmms_aes_tasks.predictions import Prediction

MAX_COUNT = 1_000_000
"""Words and n-grams of a critique, whose text has at most a million characters."""
INSTRUCTION = "instruction"
"""Id of the prompt of a run in which each record's own instruction was the prompt."""
_SAME_CRITIQUES = 0.9
_FEWEST_FOR_CONSTANT = 10


def _form(label: str, meaning: str, **facts: Any) -> MetricFacts:
    """A statistic of form, not of quality: neither direction is better."""
    return MetricFacts(label, meaning, higher_is_better=None, **facts)


METRICS: Mapping[str, MetricFacts] = {
    "bleu": MetricFacts("BLEU", "corpus BLEU against the reference", of_sums=bleu),
    "rouge_l": MetricFacts("ROUGE-L", "longest common subsequence with the reference", of_sums=ratio),
    "meteor": MetricFacts("METEOR", "aligned words, with stems and synonyms", of_sums=ratio),
    # compared where the records of both hold them: an entry keeps them where its encoders were at hand
    "bert_f1": MetricFacts("BERT-F1", "BERTScore F1 against the reference", of_sums=ratio),
    "sbert_cos": MetricFacts("SBERT-Cos", "cosine of sentence embeddings with the reference", of_sums=ratio),
    "clip_cos": MetricFacts("CLIP cosine", "cosine of critique and image", of_sums=ratio),
    "human_rating": MetricFacts("Human rating", "mean rating by people, 1 to 5, on 100 critiques", unit="rating"),
    "judge_rating": MetricFacts("MLLM rating", "mean rating by a model as judge, 1 to 5", unit="rating"),
    "avg_length": _form("Length", "mean number of words", unit="words", of_sums=ratio),
    "len_ref": _form("Len/Ref", "mean length over the references' mean length", unit="ratio"),
    "dim_hits": _form("DimHits", "mean number of aesthetic dimensions addressed", unit="dimensions", of_sums=ratio),
    "density": _form("Density", "aesthetic terms per 100 words", unit="per 100 words"),
    "prompt_align": MetricFacts("Prompt align", "share of focused prompts whose every dimension is addressed"),
    "empty_rate": MetricFacts("Empty", "share of empty critiques", higher_is_better=False),
    "truncated_rate": MetricFacts("Truncated", "share of critiques cut off", higher_is_better=False),
    "wordless_rate": MetricFacts("Wordless", "share of critiques with text and no word", higher_is_better=False),
    **REPLY_FACTS,
}
_SHARES = frozenset({"prompt_align", "empty_rate", "truncated_rate", "wordless_rate"})
BREAKDOWNS: Mapping[str, str] = {"domain": "Domain", "task_kind": "Kind of task"}


class _CritiqueCanvas(Benchmark):
    """Critiques; a record holds the lexical values, the data the references they come from."""

    name = "critiquecanvas"
    title = "CritiqueCanvas"
    summary = "Long critiques of photographs, paintings and virtual images, against expert references."
    order = 2
    settings = Settings
    metrics = METRICS
    breakdowns = BREAKDOWNS
    # of the lexical metrics the one with an error per item that needs no download: METEOR needs WordNet, BLEU is a
    # corpus value, and the encoders give other digits on other machines
    families = (Family("critiquecanvas", "Critiques", "rouge_l"),)
    gold_fields = ("domain", "instruction", "reference")
    late = EncoderMetrics()
    resources = ("wordnet",)

    def __init__(self) -> None:
        self.parser = critiques.parser_version()

    def variant_of(self, task: str) -> str:
        match = re.match(rf"critiquecanvas_({'|'.join(DOMAINS)})", task)
        return match[1] if match else ""

    def expected(self, counts: Mapping[str, float], variant: str) -> int | None:
        name = variant or "critiques"
        return int(counts[name]) if name in counts else None

    def documents(self, task: Task, rows: Sequence[Mapping[str, Any]]) -> dict[str, Document]:
        kept = [row for row in rows if task.variant in ("", row["domain"])]
        return {row["id"]: {**row, "source": task.card} for row in kept}

    def document(self, task: Task, record: Mapping[str, Any]) -> Document:
        item = critiques.item_of_record(record)
        style = item.style
        counts = (*item.lexical.bleu.as_list(), style.words, style.reference_words, *style.mentions.values())
        if max(counts) > MAX_COUNT:
            raise ValueError(f"a count is {max(counts)}: {MAX_COUNT} is the most")
        plain_text(record, "id", empty=False)
        plain_text(record, "domain", MAX_GROUP_CHARS)
        return {"id": item.id, "domain": item.domain}

    def read(self, task: Task, document: Document, response: str, record: Mapping[str, Any]) -> ScoredResponse:
        text = critiques.critique_text(response)
        critique_id, domain = str(document["id"]), str(document["domain"])
        words = _lexicon() if "reference" in document else None
        if words is not None:
            item = critiques.score_critique(
                critique_id, domain, response, document["reference"], document["instruction"], words
            )
        else:
            given = critiques.item_of_record(record)
            reference, instruction = document.get("reference"), document.get("instruction", "")
            style = critique_style(text, reference or "", instruction)
            lexical = given.lexical
            if reference is not None:  # WordNet alone is missing
                lexical = LexicalScores(bleu_statistics(text, reference), rouge_l(text, reference), lexical.meteor)
            else:
                kept = {"reference_words": given.style.reference_words, "focus": given.style.focus}
                style = type(style)(**{**style.__dict__, **kept})
            item = CritiqueItem(critique_id, domain, lexical, style, reply_facts(response))
        return ScoredResponse(item, critiques.record_of(item), text)

    def figures(self, task: Task, items: Sequence[CritiqueItem]) -> Figures:
        ordered = sorted(items, key=lambda item: item.id)
        domains = {name: members for name, members in by_group(ordered, lambda item: item.domain).items() if name}
        breakdown = {name: _metrics(members) for name, members in domains.items()} if len(domains) > 1 else {}
        metrics = _metrics(ordered) | reply_metrics((item.id, item) for item in ordered)
        return Figures(metrics, {"domain": breakdown} if breakdown else {})

    def resource_versions(self) -> dict[str, str]:
        words = _lexicon()
        return {} if words is None else {"wordnet": words.version}

    def unchecked(self, with_data: bool) -> dict[str, str]:
        if not with_data:
            return dict.fromkeys(
                (*critiques.LEXICAL_METRICS, "len_ref", "prompt_align"),
                "added up from the records: references and instructions are in the data (--data)",
            )
        if _lexicon() is None:
            return {"meteor": "added up from the records: WordNet is missing (`lmms-aes data fetch wordnet`)"}
        return {}

    def flags(self, items: Sequence[CritiqueItem], answers: Sequence[Hashable]) -> list[str]:
        found = []
        n = len(answers)
        if n >= _FEWEST_FOR_CONSTANT:
            (_, most), *_ = collections.Counter(answers).most_common(1)
            if most > _SAME_CRITIQUES * n:
                found.append(f"{most} of {n} critiques are the same text: a constant, or a broken run?")
        copies = [item.id for item in items if _is_copy(item)]
        if copies:
            shown = ", ".join(copies[:5])
            found.append(f"{len(copies)} critiques equal their reference ({shown}): was it shown?")
        return found

    def prompts(self, predictions: Sequence[Prediction], images: Mapping[str, Any]) -> list[PromptUse]:
        """The prompt is each record's own instruction: the digest is over ids and instructions."""
        given = sorted((item.id, item.prompt) for item in predictions if item.prompt is not None)
        plain = not any(key.startswith(("pre_", "post_")) for key in images)
        if plain and len(given) == len(predictions):
            return [PromptUse(id=INSTRUCTION, sha256=lines_sha256(map(list, given)), n=len(given))]
        return [PromptUse(id="other", n=len(predictions))]

    def prompt_problems(self, uses: Iterable[PromptUse], data: Data) -> list[str]:
        ours = lines_sha256([item, document["instruction"]] for item, document in sorted(data.documents.items()))
        return [
            f"{INSTRUCTION} has the digest {use.sha256}, the data's {ours}"
            for use in uses
            if use.id == INSTRUCTION and use.sha256 != ours
        ]

    def compared(self, rows: Sequence[Row]) -> list[Item]:
        items = []
        for row in rows:
            item = critiques.item_of_record(row.record)
            sums = {
                "bleu": tuple(map(float, item.lexical.bleu.as_list())),
                "rouge_l": (item.lexical.rouge_l, 1.0),
                "meteor": (item.lexical.meteor, 1.0),
                "avg_length": (float(item.style.words), 1.0),
                "dim_hits": (float(len(item.style.mentions)), 1.0),
                **{name: (value, 1.0) for name, value in self.late.of_record(row.record).items()},
            }
            gold = f"{item.style.reference_words} words, focus {', '.join(sorted(item.style.focus))}"
            items.append(Item(row.id, gold, sums, {"domain": item.domain} if item.domain else {}))
        return items

    def published(self) -> list[BoardRow]:
        from lmms_aes_tasks.critiquecanvas.published import published_rows

        return published_rows()

    def board_plots(self, rows: Sequence[BoardRow]) -> list[Plot]:
        from lmms_aes_tasks.critiquecanvas.plots import cross_plots

        return cross_plots(rows)

    def checks(self) -> list[Check]:
        from lmms_aes_tasks.critiquecanvas.checks import encoder_checks, wordnet_check

        return [wordnet_check(), *encoder_checks()]


def _lexicon() -> Lexicon | None:
    try:
        return critiques.lexicon()
    except WordNetError:
        return None


def _is_copy(item: CritiqueItem) -> bool:
    """Whether a critique is its reference, word for word."""
    lexical = item.lexical
    return lexical.rouge_l == 1.0 and lexical.bleu.counts == lexical.bleu.totals and bool(lexical.bleu.length)


def _metrics(items: Sequence[CritiqueItem]) -> dict[str, Metric]:
    scored = Scored(tuple(items))
    metrics = {}
    for name in computed(scored):
        score, facts = metric_score(scored, name, RESAMPLES, SEED), METRICS[name]
        if name in _SHARES:
            metrics[name] = share_metric(facts, score.value, score.n, score.interval)
        else:
            each = [(item.id, _part(item, name)) for item in critiques.entering(items, name)]
            metrics[name] = item_metric(facts, score.value, each, n=score.n, interval=score.interval)
    return metrics


def _part(item: CritiqueItem, name: str) -> Any:
    """What one critique adds to a metric that is no share."""
    style = item.style
    return {
        "bleu": item.lexical.bleu.as_list(),
        "rouge_l": item.lexical.rouge_l,
        "meteor": item.lexical.meteor,
        "avg_length": style.words,
        "len_ref": [style.words, style.reference_words],
        "dim_hits": len(style.mentions),
        "density": [sum(style.mentions.values()), style.words],
    }[name]


BENCHMARK = _CritiqueCanvas()
