"""Responses to FineArtBench made elsewhere: the authors' format, responses by id, and samples files of lmms-eval."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lmms_aes_tasks.fineartbench.files import judgements_of, read_rows, same_pairs
from lmms_aes_tasks.fineartbench.prompts import prompt_name
from lmms_aes_tasks.fineartbench.task import read_pair
from lmms_aes_tasks.predictions import (
    Prediction,
    PredictionError,
    check_ids,
    is_sample,
    placed,
    read_items,
    read_predictions,
)
from lmms_aes_tasks.utils.alignment import Judgement
from lmms_aes_tasks.utils.reply_facts import ReplyCounts, count_replies


@dataclass(frozen=True)
class How:
    """How judgements came about; nothing is known of those in the authors' format.

    Attributes:
        rules: How many answers each of the parser's rules read.
        prompts: How many pairs were asked with which prompt, where the file says so.
        replies: Facts of the responses, counted.
    """

    rules: dict[str, int]
    prompts: dict[str, int]
    replies: ReplyCounts


def _authors_judgements(
    rows: Any, path: Path, human: Sequence[Judgement], partial: bool
) -> tuple[list[Judgement], How]:
    """Predictions in the authors' format, held against the human file's pairs."""
    model = judgements_of(rows, path.name)
    skipped = [judgement.id for judgement in model if judgement.winner == "skipped"]
    if skipped:
        raise PredictionError(f'{path}: winner is null in {len(skipped)} pair(s), first {skipped[0]}; use "" for none')
    same_pairs(human, model, path.name, partial)
    return model, How({}, {}, count_replies([]))


def _with_records(read: Sequence[Prediction], human: Sequence[Judgement], mode: str, path: Path) -> list[Prediction]:
    """Responses that bring no record, each with that of its pair: by its id (`global-17`), or by its place."""
    in_order = sorted(human, key=lambda judgement: judgement.id)
    by_id = {
        f"{mode}-{pair.id}": {
            "id": f"{mode}-{pair.id}",
            "number": pair.id,
            "content_index": pair.content,
            "style_index": pair.style,
            "method_left": pair.left,
            "method_right": pair.right,
            "human": pair.winner,
        }
        for pair in in_order
    }
    found = []
    for item in placed(read, [(pair_id, str(record["human"])) for pair_id, record in by_id.items()], path):
        record = item.record or by_id.get(item.id)
        if record is None:
            raise PredictionError(
                f"{path}: the id {item.id[:80]!r} is no pair of the human file: with --mode {mode} ids are {mode}-1, "
                f"{mode}-2 and so on. Give those, the authors' format, or a samples file of a fineartbench task."
            )
        found.append(replace(item, record=record))
    return found


def model_judgements(path: Path, human: Sequence[Judgement], mode: str, partial: bool) -> tuple[list[Judgement], How]:
    """Predictions in the authors' format, responses by id, or a samples file of ours, held against the human file.

    Returns:
        The judgements, and how they came about.

    Raises:
        PredictionError: The file is none of these, or of other pairs; the cases are listed.
        SourceError: The same of the authors' format.
    """
    try:
        first = next(iter(read_items(path)), (0, None))[1]
    except PredictionError:
        first = None  # what is wrong is said below
    if not is_sample(first) and not (isinstance(first, dict) and "response" in first):
        jsonl = path.suffix.lower() != ".json" and isinstance(first, dict) and "winner" in first
        if jsonl or path.suffix.lower() == ".json":
            rows = [item for _, item in read_items(path)] if jsonl else read_rows(path)
            return _authors_judgements(rows, path, human, partial)
    read = read_predictions(path, by_position=True)
    if any(item.record is None for item in read):
        read = _with_records(read, human, mode, path)
    check_ids(read, None, path)
    pairs = []
    model = []
    rules: collections.Counter[str] = collections.Counter()
    for item in read:
        record: Mapping[str, Any] = item.record or {}
        try:
            pair, rule, _ = read_pair(record, item.response)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise PredictionError(f"{path}: {item.id} is no sample of a fineartbench task ({error!r})") from None
        if item.id != f"{mode}-{pair.number}" or record["number"] != pair.number:
            raise PredictionError(
                f"{path}: sample {item.id!r} has the number {record['number']!r}: with --mode {mode} ids are "
                f"{mode}-1, {mode}-2 and so on. Is it the samples file of fineartbench_2afc_{mode}?"
            )
        model.append(Judgement(pair.number, pair.content, pair.style, pair.left, pair.right, pair.model))
        rules[rule] += 1
        pairs.append(pair)
    if not model:
        raise PredictionError(f"{path}: no samples. Is it the right file?")
    same_pairs(human, model, path.name, partial)
    prompts = collections.Counter(prompt_name(item.prompt) for item in read if item.prompt is not None)
    return model, How(dict(rules), dict(prompts), count_replies(pairs))
