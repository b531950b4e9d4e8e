"""Embedding metrics of an entry: computed where the data and the encoders are at hand, and kept item by item.

A record then holds its values, rounded; the figure is their mean. So a verifier without encoders can add them up, and
one with encoders can hold each against its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.digests import per_item_sha256
from lmms_aes_tasks.board.schema import Metric
from lmms_aes_tasks.critiquecanvas.items import EMBEDDING_METRICS
from lmms_aes_tasks.leaderboard.data import data_file
from lmms_aes_tasks.leaderboard.tasks import Task
from lmms_aes_tasks.utils.embedding_values import mean_value

DIGITS = 6
"""Decimals of a value in a record: encoders agree to fewer across machines."""
TOLERANCE = 1e-3
"""Two machines' values of one critique: other devices, precisions and batches change the fourth decimal."""


@dataclass(frozen=True)
class EmbeddingValues:
    """What was computed.

    Attributes:
        values: By metric and id.
        missing: Why a metric was not, by metric.
        encoders: Identity of the encoder by metric: name and commit, or `local@` and a digest; no path.
    """

    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    encoders: Mapping[str, str] = field(default_factory=dict)


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


def embedding_values(task: Task, texts: Mapping[str, str], root: Path | None) -> EmbeddingValues:
    """Values of the embedding metrics, of those whose encoders are at hand.

    Args:
        task: A task of critiquecanvas.
        texts: The critiques by id, reasoning removed.
        root: Where the data is; see `data.data_of`.
    """
    from lmms_aes_tasks.critiquecanvas.encoders import SWITCH_ENV, encoders_in_environment, wanted_in_runs
    from lmms_aes_tasks.critiquecanvas.scoring import embed_all, read_cases
    from lmms_aes_tasks.utils.embeddings import EncoderError

    try:
        if not wanted_in_runs():
            return EmbeddingValues({}, dict.fromkeys(EMBEDDING_METRICS, f"not computed: ${SWITCH_ENV} is off"))
        encoders = encoders_in_environment()
    except EncoderError as error:
        return EmbeddingValues({}, dict.fromkeys(EMBEDDING_METRICS, f"not computed: {error}"))
    path = data_file(task, root)
    if path is None:
        return EmbeddingValues({}, dict.fromkeys(EMBEDDING_METRICS, "not computed: the data is not at hand (--data)"))
    names = {"bert_f1": encoders.bert, "sbert_cos": encoders.sbert, "clip_cos": encoders.clip}
    there = [metric for metric, name in names.items() if _is_at_hand(name)]
    missing = {
        metric: "not computed: its encoder is not at hand" for metric in EMBEDDING_METRICS if metric not in there
    }
    if not there:
        return EmbeddingValues({}, missing)
    answered = [(case, texts[case.id]) for case in read_cases(path).values() if case.id in texts]
    found, identities, reasons, _ = embed_all(answered, there)
    values = {
        metric: {own: round(value, DIGITS) for own, value in by_id.items() if math.isfinite(value)}
        for metric, by_id in found.items()
    }
    for metric in there:
        if not values.get(metric):
            # an encoder's message names its folder: it stays here
            missing[metric] = "not computed: its encoder could not be used" if metric in reasons else "no value"
    kept = {metric: own for metric, own in values.items() if own}
    return EmbeddingValues(kept, missing, {metric: identities[metric] for metric in kept})


def library_name(metric: str) -> str:
    """Under which name `versions.libraries` has a metric's encoder."""
    return f"encoder:{metric}"


def values_of_record(record: Mapping[str, Any]) -> dict[str, float]:
    """The embedding values that a record holds.

    Raises:
        ValueError: One is no number from -1 to 1.
    """
    found = {}
    for metric in EMBEDDING_METRICS:
        if metric in record:
            value = record[metric]
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1.000001 <= value <= 1.000001:
                raise ValueError(f"{metric} is {value!r}: give a number from -1 to 1")
            found[metric] = float(value)
    return found


def mean_metric(values: Mapping[str, float]) -> Metric:
    """The mean of a metric's values by id."""
    return Metric(value=mean_value(values.values()), n=len(values), per_item_sha256=per_item_sha256(values.items()))


def differences(metric: str, given: Mapping[str, float], ours: Mapping[str, float]) -> Sequence[tuple[str, str]]:
    """Ids whose values differ, or are there on one side alone, with what they are."""
    found = []
    for own in sorted(set(given) | set(ours)):
        one, two = given.get(own), ours.get(own)
        if one is None or two is None or abs(one - two) > TOLERANCE:
            found.append((own, f"record: {metric} is {one}, and {two} recomputed"))
    return found
