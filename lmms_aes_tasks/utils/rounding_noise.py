"""How far rounding alone moves the official Bradley–Terry agreement at the task level of FineArtBench.

The authors' gradient is a difference of two rounded sums over a step of 1.5e-8. Its error, other on every machine,
orders methods that tie in exact arithmetic and moves the place where a fit without a finite maximum stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_aes_tasks.utils.alignment import (
    OFFICIAL_ROWS,
    Judgement,
    by_task,
    consistent_tasks,
    mean_of,
    methods_of,
    official_rows,
    to_games,
)
from lmms_aes_tasks.utils.rank_correlation import positions, spearman
from lmms_aes_tasks.utils.ranking import bradley_terry_official, win_matrix

FITS = 20
SEED = 0


@dataclass(frozen=True)
class NoiseRange:
    """Range of the mean ρ over fits whose gradients carry noise of rounding size.

    Attributes:
        low: Lowest mean.
        high: Highest mean.
        fits: Number of fits of every task.
        seed: Seed of the noise.
    """

    low: float
    high: float
    fits: int = FITS
    seed: int = SEED


def task_noise_range(
    human: Sequence[Judgement], model: Sequence[Judgement], before: int | None = None, fits: int = FITS
) -> NoiseRange | None:
    """Lowest and highest official task-level Bradley–Terry ρ of `fits` seeded fits with noisy gradients.

    Args:
        human: The experts' judgements of the pairs sampled per instance.
        model: The model's, of the same pairs.
        before: Rows that go in; 1,000 when None.
        fits: How often everything is fitted.

    Returns:
        The range; None where no task has a value.
    """
    methods = methods_of(human)
    humans, models = (official_rows(side, OFFICIAL_ROWS if before is None else before) for side in (human, model))
    kept, _ = consistent_tasks(humans, methods)
    answers = by_task(models)
    played = [
        [to_games(own, methods) for own in (kept[task], answers[task])] for task in sorted(kept) if task in answers
    ]
    wins = [[win_matrix(own, len(methods)) for own in both] for both in played if all(len(own.winner) for own in both)]
    noise = np.random.default_rng(SEED)
    means = []
    for _ in range(fits):
        places = [[positions(bradley_terry_official(own, noise)) for own in both] for both in wins]
        means.append(mean_of([spearman(*both)[0] for both in places]))
    values = [mean for mean in means if mean is not None]
    return NoiseRange(min(values), max(values), fits) if values else None
