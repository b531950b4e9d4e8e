"""`lmms-aes score vab`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_aes_tasks.sources import DATA_ENV

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.selection import SelectionScore, Trial

_Trials = Mapping[str, Sequence["Trial"]]
_PRINTED = {"top1": "Top-1", "bot1": "Bot-1", "tb1": "TB-1"}
_METRICS = {"ap_at_1": "ap@1", "pass_pow_3": "pass^3"}


def _scores(trials: Sequence[Trial], question: str, resamples: int, seed: int) -> dict[str, SelectionScore]:
    from lmms_aes_tasks.utils.selection import ap_at_1, part, pass_pow_3

    scores = {"ap_at_1": ap_at_1(trials, resamples, seed), "pass_pow_3": pass_pow_3(trials, resamples, seed)}
    if question == "tb1":
        for index, name in enumerate(("best", "worst")):
            one = part(trials, index)
            scores[f"{name}_ap_at_1"] = ap_at_1(one, resamples, seed)
            scores[f"{name}_pass_pow_3"] = pass_pow_3(one, resamples, seed)
    return scores


def _groups(trials: _Trials, key: Callable[[Trial], str]) -> dict[str, _Trials]:
    names = sorted({key(trial) for own in trials.values() for trial in own})
    return {name: {question: [t for t in own if key(t) == name] for question, own in trials.items()} for name in names}


def _in_shape(trials: _Trials, read: Callable[[str, Sequence[Trial]], Any]) -> dict[str, Any]:
    """A value for every question, overall and by group: the shape that every part of the output has."""

    def each(own: _Trials) -> dict[str, Any]:
        return {question: read(question, own.get(question, [])) for question in _PRINTED}

    return {
        "overall": each(trials),
        "by_domain": {name: each(own) for name, own in _groups(trials, lambda t: t.domain).items()},
        "by_substyle": {name: each(own) for name, own in _groups(trials, lambda t: t.substyle).items()},
        "by_n_images": {
            name: each(own)
            for name, own in sorted(_groups(trials, lambda t: str(t.n_images)).items(), key=lambda item: int(item[0]))
        },
    }


def score_shape(trials: _Trials, resamples: int, seed: int) -> dict[str, Any]:
    """All scores of a run: values in the shape of the issue's tables, intervals, counts and baselines in the same."""
    from lmms_aes_tasks.utils.selection import (
        by_task,
        incomplete_tasks,
        is_complete,
        order_flip_rate,
        parse_rate,
        position_test,
        random_baseline,
    )

    cache: dict[tuple[str, ...], dict[str, SelectionScore]] = {}

    def scored(question: str, own: Sequence[Trial]) -> dict[str, SelectionScore]:
        key = (question, *map(str, own))
        if key not in cache:
            cache[key] = _scores(own, question, resamples, seed)
        return cache[key]

    def values(question: str, own: Sequence[Trial]) -> dict[str, float | None]:
        return {name: score.value for name, score in scored(question, own).items()}

    def intervals(question: str, own: Sequence[Trial]) -> dict[str, list[float] | None]:
        return {
            name: [score.interval.low, score.interval.high] if score.interval else None
            for name, score in scored(question, own).items()
        }

    def counts(question: str, own: Sequence[Trial]) -> dict[str, int]:
        tasks = by_task(own)
        return {"tasks": len(tasks), "trials": len(own), "incomplete_tasks": len(incomplete_tasks(own))}

    def chance(question: str, own: Sequence[Trial]) -> dict[str, float | None]:
        tasks = by_task(own).values()
        complete = random_baseline([trials[0].n_images for trials in tasks if is_complete(trials)], question)
        every = random_baseline([trial.n_images for trials in tasks for trial in trials], question)
        return {"ap_at_1": every["ap_at_1"], "pass_pow_3": complete["pass_pow_3"]}  # over what each score is over

    def reading(own: Sequence[Trial]) -> dict[str, float | None]:
        return {
            "parse_rate": parse_rate(own).value,
            "strict_parse_rate": parse_rate(own, strict=True).value,
            "order_flip_rate": order_flip_rate(own).value,
        }

    def positions(own: Sequence[Trial]) -> dict[str, Any]:
        test = position_test(own)
        named = {str(size): counted for size, counted in test.counts.items()}
        return {"counts": named, "chi_square": test.chi_square, "degrees": test.degrees, "p": test.p}

    return {
        "benchmark": "vab",
        **_in_shape(trials, values),
        "random_baseline": _in_shape(trials, chance),
        "intervals": _in_shape(trials, intervals),
        "n": _in_shape(trials, counts),
        "reading": {question: reading(own) for question, own in trials.items()},
        "positions": {question: positions(own) for question, own in trials.items()},
        "interval": {
            "method": "percentile bootstrap over tasks",
            "level": 0.95,
            "resamples": resamples,
            "seed": seed,
        },
    }


def _print_scores(shape: Mapping[str, Any]) -> None:
    from lmms_aes_tasks.cli.tables import console, percent, table

    out = console()
    if shape["failed"]:
        typer.echo(f"{shape['failed']} row(s) with an error were left out.")
    asked = [question for question in _PRINTED if shape["n"]["overall"][question]["trials"]]
    rows: list[tuple[str, ...]] = []
    for question in asked:
        for name, value in shape["overall"][question].items():
            interval = shape["intervals"]["overall"][question][name]
            count = shape["n"]["overall"][question]
            which = "".join(f"{part} " for part in ("best", "worst") if name.startswith(part))
            metric = next(printed for key, printed in _METRICS.items() if name.endswith(key))
            chance = None if which else shape["random_baseline"]["overall"][question][name]
            complete = count["tasks"] - count["incomplete_tasks"]
            rows.append(
                (
                    f"{_PRINTED[question]} {which}{metric}",
                    percent(value),
                    f"[{percent(interval[0])}, {percent(interval[1])}]" if interval else "–",
                    percent(chance),
                    f"{count['trials']} trials" if metric == "ap@1" else f"{complete} tasks",
                )
            )
    out.print(table("Overall (%)", ["", "value", "95% interval", "random", "n"], rows))
    columns = [f"{_PRINTED[question]} {printed}" for question in asked for printed in _METRICS.values()]
    for part, title in (
        ("by_domain", "By domain"),
        ("by_n_images", "By number of images"),
        ("by_substyle", "By substyle"),
    ):
        rows = []
        for name, own in shape[part].items():
            values = [own[question][metric] for question in asked for metric in _METRICS]
            chances = [
                shape["random_baseline"][part][name][question][metric] for question in asked for metric in _METRICS
            ]
            tasks = max(shape["n"][part][name][question]["tasks"] for question in asked)
            cells = [f"{percent(value)} ({percent(chance)})" for value, chance in zip(values, chances, strict=True)]
            rows.append((name, *cells, str(tasks)))
        out.print(table(f"{title}: value and (random), %", ["", *columns, "tasks"], rows))
    rows = []
    for question in asked:
        test = shape["positions"][question]
        shown = "; ".join(f"n={size}: {' '.join(map(str, counts))}" for size, counts in test["counts"].items())
        p = "–" if test["p"] is None else f"{test['p']:.2g}"
        statistic = "–" if test["chi_square"] is None else f"{test['chi_square']:.2f}"
        reading = [percent(value) for value in shape["reading"][question].values()]
        rows.append((_PRINTED[question], *reading, shown, f"{statistic} ({test['degrees']})", p))
    heads = ["", "parsed", "strictly", "order flips", "chosen position, first to last", "chi-square (df)", "p"]
    out.print(table("Reading and position (%)", heads, rows))
    left_out = sum(shape["n"]["overall"][question]["incomplete_tasks"] for question in asked)
    for name, count in shape["prompts"].items():
        typer.echo(f"prompt {name}: {count} responses")
    if left_out:
        typer.echo(f"{left_out} incomplete task(s) are left out of pass^3 and order flips.")


def _compare(first: _Trials, second: _Trials, resamples: int, seed: int) -> dict[str, Any]:
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.utils.selection import by_task, compare

    shared = [question for question in first if question in second]
    if not shared:
        raise PredictionError(f"nothing to compare: {', '.join(first)} here and {', '.join(second)} there")
    result: dict[str, Any] = {}
    for question in shared:
        mine, theirs = set(by_task(first[question])), set(by_task(second[question]))
        result[question] = {"only_in_first": len(mine - theirs), "only_in_second": len(theirs - mine)}
        for name, found in compare(first[question], second[question], resamples, seed).items():
            interval = found.interval
            result[question][name] = {
                "difference": found.difference,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "n": found.n,
            }
            if name == "pass_pow_3":
                mcnemar = {"only_first": found.only_first, "only_second": found.only_second, "mcnemar_p": found.p}
                result[question][name] |= mcnemar
    return result


def _print_comparison(result: Mapping[str, Any]) -> None:
    from lmms_aes_tasks.cli.tables import console, percent, table

    rows = []
    for question, found in result.items():
        for name, printed in _METRICS.items():
            one = found[name]
            interval = "–" if one["low"] is None else f"[{percent(one['low'])}, {percent(one['high'])}]"
            p = one.get("mcnemar_p")
            discordant = "" if p is None else f"{one['only_first']}/{one['only_second']}"
            shown = "" if p is None else f"{p:.4f}"
            rows.append(
                (
                    f"{_PRINTED[question]} {printed}",
                    percent(one["difference"]),
                    interval,
                    str(one["n"]),
                    discordant,
                    shown,
                )
            )
    heads = ["", "second − first", "95% interval", "tasks", "passed by only first/second", "McNemar p"]
    console().print(table("Paired differences (points)", heads, rows))


def vab(
    predictions: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Samples files or output folders of lmms-eval, JSONL of responses, or the authors' result file."
        ),
    ] = None,
    responses: Annotated[
        list[Path] | None, typer.Option(help="JSONL of task_id, prompt_type, trial, response; the same as an argument.")
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option(help="JSON or JSONL of the tasks, for responses that do not bring them.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help=f"Folder or file of the data, in place of --tasks; or set ${DATA_ENV}.")
    ] = None,
    compare: Annotated[
        list[Path] | None,
        typer.Option(help="A second run (repeat for several files): differences, second minus first."),
    ] = None,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Take a run with missing trials (--limit).")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the scores by number of images into this file (png, svg, pdf).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    resamples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """ap@1 and pass^3 of Top-1, Bot-1 and TB-1: overall, by domain, substyle and number of images.

    With 95% intervals over tasks, the exact random baseline of the same tasks, parse and order-flip rates, and the
    distribution of the chosen position. With --compare, paired differences and exact McNemar tests.
    """
    from lmms_aes_tasks.cli.plots import check_plot_name, draw_selection
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.sources import data_root, hub_copy, read_card
    from lmms_aes_tasks.vab.responses import read_responses, read_trials
    from lmms_aes_tasks.vab.rows import read_tasks, tasks_of_data

    paths = [*(predictions or []), *(responses or [])]
    if not paths:
        raise PredictionError("no responses: name samples files, JSONL, or the authors' result file")
    if tasks is not None and data is not None:
        raise PredictionError("--tasks and --data both say what the tasks are: give one")
    if compare and plot is not None:
        raise PredictionError("--plot draws the scores of one run: leave out --compare")
    check_plot_name(plot)
    root = data_root()
    fallback = root / "vab" if root is not None and (root / "vab").exists() else hub_copy(read_card("vab"))
    known = read_tasks(tasks) if tasks is not None else tasks_of_data(data) if data is not None else None
    responses_read = read_responses(paths, known, allow_incomplete, fallback)
    first = responses_read.trials
    if compare:
        result = _compare(first, read_trials(compare, known, allow_incomplete, fallback), resamples, seed)
        if as_json:
            typer.echo(json.dumps({"benchmark": "vab", "compare": result}, allow_nan=False))
        else:
            _print_comparison(result)
        return
    shape = score_shape(first, resamples, seed)
    shape |= {"prompts": responses_read.prompts, "failed": responses_read.failed}
    if plot is not None:
        asked = {question: printed for question, printed in _PRINTED.items() if first.get(question)}
        draw_selection(plot, shape, asked, f"Visual Aesthetic Benchmark: {paths[0].name}")
    if as_json:
        typer.echo(json.dumps(shape, allow_nan=False))
    else:
        _print_scores(shape)
