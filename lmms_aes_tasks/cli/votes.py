"""`lmms-aes analyze votes` and `consensus`: the annotation study of the Visual Aesthetic Benchmark."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def votes(
    file: Annotated[Path, typer.Argument(help="JSONL: task_id, annotator, scores {label: number}, best, worst.")],
    majority: Annotated[
        int | None, typer.Option(min=1, help="Votes that make a majority; more than half of a task's when not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Scoring against direct comparison (Visual Aesthetic Benchmark, section 2): Tables 1 to 3 over your votes."""
    from lmms_aes_tasks.cli.tables import console, percent, table
    from lmms_aes_tasks.records import SourceError
    from lmms_aes_tasks.utils.agreement import Concentration, annotation_study
    from lmms_aes_tasks.vab.votes import read_votes

    try:
        study = annotation_study(read_votes(file), majority)
    except ValueError as error:
        raise SourceError(f"{file}: {error}") from None
    if as_json:
        typer.echo(json.dumps(asdict(study), allow_nan=False))
        return
    out = console()
    rows = [("Kendall's tau", f"{study.kendall_tau:.3f}"), ("self-consistency (%)", percent(study.self_consistency))]
    out.print(table("Scores against the same annotator's comparison", ["", "value"], rows))
    rows_of = [
        (
            name.replace("_", " "),
            percent(row.scoring),
            percent(row.ranking),
            percent(row.ranking - row.scoring),
            f"{row.only_scoring}/{row.only_ranking}",
            f"{row.p:.3g}",
            str(row.n),
        )
        for name, row in study.majority.items()
    ]
    heads = ["label", "scoring", "comparison", "difference", "only scoring/comparison", "McNemar p", "tasks"]
    needed = "more than half of the votes" if majority is None else f"{majority} votes"
    out.print(table(f"Tasks with a majority, {needed} (%)", heads, rows_of))

    def row(name: str, found: Concentration) -> tuple[str, ...]:
        interval = found.entropy_interval
        shown = f"[{interval.low:.3f}, {interval.high:.3f}]" if interval else "–"
        wilson = found.unanimous_interval
        bounds = f"[{percent(wilson.low)}, {percent(wilson.high)}]"
        return name, f"{found.entropy:.3f}", shown, percent(found.unanimous), bounds

    heads = ["protocol", "entropy (bits)", "95% interval", "unanimous (%)", "Wilson interval"]
    concentrations = [row("scoring", study.scoring), row("comparison", study.ranking)]
    out.print(table("Concentration of the best image", heads, concentrations))
    p = "–" if study.wilcoxon_p is None else f"{study.wilcoxon_p:.3g}"
    typer.echo(f"Wilcoxon signed-rank p of the entropies: {p}")
    typer.echo(f"{study.votes} votes on {study.tasks} tasks; {study.tied_tops} with the highest score shared")


def consensus(
    judges: Annotated[int, typer.Option(min=1, max=50, help="Votes on every task.")] = 10,
    candidates: Annotated[list[int] | None, typer.Option(min=2, max=26, help="Images of a set; repeat it.")] = None,
    samples: Annotated[
        int, typer.Option(min=0, max=100_000_000, help="Monte-Carlo samples as a check; 0 for none.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Chance that a set passes the consensus filter when judges guess (appendix D), exactly, for every majority."""
    from lmms_aes_tasks.cli.tables import console, table
    from lmms_aes_tasks.utils.consensus import null_pass_monte_carlo, null_pass_probability

    found = []
    for size in candidates or range(2, 7):
        for threshold in range(judges // 2 + 1, judges + 1):
            exact = null_pass_probability(size, threshold, judges)
            share = null_pass_monte_carlo(size, threshold, judges, samples, seed) if samples else None
            found.append(
                {
                    "candidates": size,
                    "threshold": threshold,
                    "probability": float(exact),
                    "monte_carlo": share[0] if share else None,
                    "half_width": share[1] if share else None,
                }
            )
    if as_json:
        typer.echo(json.dumps(found, allow_nan=False))
        return
    rows = [
        (
            str(one["candidates"]),
            str(one["threshold"]),
            f"{one['probability']:.3e}",
            "–" if one["monte_carlo"] is None else f"{one['monte_carlo']:.3e} ± {one['half_width']:.1e}",
        )
        for one in found
    ]
    title = f"Chance of passing by guessing, {judges} judges"
    console().print(table(title, ["images", "votes needed", "exact", "Monte Carlo"], rows))
