"""The cases of a run: which, and which alias stands for which model."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lmms_aes_tasks.critiquecanvas.items import critique_text

ALIASES = "ABCDE"


@dataclass(frozen=True)
class JudgeCase:
    """One case with its anonymous candidates.

    Attributes:
        id: Id of the record.
        order: Model by alias, A first.
        candidates: Critique by model, as it is scored.
    """

    id: str
    order: Mapping[str, str]
    candidates: Mapping[str, str]


def alias_order(models: Iterable[str], seed: int, case_id: str) -> dict[str, str]:
    """Model by alias in a random order of this seed and case, whatever order the models are named in.

    Raises:
        ValueError: More models than aliases.
    """
    shuffled = sorted(models)
    if len(shuffled) > len(ALIASES):
        raise ValueError(f"{len(shuffled)} models: give at most {len(ALIASES)}")
    random.Random(f"order\0{seed}\0{case_id}").shuffle(shuffled)
    return dict(zip(ALIASES, shuffled, strict=False))


def sample_ids(ids: Iterable[str], n: int | None, seed: int) -> list[str]:
    """A seeded sample of ids, sorted; a larger one of the same ids and seed holds the smaller one.

    Args:
        ids: Different ids.
        n: How many; all when None.
        seed: Seed of a local generator.

    Raises:
        ValueError: There are fewer than n.
    """
    ordered = sorted(ids)
    if n is None:
        return ordered
    if n > len(ordered):
        raise ValueError(f"{n} cases are asked for, {len(ordered)} are there: ask for at most {len(ordered)}")
    random.Random(f"cases\0{seed}").shuffle(ordered)
    return sorted(ordered[:n])


def judge_cases(responses: Mapping[str, Mapping[str, str]], ids: Iterable[str], seed: int) -> list[JudgeCase]:
    """The cases of a run.

    Args:
        responses: By model, the response by id; each has all `ids`.
        ids: The cases.
        seed: Of the random orders.
    """
    return [
        JudgeCase(
            case_id,
            alias_order(responses, seed, case_id),
            {model: critique_text(own[case_id]) for model, own in responses.items()},
        )
        for case_id in ids
    ]
