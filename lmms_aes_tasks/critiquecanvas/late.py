"""The embedding metrics of an entry: BERT-F1, SBERT-Cos and the CLIP cosine, where data and encoders are at hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.benchmark import Task
from lmms_aes_tasks.board.fingerprint import LocalData
from lmms_aes_tasks.board.late import NOT_COMPUTED, LateValues
from lmms_aes_tasks.critiquecanvas.items import EMBEDDING_METRICS
from lmms_aes_tasks.sources import read_card

DIGITS = 6
"""Decimals of a value in a record: encoders agree to fewer across machines."""
_ROUNDING = 1e-6
"""A cosine of two equal vectors comes out as 1.00000006 in single precision."""


def _is_at_hand(name: str) -> bool:
    """Whether a model is a folder, or in the Hub's cache; nothing is downloaded."""
    if Path(name).expanduser().is_dir():
        return True
    from huggingface_hub import snapshot_download

    repository, _, revision = name.partition("@")
    try:
        snapshot_download(repository, revision=revision or None, local_files_only=True)
    except Exception:  # the Hub's client raises many kinds, and each means that it is not there
        return False
    return True


def _none(reason: str) -> LateValues:
    return LateValues({}, dict.fromkeys(EMBEDDING_METRICS, f"{NOT_COMPUTED}{reason}"))


class EncoderMetrics:
    """The three metrics as `board.late.LateMetrics`."""

    names: tuple[str, ...] = EMBEDDING_METRICS
    low = -1.0
    high = 1.0
    tolerance = 1e-3  # other devices, precisions and batches change the fourth decimal

    def compute(self, task: Task, answers: Mapping[str, str], local: LocalData) -> LateValues:
        """Values of those metrics whose encoders are at hand; see `board.late.LateMetrics`."""
        from lmms_aes_tasks.critiquecanvas.encoders import SWITCH_ENV, encoders_in_environment, wanted_in_runs
        from lmms_aes_tasks.critiquecanvas.scoring import embed_all, read_cases
        from lmms_aes_tasks.utils.embeddings import EncoderError

        try:
            if not wanted_in_runs():
                return _none(f"${SWITCH_ENV} is off")
            encoders = encoders_in_environment()
        except EncoderError as error:
            return _none(str(error))
        path = local.file(read_card(task.card))
        if path is None:
            return _none("the data is not at hand (--data)")
        names = {"bert_f1": encoders.bert, "sbert_cos": encoders.sbert, "clip_cos": encoders.clip}
        there = [metric for metric, name in names.items() if _is_at_hand(name)]
        missing = {metric: f"{NOT_COMPUTED}its encoder is not at hand" for metric in self.names if metric not in there}
        if not there:
            return LateValues({}, missing)
        answered = [(case, answers[case.id]) for case in read_cases(path).values() if case.id in answers]
        given = embed_all(answered, there)
        values = {
            metric: {item: round(value, DIGITS) for item, value in by_id.items() if math.isfinite(value)}
            for metric, by_id in given.values.items()
        }
        for metric in there:
            if not values.get(metric):
                # an encoder's message names its folder: it stays here
                missing[metric] = (
                    f"{NOT_COMPUTED}its encoder could not be used" if metric in given.missing else "no value"
                )
        kept = {metric: by_id for metric, by_id in values.items() if by_id}
        return LateValues(kept, missing, {metric: given.encoders[metric] for metric in kept}, given.problems)

    def of_record(self, record: Mapping[str, Any]) -> dict[str, float]:
        """The values that a record holds.

        Raises:
            ValueError: One is no number from -1 to 1.
        """
        values = {}
        for metric in self.names:
            if metric in record:
                value = record[metric]
                number = isinstance(value, (int, float)) and not isinstance(value, bool)
                if not number or not self.low - _ROUNDING <= value <= self.high + _ROUNDING:
                    raise ValueError(f"{metric} is {value!r}: give a number from -1 to 1")
                values[metric] = float(value)
        return values
