"""The embedding metrics inside a run of the harness: computed at its end, from items alone and images by id."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lmms_aes_tasks import sources
from lmms_aes_tasks.critiquecanvas.encoders import (
    SWITCH_ENV,
    EmbeddingCase,
    embed,
    embedding_store,
    encoders_in_environment,
    wanted_in_runs,
)
from lmms_aes_tasks.critiquecanvas.items import CritiqueText
from lmms_aes_tasks.records import IMAGES_COLUMN
from lmms_aes_tasks.utils.embedding_values import mean_value

NOT_COMPUTED = "not computed"


class _RunImages:
    """Image files of the data sets of a run, by data set and id; a data set is opened when it is first asked for."""

    def __init__(self) -> None:
        self._datasets: dict[str, tuple[Any, dict[str, int]]] = {}

    def content(self, item: CritiqueText) -> bytes:
        if item.source not in self._datasets:
            dataset = sources.load(sources.read_card(item.source))
            self._datasets[item.source] = dataset, {record_id: row for row, record_id in enumerate(dataset["id"])}
        dataset, rows = self._datasets[item.source]
        content: bytes = dataset[rows[item.id]][IMAGES_COLUMN][0]["bytes"]
        return content


def cases_of(items: Sequence[CritiqueText]) -> list[EmbeddingCase]:
    """Critiques of a run; their images are reopened by id when asked for, so only CLIP needs the data set again."""
    images = _RunImages()
    return [
        EmbeddingCase(item.id, item.text, item.reference, functools.partial(images.content, item)) for item in items
    ]


def aggregate(items: Sequence[CritiqueText], metric: str) -> float | str:
    """Mean of an embedding metric at the end of a run, or `not computed` with the reason in the log.

    It never raises: an hour of generation must not be lost for want of an encoder.
    """
    from loguru import logger

    remedy = "Score the samples file later with `lmms-aes score critiquecanvas FILE`, wherever the encoders are."
    try:
        if not wanted_in_runs():
            logger.info(f"critiquecanvas: {metric} is not computed (${SWITCH_ENV}=off). {remedy}")
            return NOT_COMPUTED
        found = embed(metric, cases_of(items), encoders_in_environment(), embedding_store(), shown=True)
    except Exception as error:  # see above
        logger.warning(f"critiquecanvas: {metric} is not computed ({type(error).__name__}: {error}). {remedy}")
        return NOT_COMPUTED
    for problem in found.problems:
        logger.warning(f"critiquecanvas: {metric} leaves one out: {problem}")
    whole = found.values[~np.isnan(found.values)]
    if not len(whole):
        return NOT_COMPUTED
    logger.info(f"critiquecanvas: {metric} over {len(whole)} of {len(items)} by {found.encoder}")
    return mean_value(whole)
