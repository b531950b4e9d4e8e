"""The figures of docs/fineartbench.md: how far Bradley–Terry agreement moves with the optimiser and the prior, and R².

Run: python benchmarks/fineartbench_documented.py FOLDER PREDICTIONS [HUMAN] (the annotation files; the authors' format;
the experts' file, instance_annotation.json if it is not named)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, stats
from tqdm import tqdm

from lmms_aes_tasks.fineartbench.files import find_file, judgements_of
from lmms_aes_tasks.utils.alignment import (
    MAX_FEEDBACK,
    Judgement,
    by_task,
    consistent_tasks,
    methods_of,
    official_rows,
    task_alignment,
    to_games,
)
from lmms_aes_tasks.utils.rank_correlation import positions
from lmms_aes_tasks.utils.ranking import (
    bradley_terry,
    bradley_terry_official,
    certain,
    feedback_arc_ratio,
    mcfadden_r2,
    win_matrix,
)
from lmms_aes_tasks.utils.rounding_noise import task_noise_range

Fit = Callable[[Any], Any]


def fitted(wins: Any, gradient: bool = False, method: str = "SLSQP", one_by_one: bool = False) -> Any:
    """The same likelihood from the same start, its gradient SciPy's differences of rounded sums, or analytic."""
    met, won = wins + wins.T, wins.sum(axis=1)

    def loss(theta: Any) -> float:
        terms = wins * np.logaddexp(0.0, theta[None, :] - theta[:, None])
        return float(np.add.accumulate(terms[wins > 0])[-1] if one_by_one else np.sum(terms))

    def slope(theta: Any) -> Any:
        return np.sum(met / (1.0 + np.exp(theta[None, :] - theta[:, None])), axis=1) - won

    constraints = {"type": "eq", "fun": np.sum} if method == "SLSQP" else ()
    start = np.zeros(len(wins))
    return optimize.minimize(loss, start, method=method, jac=slope if gradient else None, constraints=constraints).x


FORMS: dict[str, Fit] = {
    "exact differences (official)": bradley_terry_official,
    "SciPy's, terms one by one": lambda wins: fitted(wins, one_by_one=True),
    "SciPy's, terms added pairwise": fitted,
    "with the analytic gradient": lambda wins: fitted(wins, gradient=True),
    "L-BFGS-B": lambda wins: fitted(wins, method="L-BFGS-B"),
}
PRIORS = (0.1, 0.25, 0.5, 1.0)


def places(theta: Any) -> Any:
    """Ranks, ties by the alphabet, as the official protocol has them."""
    return positions(theta)


def count_without_solution(human: list[Judgement], methods: list[str]) -> tuple[int, int]:
    """Tasks with judgements, and those of them whose likelihood has no finite maximum."""
    decided = by_task([own for own in human if own.winner in ("left", "right")]).values()
    fits = [bradley_terry(win_matrix(to_games(own, methods), len(methods))) for own in decided]
    return len(fits), sum(fit.theta is None for fit in fits)


def transitivity(human: list[Judgement], methods: list[str]) -> list[float | None]:
    """McFadden's R²: raw, without uncertain pairs, and without these and intransitive tasks."""

    def pruned(own: list[Judgement], prune: bool) -> float | None:
        games = to_games(own, methods)
        theta = bradley_terry(win_matrix(games, len(methods))).theta
        if prune and theta is not None:
            games = games.take(certain(games, theta))
            theta = bradley_terry(win_matrix(games, len(methods))).theta
        return None if theta is None else mcfadden_r2(games, theta)

    decided = [own for own in human if own.winner in ("left", "right")]
    tasks = [
        own
        for own in by_task(decided).values()
        if (ratio := feedback_arc_ratio(to_games(own, methods))) is not None and ratio <= MAX_FEEDBACK
    ]
    return [pruned(decided, False), pruned(decided, True), pruned([own for task in tasks for own in task], True)]


def main() -> None:
    root, predictions = map(Path, sys.argv[1:3])
    experts = sys.argv[3] if len(sys.argv) > 3 else "instance_annotation.json"
    for name in ("instance_annotation.json", "instance_annotation_paper.json"):
        human = judgements_of(json.loads(find_file(root, name).read_text("utf-8")), name)
        print(
            "{}: {} tasks with judgements, {} without a solution".format(
                name, *count_without_solution(human, methods_of(human))
            )
        )
    for name in ("global_annotation", "global_annotation_paper", "instance_annotation", "instance_annotation_paper"):
        file = f"{name}.json"
        human = judgements_of(json.loads(find_file(root, file).read_text("utf-8")), file)
        print(file, *(f"{value:.3f}" if value is not None else "–" for value in transitivity(human, methods_of(human))))
    human = judgements_of(json.loads(find_file(root, experts).read_text("utf-8")), "human")
    model = judgements_of(json.loads(predictions.read_text("utf-8")), predictions.name)
    methods = methods_of(human)
    kept, _ = consistent_tasks(official_rows(human), methods)
    answers = by_task(official_rows(model))
    matrices = [
        [win_matrix(to_games(side, methods), len(methods)) for side in (kept[task], answers.get(task, []))]
        for task in sorted(kept)
    ]
    found = {}
    for name, fit in FORMS.items():
        rows = [[places(fit(wins)) for wins in both] for both in tqdm(matrices, desc=name)]
        found[name] = np.array([stats.spearmanr(*both).statistic for both in rows])
    first = next(iter(found.values()))
    for name, rho in found.items():
        moved = np.abs(rho - first)
        print(f"{name:>29} {rho.mean():7.4f}  {np.sum(moved > 1e-9):2d} of {len(rho)}  {moved.max():.2f}")
    print(task_noise_range(human, model))
    for prior in PRIORS:
        aligned = task_alignment(human, model, "aligned", prior=prior)
        print(f"aligned, prior {prior}: {aligned.bt_rho:.4f} of {len(aligned.parts)} tasks")


if __name__ == "__main__":
    main()
