"""`lmms-aes score vab`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_aes_tasks.sources import DATA_ENV

if TYPE_CHECKING:
    from lmms_aes_tasks.utils.selection import Trial
    from lmms_aes_tasks.utils.sums import SumScore

_Trials = Mapping[str, Sequence["Trial"]]
_PRINTED = {"top1": "Top-1", "bot1": "Bot-1", "tb1": "TB-1"}
_METRICS = {"ap_at_1": "ap@1", "pass_pow_3": "pass^3"}


def _scores(trials: Sequence[Trial], question: str, resamples: int, seed: int) -> dict[str, SumScore]:
    from lmms_aes_tasks.utils.selection import ap_at_1, part, pass_pow_3

    scores = {"ap_at_1": ap_at_1(trials, resamples, seed), "pass_pow_3": pass_pow_3(trials, resamples, seed)}
    if question == "tb1":
        for index, name in enumerate(("best", "worst")):
            one = part(trials, index)
            scores[f"{name}_ap_at_1"] = ap_at_1(one, resamples, seed)
            scores[f"{name}_pass_pow_3"] = pass_pow_3(one, resamples, seed)
    return scores


@dataclass(frozen=True)
class _Part:
    """One question over one group of trials.

    Attributes:
        scores: Its scores by name.
        chance: What uniform guessing gets over the same tasks, of ap@1 and pass^3.
        counts: Tasks, trials, and tasks that lack a trial.
    """

    scores: Mapping[str, SumScore]
    chance: Mapping[str, float | None]
    counts: Mapping[str, int]


def _part(question: str, trials: Sequence[Trial], resamples: int, seed: int) -> _Part:
    from lmms_aes_tasks.utils.selection import by_task, is_complete, random_baseline

    tasks = list(by_task(trials).values())
    whole = [own for own in tasks if is_complete(own)]
    every = random_baseline([trial.n_images for own in tasks for trial in own], question)
    complete = random_baseline([own[0].n_images for own in whole], question)
    return _Part(
        _scores(trials, question, resamples, seed),
        {"ap_at_1": every["ap_at_1"], "pass_pow_3": complete["pass_pow_3"]},  # over what each score is over
        {"tasks": len(tasks), "trials": len(trials), "incomplete_tasks": len(tasks) - len(whole)},
    )


_GROUPINGS: Mapping[str, Callable[[Trial], str]] = {
    "by_domain": lambda trial: trial.domain,
    "by_substyle": lambda trial: trial.substyle,
    "by_n_images": lambda trial: str(trial.n_images),
}


def _grouped(trials: _Trials, key: Callable[[Trial], str]) -> dict[str, _Trials]:
    """Trials by group and question; groups in order, numbers by their size."""
    groups: dict[str, dict[str, list[Trial]]] = {}
    for question, own in trials.items():
        for trial in own:
            groups.setdefault(key(trial), {}).setdefault(question, []).append(trial)
    return {name: groups[name] for name in sorted(groups, key=lambda name: (len(name) if name.isdigit() else 0, name))}


def _reading(trials: Sequence[Trial]) -> dict[str, float | None]:
    from lmms_aes_tasks.utils.selection import order_flip_rate, parse_rate

    return {
        "parse_rate": parse_rate(trials).value,
        "strict_parse_rate": parse_rate(trials, strict=True).value,
        "order_flip_rate": order_flip_rate(trials).value,
    }


def _positions(trials: Sequence[Trial]) -> dict[str, Any]:
    from lmms_aes_tasks.utils.selection import position_test

    test = asdict(position_test(trials))
    return test | {"counts": {str(size): counted for size, counted in test["counts"].items()}}


def score_shape(trials: _Trials, resamples: int, seed: int) -> dict[str, Any]:
    """All scores of a run: values, baselines, intervals and counts, each overall and by group, by question."""
    from lmms_aes_tasks.cli.tables import bootstrap_json

    def parts(own: _Trials) -> dict[str, _Part]:
        return {question: _part(question, own.get(question, []), resamples, seed) for question in _PRINTED}

    overall = parts(trials)
    grouped = {
        heading: {name: parts(own) for name, own in _grouped(trials, key).items()}
        for heading, key in _GROUPINGS.items()
    }

    def tree(shown: Callable[[_Part], Any]) -> dict[str, Any]:
        def each(own: Mapping[str, _Part]) -> dict[str, Any]:
            return {question: shown(part) for question, part in own.items()}

        by_group = {heading: {name: each(own) for name, own in groups.items()} for heading, groups in grouped.items()}
        return {"overall": each(overall), **by_group}

    return {
        "benchmark": "vab",
        **tree(lambda part: {name: score.value for name, score in part.scores.items()}),
        "random_baseline": tree(lambda part: part.chance),
        "intervals": tree(lambda part: {name: _ends(score) for name, score in part.scores.items()}),
        "n": tree(lambda part: part.counts),
        "reading": {question: _reading(own) for question, own in trials.items()},
        "positions": {question: _positions(own) for question, own in trials.items()},
        "interval": bootstrap_json("tasks", resamples, seed),
    }


def _ends(score: SumScore) -> list[float] | None:
    return [score.interval.low, score.interval.high] if score.interval else None


def _print_scores(shape: Mapping[str, Any]) -> None:
    from lmms_aes_tasks.cli.tables import console, decimals, interval_text, percent, table

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
                    interval_text(*interval or (None, None)),
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
        statistic = decimals(test["chi_square"])
        reading = [percent(value) for value in shape["reading"][question].values()]
        rows.append((_PRINTED[question], *reading, shown, f"{statistic} ({test['degrees']})", p))
    heads = ["", "parsed", "strictly", "order flips", "chosen position, first to last", "chi-square (df)", "p"]
    out.print(table("Reading and position (%)", heads, rows))
    fired = [
        (_PRINTED[question], rule, str(count), percent(count / shape["n"]["overall"][question]["trials"]))
        for question in asked
        for rule, count in sorted(shape["rules"][question].items(), key=lambda pair: -pair[1])
    ]
    out.print(table("Parsing rules", ["", "rule", "trials", "%"], fired, numbers_from=2))
    typer.echo(
        f"failed requests: {shape['failed_requests']}; replies with reasoning: {percent(shape['reasoning_rate'])}%"
    )
    for text in shape["remarks"]:
        typer.echo(f"warning: {text}")
    left_out = sum(shape["n"]["overall"][question]["incomplete_tasks"] for question in asked)
    for name, count in shape["prompts"].items():
        typer.echo(f"prompt {name}: {count} responses")
    if left_out:
        typer.echo(f"{left_out} incomplete task(s) are left out of pass^3 and order flips.")


def _compare(first: _Trials, second: _Trials, resamples: int, seed: int) -> dict[str, Any]:
    from lmms_aes_tasks.cli.tables import ends
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
            low, high = ends(found.interval)
            result[question][name] = {"difference": found.difference, "low": low, "high": high, "n": found.n}
            if name == "pass_pow_3":
                mcnemar = {"only_first": found.only_first, "only_second": found.only_second, "mcnemar_p": found.p}
                result[question][name] |= mcnemar
    return result


def _print_comparison(result: Mapping[str, Any]) -> None:
    from lmms_aes_tasks.cli.tables import console, interval_text, percent, table

    rows = []
    for question, found in result.items():
        for name, printed in _METRICS.items():
            one = found[name]
            p = one.get("mcnemar_p")
            interval = interval_text(one["low"], one["high"])
            tested = ("", "") if p is None else (f"{one['only_first']}/{one['only_second']}", f"{p:.4f}")
            cells = (percent(one["difference"]), interval, str(one["n"]), *tested)
            rows.append((f"{_PRINTED[question]} {printed}", *cells))
    heads = ["", "second − first", "95% interval", "tasks", "passed by only first/second", "McNemar p"]
    console().print(table("Paired differences (points)", heads, rows))


def score(
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
    from lmms_aes_tasks.cli.plots import check_plot_name
    from lmms_aes_tasks.cli.tables import replies_json
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.sources import at_hand, data_root, read_card
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
    fallback = at_hand(read_card("vab"), data_root())
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
    shape |= {"prompts": responses_read.prompts, "failed": responses_read.failed, "rules": responses_read.rules}
    shape |= replies_json("vab", responses_read.replies)
    if plot is not None:
        asked = {question: printed for question, printed in _PRINTED.items() if first.get(question)}
        draw_selection(plot, shape, asked, f"Visual Aesthetic Benchmark: {paths[0].name}")
    if as_json:
        typer.echo(json.dumps(shape, allow_nan=False))
    else:
        _print_scores(shape)


# -- The plot ---------------------------------------------------------------------------------------------------------


def draw_selection(path: Path, shape: Mapping[str, Any], questions: Mapping[str, str], title: str) -> None:
    """ap@1 and pass^3 over the number of images, with their intervals and the exact random baseline.

    Args:
        path: File to write.
        shape: What `score vab --json` writes.
        questions: Printed name by key, of the questions to draw.
        title: Text above the panels.
    """
    from lmms_aes_tasks.cli.plots import drawing

    def at(part: Mapping[str, Any], size: str) -> Mapping[str, Any]:
        return part["overall"] if size == "all" else part["by_n_images"][size]  # type: ignore[no-any-return]

    sizes = ["all", *shape["by_n_images"]]
    with drawing(path, 1, 2, (11, 4.6), title) as axes:
        for axis, (metric, heading) in zip(axes[0], (("ap_at_1", "ap@1"), ("pass_pow_3", "pass^3")), strict=True):
            width = 0.8 / len(questions)
            for index, (question, printed) in enumerate(questions.items()):
                shift = (index - (len(questions) - 1) / 2) * width
                for place, size in enumerate(sizes):
                    value = at(shape, size)[question].get(metric)
                    if value is None:
                        continue
                    low, high = at(shape["intervals"], size)[question][metric] or (value, value)
                    x = place + shift
                    label = printed if place == 0 else None
                    axis.bar(x, 100 * value, width * 0.9, color=f"C{index}", label=label)
                    # an interval holds its value up to rounding
                    errors = [[100 * max(0.0, value - low)], [100 * max(0.0, high - value)]]
                    axis.errorbar(x, 100 * value, errors, color="0.25", capsize=2, linewidth=1)
                    chance = at(shape["random_baseline"], size)[question].get(metric)
                    if chance is not None:
                        axis.hlines(100 * chance, x - width / 2, x + width / 2, color="black", linestyles="dotted")
            axis.set(xticks=range(len(sizes)), xticklabels=sizes, xlabel="images in the set", title=heading)
            axis.set(ylim=(0, 100), ylabel="% of trials" if metric == "ap_at_1" else "% of tasks")
            axis.plot([], [], color="black", linestyle="dotted", label="random")
        axes[0][1].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
