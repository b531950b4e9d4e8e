"""`lmms-aes score fineartbench`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.alignment import Alignment, Judgement

_FOUR = ("elo_rho", "elo_p", "bt_rho", "bt_p")


# -- score ------------------------------------------------------------------------------------------------------------


def score(
    mode: Annotated[str, typer.Option(help="global (per artist) or instance (per content–style task).")],
    human: Annotated[Path, typer.Option(help="The experts' file, global_annotation.json for example.")],
    predictions: Annotated[Path, typer.Option(help="The authors' format (.json), or a samples file (.jsonl).")],
    protocol: Annotated[str, typer.Option(help="official (the authors') or aligned (sound).")] = "official",
    before: Annotated[
        int | None, typer.Option(min=1, help="Rows that go in; 1000 for official, all for aligned.")
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Random splits, for global.")] = 5,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Score a run that lacks pairs, over those it has.")
    ] = False,
    combine: Annotated[str, typer.Option(help="How p-values are combined: fisher or pearson.")] = "fisher",
    noise: Annotated[
        bool,
        typer.Option("--noise", help="How far rounding alone moves the official Bradley–Terry ρ of tasks (seconds)."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw human against model ranks into this file (png, svg, pdf).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Agreement of a model's rankings with the experts': Spearman's ρ of Elo and Bradley–Terry, per split or task.

    With combined p-values, the rankings of both sides, McFadden's R², raw agreement beside the share of "left", and by
    attribute where style_1k.json and content_1k.json lie beside the human file or in base/.
    """
    from lmms_aes_tasks.cli.plots import check_plot_name
    from lmms_aes_tasks.cli.tables import replies_json
    from lmms_aes_tasks.fineartbench.files import MODES, judgements_of, read_rows
    from lmms_aes_tasks.fineartbench.report import by_attribute, mean_ratings, part_json, r2_json, reasons
    from lmms_aes_tasks.fineartbench.responses import model_judgements
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.utils import alignment
    from lmms_aes_tasks.utils.rounding_noise import task_noise_range

    if mode not in MODES:
        raise PredictionError(f"mode is {mode!r}: use one of {', '.join(MODES)}")
    if noise and (mode, protocol) != ("instance", "official"):
        raise PredictionError(
            f"--noise with --mode {mode} --protocol {protocol}: rounding moves the official ρ of tasks alone; give "
            "--mode instance --protocol official, or leave --noise out"
        )
    check_plot_name(plot)
    experts = judgements_of(read_rows(human), human.name)
    model, how = model_judgements(predictions, experts, mode, allow_incomplete)
    n_pairs = len(experts)
    answered_ids = {judgement.id for judgement in model}
    experts = [judgement for judgement in experts if judgement.id in answered_ids]

    def run(one: Sequence[Judgement], two: Sequence[Judgement]) -> Alignment:
        if mode == "global":
            return alignment.artist_alignment(one, two, protocol, before, splits, combine)  # type: ignore[arg-type]
        return alignment.task_alignment(one, two, protocol, before, combine)  # type: ignore[arg-type]

    try:
        found = run(experts, model)
        moved = task_noise_range(experts, model, before) if noise else None
    except ValueError as error:
        raise PredictionError(f"{predictions}: {error}") from None
    methods = alignment.methods_of(experts)
    alike, decided = alignment.pair_agreement(experts, model)
    left, answered = alignment.left_share(model)
    human_left, human_decided = alignment.left_share(experts)
    folder = next(
        (f for f in (human.parent, human.parent.parent / "base") if (f / "style_1k.json").is_file()), human.parent
    )
    content: dict[str, Any] = {"benchmark": "fineartbench", "mode": mode, "protocol": protocol}
    content |= {name: getattr(found, name) for name in _FOUR}
    content |= {
        "bt_plain_rho": found.bt_plain_rho,
        "bt_rho_noise": asdict(moved) if moved else None,
        "combine": combine,
        "before": before or (alignment.OFFICIAL_ROWS if protocol == "official" else None),
        "splits" if mode == "global" else "groups": [part_json(part, mode) for part in found.parts],
        "without_value": {name: found.missing(name) for name in ("elo", "bt", "bt_plain")},
        "problems": reasons(found),
        "missing_pairs": n_pairs - len(model),
        "dropped_human_rows": found.dropped,
        "dropped_tasks": dict(found.dropped_tasks),
        "rankings": mean_ratings(found, methods),
        "r2": r2_json(experts, methods),
        "pair_agreement": _share(alike, decided),
        "left_rate": {"model": _share(left, answered), "human": _share(human_left, human_decided)},
        "parse_rate": _share(sum(j.winner != "" for j in model), len(model)),
        "by_attribute": by_attribute(folder, mode, found, experts, model),
        "rules": how.rules,
        "prompts": how.prompts,
        **replies_json(f"fineartbench {mode}", how.replies),
    }
    if plot is not None:
        draw_ranks(plot, content["rankings"], f"{mode}, {protocol}: {predictions.name}")
    if as_json:
        typer.echo(json.dumps(content, allow_nan=False))
    else:
        _print(content, mode)


def _share(count: int, n: int) -> dict[str, float | int | None]:
    """A share with its 95% Wilson interval."""
    from lmms_aes_tasks.utils.significance import wilson_interval

    if n == 0:
        return {"value": None, "low": None, "high": None, "n": 0}
    interval = wilson_interval(count, n)
    return {"value": count / n, "low": interval.low, "high": interval.high, "n": n}


def _shown_share(share: Mapping[str, Any]) -> str:
    from lmms_aes_tasks.cli.tables import interval_text, percent

    if not share["n"]:
        return "–"
    return f"{percent(share['value'])}% {interval_text(share['low'], share['high'])} of {share['n']}"


def _print(content: Mapping[str, Any], mode: str) -> None:
    level = "splits" if mode == "global" else "tasks"
    parts = content["splits" if mode == "global" else "groups"]
    _print_correlations(content, mode, parts, level)
    _print_ratings(content, mode)
    _print_notes(content, mode, len(parts), level)


def _print_correlations(content: Mapping[str, Any], mode: str, parts: Sequence[Mapping[str, Any]], level: str) -> None:
    from lmms_aes_tasks.cli.tables import console, number, table

    out = console()
    rows = [("all", *(number(content[name]) for name in _FOUR), str(len(parts)))]
    for part in parts if mode == "global" else []:
        rows.append((f"split {part['split']}", *(number(part[name]) for name in _FOUR), str(part["n"])))
    if content["bt_rho_noise"]:
        span = content["bt_rho_noise"]
        low, high = (number(span[end]) for end in ("low", "high"))
        rows.append((f"rounding alone, {span['fits']} fits", "", "", f"{low} to {high}", "", ""))
    if mode == "instance" and content["protocol"] == "aligned":
        without = content["without_value"]["bt_plain"]
        rows.append(("without a prior", "", "", number(content["bt_plain_rho"]), "", str(len(parts) - without)))
    heads = ["", "Elo ρ", "p", "Bradley–Terry ρ", "p", f"{level} / n"]
    out.print(table(f"FineArtBench {mode}, {content['protocol']} protocol", heads, rows))
    if mode == "instance":
        tasks = [
            (f"{p['content_index']}, {p['style_index']}", *(number(p[name]) for name in _FOUR), str(p["n"]))
            for p in parts
        ]
        out.print(table("By content and style", heads, tasks))


def _print_ratings(content: Mapping[str, Any], mode: str) -> None:
    from lmms_aes_tasks.cli.tables import console, decimals, number, table

    out = console()
    rankings = content["rankings"]
    methods = list(next(iter(rankings.values()), {}))
    if methods:
        names = list(rankings)
        order = sorted(methods, key=lambda m: -rankings[names[0]][m])
        out.print(
            table(
                "Mean ratings",
                ["method", *names],
                [(m, *(decimals(rankings[n].get(m)) for n in names)) for m in order],
            )
        )
    if content["by_attribute"]:
        counted = "pairs" if mode == "global" else "tasks"
        own_rows = [
            (name, number(own["elo_rho"]), number(own["bt_rho"]), str(own[counted]))
            for name, own in content["by_attribute"].items()
        ]
        protocol = "aligned" if mode == "global" else content["protocol"]
        out.print(table(f"By attribute, {protocol}", ["", "Elo ρ", "Bradley–Terry ρ", counted], own_rows))


def _print_notes(content: Mapping[str, Any], mode: str, n_parts: int, level: str) -> None:
    from lmms_aes_tasks.cli.tables import number, percent

    typer.echo(f"pairs judged alike: {_shown_share(content['pair_agreement'])}")
    for side, printed in (("model", "the model"), ("human", "the experts")):
        typer.echo(f'"left" by {printed}: {_shown_share(content["left_rate"][side])}')
    typer.echo(f"answers read: {_shown_share(content['parse_rate'])}")
    if content["rules"]:
        share = percent(content["reasoning_rate"])
        typer.echo(f"failed requests: {content['failed_requests']}; replies with reasoning: {share}%")
    for text in content["remarks"]:
        typer.echo(f"warning: {text}")
    for name, counted in (("rule", content["rules"]), ("prompt", content["prompts"])):
        if counted:
            typer.echo(f"{name}: " + ", ".join(f"{own} {count}" for own, count in sorted(counted.items())))
    if content["missing_pairs"]:
        typer.echo(f"pairs that the run lacks: {content['missing_pairs']}")
    if mode == "instance":
        few, arcs = (content["dropped_tasks"].get(name, 0) for name in ("few_judgements", "feedback_arcs"))
        typer.echo(f"tasks left out: {few} with fewer than 15 decided judgements, {arcs} with over 15% feedback arcs")
    raw, pruned = (number(content["r2"][name]) for name in ("raw", "without_uncertain"))
    typer.echo(f"McFadden's R² of the experts' ranking: {raw}, without uncertain pairs {pruned}")
    if content["r2"]["problem"]:
        typer.echo(f"R² is not defined: {content['r2']['problem']}")
    for name, printed in (("elo", "Elo"), ("bt", "Bradley–Terry")):
        if name in content["problems"]:
            typer.echo(f"{printed} has no value: {content['problems'][name]}")
        without = content["without_value"][name]
        if without:
            typer.echo(f"{printed}: {without} of {n_parts} {level} have no value (their problems are in --json)")


# -- The plot ---------------------------------------------------------------------------------------------------------


def draw_ranks(path: Path, rankings: Mapping[str, Mapping[str, float]], title: str) -> None:
    """Ranks by experts against ranks by the model, one panel a rating.

    Args:
        path: File to write.
        rankings: Ratings by method under `human_elo`, `model_elo`, `human_bt`, `model_bt`, as far as they exist.
        title: Text above the panels.

    Raises:
        PredictionError: There is no rating of both sides.
    """
    from lmms_aes_tasks.cli.plots import drawing
    from lmms_aes_tasks.predictions import PredictionError

    names = [name for name in ("elo", "bt") if f"human_{name}" in rankings and f"model_{name}" in rankings]
    if not names:
        raise PredictionError(f"{path}: nothing to draw, for neither rating is defined (--json has the reasons)")
    with drawing(path, 1, len(names), (5.2 * len(names), 5.2), title) as axes:
        for axis, name in zip(axes[0], names, strict=False):
            places = {}
            for side in ("human", "model"):
                own = rankings[f"{side}_{name}"]
                ordered = sorted(own, key=own.__getitem__, reverse=True)
                places[side] = {method: place for place, method in enumerate(ordered, 1)}
            k = len(places["human"])
            axis.plot([1, k], [1, k], color="0.8", zorder=0)
            for method, place in places["human"].items():
                point = (place, places["model"][method])
                axis.scatter(*point, color="tab:blue")
                label = method.replace("$", r"\$")
                axis.annotate(label, point, xytext=(5, 4), textcoords="offset points", fontsize=8)
            heading = {"elo": "Elo", "bt": "Bradley–Terry"}[name]
            axis.set(xlabel="rank by experts", ylabel="rank by model", title=heading)
            axis.set(xlim=(0.5, k + 2.3), ylim=(k + 0.5, 0.5), xticks=range(1, k + 1), yticks=range(1, k + 1))
