"""`lmms-aes score fineartbench`."""

from __future__ import annotations

import collections
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.alignment import Agreement, Alignment, Judgement
    from lmms_aes_tasks.utils.ranking import BradleyTerry, Games

_FOUR = ("elo_rho", "elo_p", "bt_rho", "bt_p")


# -- score ------------------------------------------------------------------------------------------------------------


def _part(part: Agreement, mode: str) -> dict[str, Any]:
    label = (
        {"split": part.label[0]}
        if mode == "global"
        else dict(zip(("content_index", "style_index"), part.label, strict=True))
    )
    values = {name: getattr(part, name) for name in (*_FOUR, "bt_plain_rho", "bt_plain_p")}
    return label | values | {"n": part.n, "problems": dict(part.problems)}


def _r2(human: Sequence[Judgement], methods: Sequence[str]) -> dict[str, Any]:
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


def _by_attribute(
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


def _rankings(found: Alignment, methods: Sequence[str]) -> dict[str, dict[str, float]]:
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


def _reasons(found: Alignment) -> dict[str, str]:
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
    from lmms_aes_tasks.cli.plots import check_plot_name, draw_ranks
    from lmms_aes_tasks.cli.tables import replies_json
    from lmms_aes_tasks.fineartbench.files import MODES, judgements_of, read_rows
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
        "splits" if mode == "global" else "groups": [_part(part, mode) for part in found.parts],
        "without_value": {name: found.missing(name) for name in ("elo", "bt", "bt_plain")},
        "problems": _reasons(found),
        "missing_pairs": n_pairs - len(model),
        "dropped_human_rows": found.dropped,
        "dropped_tasks": dict(found.dropped_tasks),
        "rankings": _rankings(found, methods),
        "r2": _r2(experts, methods),
        "pair_agreement": _share(alike, decided),
        "left_rate": {"model": _share(left, answered), "human": _share(human_left, human_decided)},
        "parse_rate": _share(sum(j.winner != "" for j in model), len(model)),
        "by_attribute": _by_attribute(folder, mode, found, experts, model),
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
