"""`lmms-aes score critiquecanvas`: critiques made elsewhere, or an lmms-eval samples file."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_aes_tasks.sources import DATA_ENV

if TYPE_CHECKING:
    from lmms_aes_tasks.critiquecanvas.scoring import Case, Scored
    from lmms_aes_tasks.predictions import Prediction


def _data_file(data: Path | None) -> Path | None:
    """The file of records: what is named (a path, or a demo's name), else below `$LMMS_AES_DATA`; None without any."""
    from lmms_aes_tasks.records import SourceError
    from lmms_aes_tasks.sources import at_hand, canonical_file, card_names, data_root, locate, read_card

    if data is not None:
        name = str(data)
        if not data.exists() and name in card_names() and read_card(name).generator:
            return canonical_file(read_card(name))
        return locate(read_card("critiquecanvas"), data)
    card = read_card("critiquecanvas")
    place = at_hand(card, data_root())
    try:
        return None if place is None else locate(card, place)
    except SourceError:
        return None


def _case_of_sample(item: Prediction, path: Path) -> Case:
    from lmms_aes_tasks.critiquecanvas.items import focus_of_record
    from lmms_aes_tasks.critiquecanvas.scoring import Case
    from lmms_aes_tasks.predictions import PredictionError

    if item.target is None or item.record is None or "rouge_l" not in item.record:
        raise PredictionError(
            f"{path}: {item.id} brings no reference and instruction. Give --data, set ${DATA_ENV}, or give a samples "
            "file of critiquecanvas."
        )
    try:
        focus = focus_of_record(item.record)
    except ValueError as error:
        raise PredictionError(f"{path}: the record of {item.id}: {error}. Give --data, or run again.") from None
    # not the prompt in the instruction's place: it has the texts of pre_prompt and post_prompt around it
    return Case(item.id, str(item.record.get("domain", "")), "", item.target, focus=focus)


def _differing(cases: Mapping[str, Case], own: Mapping[str, Case], path: Path) -> None:
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.utils.errors import bulleted

    wrong = [
        f"{i}: the samples' reference begins {case.reference[:40]!r}, the data's {cases[i].reference[:40]!r}"
        for i, case in own.items()
        if i in cases and case.reference != cases[i].reference
    ]
    if wrong:
        raise PredictionError(f"{path}: references differ from the data in {len(wrong)} case(s):\n{bulleted(wrong)}")


def _placed(read: Sequence[Prediction], data: Path | None, path: Path) -> tuple[list[tuple[Case, str]], str]:
    """Samples of --predict_only with the cases in their places, of the whole data or of one domain of it."""
    from lmms_aes_tasks.critiquecanvas.scoring import read_cases
    from lmms_aes_tasks.predictions import placed
    from lmms_aes_tasks.sources import card_of_samples

    name = card_of_samples(path, "critiquecanvas")
    file = _data_file(Path(name) if data is None and name != "critiquecanvas" else data)
    cases = {} if file is None else read_cases(file)
    domain = path.stem.rpartition("_")[2]
    if any(case.domain == domain for case in cases.values()):
        cases = {case_id: case for case_id, case in cases.items() if case.domain == domain}
    documents = [(case_id, case.reference) for case_id, case in cases.items()]
    found = placed(read, None if file is None else documents, path)
    return [(cases[item.id], item.response) for item in found], "the data"


def _answered(
    read: Sequence[Prediction], data: Path | None, path: Path, allow_incomplete: bool
) -> tuple[list[tuple[Case, str]], str]:
    """Cases with their responses in the order of the data, and where references are from."""
    from lmms_aes_tasks.critiquecanvas.scoring import read_cases
    from lmms_aes_tasks.predictions import as_in_data, check_ids, is_placed

    if is_placed(read):
        return _placed(read, data, path)
    complete = all(item.target is not None and item.record is not None for item in read)
    file = _data_file(data)
    own = {item.id: _case_of_sample(item, path) for item in read} if complete or file is None else {}
    cases = read_cases(file) if file is not None else {}
    read = as_in_data(read, cases)
    known = bool(set(cases) & {item.id for item in read})
    if data is None and own and not known:  # a samples file of another set, as the demo
        check_ids(read, None, path)
        return [(own[item.id], item.response) for item in read], "the samples file"
    _differing(cases, own, path)
    domains = {str((item.record or {}).get("domain", "")) for item in read}
    expected = [case.id for case in cases.values() if not complete or len(domains) != 1 or case.domain in domains]
    check_ids(read, expected, path, allow_incomplete)
    responses = {item.id: item.response for item in read}
    return [(case, responses[case.id]) for case in cases.values() if case.id in responses], "the data"


def _chosen(text: str) -> list[str]:
    """Metric names from a list of names and families."""
    from lmms_aes_tasks.critiquecanvas.items import EMBEDDING_METRICS, LEXICAL_METRICS, METRICS
    from lmms_aes_tasks.utils.critique_style import STYLE_METRICS

    families = {
        "all": METRICS,
        "lexical": LEXICAL_METRICS,
        "embedding": EMBEDDING_METRICS,
        "style": STYLE_METRICS,
    }
    named: set[str] = set()
    for part in (piece.strip() for piece in text.split(",")):
        if part not in families and part not in METRICS:
            raise typer.BadParameter(f"{part!r}: use {', '.join(families)}, or some of {', '.join(METRICS)}")
        named.update(families.get(part, (part,)))
    return [name for name in METRICS if name in named]


def _group(scored: Scored, metrics: Sequence[str], resamples: int, seed: int) -> dict[str, Any]:
    from dataclasses import asdict

    from lmms_aes_tasks.cli.tables import score_json
    from lmms_aes_tasks.critiquecanvas.items import answered
    from lmms_aes_tasks.critiquecanvas.scoring import metric_score
    from lmms_aes_tasks.utils.critique_style import prompt_kinds
    from lmms_aes_tasks.utils.dimensions import DIMENSIONS

    styles = [item.style for item in answered(scored.items)]
    n = len(styles)
    return {
        "n": len(scored.items),
        "metrics": {name: score_json(metric_score(scored, name, resamples, seed)) for name in metrics},
        **asdict(prompt_kinds([item.style for item in scored.items])),
        "dimensions": {name: sum(name in style.mentions for style in styles) / n for name in DIMENSIONS} if n else {},
    }


def _of_domain(scored: Scored, domain: str) -> Scored:
    return scored.where(lambda item: item.domain == domain)


def _content(scored: Scored, metrics: Sequence[str], resamples: int, seed: int) -> dict[str, Any]:
    """What `--json` writes, without the comparison."""
    from lmms_aes_tasks.cli.tables import bootstrap_json, replies_json
    from lmms_aes_tasks.critiquecanvas.items import answered, lexicon, parser_version
    from lmms_aes_tasks.critiquecanvas.scoring import computed
    from lmms_aes_tasks.utils.critique_style import unread_texts
    from lmms_aes_tasks.utils.dimensions import triggers
    from lmms_aes_tasks.utils.reply_facts import count_replies

    there = computed(scored, metrics)
    domains = sorted({item.domain for item in scored.items if item.domain})
    return {
        "benchmark": "critiquecanvas",
        **_group(scored, there, resamples, seed),
        "by_domain": {domain: _group(_of_domain(scored, domain), there, 0, seed) for domain in domains},
        "not_computed": dict(scored.late.missing),
        "problems": list(scored.late.problems),
        "unread": unread_texts([item.style for item in answered(scored.items)]),
        **replies_json("critiquecanvas", count_replies(scored.items)),
        "encoders": dict(scored.late.encoders),
        "triggers": triggers().version,
        "parser": parser_version(),
        "wordnet": lexicon().version,
        "interval": bootstrap_json("critiques", resamples, seed),
    }


def _is_share(name: str) -> bool:
    from lmms_aes_tasks.critiquecanvas.board import METRICS as FACTS

    return FACTS[name].unit == "fraction"


def _shown(name: str, value: float | None) -> str:
    from lmms_aes_tasks.cli.tables import decimals, percent

    return percent(value) if _is_share(name) else decimals(value, 3)


def _range(name: str, score: Mapping[str, Any]) -> str:
    from lmms_aes_tasks.cli.tables import interval_text

    return interval_text(score["low"], score["high"], functools.partial(_shown, name))


def _print(content: Mapping[str, Any], title: str) -> None:
    from lmms_aes_tasks.cli.tables import console, reply_rows, table

    out = console()
    rows = [
        (_printed(name), _shown(name, score["value"]), _range(name, score), str(score["n"]))
        for name, score in content["metrics"].items()
    ]
    rows += [(_printed(name), "not computed", "–", "0") for name in content["not_computed"]]
    rows += reply_rows(content, content["n"])
    out.print(table(f"CritiqueCanvas: {title}", ["metric", "value", "95% interval", "n"], rows))
    if content["by_domain"]:
        names = list(content["metrics"])
        by_domain = [
            (domain, str(part["n"]), *(_shown(name, part["metrics"][name]["value"]) for name in names))
            for domain, part in content["by_domain"].items()
        ]
        out.print(table("By domain (shares and metrics in %)", ["domain", "n", *names], by_domain))
    parts = {"all": content, **content["by_domain"]}
    top = [(name, str(part["n_generic"]), ", ".join(part["generic_top3"]) or "–") for name, part in parts.items()]
    out.print(table("Generic prompts", ["domain", "prompts", "top 3 dimensions"], top))
    for name, reason in content["not_computed"].items():
        typer.echo(f"{name} is not computed: {reason}")
    for problem in content["problems"]:
        typer.echo(f"left out of clip_cos: {problem}")
    for text in [*content["unread"], *content["remarks"]]:
        typer.echo(f"warning: {text}")
    for name, encoder in content["encoders"].items():
        typer.echo(f"{name} by {encoder}")
    interval = content["interval"]
    typer.echo(
        f"references from {content['references_from']}; WordNet {content['wordnet']}; "
        f"trigger lists {content['triggers']}; {interval['resamples']} resamples, seed {interval['seed']}"
    )


def _printed(name: str) -> str:
    return f"{name} (%)" if _is_share(name) else name


def _print_differences(differences: Mapping[str, Mapping[str, Any]], first: str, second: str) -> None:
    from lmms_aes_tasks.cli.tables import console, table

    rows = []
    for name, found in differences.items():
        counts = ("–", "–") if found["better"] is None else (str(found["better"]), str(found["worse"]))
        rows.append((_printed(name), _shown(name, found["value"]), _range(name, found), str(found["n"]), *counts))
    heads = ["metric", "second - first", "95% interval", "n", "items higher", "items lower"]
    console().print(table(f"Differences, second minus first: {second} minus {first}", heads, rows))


def _write_items(scored: Scored, path: Path) -> None:
    from lmms_aes_tasks.critiquecanvas.scoring import per_item
    from lmms_aes_tasks.outputs import atomic_path

    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as lines:
        for item in per_item(scored):
            lines.write(json.dumps(item, ensure_ascii=False, allow_nan=False) + "\n")


def score(
    predictions: Annotated[Path, typer.Argument(help="JSONL of id and response, or an lmms-eval samples file.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder or file of the data, or critiquecanvas_demo. Without it a samples file brings its own "
            f"references (and no images); JSONL needs ${DATA_ENV}.",
        ),
    ] = None,
    metrics: Annotated[
        str, typer.Option(help="Names, or families: all, lexical, embedding, style; with commas between.")
    ] = "all",
    compare: Annotated[
        Path | None, typer.Option(help="Another model's predictions on the same cases: paired differences.")
    ] = None,
    per_item: Annotated[Path | None, typer.Option(help="File to write every item's values to, as JSONL.")] = None,
    plot: Annotated[Path | None, typer.Option(help="File to draw to: .png, .svg or .pdf.")] = None,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Take a run with missing cases (--limit).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="For the lexical metrics; all cores otherwise.")] = None,
    resamples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Bootstrap resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """BLEU, ROUGE-L, METEOR, BERT-F1, SBERT-Cos, CLIP cosine and the statistics of style, overall and by domain.

    Values that encoders gave are kept in the cache: an interrupted call goes on where it was.
    """
    from lmms_aes_tasks.cli.plots import check_plot_name
    from lmms_aes_tasks.cli.tables import score_json
    from lmms_aes_tasks.critiquecanvas.scoring import computed, paired_difference, score_model
    from lmms_aes_tasks.outputs import refuse_input
    from lmms_aes_tasks.predictions import PredictionError, read_predictions

    chosen = _chosen(metrics)
    check_plot_name(plot)
    refuse_input(per_item, predictions, compare, data)
    scored: list[Scored] = []
    references_from = ""
    for path in [predictions, *([compare] if compare else [])]:
        answered, references_from = _answered(read_predictions(path, by_position=True), data, path, allow_incomplete)
        scored.append(score_model(answered, chosen, processes, shown=not as_json))
    content = _content(scored[0], chosen, resamples, seed) | {"references_from": references_from}
    if per_item is not None:
        _write_items(scored[0], per_item)
    if compare is not None:
        both = [name for name in computed(scored[0], chosen) if name in computed(scored[1], chosen)]
        try:
            found = {name: paired_difference(scored[0], scored[1], name, resamples, seed) for name in both}
        except ValueError as error:
            raise PredictionError(f"{predictions} and {compare}: {error}") from None
        content["second"] = _content(scored[1], chosen, resamples, seed)
        content["difference"] = "second minus first"
        content["differences"] = {
            name: score_json(own.difference) | {"better": own.better, "worse": own.worse} for name, own in found.items()
        }
    if plot is not None:
        models = {predictions.name: content} | ({compare.name: content["second"]} if compare else {})
        draw_critiques(plot, models)
    if as_json:
        typer.echo(json.dumps(content, allow_nan=False))
        return
    _print(content, predictions.name)
    if compare is not None:
        _print(content["second"] | {"references_from": references_from}, compare.name)
        _print_differences(content["differences"], predictions.name, compare.name)


# -- The plot ---------------------------------------------------------------------------------------------------------


def draw_critiques(path: Path, models: Mapping[str, Mapping[str, Any]]) -> None:
    """The six reference metrics with their intervals, and how many critiques address each dimension.

    Args:
        path: File to write.
        models: What `score critiquecanvas --json` writes, by the name to print; one model or two.
    """
    from lmms_aes_tasks.cli.plots import drawing

    printed = {
        "bleu": "BLEU",
        "rouge_l": "ROUGE-L",
        "meteor": "METEOR",
        "bert_f1": "BERT-F1",
        "sbert_cos": "SBERT-Cos",
        "clip_cos": "CLIP cosine",
    }
    first = next(iter(models.values()))
    names = [name for name in printed if name in first["metrics"]]
    dimensions = list(first["dimensions"])
    width = 0.8 / len(models)
    with drawing(path, 1, 2, (12, 4.8), "CritiqueCanvas") as axes:
        left, right = axes[0]
        for index, (model, content) in enumerate(models.items()):
            shift = (index - (len(models) - 1) / 2) * width
            for place, name in enumerate(names):
                score = content["metrics"].get(name)
                if score is None or score["value"] is None:
                    continue
                value = score["value"]
                label = model.replace("$", r"\$") if place == 0 else None
                left.bar(place + shift, value, width * 0.9, color=f"C{index}", label=label)
                if score["low"] is not None:
                    errors = [[max(0.0, value - score["low"])], [max(0.0, score["high"] - value)]]
                    left.errorbar(place + shift, value, errors, color="0.25", capsize=2, linewidth=1)
            shares = [100 * content["dimensions"].get(name, 0.0) for name in dimensions]
            right.barh([place + shift for place in range(len(dimensions))], shares, width * 0.9, color=f"C{index}")
        left.set(xticks=range(len(names)), ylabel="value (fraction)", title="Metrics, 95% interval")
        left.set_xticklabels([printed[name] for name in names], rotation=20, ha="right")
        if names:
            left.margins(y=0.25)  # room for the legend
            left.legend(loc="upper left", fontsize=8)
        right.set(yticks=range(len(dimensions)), yticklabels=dimensions, xlim=(0, 100))
        right.set(xlabel="% of critiques that address it", title="Dimensions")
        right.invert_yaxis()
