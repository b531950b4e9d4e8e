"""`lmms-aes analyze ratings`: people's ratings of critiques, and an MLLM judge beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.ratings import EvaluatorPair, HumanScore, JudgeAgreement, JudgedModel, Statistic


def _shown(found: Statistic) -> str:
    from lmms_aes_tasks.cli.tables import decimals

    return decimals(found.value, 3)


def _reasons(named: dict[str, Statistic]) -> list[str]:
    return [f"{name} is not defined: {found.reason}" for name, found in named.items() if found.value is None]


def _print_humans(scores: dict[str, HumanScore], pairs: list[EvaluatorPair]) -> None:
    from lmms_aes_tasks.cli.tables import console, decimals, ends, interval_text, percent, table
    from lmms_aes_tasks.utils.ratings import CRITERIA

    out = console()
    titles = [name.replace("_", " ") for name in CRITERIA]
    rows = [
        (
            model,
            decimals(own.score),
            interval_text(*ends(own.interval), decimals),
            *(percent(own.criteria[name]) for name in CRITERIA),
            str(own.cases),
            str(own.ratings),
        )
        for model, own in scores.items()
    ]
    heads = ["model", "HumanScore", "95% interval", *(f"{title} (%)" for title in titles), "cases", "ratings"]
    out.print(table("Ratings by people, 1 to 5", heads, rows))
    for model, own in scores.items():
        if own.least_evaluators != own.most_evaluators:
            typer.echo(
                f"{model}: {own.least_evaluators} to {own.most_evaluators} evaluators a critique; "
                "the score is the mean of all ratings"
            )
    if not pairs:
        typer.echo("one evaluator: no agreement to measure")
        return
    kappas = [
        (
            " / ".join(pair.evaluators),
            _shown(pair.quadratic_kappa),
            *(_shown(pair.criteria[name]) for name in CRITERIA),
            str(pair.n),
        )
        for pair in pairs
    ]
    heads = ["evaluators", "quadratic kappa of H", *titles, "critiques"]
    out.print(table("Agreement of evaluators (Cohen's kappa)", heads, kappas))
    for pair in pairs:
        for reason in _reasons({"quadratic kappa": pair.quadratic_kappa, **pair.criteria}):
            out.print(f"{' / '.join(pair.evaluators)}: {reason}", markup=False)


def _print_judge(found: JudgeAgreement, unread: int) -> None:
    from lmms_aes_tasks.cli.tables import console, decimals, table

    out = console()
    rows = [
        (
            model,
            decimals(own.human),
            decimals(own.judge),
            f"{own.human_rank:g}",
            f"{own.judge_rank:g}",
            str(own.n),
        )
        for model, own in found.models.items()
    ]
    heads = ["model", "people", "judge", "rank by people", "rank by judge", "critiques"]
    out.print(table("People and judge, over the critiques that both rated", heads, rows))
    named = {
        "Spearman's rho of the models' scores": found.spearman,
        "Kendall's tau-b of the models' scores": found.kendall,
        "Spearman's rho over critiques": found.item_spearman,
        **{f"quadratic kappa with {name}": own for name, own in found.quadratic_kappa.items()},
        "mean quadratic kappa": found.mean_quadratic_kappa,
    }
    out.print(table("Agreement", ["", "value", "n"], [(n, _shown(own), str(own.n)) for n, own in named.items()]))
    for reason in _reasons(named):
        out.print(reason, markup=False)
    typer.echo(
        f"{found.n} critiques rated by both; {found.only_human} by people alone, {found.only_judge} by the judge "
        f"alone; {unread} cases with a verdict that was not read"
    )


def ratings(
    file: Annotated[
        Path, typer.Argument(help="JSON, JSONL, Parquet or CSV: id, model, evaluator, and the four criteria, 0 or 1.")
    ],
    judge: Annotated[
        Path | None, typer.Option(help="What `lmms-aes judge critiques` wrote: adds the agreement with it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    resamples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw people against judge by model: PNG, SVG or PDF; with --judge.")
    ] = None,
) -> None:
    """HumanScore and agreement of evaluators (CritiqueCanvas, S14, S15); with --judge, people against an MLLM judge."""
    from dataclasses import asdict

    from lmms_aes_tasks.cli.plots import check_plot_name
    from lmms_aes_tasks.cli.tables import bootstrap_json
    from lmms_aes_tasks.critiquecanvas.judge import read_judge_file, verdicts_of
    from lmms_aes_tasks.critiquecanvas.ratings import read_ratings
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.utils.ratings import OVERALL, evaluator_agreement, human_scores, judge_agreement

    check_plot_name(plot)
    if plot is not None and judge is None:
        raise PredictionError("--plot draws people against the judge: give --judge, too")
    read = read_ratings(file)
    agreement = None
    unread = 0
    if judge is not None:
        if not judge.is_file():
            raise PredictionError(f"{judge} is not a file. Name what `lmms-aes judge critiques` wrote.")
        lines = read_judge_file(judge).lines
        verdicts = verdicts_of(lines)
        unread = len(lines) - len(verdicts)
        overall = {
            (case_id, model): scores[OVERALL] for case_id, own in verdicts.items() for model, scores in own.items()
        }
        agreement = judge_agreement(read, overall)
        if not agreement.n:
            raise PredictionError(f"{judge} and {file} rate no critique in common. Are ids and model names the same?")
    scores = human_scores(read, resamples, seed)
    pairs = evaluator_agreement(read)
    if as_json:
        content: dict[str, Any] = {
            "models": {name: asdict(own) for name, own in scores.items()},
            "evaluators": [asdict(pair) for pair in pairs],
            "judge": None if agreement is None else asdict(agreement) | {"cases_not_read": unread},
            "interval": bootstrap_json("cases", resamples, seed),
        }
        typer.echo(json.dumps(content, allow_nan=False))
    else:
        _print_humans(scores, pairs)
        if agreement is not None:
            _print_judge(agreement, unread)
    if plot is not None and agreement is not None:
        draw_judge(plot, agreement.models, "Critiques: people and judge")


# -- The plot ---------------------------------------------------------------------------------------------------------


def draw_judge(path: Path, models: Mapping[str, JudgedModel], title: str) -> None:
    """Scores by people against scores by the judge, a point for each model.

    Args:
        path: File to write.
        models: Scores by model.
        title: Text above the figure.
    """
    from lmms_aes_tasks.cli.plots import drawing

    with drawing(path, 1, 1, (5.6, 5.2), title) as axes:
        axis = axes[0][0]
        axis.plot([1, 5], [1, 5], color="0.8", zorder=0)
        for model, own in models.items():
            axis.scatter(own.human, own.judge, color="tab:blue")
            label = model.replace("$", r"\$")
            point = (own.human, own.judge)
            axis.annotate(label, point, xytext=(5, 4), textcoords="offset points", fontsize=8)
        axis.set(xlabel="people, mean H", ylabel="judge, mean overall quality", xlim=(0.8, 5.2), ylim=(0.8, 5.2))
