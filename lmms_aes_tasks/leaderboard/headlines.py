"""The one metric of a task that stands for it, where a format has room for one."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_aes_tasks.board.schema import BoardRow

_HEADLINES = {
    # every case counts, ties with nothing else; Macro-F1 leaves out the three-way cases
    "contextcanvas": "accuracy",
    # of the lexical metrics the one with an error per item that needs no download: METEOR needs WordNet, BLEU is a
    # corpus value, and the encoders give other digits on other machines
    "critiquecanvas": "rouge_l",
    # right in all three orders: luck and a habit of position do not pass (section 3.1 of the paper)
    "vab": "pass^3",
}
# FineArtBench asks how far a model ranks methods as the experts do; of the two protocols `aligned` is the sound reading
_FINEARTBENCH = {"global": "artist_elo_rho_aligned", "instance": "task_elo_rho_aligned"}


def headline_of(benchmark: str, task: str) -> str | None:
    """Name of the metric that stands for a task; higher is better in each. None for a task that is none of ours.

    >>> headline_of("vab", "vab_tb1"), headline_of("fineartbench", "fineartbench_2afc_global_cot")
    ('pass^3', 'artist_elo_rho_aligned')
    """
    if benchmark == "fineartbench":
        return next((name for mode, name in _FINEARTBENCH.items() if f"_{mode}" in task), None)
    return _HEADLINES.get(benchmark)


def headline_value(row: BoardRow) -> float | None:
    """The headline's value; None where the row has none."""
    metric = row.metrics.get(headline_of(row.benchmark, row.task) or "")
    return None if metric is None else metric.value


def is_baseline(row: BoardRow) -> bool:
    """Whether a row is no model's: a run of `aes_baseline`, whose oracle reads the labels, or a paper's baseline."""
    return row.backend == "aes_baseline" or row.group.lower().endswith("baseline")


def best_row(rows: Iterable[BoardRow], task: str) -> BoardRow | None:
    """The entry with the highest headline of a task: of recomputed ones if there are any, the newest of equal ones.

    Baselines are left out.
    """
    known = [
        (row.status == "recomputed", round(value, 9), row.date or "", row.key, row)
        for row in rows
        if row.task == task and row.entry is not None and not row.superseded and not is_baseline(row)
        for value in (headline_value(row),)
        if value is not None
    ]
    return max(known, key=lambda one: one[:4])[4] if known else None
