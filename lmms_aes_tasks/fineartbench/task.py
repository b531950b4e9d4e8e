"""FineArtBench 2AFC: which of two stylised images is better, and how far a model ranks methods as experts do.

Documents, messages, record and metrics (sections 3 to 5).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.fineartbench import files
from lmms_aes_tasks.fineartbench.prompts import Settings, first_text, image_note, step_text
from lmms_aes_tasks.records import SourceError
from lmms_aes_tasks.settings import read_settings
from lmms_aes_tasks.sources import read_card, stopping
from lmms_aes_tasks.utils import alignment
from lmms_aes_tasks.utils.aggregations import aggregation
from lmms_aes_tasks.utils.alignment import Alignment, Judgement
from lmms_aes_tasks.utils.answers import PARSER_VERSION, WinnerAnswer, parse_winner
from lmms_aes_tasks.utils.failed_requests import failed_request
from lmms_aes_tasks.utils.images import comparison_figure, load_image
from lmms_aes_tasks.utils.reply_facts import (
    FAILED,
    PLAIN_REPLY,
    REPLY_METRICS,
    ReplyFacts,
    failed_requests,
    reasoning_rate,
    reply_facts,
)

if TYPE_CHECKING:
    import datasets
    from PIL import Image


# -- Documents --------------------------------------------------------------------------------------------------------


def _documents(cards: datasets.Dataset, mode: files.Mode, allow_missing: bool) -> datasets.Dataset:
    import datasets

    card = read_card(str(cards[0]["name"]))
    with stopping(card):
        pairs = files.join_pairs(files.root_folder(card), mode)
        missing = [pair for pair in pairs if not pair.complete]
        if missing and not allow_missing:
            counts = ", ".join(f"{name} {count}" for name, count in files.missing_by_method(missing).items())
            raise SourceError(
                f"{card.title}: {len(missing)} of {len(pairs)} pairs lack an image (missing by method: {counts}). "
                f"`lmms-aes data check fineartbench` lists them. To leave these pairs out and have them counted, set "
                f"process_docs to lmms_aes_tasks.fineartbench.documents_{mode}_allow_missing in a YAML of yours."
            )
        if len(missing) == len(pairs):
            raise SourceError(f"{card.title}: no pair has its images. Put painting/ and base/images/ in place.")
        files.verify_images(card.name, [pair for pair in pairs if pair.complete])
    return datasets.Dataset.from_list(
        [
            {
                "id": f"{mode}-{pair.row['id']}",
                "number": pair.row["id"],
                "content_index": pair.row["content_index"],
                "style_index": pair.row["style_index"],
                "style_prompt": pair.style,
                "method_left": pair.row["method_left"],
                "method_right": pair.row["method_right"],
                "human": pair.human,
                "missing_pairs": len(missing),
                "source": str(pair.source),
                "left": str(pair.left),
                "right": str(pair.right),
            }
            for pair in pairs
            if pair.complete
        ]
    )


def documents_global(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs`: the pairs sampled globally; a pair without its images is an error."""
    return _documents(cards, "global", allow_missing=False)


def documents_instance(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs`: the pairs sampled per content–style task; a pair without its images is an error."""
    return _documents(cards, "instance", allow_missing=False)


def documents_global_allow_missing(cards: datasets.Dataset) -> datasets.Dataset:
    """The same with pairs without images left out and counted in `missing_pairs`."""
    return _documents(cards, "global", allow_missing=True)


def documents_instance_allow_missing(cards: datasets.Dataset) -> datasets.Dataset:
    """The same with pairs without images left out and counted in `missing_pairs`."""
    return _documents(cards, "instance", allow_missing=True)


# -- What the model sees ----------------------------------------------------------------------------------------------


def _images(doc: Mapping[str, Any], settings: Settings) -> list[Image.Image]:
    shown = [load_image(Path(doc[side]), icc=settings.icc) for side in ("left", "right")]
    source = load_image(Path(doc["source"]), icc=settings.icc) if settings.source else None
    if settings.separate_images:
        images = [source, *shown] if source is not None else shown
    else:
        images = [comparison_figure(source, shown[0], shown[1])]
    if settings.resolution == 1:
        return images
    return [
        image.resize(
            (max(1, round(image.width * settings.resolution)), max(1, round(image.height * settings.resolution)))
        )
        for image in images
    ]


def doc_to_visual(
    doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[Image.Image]:
    """The figure (source above, candidates below), or the images one by one; composed here and nowhere before."""
    return _images(doc, read_settings(Settings, lmms_eval_specific_kwargs))


def _first_text(doc: Mapping[str, Any], settings: Settings) -> str:
    """The text that a document begins with; a run that would ask about a style without a name is not begun."""
    with stopping(read_card("fineartbench")):
        return first_text(doc, settings)


def doc_to_text(
    doc: Mapping[str, Any],
    lmms_eval_specific_kwargs: Mapping[str, Any] | None = None,
    previous_output: Sequence[str] | None = None,
    round_idx: int | None = None,
    previous_round_info: Any = None,
) -> Any:
    """The prompt; in later rounds of ArtCoT, the harness's five values of a round.

    Returns:
        A text at first. In a later round (visuals, next text, whether it was the last, outputs, round info): the images
        stay, no round info is kept (it would replace a reply that is no dict), and after the last round the one output
        is a JSON transcript of all rounds, so that the samples file has every one. A first reply that is a transcript
        of these very steps, as a replayed samples file has it, stands for all of them. A request that failed ends the
        rounds: its text goes into no prompt, and the response is the harness's own mark.

    Raises:
        ValueError: Rounds are asked for, and the prompt has none.
        SystemExit: The style is asked about, and has no name.
    """
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    if round_idx is None or previous_output is None:
        return _first_text(doc, settings)
    if settings.prompt != "artcot":
        raise ValueError(
            f"prompt is {settings.prompt!r}, and generate_until_agentic asks in rounds: use prompt: artcot, or "
            "output_type: generate_until"
        )
    replies = ["" if reply is None else str(reply) for reply in previous_output]
    recorded = last_reply(replies[0])[1] if len(replies) == 1 else []
    if tuple(own.get("step") for own in recorded) == settings.steps:
        return None, None, True, replies, None
    if failed_request(replies[-1]):
        return None, None, True, replies, None
    if len(replies) < len(settings.steps):
        text = f"{settings.pre_prompt}{image_note(settings)}{step_text(doc, settings, replies)}{settings.post_prompt}"
        return None, text, False, None, None
    rounds = [{"step": step, "reply": reply} for step, reply in zip(settings.steps, replies, strict=False)]
    return None, None, True, [json.dumps({"rounds": rounds}, ensure_ascii=False)], None


def doc_to_messages(
    doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The image or images, then the text; separate images each after its name."""
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    images = _images(doc, settings)
    names = ["Source image:", "Left stylized image:", "Right stylized image:"][-len(images) :]
    content: list[dict[str, Any]] = []
    for name, image in zip(names, images, strict=True):
        if settings.separate_images:
            content.append({"type": "text", "text": name})
        content.append({"type": "image", "url": image})
    content.append({"type": "text", "text": _first_text(doc, settings)})
    return [{"role": "user", "content": content}]


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """How the experts judged the pair: `left`, `right`, `skipped`, or `""`."""
    return str(doc["human"])


# -- Scoring ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """One pair with both judgements.

    Attributes:
        number: Number of the pair, the question order.
        content: Content index.
        style: Style index.
        left: Method shown left.
        right: Method shown right.
        human: The experts' winner, `skipped` or "".
        model: The model's winner, or "" when no answer was read.
        missing_pairs: Pairs of the run that were left out for want of images.
        reply: Facts of the reply, of ArtCoT of all rounds; a pair with a failed round has no answer.
    """

    number: int
    content: int
    style: int
    left: str
    right: str
    human: str
    model: str
    missing_pairs: int = 0
    reply: ReplyFacts = PLAIN_REPLY

    def __str__(self) -> str:
        return str(self.number)

    def judgement(self, side: str) -> Judgement:
        """One side's judgement: `human` or `model`."""
        return Judgement(self.number, self.content, self.style, self.left, self.right, getattr(self, side))


def last_reply(response: str) -> tuple[str, list[dict[str, str]]]:
    """The reply that decides, and ArtCoT's rounds when the response is a transcript of them."""
    try:
        transcript = json.loads(response)
        rounds = transcript["rounds"]
        if isinstance(rounds, list) and rounds and all(isinstance(own["reply"], str) for own in rounds):
            return rounds[-1]["reply"], rounds
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return response, []


def read_pair(doc: Mapping[str, Any], response: str) -> tuple[Pair, str, list[dict[str, str]]]:
    """Parse one response: the pair, the rule that fired, and the rounds; the one path of harness and offline scorer."""
    reply, rounds = last_reply(response)
    facts = reply_facts(*(own["reply"] for own in rounds)) if rounds else reply_facts(reply)
    parsed = WinnerAnswer(None, FAILED) if facts.failed else parse_winner(reply)
    pair = Pair(
        number=int(doc["number"]),
        content=int(doc["content_index"]),
        style=int(doc["style_index"]),
        left=str(doc["method_left"]),
        right=str(doc["method_right"]),
        human=str(doc["human"]),
        model=parsed.winner or "",
        missing_pairs=int(doc.get("missing_pairs", 0)),
        reply=facts,
    )
    return pair, parsed.rule, rounds


def _process_results(doc: Mapping[str, Any], results: Sequence[str], level: str) -> dict[str, Any]:
    response = results[0] if results and isinstance(results[0], str) else ""
    pair, rule, rounds = read_pair(doc, response)
    record = {
        "id": str(doc["id"]),
        "number": pair.number,
        "content_index": pair.content,
        "style_index": pair.style,
        "method_left": pair.left,
        "method_right": pair.right,
        "human": pair.human,
        "winner": pair.model,
        "rule": rule,
        "rounds": len(rounds) or 1,
        **pair.reply.as_record(),
        "parser": PARSER_VERSION,
    }
    names = [f"{level}_{rating}_rho_{protocol}" for rating in ("elo", "bt") for protocol in ("official", "aligned")]
    names += ["pair_agreement", "left_rate", "parse_rate", "missing_pairs", *REPLY_METRICS]
    agreed = pair.human in {"left", "right"} and pair.human == pair.model
    return {"record": record, "score": float(agreed), **dict.fromkeys(names, pair)}


def process_results_global(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One pair's record and, for each artist-level metric, the pair."""
    return _process_results(doc, results, "artist")


def process_results_instance(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One pair's record and, for each task-level metric, the pair."""
    return _process_results(doc, results, "task")


def align(pairs: Iterable[Pair], level: str, protocol: alignment.Protocol) -> Alignment:
    """Agreement at the artist or the task level of a run's pairs, whatever order they come in."""
    found = list(pairs)
    human, model = ([pair.judgement(side) for pair in found] for side in ("human", "model"))
    if level == "artist":
        return alignment.artist_alignment(human, model, protocol)
    return alignment.task_alignment(human, model, protocol)


def _rho(level: str, rating: str, protocol: alignment.Protocol) -> Callable[[Iterable[Pair]], float | None]:
    def aggregate(items: Iterable[Pair]) -> float | None:
        value: float | None = getattr(align(items, level, protocol), f"{rating}_rho")
        return value

    aggregate.__name__ = f"aggregate_{level}_{rating}_rho_{protocol}"
    aggregate.__doc__ = f"Mean Spearman's ρ at the {level} level, {rating}, {protocol}; None where none is defined."
    return aggregate


aggregate_artist_elo_rho_official = _rho("artist", "elo", "official")
aggregate_artist_elo_rho_aligned = _rho("artist", "elo", "aligned")
aggregate_artist_bt_rho_official = _rho("artist", "bt", "official")
aggregate_artist_bt_rho_aligned = _rho("artist", "bt", "aligned")
aggregate_task_elo_rho_official = _rho("task", "elo", "official")
aggregate_task_elo_rho_aligned = _rho("task", "elo", "aligned")
aggregate_task_bt_rho_official = _rho("task", "bt", "official")
aggregate_task_bt_rho_aligned = _rho("task", "bt", "aligned")


def aggregate_pair_agreement(items: Iterable[Pair]) -> float | None:
    """Share of the pairs that the experts decided on which the model agrees; an answer not read does not."""
    found = list(items)
    human, model = ([pair.judgement(side) for pair in found] for side in ("human", "model"))
    alike, decided = alignment.pair_agreement(human, model)
    return alike / decided if decided else None


def aggregate_left_rate(items: Iterable[Pair]) -> float | None:
    """Share of "left" among the model's answers; the experts choose left in 69% (global) and 67% (instance)."""
    left, decided = alignment.left_share([pair.judgement("model") for pair in items])
    return left / decided if decided else None


def aggregate_parse_rate(items: Iterable[Pair]) -> float | None:
    """Share of pairs whose answer was read."""
    read = [pair.model != "" for pair in items]
    return sum(read) / len(read) if read else None


def aggregate_missing_pairs(items: Iterable[Pair]) -> float:
    """Pairs left out for want of images."""
    return float(max((pair.missing_pairs for pair in items), default=0))


aggregate_failed_requests = aggregation(__name__, "failed_requests", "Number of requests that failed.", failed_requests)
aggregate_reasoning_rate = aggregation(
    __name__, "reasoning_rate", "Share of replies with reasoning; None without a reply.", reasoning_rate
)


# -- Counts and baselines ---------------------------------------------------------------------------------------------


def count_files(
    joined: Mapping[files.Mode, Sequence[files.PairFiles]],
) -> tuple[dict[str, float | None], dict[str, dict[str, int]]]:
    """Counts of a download under the names of the card's `expected`, and the missing files by mode and method."""
    counts: dict[str, float | None] = {}
    missing: dict[str, dict[str, int]] = {}
    methods: set[str] = set()
    for mode, pairs in joined.items():
        counts[f"pairs_{mode}"] = len(pairs)
        counts[f"pairs_{mode}_with_images"] = sum(pair.complete for pair in pairs)
        counts[f"tasks_{mode}"] = len({(pair.row["content_index"], pair.row["style_index"]) for pair in pairs})
        methods |= {str(pair.row[f"method_{side}"]) for pair in pairs for side in ("left", "right")}
        missing[mode] = files.missing_by_method(pairs)
    counts["methods"] = len(methods)
    return counts, missing


def baseline_choices(doc: Mapping[str, Any]) -> list[str]:
    """The answers a baseline may give."""
    return ["left", "right"]


def baseline_reply(doc: Mapping[str, Any], choice: str) -> str:
    """A choice in the task's own answer format; the oracle has none for a pair that the experts did not decide."""
    return {"left": "{'winner': 0}", "right": "{'winner': 1}"}.get(choice, "{'winner': None}")
