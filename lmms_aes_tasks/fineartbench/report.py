"""What `score fineartbench` reports beside the correlations: parts, ratings, R², agreement by attribute, reasons."""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.alignment import Agreement, Alignment, Judgement
    from lmms_aes_tasks.utils.ranking import BradleyTerry, Games

_FOUR = ("elo_rho", "elo_p", "bt_rho", "bt_p")


def part_json(part: Agreement, mode: str) -> dict[str, Any]:
    """A split or a task as `--json` writes it: what it is, its correlations, and why one has no value."""
    label = (
        {"split": part.label[0]}
        if mode == "global"
        else dict(zip(("content_index", "style_index"), part.label, strict=True))
    )
    values = {name: getattr(part, name) for name in (*_FOUR, "bt_plain_rho", "bt_plain_p")}
    return label | values | {"n": part.n, "problems": dict(part.problems)}


def r2_json(human: Sequence[Judgement], methods: Sequence[str]) -> dict[str, Any]:
    """McFadden's R² of the human Bradley–Terry ranking: of all judgements, and without uncertain pairs."""
    from lmms_aes_tasks.utils.alignment import to_games
    from lmms_aes_tasks.utils.ranking import bradley_terry, certain, mcfadden_r2, win_matrix

    played = to_games(human, methods)
    played = played.take(played.outcome >= 0)
    raw = bradley_terry(win_matrix(played, len(methods)))
    if raw.theta is None:
        return {"raw": None, "without_uncertain": None, "problem": raw.problem}
    kept = played.take(certain(played, raw.theta))
    pruned = bradley_terry(win_matrix(kept, len(methods)))

    def shown(games: Games, fit: BradleyTerry) -> float | None:
        """Without the last digits, which the linear solver's kernel decides."""
        r2 = None if fit.theta is None else mcfadden_r2(games, fit.theta)
        return None if r2 is None else round(r2, 12)

    return {
        "raw": shown(played, raw),
        "without_uncertain": shown(kept, pruned),
        "problem": pruned.problem and f"without uncertain pairs: {pruned.problem}",
    }


def _attributes(folder: Path) -> dict[str, dict[str, set[int]]]:
    """Style and content indices by attribute, from style_1k.json and content_1k.json where they are."""
    from lmms_aes_tasks.fineartbench.files import read_json
    from lmms_aes_tasks.records import SourceError

    found: dict[str, dict[str, set[int]]] = {"style": {}, "content": {}}

    def add(kind: str, name: str, values: Any, index: int) -> None:
        for value in [values] if isinstance(values, str) else values if isinstance(values, list) else []:
            found[kind].setdefault(f"{name}: {value}", set()).add(index)

    def add_styles(styles: Any) -> None:
        for index, style in styles.items():
            for name, values in style.get("style", {}).items():
                add("style", name, values, int(index))

    def add_contents(contents: Any) -> None:
        for index, content in enumerate(contents, 1):
            add("content", "scene", content.get("scene_categories"), index)
            for name, values in (content.get("scene_complexity") or {}).items():
                add("content", name, values, index)

    for file, read in (("style_1k.json", add_styles), ("content_1k.json", add_contents)):
        if (folder / file).is_file():
            try:
                read(read_json(folder / file))
            except (AttributeError, TypeError, ValueError) as error:
                raise SourceError(
                    f"{folder / file}: not the authors' attributes ({error}). Download it again, or take it away: the "
                    "scores do without."
                ) from None
    return found


_LEAST_PAIRS = 50
_LEAST_TASKS = 2


def by_attribute(
    folder: Path, mode: str, found: Alignment, human: Sequence[Judgement], model: Sequence[Judgement]
) -> dict[str, dict[str, Any]]:
    """Agreement by attribute of style and content (Figure 5).

    Per task, the mean of the tasks' own values, under the protocol in force. Per artist, over the attribute's pairs
    under the aligned protocol, for attributes of at least fifty pairs: the official one is for whole files.
    """
    from lmms_aes_tasks.utils.alignment import artist_alignment, mean_of

    result: dict[str, dict[str, Any]] = {}
    for kind, names in _attributes(folder).items():
        place = 0 if kind == "content" else 1
        for name, indices in sorted(names.items()):
            if mode == "instance":
                parts = [part for part in found.parts if part.label[place] in indices]
                if len(parts) >= _LEAST_TASKS:
                    values = {key: mean_of([getattr(part, key) for part in parts]) for key in ("elo_rho", "bt_rho")}
                    result[f"{kind} {name}"] = {"tasks": len(parts)} | values
                continue
            own = [[j for j in side if getattr(j, kind) in indices] for side in (human, model)]
            if len(own[0]) >= _LEAST_PAIRS:
                within = artist_alignment(own[0], own[1], "aligned", splits=1)
                result[f"{kind} {name}"] = {"pairs": len(own[0]), "elo_rho": within.elo_rho, "bt_rho": within.bt_rho}
    return result


_RATING_DIGITS = 6
"""Where the official fit stops differs by up to 1e-9 between processors; the same file prints the same ratings."""


def mean_ratings(found: Alignment, methods: Sequence[str]) -> dict[str, dict[str, float]]:
    """Mean rating of each method by side and rating, over the parts in which both sides have it."""
    result: dict[str, dict[str, float]] = {}
    for rating in ("elo", "bt"):
        names = [f"{side}_{rating}" for side in ("human", "model")]
        parts = [both for part in found.parts if None not in (both := [part.ratings.get(name) for name in names])]
        for place, name in enumerate(names):
            for index, method in enumerate(methods):
                values = [
                    both[place][index]  # type: ignore[index]
                    for both in parts
                    if None not in (own[index] for own in both)  # type: ignore[index]
                ]
                if values:
                    mean = math.fsum(values) / len(values)  # type: ignore[arg-type]
                    result.setdefault(name, {})[method] = round(mean, _RATING_DIGITS)
    return result


def reasons(found: Alignment) -> dict[str, str]:
    """Why a mean is not defined, by `elo` and `bt`; empty where it is."""
    reasons = {}
    for name in ("elo", "bt"):
        if getattr(found, f"{name}_rho") is not None:
            continue
        if found.parts:
            counted = collections.Counter(part.problems.get(name, "") for part in found.parts)
            reasons[name] = "; ".join(f"{reason} ({count})" for reason, count in counted.most_common(3))
        else:
            few, arcs = (found.dropped_tasks.get(reason, 0) for reason in ("few_judgements", "feedback_arcs"))
            reasons[name] = (
                f"no content–style task is left: {few} have fewer than 15 decided judgements, {arcs} more than 15% "
                "feedback arcs" + ("" if few + arcs else ", for no pair is in")
            )
    return reasons
