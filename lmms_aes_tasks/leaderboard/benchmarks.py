"""How a task's responses become figures: one adapter a benchmark, around the very functions that the harness calls.

An adapter turns a record back into the document that scoring needs (or takes the data's), reads one response with the
benchmark's `process_results`, and puts the figures of all items together. Build and verification use nothing else.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lmms_aes_tasks.board.digests import per_item_sha256
from lmms_aes_tasks.board.schema import Metric, Unit
from lmms_aes_tasks.contextcanvas import task as contextcanvas
from lmms_aes_tasks.critiquecanvas import items as critiquecanvas
from lmms_aes_tasks.critiquecanvas.scoring import Scored, computed, metric_score
from lmms_aes_tasks.fineartbench import task as fineartbench
from lmms_aes_tasks.leaderboard.safe_reading import is_plain, printable
from lmms_aes_tasks.leaderboard.tasks import Task
from lmms_aes_tasks.utils import alignment, selection
from lmms_aes_tasks.utils.answers import PARSER_VERSION
from lmms_aes_tasks.utils.critique_style import critique_style
from lmms_aes_tasks.utils.dimensions import triggers
from lmms_aes_tasks.utils.permutations import TRIALS, trial_permutations
from lmms_aes_tasks.utils.selection import PositionTest, SelectionScore, Trial
from lmms_aes_tasks.utils.significance import Interval, wilson_interval
from lmms_aes_tasks.utils.suitability import Decision, Score, suitability_score, suitability_scores
from lmms_aes_tasks.utils.text_metrics import LexicalScores, bleu_statistics, rouge_l
from lmms_aes_tasks.utils.wordnet import Lexicon, WordNetError
from lmms_aes_tasks.vab import task as vab

RESAMPLES = 1_000
"""Bootstrap resamples of an entry's intervals, seed 0: an end has a Monte-Carlo error of about a fifteenth of the
interval's width, and a verifier computes every interval of a full entry again in seconds."""
SEED = 0
MAX_METHODS = 20
"""FineArtBench has ten; a ranking of thousands, which a hostile entry could ask for, would take hours."""
MAX_INDEX = 1_000_000
MAX_COUNT = 1_000_000
"""Words and n-grams of a critique, whose text has at most a million characters."""
MAX_ID_CHARS = 1_000
MAX_GROUP_CHARS = 200
"""A group of a breakdown is a name in the entry's form."""

Document = Mapping[str, Any]
Breakdowns = dict[str, dict[str, dict[str, Metric]]]


@dataclass(frozen=True)
class Read:
    """One response, read.

    Attributes:
        item: What the benchmark's scores are computed from.
        record: The record, computed anew.
        answer: What was answered, as far as an implausible constancy can be seen in it; None when nothing was read.
    """

    item: Any
    record: dict[str, Any]
    answer: Hashable


@dataclass(frozen=True)
class Figures:
    """The figures of a task.

    Attributes:
        metrics: By name.
        breakdowns: By breakdown, group and name.
        parse_rate: Share of items whose answer was read; None where nothing is parsed.
    """

    metrics: dict[str, Metric]
    breakdowns: Breakdowns = field(default_factory=dict)
    parse_rate: float | None = None


class Adapter(Protocol):
    """A benchmark, as build and verification see it."""

    parser: str

    def document(self, record: Mapping[str, Any]) -> Document:
        """The document that a record is about; raises ValueError where the record does not hold it."""

    def read(self, document: Document, response: str, record: Mapping[str, Any]) -> Read:
        """Read one response; `record` is the one that was given, for what the document alone cannot tell."""

    def figures(self, items: Sequence[Any]) -> Figures:
        """Every figure of a task's items, in any order."""

    def unchecked(self, with_data: bool) -> dict[str, str]:
        """Metrics that are taken over and not computed anew, with the reason."""


# -- Small parts ------------------------------------------------------------------------------------------------------


def _share(value: float | None, n: int, interval: Interval | None, better: bool | None = True) -> Metric:
    """A share with its numerator and denominator, which are whole numbers."""
    if value is None:
        return Metric(value=None, n=n, higher_is_better=better, reason="no item enters it")
    return Metric(
        value=value,
        n=n,
        numerator=float(round(value * n)),
        denominator=float(n),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        higher_is_better=better,
    )


def _figure(
    value: float | None,
    items: Iterable[tuple[str, Any]],
    *,
    n: int | None = None,
    interval: Interval | None = None,
    unit: Unit = "fraction",
    better: bool | None = True,
    reason: str = "no item enters it",
) -> Metric:
    """A figure that is no share, with the digest of what it is computed from, item by item."""
    values = list(items)
    return Metric(
        value=value,
        n=len(values) if n is None else n,
        per_item_sha256=per_item_sha256(values),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        unit=unit,
        higher_is_better=better,
        reason=reason[:2_000] if value is None else None,
    )


def _counted(count: int, n: int, better: bool | None = True) -> Metric:
    """A share with its Wilson interval."""
    return _share(count / n if n else None, n, wilson_interval(count, n) if n else None, better)


def _text_of(record: Mapping[str, Any], name: str, longest: int = MAX_ID_CHARS, empty: bool = True) -> str:
    value = record.get(name)
    if not isinstance(value, str) or len(value) > longest or not is_plain(value) or not (value or empty):
        raise ValueError(
            f"{name} is {printable(repr(value), 80)}: give a text of up to {longest} visible characters without < and >"
        )
    return value


def _number_of(record: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is {printable(repr(value), 80)}: give a whole number from {least} to {most}")
    return value


def _groups(items: Iterable[Any], key: Callable[[Any], str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return dict(sorted(found.items()))


# -- ContextCanvas ----------------------------------------------------------------------------------------------------


class _ContextCanvas:
    """Cases of 2 to 26 options; a record holds options and gold label."""

    parser = PARSER_VERSION

    def document(self, record: Mapping[str, Any]) -> Document:
        options = record.get("options")
        pairs = [
            (pair[0], pair[1])
            for pair in (options if isinstance(options, list) else [])
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
        ]
        letters = [chr(ord("A") + place) for place in range(len(pairs))]
        whole = isinstance(options, list) and len(pairs) == len(options)
        if not whole or not 2 <= len(pairs) <= contextcanvas.MAX_OPTIONS or [own for own, _ in pairs] != letters:
            raise ValueError("options are no list of [id, text] with ids A, B, … of 2 to 26 options")
        if record.get("gold") not in letters:
            raise ValueError(f"gold is {printable(repr(record.get('gold')), 80)}: use one of {', '.join(letters)}")
        return {
            "id": _text_of(record, "id", empty=False),
            "options": [{"id": option_id, "text": text} for option_id, text in pairs],
            "gold": record["gold"],
        }

    def read(self, document: Document, response: str, record: Mapping[str, Any]) -> Read:
        found = contextcanvas.process_results(document, [response])
        decision: Decision = found["accuracy"]
        return Read(decision, found["record"], decision.answer)

    def figures(self, items: Sequence[Decision]) -> Figures:
        scores = suitability_scores(items, RESAMPLES, SEED)
        two_option = [item for item in items if len(item.options) == 2]
        judged = [(item.id, [item.gold, item.answer]) for item in two_option]
        metrics = {}
        for name, score in scores.items():
            if name in {"accuracy", "parse_rate", "yes_rate"}:
                metrics[name] = self._of(score, None if name == "yes_rate" else True)
            else:
                metrics[name] = _figure(score.value, judged, interval=score.interval)
        by_size = _groups(items, lambda item: str(len(item.options)))
        breakdown = {
            size: {name: self._of(suitability_score(own, name, RESAMPLES, SEED)) for name in ("accuracy", "parse_rate")}
            for size, own in by_size.items()
        }
        return Figures(metrics, {"n_options": breakdown}, scores["parse_rate"].value)

    @staticmethod
    def _of(score: Score, better: bool | None = True) -> Metric:
        return _share(score.value, score.n, score.interval, better)

    def unchecked(self, with_data: bool) -> dict[str, str]:
        return {}


# -- CritiqueCanvas ---------------------------------------------------------------------------------------------------


_BETTER: Mapping[str, bool | None] = {
    **dict.fromkeys((*critiquecanvas.LEXICAL_METRICS, *critiquecanvas.EMBEDDING_METRICS, "prompt_align"), True),
    **dict.fromkeys(("avg_length", "len_ref", "dim_hits", "density"), None),
    **dict.fromkeys(("empty_rate", "truncated_rate", "wordless_rate"), False),
}
_UNITS: Mapping[str, Unit] = {
    "avg_length": "words",
    "len_ref": "ratio",
    "dim_hits": "dimensions",
    "density": "per 100 words",
}


def _lexicon() -> Lexicon | None:
    try:
        return critiquecanvas.lexicon()
    except WordNetError:
        return None


class _CritiqueCanvas:
    """Critiques; a record holds the lexical values, the data the references they come from."""

    def __init__(self) -> None:
        self.parser = triggers().version

    def document(self, record: Mapping[str, Any]) -> Document:
        item = critiquecanvas.item_of_record(record)
        style = item.style
        counts = (*item.lexical.bleu.as_list(), style.words, style.reference_words, *style.mentions.values())
        if max(counts) > MAX_COUNT:
            raise ValueError(f"a count is {max(counts)}: {MAX_COUNT} is the most")
        _text_of(record, "id", empty=False)
        _text_of(record, "domain", MAX_GROUP_CHARS)
        return {"id": item.id, "domain": item.domain}

    def read(self, document: Document, response: str, record: Mapping[str, Any]) -> Read:
        text = critiquecanvas.critique_text(response)
        own_id, domain = str(document["id"]), str(document["domain"])
        words = _lexicon() if "reference" in document else None
        if words is not None:
            item = critiquecanvas.score_critique(
                own_id, domain, response, document["reference"], document["instruction"], words
            )
        else:
            given = critiquecanvas.item_of_record(record)
            reference, instruction = document.get("reference"), document.get("instruction", "")
            style = critique_style(text, reference or "", instruction)
            lexical = given.lexical
            if reference is not None:  # WordNet alone is missing
                lexical = LexicalScores(bleu_statistics(text, reference), rouge_l(text, reference), lexical.meteor)
            else:
                kept = {"reference_words": given.style.reference_words, "focus": given.style.focus}
                style = type(style)(**{**style.__dict__, **kept})
            item = critiquecanvas.CritiqueItem(own_id, domain, lexical, style)
        return Read(item, critiquecanvas.record_of(item), text)

    def figures(self, items: Sequence[critiquecanvas.CritiqueItem]) -> Figures:
        ordered = sorted(items, key=lambda item: item.id)
        domains = {name: own for name, own in _groups(ordered, lambda item: item.domain).items() if name}
        breakdown = {name: self._metrics(own) for name, own in domains.items()} if len(domains) > 1 else {}
        return Figures(self._metrics(ordered), {"domain": breakdown} if breakdown else {})

    def _metrics(self, items: Sequence[critiquecanvas.CritiqueItem]) -> dict[str, Metric]:
        scored = Scored(tuple(items), {}, {}, {})
        made = {}
        for name in computed(scored):
            score, better = metric_score(scored, name, RESAMPLES, SEED), _BETTER[name]
            if name in {"prompt_align", "empty_rate", "truncated_rate", "wordless_rate"}:
                made[name] = _share(score.value, score.n, score.interval, better)
            else:
                each = [(item.id, _critique_value(item, name)) for item in items]
                unit = _UNITS.get(name, "fraction")
                made[name] = _figure(score.value, each, n=score.n, interval=score.interval, unit=unit, better=better)
        return made

    def unchecked(self, with_data: bool) -> dict[str, str]:
        reasons: dict[str, str] = {}
        if not with_data:
            reasons = dict.fromkeys(
                (*critiquecanvas.LEXICAL_METRICS, "len_ref", "prompt_align"),
                "added up from the records: references and instructions are in the data (--data)",
            )
        elif _lexicon() is None:
            reasons["meteor"] = "added up from the records: WordNet is missing (`lmms-aes data fetch wordnet`)"
        return reasons


def _critique_value(item: critiquecanvas.CritiqueItem, name: str) -> Any:
    """What one critique adds to a metric."""
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


# -- VAB --------------------------------------------------------------------------------------------------------------


def _chosen_positions(test: PositionTest) -> dict[str, dict[str, Metric]]:
    """Where the chosen image (of TB-1 the best) stood, from 1, as shares of the answers that were read.

    Without intervals: the three trials of a task are not independent.
    """
    every = itertools.zip_longest(*test.counts.values(), fillvalue=0)
    counts = [sum(place) for place in every]
    n = sum(counts)
    return {str(place): {"share": _share(count / n, n, None, None)} for place, count in enumerate(counts, 1)}


class _Vab:
    """Trials of one question; a record holds the task and its labels, and the order follows from the task's id."""

    parser = PARSER_VERSION

    def __init__(self, question: str) -> None:
        self.question = question

    def document(self, record: Mapping[str, Any]) -> Document:
        task_id = _text_of(record, "task_id", empty=False)
        n_images = _number_of(record, "n_images", vab.MIN_IMAGES, vab.MAX_IMAGES)
        trial = _number_of(record, "trial", 0, TRIALS - 1)
        best, worst = record.get("ground_truth_best"), record.get("ground_truth_worst")
        problems = vab.task_problems(task_id, n_images, best, worst)
        if problems:
            raise ValueError(printable("; ".join(problems)))
        return {
            "id": f"{task_id}#{trial}",
            "task_id": task_id,
            "trial": trial,
            "question": self.question,
            "prompt_type": vab.asked(self.question, n_images),
            "permutation": trial_permutations(task_id, n_images)[trial],
            "domain": _text_of(record, "domain", MAX_GROUP_CHARS),
            "substyle": _text_of(record, "substyle", MAX_GROUP_CHARS),
            "n_images": n_images,
            "ground_truth_best": best,
            "ground_truth_worst": worst,
        }

    def read(self, document: Document, response: str, record: Mapping[str, Any]) -> Read:
        found = vab.process_results(document, [response])
        trial: Trial = found["ap@1"]
        return Read(trial, found["record"], trial.positions)

    def figures(self, items: Sequence[Trial]) -> Figures:
        read = selection.parse_rate(items)
        incomplete = selection.incomplete_tasks(items)
        positions = selection.position_test(items)
        metrics = self._scores(items)
        if self.question == "tb1":
            for place, name in enumerate(("best", "worst")):
                part = self._scores(selection.part(items, place))
                metrics |= {f"{name}_{metric}": own for metric, own in part.items()}
        metrics |= {
            "parse_rate": _share(read.value, read.n, None),
            "strict_parse_rate": self._of(selection.parse_rate(items, strict=True)),
            "order_flip_rate": self._of(selection.order_flip_rate(items, RESAMPLES, SEED), better=False),
            "incomplete_tasks": _figure(
                float(len(incomplete)), [(name, True) for name in incomplete], unit="count", better=False
            ),
            "position_p": _figure(
                positions.p,
                [(str(item), list(item.positions)) for item in items if item.positions is not None],
                unit="p",
                better=None,
                reason="no answer was read",
            ),
        }
        breakdowns: Breakdowns = {
            name: {group: self._scores(own) for group, own in _groups(items, key).items() if group}
            for name, key in (
                ("domain", lambda item: item.domain),
                ("n_images", lambda item: str(item.n_images)),
                ("substyle", lambda item: item.substyle),
            )
        }
        if positions.counts:
            breakdowns["chosen_position"] = _chosen_positions(positions)
        return Figures(metrics, breakdowns, read.value)

    def _scores(self, items: Sequence[Trial]) -> dict[str, Metric]:
        return {
            "ap@1": self._of(selection.ap_at_1(items, RESAMPLES, SEED)),
            "pass^3": self._of(selection.pass_pow_3(items, RESAMPLES, SEED)),
        }

    @staticmethod
    def _of(score: SelectionScore, better: bool | None = True) -> Metric:
        return _share(score.value, score.n, score.interval, better)

    def unchecked(self, with_data: bool) -> dict[str, str]:
        return {}


# -- FineArtBench -----------------------------------------------------------------------------------------------------


class _FineArtBench:
    """Pairs of one mode; a record holds the experts' judgement."""

    parser = PARSER_VERSION

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.level = "artist" if mode == "global" else "task"

    def document(self, record: Mapping[str, Any]) -> Document:
        number = _number_of(record, "number", 0, MAX_INDEX)
        left, right = (_text_of(record, f"method_{side}", 100, empty=False) for side in ("left", "right"))
        if left == right:
            raise ValueError(f"method_left and method_right are both {left!r}: give two methods")
        if record.get("human") not in {"left", "right", "skipped", ""}:
            raise ValueError(f'human is {printable(repr(record.get("human")), 80)}: use left, right, skipped or ""')
        return {
            "id": f"{self.mode}-{number}",
            "number": number,
            "content_index": _number_of(record, "content_index", 0, MAX_INDEX),
            "style_index": _number_of(record, "style_index", 0, MAX_INDEX),
            "method_left": left,
            "method_right": right,
            "human": record["human"],
        }

    def read(self, document: Document, response: str, record: Mapping[str, Any]) -> Read:
        process = getattr(fineartbench, f"process_results_{self.mode}")
        found = process(document, [response])
        pair: fineartbench.Pair = found["parse_rate"]
        return Read(pair, found["record"], pair.model or None)

    def figures(self, items: Sequence[fineartbench.Pair]) -> Figures:
        pairs = sorted(items, key=lambda pair: pair.number)
        human, model = ([pair.judgement(side) for pair in pairs] for side in ("human", "model"))
        methods = alignment.methods_of(human)
        if len(methods) > MAX_METHODS:
            raise ValueError(f"{len(methods)} methods: FineArtBench has 10, and {MAX_METHODS} are allowed")
        each = [(f"{pair.number:07d}", [pair.human, pair.model]) for pair in pairs]
        metrics: dict[str, Metric] = {}
        for protocol in ("official", "aligned"):
            found = fineartbench.align(pairs, self.level, protocol)
            for rating in ("elo", "bt"):
                reasons = collections.Counter(part.problems.get(rating, "") for part in found.parts)
                reason = "; ".join(text for text, _ in reasons.most_common(2) if text) or "nothing to compare is left"
                kinds: tuple[tuple[str, Unit], ...] = (("rho", "rho"), ("p", "p"))
                for kind, unit in kinds:
                    metrics[f"{self.level}_{rating}_{kind}_{protocol}"] = _figure(
                        getattr(found, f"{rating}_{kind}"),
                        each,
                        unit=unit,
                        better=True if kind == "rho" else None,
                        reason=reason,
                    )
        read = sum(pair.model != "" for pair in pairs)
        metrics["pair_agreement"] = _counted(*alignment.pair_agreement(human, model))
        metrics["left_rate"] = _counted(*alignment.left_share(model), better=None)
        metrics["parse_rate"] = _counted(read, len(pairs))
        by_artist = {}
        for method in methods:
            own = [[j for j in side if method in (j.left, j.right)] for side in (human, model)]
            by_artist[method] = {"pair_agreement": _counted(*alignment.pair_agreement(own[0], own[1]))}
        return Figures(metrics, {"artist": by_artist}, read / len(pairs) if pairs else None)

    def unchecked(self, with_data: bool) -> dict[str, str]:
        return {}


def adapter_of(task: Task) -> Adapter:
    """The adapter of a task."""
    made: dict[str, Callable[[], Adapter]] = {
        "contextcanvas": _ContextCanvas,
        "critiquecanvas": _CritiqueCanvas,
        "vab": lambda: _Vab(task.variant),
        "fineartbench": lambda: _FineArtBench(task.variant),
    }
    return made[task.benchmark]()
