"""Pairs of FineArtBench as experts or a model judged them, as games between methods, and plain agreement on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmms_aes_tasks.utils.ranking import LEFT, NONE, RIGHT, Games, games


@dataclass(frozen=True)
class Judgement:
    """One pair as one side judged it.

    Attributes:
        id: Number of the pair in the benchmark's file: the question order.
        content: Index of the content image.
        style: Index of the style.
        left: Method shown left.
        right: Method shown right.
        winner: `left`, `right`, `skipped` (seen, not decided), or `""` (not annotated, or no answer read).
    """

    id: int
    content: int
    style: int
    left: str
    right: str
    winner: str


OUTCOMES = {"left": LEFT, "right": RIGHT}
"""Winners that are decisions, as outcomes of a game."""


def to_games(judgements: Sequence[Judgement], methods: Sequence[str]) -> Games:
    """Judgements as games between numbered methods, in their order."""
    number = {method: position for position, method in enumerate(methods)}
    return games(
        [number[j.left] for j in judgements],
        [number[j.right] for j in judgements],
        [OUTCOMES.get(j.winner, NONE) for j in judgements],
    )


def methods_of(judgements: Sequence[Judgement]) -> list[str]:
    """All methods that were shown, in alphabetical order."""
    return sorted({name for j in judgements for name in (j.left, j.right)})


def pair_agreement(human: Sequence[Judgement], model: Sequence[Judgement]) -> tuple[int, int]:
    """Pairs that both judged alike, and pairs that the experts decided; an answer that was not read is not alike."""
    answers = {judgement.id: judgement.winner for judgement in model}
    decided = [judgement for judgement in human if judgement.winner in OUTCOMES and judgement.id in answers]
    return sum(answers[judgement.id] == judgement.winner for judgement in decided), len(decided)


def left_share(judgements: Sequence[Judgement]) -> tuple[int, int]:
    """Judgements for left, and all decided ones: a raw agreement means little without it."""
    decided = [judgement for judgement in judgements if judgement.winner in OUTCOMES]
    return sum(judgement.winner == "left" for judgement in decided), len(decided)
