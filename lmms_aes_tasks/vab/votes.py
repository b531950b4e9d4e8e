"""Votes and scores of annotators (Visual Aesthetic Benchmark, section 2): reading and checking them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.records import SourceError, read_records
from lmms_aes_tasks.utils.agreement import Vote
from lmms_aes_tasks.utils.cells import id_text, is_empty, json_value
from lmms_aes_tasks.utils.errors import problem_text


def _scores(value: Any) -> dict[str, float]:
    value = json_value(value)
    if not isinstance(value, Mapping) or len(value) < 2:
        raise ValueError(f"scores is {value!r}; give a score by label, of at least 2 images")
    for name, score in value.items():
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not abs(score) <= 1e15:
            raise ValueError(f"the score of {name} is {score!r}; give a number")
    return {str(name): float(score) for name, score in value.items()}


def _vote(item: Mapping[str, Any]) -> Vote:
    names = {name: id_text(item.get(name)) for name in ("task_id", "annotator")}
    for name, text in names.items():
        if not text:
            raise ValueError(f"{name} is {item.get(name)!r}; give a text")
    scores = _scores(item.get("scores"))
    labels = ", ".join(scores)
    given = {name: None if is_empty(item.get(name)) else item[name] for name in ("ranking", "best", "worst")}
    ranking = json_value(given["ranking"])
    if ranking is not None and (not isinstance(ranking, list) or sorted(map(str, ranking)) != sorted(scores)):
        raise ValueError(f"ranking is {ranking!r}; give each of {labels} once, best first")
    best, worst = given["best"], given["worst"]
    if ranking:
        best, worst = best or ranking[0], worst or ranking[-1]
    if not isinstance(best, str) or best not in scores:
        raise ValueError(f"best is {best!r}; use one of {labels}")
    if worst is not None and (not isinstance(worst, str) or worst not in scores or worst == best):
        raise ValueError(f"worst is {worst!r}; use one of {labels} other than the best")
    if worst is None and len(scores) > 2:
        raise ValueError(f"worst is missing; of {len(scores)} images both best and worst are asked")
    if ranking is not None and (ranking[0] != best or ranking[-1] != worst):
        raise ValueError(f"ranking {ranking!r} does not begin with best {best!r} and end with worst {worst!r}")
    return Vote(
        names["task_id"], names["annotator"], scores, best, worst, None if ranking is None else tuple(map(str, ranking))
    )


def read_votes(path: Path) -> list[Vote]:
    """Read votes: one object a judgement with `task_id`, `annotator`, `scores` {label: number}, `best`, `worst`.

    `worst` may be left out for two images; `ranking`, all labels from best to worst, may be given in place of, or
    beside, both.

    Raises:
        SourceError: A judgement is unsound, repeated, or of other labels than the same task's; every case is listed.
    """
    votes: list[Vote] = []
    problems: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    labels: dict[str, frozenset[str]] = {}
    for number, item in enumerate(read_records(path), 1):
        try:
            vote = _vote(item)
        except ValueError as error:
            problems.append(f"vote {number}: {error}")
            continue
        first = seen.setdefault((vote.task_id, vote.annotator), number)
        if first != number:
            problems.append(f"vote {number}: {vote.annotator!r} has judged {vote.task_id!r} already in vote {first}")
        if labels.setdefault(vote.task_id, frozenset(vote.scores)) != frozenset(vote.scores):
            problems.append(
                f"vote {number}: labels {', '.join(vote.scores)} differ from those before in {vote.task_id!r}"
            )
        votes.append(vote)
    if not votes and not problems:
        problems.append("no votes")
    if problems:
        raise SourceError(problem_text(path, problems))
    return votes
