"""`lmms-aes score contextcanvas`."""

from __future__ import annotations

import collections
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_aes_tasks.sources import DATA_ENV

if TYPE_CHECKING:
    from lmms_aes_tasks.predictions import Prediction

_Cases = dict[str, tuple[list[tuple[str, str]], str]]


def _cases_from_data(data: Path | None, name: str = "contextcanvas") -> _Cases:
    """Options and gold label by id, from the data of the benchmark or its demo."""
    from lmms_aes_tasks.contextcanvas.task import SCHEMA, option_pairs
    from lmms_aes_tasks.records import read_labels
    from lmms_aes_tasks.sources import locate, read_card

    rows = read_labels(locate(read_card(name), data), SCHEMA, ["id", "options", "gold"])
    return {row["id"]: (option_pairs(row), row["gold"]) for row in rows}


def _placed_cases(read: Sequence[Prediction], data: Path | None, path: Path) -> tuple[list[Prediction], _Cases]:
    """Samples of --predict_only with the ids of the cases in their places, and these cases."""
    from lmms_aes_tasks.predictions import placed
    from lmms_aes_tasks.records import SourceError
    from lmms_aes_tasks.sources import card_of_samples

    try:
        cases = _cases_from_data(data, card_of_samples(path, "contextcanvas") if data is None else "contextcanvas")
    except SourceError:
        if data is not None:
            raise
        return placed(read, None, path), {}
    return placed(read, [(case_id, gold) for case_id, (_, gold) in cases.items()], path), cases


def _cases_from_records(records: dict[str, dict[str, Any]], path: Path) -> _Cases:
    """The same from the records that the harness logged."""
    from lmms_aes_tasks.predictions import PredictionError

    cases: _Cases = {}
    for case_id, record in records.items():
        try:
            cases[case_id] = ([(str(option), str(text)) for option, text in record["options"]], str(record["gold"]))
        except (KeyError, TypeError, ValueError):
            raise PredictionError(
                f"{path}: the record of {case_id} has no options and gold. "
                "Give --data, or a samples file of contextcanvas."
            ) from None
    return cases


def _cases(read: Sequence[Prediction], data: Path | None, path: Path) -> tuple[_Cases, str]:
    """Options and gold labels, and where they are from.

    Named data counts. A samples file brings its own, and is held against the data at hand when that knows its cases;
    plain predictions need the data.
    """
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.sources import at_hand, data_root, read_card
    from lmms_aes_tasks.utils.errors import bulleted

    records = {item.id: item.record for item in read if item.record is not None}
    complete = len(records) == len({item.id for item in read})
    if data is None and complete and at_hand(read_card("contextcanvas"), data_root()) is None:
        return _cases_from_records(records, path), "the samples file"
    cases = _cases_from_data(data)
    if data is None and complete and not set(records) & set(cases):
        return _cases_from_records(records, path), "the samples file"  # of another set, as the demo
    own = _cases_from_records(records, path)
    wrong = [f"{i}: {own[i][1]!r} there, {cases[i][1]!r} in the data" for i in own if i in cases and own[i] != cases[i]]
    if wrong:
        raise PredictionError(
            f"{path}: gold labels or options differ from the data in {len(wrong)} case(s):\n{bulleted(wrong)}"
        )
    return cases, "the data"


def _print(content: Mapping[str, Any], rules: collections.Counter[str], title: str) -> None:
    from lmms_aes_tasks.cli.tables import console, interval_text, percent, reply_rows, table

    rows = [
        (f"{name} (%)", percent(score["value"]), interval_text(score["low"], score["high"]), str(score["n"]))
        for name, score in content["metrics"].items()
    ]
    rows += reply_rows(content, content["n"])
    out = console()
    out.print(table(f"ContextCanvas: {title}", ["metric", "value", "95% interval", "n"], rows))
    fired = [(rule, str(count), percent(count / content["n"])) for rule, count in rules.most_common()]
    out.print(table("Parsing rules", ["rule", "cases", "%"], fired))
    for text in content["remarks"]:
        typer.echo(f"warning: {text}")
    for name, count in content["prompts"].items():
        typer.echo(f"prompt {name}: {count} cases")
    interval = content["interval"]
    typer.echo(
        f"gold Yes rate {percent(content['gold_yes_rate'])}%; gold labels from {content['gold_from']}; "
        f"{interval['resamples']} resamples, seed {interval['seed']}"
    )


def score(
    predictions: Annotated[Path, typer.Argument(help="JSONL, JSON, CSV or TSV of id and response, or a samples file.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder or file of the data. Without it a samples file brings its own gold labels; JSONL needs "
            f"${DATA_ENV}.",
        ),
    ] = None,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Take a run with missing cases (--limit).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    resamples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """Accuracy, Macro-F1, Yes rate, F1 per class, parse rate, with 95% intervals and the parsing rules that fired."""
    from lmms_aes_tasks.cli.tables import bootstrap_json, replies_json, score_json
    from lmms_aes_tasks.contextcanvas.task import decide, prompt_name
    from lmms_aes_tasks.predictions import as_in_data, check_ids, is_placed, read_predictions
    from lmms_aes_tasks.utils.answers import PARSER_VERSION
    from lmms_aes_tasks.utils.reply_facts import count_replies
    from lmms_aes_tasks.utils.suitability import suitability_scores

    read = read_predictions(predictions, by_position=True)
    if is_placed(read):
        read, cases = _placed_cases(read, data, predictions)
        gold_from = "the data"
    else:
        cases, gold_from = _cases(read, data, predictions)
        read = as_in_data(read, cases)
    check_ids(read, cases if gold_from == "the data" else None, predictions, allow_incomplete)
    decided = [decide(item.id, item.response, *cases[item.id]) for item in read]
    decisions = [decision for decision, _ in decided]
    scores = suitability_scores(decisions, resamples, seed)
    rules = collections.Counter(parsed.rule for _, parsed in decided)
    prompts = collections.Counter(prompt_name(item.prompt) for item in read if item.prompt is not None)
    two_option = [decision for decision in decisions if len(decision.options) == 2]
    gold_yes = sum(decision.gold == "A" for decision in two_option) / len(two_option) if two_option else None
    content = {
        "benchmark": "contextcanvas",
        "n": len(decisions),
        "metrics": {name: score_json(score) for name, score in scores.items()},
        "rules": dict(sorted(rules.items())),
        **replies_json("contextcanvas", count_replies(decisions)),
        "gold_yes_rate": gold_yes,
        "gold_from": gold_from,
        "parser": PARSER_VERSION,
        "prompts": dict(prompts),
        "interval": bootstrap_json("cases", resamples, seed),
    }
    if as_json:
        typer.echo(json.dumps(content, allow_nan=False))
    else:
        _print(content, rules, predictions.name)
