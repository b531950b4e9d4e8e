"""FineArtBench as the leaderboard and the commands ask for it."""

from __future__ import annotations

import collections
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from lmms_aes_tasks.board.benchmark import (
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
from lmms_aes_tasks.board.checks import DataReport
from lmms_aes_tasks.board.digests import lines_sha256
from lmms_aes_tasks.board.figures import (
    REPLY_FACTS,
    counted_metric,
    item_metric,
    number_field,
    number_within,
    plain_text,
    reply_metrics,
    text_field,
)
from lmms_aes_tasks.board.fingerprint import LocalData
from lmms_aes_tasks.board.schema import BoardRow, Metric
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.fineartbench import files
from lmms_aes_tasks.fineartbench import task as hooks
from lmms_aes_tasks.fineartbench.prompts import Settings
from lmms_aes_tasks.records import OTHER_PROFILE
from lmms_aes_tasks.sources import SourceCard, read_card
from lmms_aes_tasks.utils import alignment
from lmms_aes_tasks.utils.answers import PARSER_VERSION
from lmms_aes_tasks.utils.errors import bulleted
from lmms_aes_tasks.utils.sums import ratio

MAX_METHODS = 20
"""The benchmark has ten; a ranking of thousands, which a hostile entry could ask for, would take hours."""
MAX_INDEX = 1_000_000

_PROTOCOLS: Mapping[alignment.Protocol, str] = {
    "official": "the authors' protocol",
    "aligned": "joined by id, ties share ranks",
}
_RATINGS = {"bt": "Bradley–Terry", "elo": "Elo"}
_LEVELS = {"global": "artist", "instance": "task"}
"""What is ranked, by the mode of sampling."""


def _rho_facts(level: str, rating: str, protocol: alignment.Protocol) -> MetricFacts:
    prior = ", with a weak prior" if (level, rating, protocol) == ("task", "bt", "aligned") else ""
    return MetricFacts(
        f"{level.title()} {_RATINGS[rating]} ρ, {protocol}",
        f"Spearman correlation of the {_RATINGS[rating]} ranking with experts', {_PROTOCOLS[protocol]}{prior}",
        unit="rho",
    )


def _p_facts(level: str, rating: str, protocol: alignment.Protocol) -> MetricFacts:
    return MetricFacts(
        f"{level.title()} {_RATINGS[rating]} p, {protocol}",
        f"p-value of the correlation with experts, {_PROTOCOLS[protocol]}",
        unit="p",
        higher_is_better=None,
    )


_KINDS = [(level, rating, protocol) for level in _LEVELS.values() for rating in _RATINGS for protocol in _PROTOCOLS]
METRICS: Mapping[str, MetricFacts] = {
    **{f"{level}_{rating}_rho_{protocol}": _rho_facts(level, rating, protocol) for level, rating, protocol in _KINDS},
    "pair_agreement": MetricFacts(
        "Pair agreement", "share of pairs decided as by experts", of_sums=ratio, right_wrong=True
    ),
    "left_rate": MetricFacts("Left rate", "share of answers for the left painting", higher_is_better=None),
    "parse_rate": MetricFacts("Parsed", "share of responses an answer could be read from"),
    "missing_pairs": MetricFacts("Missing pairs", "pairs that were not judged", unit="count", higher_is_better=False),
    **REPLY_FACTS,
    **{f"{level}_{rating}_p_{protocol}": _p_facts(level, rating, protocol) for level, rating, protocol in _KINDS},
}
BREAKDOWNS: Mapping[str, str] = {"artist": "Artist"}


class _FineArtBench(Benchmark):
    """Pairs of one mode; a record holds the experts' judgement."""

    name = "fineartbench"
    title = "FineArtBench 2AFC"
    summary = "Which of two stylised paintings is better, and how far the resulting rankings agree with experts'."
    order = 4
    parser = PARSER_VERSION
    settings = Settings
    metrics = METRICS
    breakdowns = BREAKDOWNS
    resampled = False  # Wilson's intervals
    # how far a model ranks methods as the experts do; of the two protocols `aligned` is the sound reading
    families = (
        Family("fineartbench_2afc_global", "Artist level: methods ranked over all tasks", "artist_elo_rho_aligned"),
        Family("fineartbench_2afc_instance", "Task level: paintings ranked within a task", "task_elo_rho_aligned"),
    )
    importable = False

    def variant_of(self, task: str) -> str:
        match = re.match(rf"fineartbench_2afc_({'|'.join(_LEVELS)})", task)
        return match[1] if match else ""

    def expected(self, counts: Mapping[str, float], variant: str) -> int | None:
        return int(counts[f"pairs_{variant}"]) if f"pairs_{variant}" in counts else None

    def data_place(self, card: SourceCard, root: Path | None) -> Path | None:
        return files.at_hand(card, root)

    def data(self, task: Task, local: LocalData, required: bool = False) -> Data | None:
        """Pairs with the experts' judgements; the fingerprint is over them and the JSON files, not over paintings."""
        folder = files.at_hand(read_card(task.card), local.root)
        if folder is None:
            return None
        names = (
            f"2AFC_{task.variant}_N_5000.json",
            f"{task.variant}_annotation.json",
            "content_style_combination.json",
        )
        paths = {name: files.find_file(folder, name) for name in names}
        pairs = files.judgements_of(files.read_json(paths[names[0]]), names[0], judged=False)
        humans = files.judgements_of(files.read_json(paths[names[1]]), names[1])
        files.same_pairs(pairs, humans, names[1])
        documents = {
            f"{task.variant}-{human.id}": {
                "id": f"{task.variant}-{human.id}",
                "number": human.id,
                "content_index": human.content,
                "style_index": human.style,
                "method_left": human.left,
                "method_right": human.right,
                "human": human.winner,
            }
            for human in sorted(humans, key=lambda judgement: judgement.id)
        }
        digests = [[name, hashlib.sha256(path.read_bytes()).hexdigest()] for name, path in paths.items()]
        return Data(documents, lines_sha256([*documents.values(), *digests]))

    def check_data(self, card: SourceCard, data: Path | None, progress: bool) -> DataReport:
        """Join every pair to its files, and decode those that are there."""
        root = data or files.root_folder(card)
        joined = {mode: files.join_pairs(root, mode) for mode in get_args(files.Mode)}
        counts, missing = hooks.count_files(joined)
        pairs = [pair for mode_pairs in joined.values() for pair in mode_pairs]
        checked = files.check_images(pairs, progress=progress)
        nameless = [
            f"{mode}, {problem}" for mode, mode_pairs in joined.items() for problem in files.style_problems(mode_pairs)
        ]
        problems = []
        if checked.problems:
            problems.append(f"{len(checked.problems)} image(s) do not decode:\n{bulleted(checked.problems)}")
        if nameless:
            problems.append(
                f"{len(nameless)} pair(s) lack the name of their style, which the prompts ask about unless the setting "
                f"style is false:\n{bulleted(nameless)}"
            )
        lacking = sum(not pair.complete for pair in pairs)
        if lacking:
            problems.append(
                f"{root}: {lacking} of {len(pairs)} pairs lack images. `score fineartbench` needs none; a run needs "
                f"them, or leaves such pairs out and counts them (docs/fineartbench.md, allow_missing)."
            )
        methods = sorted({method for by_method in missing.values() for method in by_method})
        rows = [(method, *(str(missing[mode].get(method, 0)) for mode in missing)) for method in methods]
        return DataReport(
            root,
            counts,
            tables={"Missing files": (("method", *missing), tuple(rows or [("none", *("0" for _ in missing))]))},
            remarks=(f"{checked.other_profiles} of {checked.images} {OTHER_PROFILE}",)
            if checked.other_profiles
            else (),
            details={
                "missing": missing,
                "damaged": checked.problems,
                "without_style": nameless,
                "remarks": {OTHER_PROFILE: checked.other_profiles} if checked.other_profiles else {},
            },
            problems=tuple(problems),
        )

    def document(self, task: Task, record: Mapping[str, Any]) -> Document:
        number = number_within(record, "number", 0, MAX_INDEX)
        left, right = (plain_text(record, f"method_{side}", 100, empty=False) for side in ("left", "right"))
        if left == right:
            raise ValueError(f"method_left and method_right are both {left!r}: give two methods")
        if record.get("human") not in {"left", "right", "skipped", ""}:
            raise ValueError(f'human is {printable(repr(record.get("human")), 80)}: use left, right, skipped or ""')
        return {
            "id": f"{task.variant}-{number}",
            "number": number,
            "content_index": number_within(record, "content_index", 0, MAX_INDEX),
            "style_index": number_within(record, "style_index", 0, MAX_INDEX),
            "method_left": left,
            "method_right": right,
            "human": record["human"],
        }

    def read(self, task: Task, document: Document, response: str, record: Mapping[str, Any]) -> ScoredResponse:
        results = getattr(hooks, f"process_results_{task.variant}")(document, [response])
        pair: hooks.Pair = results["parse_rate"]
        return ScoredResponse(pair, results["record"], pair.model or None)

    def figures(self, task: Task, items: Sequence[hooks.Pair]) -> Figures:
        pairs = sorted(items, key=lambda pair: pair.number)
        human, model = ([pair.judgement(side) for pair in pairs] for side in ("human", "model"))
        methods = alignment.methods_of(human)
        if len(methods) > MAX_METHODS:
            raise ValueError(f"{len(methods)} methods: FineArtBench has 10, and {MAX_METHODS} are allowed")
        metrics: dict[str, Metric] = {}
        for protocol in _PROTOCOLS:
            metrics |= _correlations(pairs, _LEVELS[task.variant], protocol)
        read = sum(pair.model != "" for pair in pairs)
        metrics["pair_agreement"] = counted_metric(METRICS["pair_agreement"], *alignment.pair_agreement(human, model))
        metrics["left_rate"] = counted_metric(METRICS["left_rate"], *alignment.left_share(model))
        metrics["parse_rate"] = counted_metric(METRICS["parse_rate"], read, len(pairs))
        metrics |= reply_metrics((f"{pair.number:07d}", pair) for pair in pairs)
        by_artist = {}
        for method in methods:
            shown = [[pair for pair in side if method in (pair.left, pair.right)] for side in (human, model)]
            agreement = alignment.pair_agreement(shown[0], shown[1])
            by_artist[method] = {"pair_agreement": counted_metric(METRICS["pair_agreement"], *agreement)}
        return Figures(metrics, {"artist": by_artist}, read / len(pairs) if pairs else None)

    def compared(self, rows: Sequence[Row]) -> list[Item]:
        """Only pairs that the experts decided enter; ratings and their ρ are no sums of pairs, and are left out."""
        items = []
        for row in rows:
            human, winner = text_field(row.record, "human"), text_field(row.record, "winner")
            sums = {"pair_agreement": (float(human == winner), 1.0)} if human in {"left", "right"} else {}
            groups = {
                "content": str(number_field(row.record, "content_index")),
                "style": str(number_field(row.record, "style_index")),
            }
            items.append(Item(row.id, human, sums, groups))
        return items

    def published(self) -> list[BoardRow]:
        from lmms_aes_tasks.fineartbench.published import published_rows

        return published_rows()


def _correlations(pairs: Sequence[hooks.Pair], level: str, protocol: alignment.Protocol) -> dict[str, Metric]:
    """ρ and p of both ratings under one protocol."""
    each = [(f"{pair.number:07d}", [pair.human, pair.model]) for pair in pairs]
    aligned = hooks.align(pairs, level, protocol)
    metrics = {}
    for rating in ("elo", "bt"):
        reasons = collections.Counter(part.problems.get(rating, "") for part in aligned.parts)
        reason = "; ".join(text for text, _ in reasons.most_common(2) if text) or "nothing to compare is left"
        for kind in ("rho", "p"):
            name = f"{level}_{rating}_{kind}_{protocol}"
            value = getattr(aligned, f"{rating}_{kind}")
            metrics[name] = item_metric(METRICS[name], value, each, reason=reason)
    return metrics


BENCHMARK = _FineArtBench()
