"""`lmms-aes judge`: an MLLM as judge."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_aes_tasks.sources import DATA_ENV

if TYPE_CHECKING:
    from lmms_aes_tasks.critiquecanvas.judge import JudgeCase, JudgeFile, JudgeRun, JudgeSettings
    from lmms_aes_tasks.sources import SourceCard

app = typer.Typer(help="Have an MLLM judge what models wrote.", no_args_is_help=True)

KEY_ENV = "OPENAI_API_KEY"
URL_ENV = "OPENAI_BASE_URL"
DEFAULT_URL = "https://api.openai.com/v1"
MAX_NAME_CHARS = 200


class _Fit(enum.StrEnum):
    pad = "pad"
    stretch = "stretch"


class _Format(enum.StrEnum):
    json_schema = "json_schema"
    json_object = "json_object"
    none = "none"


def _named_files(values: Sequence[str]) -> dict[str, Path]:
    """Files by model name, of `NAME=FILE`."""
    from lmms_aes_tasks.critiquecanvas.judge import ALIASES
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.utils.unicode_text import well_formed

    found: dict[str, Path] = {}
    for value in values:
        name, equals, file = value.partition("=")
        name = well_formed(name.strip())
        if not equals or not name or not file.strip() or len(name) > MAX_NAME_CHARS:
            raise PredictionError(
                f"--model is {value[:300]!r}: use NAME=FILE, with a name of at most {MAX_NAME_CHARS} characters"
            )
        if name in found:
            raise PredictionError(f"--model names {name!r} twice: give every model a name of its own")
        found[name] = Path(file.strip())
    if not 2 <= len(found) <= len(ALIASES):
        raise PredictionError(f"{len(found)} model(s): give --model NAME=FILE 2 to {len(ALIASES)} times")
    return found


def _card(benchmark: str) -> SourceCard:
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.sources import read_card

    names = ("critiquecanvas", "critiquecanvas_demo")
    if benchmark not in names:
        raise PredictionError(f"--benchmark is {benchmark!r}: use {' or '.join(names)}")
    return read_card(benchmark)


def _responses(files: Mapping[str, Path], known: set[str]) -> dict[str, dict[str, str]]:
    """Responses by model and id; each id once, and in the data."""
    from lmms_aes_tasks.predictions import as_in_data, check_ids, read_predictions

    found = {}
    for model, file in files.items():
        read = as_in_data(read_predictions(file), known)
        check_ids(read, known, file, allow_missing=True)
        found[model] = {item.id: item.response for item in read}
    return found


def _summary(
    run: JudgeRun, ids: Sequence[str], settings: JudgeSettings, resamples: int, counts: Mapping[str, int]
) -> dict[str, Any]:
    """What `--json` prints; `run.lines` holds all lines of the cases asked for."""
    from dataclasses import asdict

    from lmms_aes_tasks.cli.tables import bootstrap_json
    from lmms_aes_tasks.critiquecanvas.judge import alias_means, verdicts_of
    from lmms_aes_tasks.utils.ratings import judge_scores

    lines = [run.lines[case_id] for case_id in ids if case_id in run.lines]
    verdicts = verdicts_of(lines)
    unread = {line["id"]: line["problem"] for line in lines if line["verdict"] is None}
    return {
        "judge": settings.judge,
        "prompt": {"id": settings.prompt.id, "sha256": settings.prompt.sha256},
        "image_fit": settings.image_fit,
        "response_format": settings.response_format,
        "models": {name: asdict(score) for name, score in judge_scores(verdicts, resamples, settings.seed).items()},
        "cases": {
            "asked_for": len(ids),
            "judged": len(verdicts),
            "verdict_not_read": len(unread),
            "no_response": len(run.no_response),
            "not_asked": len(run.not_asked),
        },
        "verdict_not_read": unread,
        "no_response": run.no_response,
        "positions": {alias: {"mean": mean, "n": n} for alias, (mean, n) in alias_means(lines).items()},
        "calls": run.calls,
        **counts,
        "interval": bootstrap_json("cases", resamples, settings.seed),
    }


@dataclass(frozen=True)
class _Endpoint:
    """Where and how the judge is asked."""

    url: str
    key: str
    timeout: float
    concurrency: int
    max_calls: int | None


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep a second run from writing the same file."""
    from filelock import FileLock, Timeout

    from lmms_aes_tasks.predictions import PredictionError

    if out.is_dir():
        raise PredictionError(f"--out {out} is a folder: name a file")
    lock = FileLock(out.with_name(f".{out.name}.lock"))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise PredictionError(f"{out} is being written by another run: wait for it, or name another --out") from None
    except OSError as error:
        raise PredictionError(f"{out} cannot be written ({error.strerror}): name another --out") from None
    try:
        yield
    finally:
        lock.release()
        Path(lock.lock_file).unlink(missing_ok=True)


def _run(
    out: Path,
    before: JudgeFile,
    asked: Sequence[JudgeCase],
    document: Callable[[str], Mapping[str, Any]],
    settings: JudgeSettings,
    endpoint: _Endpoint,
    total: int,
) -> JudgeRun:
    """The run itself, under a progress bar."""
    from tqdm import tqdm

    from lmms_aes_tasks.critiquecanvas import judge as logic

    with (
        logic.openai_transport(endpoint.url, endpoint.key, endpoint.timeout) as send,
        logic.open_output(out, before) as write,
        tqdm(desc="judging", unit=" cases", total=total, initial=total - len(asked), disable=None) as bar,
    ):
        return logic.run_judge(
            asked,
            document,
            settings,
            send,
            write,
            logic.RunOptions(
                concurrency=endpoint.concurrency,
                budget=endpoint.max_calls,
                hide=lambda text: logic.hide_key(text, endpoint.key),
                advance=bar.update,
            ),
        )


def _print_summary(shape: Mapping[str, Any]) -> None:
    from lmms_aes_tasks.cli.tables import console, decimals, interval_text, table
    from lmms_aes_tasks.utils.ratings import CRITERIA

    out = console()
    cases = shape["cases"]
    rows = [
        (
            name,
            decimals(own["score"]),
            interval_text(own["interval"]["low"], own["interval"]["high"], decimals) if own["interval"] else "–",
            *(decimals(own["criteria"][criterion]) for criterion in CRITERIA),
            str(own["n"]),
        )
        for name, own in shape["models"].items()
    ]
    heads = ["model", "MLLMScore", "95% interval", *(name.replace("_", " ") for name in CRITERIA), "n"]
    out.print(table(f"CritiqueCanvas, 1 to 5, judged by {shape['judge']}", heads, rows))
    positions = [(alias, decimals(own["mean"]), str(own["n"])) for alias, own in shape["positions"].items()]
    out.print(table("Overall quality by position", ["alias", "mean", "n"], positions))
    typer.echo(
        f"{cases['asked_for']} cases asked for: {cases['judged']} judged, {cases['verdict_not_read']} verdict not "
        f"read, {cases['no_response']} no response, {cases['not_asked']} not asked; {shape['calls']} calls"
    )
    for name, title in (("verdict_not_read", "verdict not read"), ("no_response", "no response")):
        for case_id, reason in shape[name].items():
            out.print(f"{title}: {case_id}: {reason}", markup=False)
    if shape["not_common"]:
        typer.echo(f"{shape['not_common']} cases are left out, for not every model answered them")
    if shape["judged_before_not_asked_for"]:
        typer.echo(f"{shape['judged_before_not_asked_for']} lines of other cases stay in the file and are not counted")
    typer.echo(f"prompt {shape['prompt']['id']}, sha256 {shape['prompt']['sha256']}")


@app.command("critiques")
def critiques(
    model: Annotated[
        list[str], typer.Option(help="NAME=FILE, 2 to 5 times: a samples file of lmms-eval, or JSONL of id, response.")
    ],
    judge: Annotated[str, typer.Option(help="The judge's model name at the endpoint.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="JSONL to append verdicts to; run again to go on.")],
    data: Annotated[Path | None, typer.Option(help=f"Folder or file of the data, in place of ${DATA_ENV}.")] = None,
    benchmark: Annotated[str, typer.Option(help="critiquecanvas, or critiquecanvas_demo.")] = "critiquecanvas",
    base_url: Annotated[
        str | None,
        typer.Option(help=f"OpenAI-compatible endpoint; ${URL_ENV}, else {DEFAULT_URL}. The key is ${KEY_ENV}."),
    ] = None,
    cases: Annotated[
        int | None,
        typer.Option(min=1, help="Seeded sample of so many cases; all that every model answered if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of sample, orders, jitter and bootstrap.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Cases asked at once.")] = 4,
    max_calls: Annotated[int | None, typer.Option(min=1, help="HTTP attempts allowed in this run.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds for one attempt.")] = 120.0,
    response_format: Annotated[
        _Format, typer.Option(help="What the endpoint is asked to enforce.")
    ] = _Format.json_schema,
    image_fit: Annotated[_Fit, typer.Option(help="How images become 448×448.")] = _Fit.pad,
    prompt_file: Annotated[
        Path | None, typer.Option(help="Your prompt, with {instruction} and {critiques}, in place of ours.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Bootstrap resamples.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Anonymous critiques of 2 to 5 models, scored from 1 to 5 by an MLLM (CritiqueCanvas, S2.2.3, S16).

    Every response is final: the file OUT keeps it, and a run begun again asks for what is missing.
    """
    from lmms_aes_tasks.critiquecanvas import judge as logic
    from lmms_aes_tasks.predictions import PredictionError
    from lmms_aes_tasks.sources import load

    files = _named_files(model)
    if not judge.strip():
        raise PredictionError("--judge is empty: give the judge's model name at the endpoint")
    card = _card(benchmark)
    settings = logic.JudgeSettings(
        judge.strip(), seed, logic.judge_prompt(prompt_file), image_fit.value, response_format.value
    )
    url = (base_url or "").strip() or os.environ.get(URL_ENV, "").strip() or DEFAULT_URL
    logic.check_base_url(url)
    key = os.environ.get(KEY_ENV, "").strip()
    no_key = f"${KEY_ENV} is not set: export your key (any text for a server that asks for none)"
    if not key and not out.exists():
        raise PredictionError(no_key)
    records = load(card, data)
    rows = {case_id: place for place, case_id in enumerate(records["id"])}
    responses = _responses(files, set(rows))
    common = set.intersection(*(set(own) for own in responses.values()))
    if not common:
        raise PredictionError("no case was answered by all models: give files of the same cases")
    try:
        ids = logic.sample_ids(common, cases, seed)
    except ValueError as error:
        raise PredictionError(f"--cases: {error}") from None

    def document(case_id: str) -> Mapping[str, Any]:
        found: dict[str, Any] = records[rows[case_id]]
        return found

    def identity(case_id: str) -> dict[str, Any]:
        if case_id not in common:
            raise KeyError(case_id)
        (case,) = logic.judge_cases(responses, [case_id], seed)
        return logic.identity(case, document(case_id), settings)

    endpoint = _Endpoint(url, key, timeout, concurrency, max_calls)
    with _alone(out):
        before = logic.read_judge_file(out) if out.exists() else logic.JudgeFile()
        logic.check_lines(out, before.lines, identity)
        kept = {line["id"]: line for line in before.lines}
        asked = logic.judge_cases(responses, [case_id for case_id in ids if case_id not in kept], seed)
        if asked and not key:
            raise PredictionError(no_key)
        try:
            run = _run(out, before, asked, document, settings, endpoint, len(ids)) if asked else logic.JudgeRun()
        except PredictionError as error:
            done = len(logic.read_judge_file(out).lines) if out.exists() else 0
            message = str(error).rstrip(".")
            raise PredictionError(f"{message}. {out} keeps {done} case(s); run again to go on") from None
    run.lines.update({case_id: kept[case_id] for case_id in ids if case_id in kept})
    answered = set.union(*(set(own) for own in responses.values()))
    counts = {
        "not_common": len(answered - common),
        "judged_before": sum(case_id in kept for case_id in ids),
        "judged_before_not_asked_for": len(set(kept) - set(ids)),
    }
    shape = {"benchmark": benchmark, **_summary(run, ids, settings, resamples, counts)}
    if as_json:
        typer.echo(json.dumps(shape, allow_nan=False))
    else:
        _print_summary(shape)
    remaining = len(run.no_response) + len(run.not_asked)
    if remaining:
        reason = f"The budget of {max_calls} calls is used up: " if run.not_asked else ""
        typer.echo(f"{reason}{remaining} of {len(ids)} cases remain. Run the same command again to go on.", err=True)
        raise typer.Exit(1)
