"""Boards and entries in the formats of others: Hugging Face, Every Eval Ever, CSV, LaTeX.

Every format that holds numbers as numbers holds them exactly. The papers' own rows are figures of the papers, not of
runs: they are in CSV and LaTeX alone.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import BoardRow, Entry, Metric, Unit
from lmms_aes_tasks.leaderboard.headlines import headline_of
from lmms_aes_tasks.leaderboard.merge import model_segment

if TYPE_CHECKING:
    from lmms_aes_tasks.sources import SourceCard

EEE_VERSION = "0.2.2"
"""Version of Every Eval Ever's aggregate form that is written (evaleval/every_eval_ever, eval.schema.json)."""
NAME = "lmms-aes-tasks"


@dataclass(frozen=True)
class Source:
    """What is exported.

    Attributes:
        rows: Rows of a board or of an entry.
        entries: The entries that are at hand, by path; they tell more than rows do.
        datasets: Data set on the Hub by benchmark.
        source_url: A page to name as the source of the figures.
    """

    rows: Sequence[BoardRow]
    entries: Mapping[str, Entry] = field(default_factory=dict)
    datasets: Mapping[str, str] = field(default_factory=dict)
    source_url: str | None = None


@dataclass(frozen=True)
class Document:
    """One file that was made.

    Attributes:
        name: File name.
        text: Content.
    """

    name: str
    text: str


@dataclass(frozen=True)
class Export:
    """What an export made.

    Attributes:
        documents: The files.
        notes: What was left out, and why.
    """

    documents: list[Document]
    notes: list[str]


# -- What is exported of runs -----------------------------------------------------------------------------------------


_DEMO = "_demo"


def _card_of(row: BoardRow) -> SourceCard | None:
    """The card of a row's data (a demo has its own); None for a benchmark that is none of ours."""
    from lmms_aes_tasks.records import SourceError
    from lmms_aes_tasks.sources import read_card

    try:
        return read_card(f"{row.benchmark}{_DEMO}" if row.task.endswith(_DEMO) else row.benchmark)
    except SourceError:
        return None


def _title_of(row: BoardRow) -> str:
    card = _card_of(row)
    return row.benchmark if card is None else card.title


def _dataset_of(row: BoardRow, source: Source) -> str | None:
    """The data set of a row on the Hub; None where none is known, and for a demo."""
    if row.task.endswith(_DEMO):
        return None
    if row.benchmark in source.datasets:
        return source.datasets[row.benchmark]
    card = _card_of(row)
    return None if card is None else card.hub_id or None


def _runs(source: Source) -> list[BoardRow]:
    return [row for row in source.rows if row.entry is not None and not row.superseded]


def _by_model(source: Source) -> dict[str, list[BoardRow]]:
    """Rows by model, one a task: the first that is recomputed, the newest of these; else the newest."""

    def rank(row: BoardRow) -> tuple[bool, str, str]:
        return row.status == "recomputed", row.date or "", row.key

    best: dict[tuple[str, str], BoardRow] = {}
    for row in _runs(source):
        held = best.get((row.model, row.task))
        if held is None or rank(row) > rank(held):
            best[row.model, row.task] = row
    found: dict[str, list[BoardRow]] = {}
    for (model, _), row in sorted(best.items()):
        found.setdefault(model, []).append(row)
    return found


def _passed_over(source: Source, models: Mapping[str, Sequence[BoardRow]]) -> list[str]:
    """Runs that a format with room for one a task does not hold."""
    kept = {row.key for rows in models.values() for row in rows}
    left = [row.key for row in _runs(source) if row.key not in kept]
    return [f"{key}: another run of the same model and task is exported" for key in left]


def _require(documents: list[Document], notes: list[str], what: str) -> Export:
    if not documents:
        raise LeaderboardError("\n  - ".join([f"nothing to export as {what}. Give a run that has it:", *notes]))
    return Export(documents, notes)


# -- Hugging Face -----------------------------------------------------------------------------------------------------


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


def _hf_notes(row: BoardRow) -> str:
    return ", ".join(part for part in (row.status, headline_of(row.benchmark, row.task), row.signature) if part)


def hf_eval_results(source: Source) -> Export:
    """`.eval_results/*.yaml` for each model's repository: one headline metric a task id, higher is better.

    Written by huggingface_hub's own serializer. Values are fractions and ρ as on the board. No verify token: that is
    for the Hub to give. The Hub shows results of data sets that are registered there as benchmarks and define these
    task ids.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    documents, notes = [], []
    models = _by_model(source)
    for model, rows in models.items():
        results = []
        for row in rows:
            name = headline_of(row.benchmark, row.task)
            metric = row.metrics.get(name or "")
            dataset = _dataset_of(row, source)
            if row.task.endswith(_DEMO):
                notes.append(f"{row.key}: a demo's data is generated, and on no Hub")
            elif dataset is None:
                notes.append(f"{row.key}: {row.benchmark} has no data set on the Hub; name one with --dataset")
            elif metric is None or metric.value is None:
                notes.append(f"{row.key}: has no {name}")
            else:
                results.append(
                    EvalResultEntry(
                        dataset_id=dataset,
                        task_id=row.task,
                        value=metric.value,
                        date=row.date,
                        source_url=source.source_url,
                        source_name=f"{NAME} leaderboard" if source.source_url else None,
                        notes=_hf_notes(row),
                    )
                )
        if results:
            documents.append(Document(f"{model_segment(model)}.yaml", _yaml(eval_result_entries_to_yaml(results))))
    return _require(documents, notes + _passed_over(source, models), "hf-eval-results")


def model_index(source: Source) -> Export:
    """`model-index` metadata for each model's card: every figure of every task, by huggingface_hub's serializer."""
    from huggingface_hub import EvalResult, ModelCardData

    documents = []
    models = _by_model(source)
    for model, rows in models.items():
        results = [
            EvalResult(
                task_type="image-text-to-text",
                task_name=row.task,
                dataset_type=_dataset_of(row, source) or row.benchmark,
                dataset_name=_title_of(row),
                dataset_config=row.task,
                metric_type=name,
                metric_name=name,
                metric_value=metric.value,
                metric_args=_metric_facts(row, metric),
                source_url=source.source_url,
                source_name=f"{NAME} leaderboard" if source.source_url else None,
            )
            for row in rows
            for name, metric in row.metrics.items()
            if metric.value is not None
        ]
        if results:
            data = ModelCardData(model_name=model, eval_results=results).to_dict()
            documents.append(Document(f"{model_segment(model)}.yaml", _yaml(data)))
    return _require(documents, _passed_over(source, models), "model-index")


def _metric_facts(row: BoardRow, metric: Metric) -> dict[str, Any]:
    facts: dict[str, Any] = {"n": metric.n, "low": metric.low, "high": metric.high, "unit": metric.unit}
    facts |= {"status": row.status, "signature": row.signature}
    return {name: value for name, value in facts.items() if value is not None}


# -- Every Eval Ever --------------------------------------------------------------------------------------------------

_BOUNDS: Mapping[Unit, tuple[float, float]] = {"fraction": (0.0, 1.0), "rho": (-1.0, 1.0), "p": (0.0, 1.0)}
"""Units with both ends; the form has no place for a number without bounds."""
_EEE_UNITS: Mapping[str, str] = {"fraction": "proportion"}
_GLOBAL_METRICS = {"accuracy": "accuracy", "macro_f1": "f1_macro"}
"""Ids that the form's own text names; all others are named after their benchmark."""
_GENERATION = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_new_tokens": "max_tokens"}


def _epoch(day: str | None) -> str:
    """A day's beginning in UTC as Unix time, a text as the form wants it; the same day gives the same text."""
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(day or "1970-01-01").replace(tzinfo=UTC)
    return str(int(moment.timestamp()))


def _bounds(metric: Metric) -> tuple[float, float] | None:
    from lmms_aes_tasks.utils.dimensions import DIMENSIONS

    return (0.0, float(len(DIMENSIONS))) if metric.unit == "dimensions" else _BOUNDS.get(metric.unit)


def _eee_obstacle(metric: Metric) -> str | None:
    """Why the form has no place for a figure."""
    if metric.value is None:
        return metric.reason or "it is not defined"
    if metric.higher_is_better is None:
        return "neither direction is better"
    bounds = _bounds(metric)
    if bounds is None:
        return f"{metric.unit} has no upper bound"
    return None if bounds[0] <= metric.value <= bounds[1] else f"{metric.value!r} is out of bounds"


def _eee_source_data(row: BoardRow, source: Source) -> dict[str, Any]:
    dataset = _dataset_of(row, source)
    found: dict[str, Any] = {"dataset_name": _title_of(row)}
    if dataset is None:
        return found | {"source_type": "other"}
    found |= {"source_type": "hf_dataset", "hf_repo": dataset}
    return found if row.n is None else found | {"samples_number": row.n}


def _eee_generation(row: BoardRow, source: Source) -> dict[str, Any]:
    """Settings that the form has a place for, and all of them as texts."""
    details = {"decoding": row.decoding, "prompt": row.prompt, "task_version": row.version}
    found: dict[str, Any] = {
        "additional_details": {name: value for name, value in details.items() if value is not None}
    }
    entry = source.entries.get(row.entry or "")
    decoding = entry.tasks[row.task].decoding if entry is not None and row.task in entry.tasks else {}
    typed = {
        theirs: decoding[ours]
        for ours, theirs in _GENERATION.items()
        if isinstance(decoding.get(ours), int | float) and not isinstance(decoding.get(ours), bool)
    }
    tokens = typed.get("max_tokens", 1)
    if not isinstance(tokens, int) or tokens < 1:
        del typed["max_tokens"]
    return {"generation_args": typed} | found if typed else found


def _eee_result(row: BoardRow, name: str, metric: Metric, source: Source) -> dict[str, Any]:
    bounds = _bounds(metric)
    assert bounds is not None  # see _eee_obstacle
    uncertainty: dict[str, Any] = {"num_samples": metric.n}
    if metric.low is not None and metric.high is not None:
        uncertainty["confidence_interval"] = {"lower": metric.low, "upper": metric.high, "confidence_level": 0.95}
    details = {"status": row.status, "signature": row.signature}
    return {
        "evaluation_result_id": f"{row.key}/{name}",
        "evaluation_name": row.task,
        "source_data": _eee_source_data(row, source),
        "evaluation_timestamp": row.date or "unknown",
        "metric_config": {
            "evaluation_description": f"{name} of {row.task}",
            "metric_id": _GLOBAL_METRICS.get(name, f"{row.benchmark}.{name}"),
            "metric_name": name,
            "metric_unit": _EEE_UNITS.get(metric.unit, metric.unit),
            "lower_is_better": not metric.higher_is_better,
            "score_type": "continuous",
            "min_score": bounds[0],
            "max_score": bounds[1],
        },
        "score_details": {
            "score": metric.value,
            "details": {key: value for key, value in details.items() if value is not None},
            "uncertainty": uncertainty,
        },
        "generation_config": _eee_generation(row, source),
    }


def eee_log(path: str, rows: Sequence[BoardRow], source: Source) -> tuple[dict[str, Any] | None, list[str]]:
    """One run in the aggregate form of Every Eval Ever, and what the form has no place for.

    The form wants bounds and a direction for every figure: what has none (lengths, densities, counts, the share of Yes)
    is left out and named, here and in the document. Days stand for the moments that it asks for, so that the same run
    gives the same document. Of the evaluator we do not know how close they are to the model: `other`.
    """
    left, results = [], []
    for row in rows:
        for name, metric in row.metrics.items():
            obstacle = _eee_obstacle(metric)
            if obstacle is None:
                results.append(_eee_result(row, name, metric, source))
            else:
                left.append(f"{row.key}/{name}: {obstacle}")
    if not results:
        return None, left
    first = rows[0]
    entry = source.entries.get(path)
    _, revision, run = path.split("/")
    libraries = {} if entry is None else {NAME: entry.versions.plugin} | dict(entry.versions.libraries)
    details = {"statuses": ", ".join(sorted({row.status for row in rows})), "left_out": "; ".join(left)}
    model = {"revision": first.revision or "unknown", "backend": first.backend or "unknown"}
    log = {
        "schema_version": EEE_VERSION,
        "evaluation_id": f"{NAME}/{first.model}/{_epoch(first.date)}/{revision}/{run}",
        "evaluation_timestamp": first.date or "unknown",
        "retrieved_timestamp": _epoch(first.date),
        "source_metadata": {
            "source_name": f"{NAME} leaderboard",
            "source_type": "evaluation_run",
            "source_organization_name": first.evaluator or "anonymous",
            "evaluator_relationship": "other",
            "additional_details": {key: value for key, value in details.items() if value},
        },
        "eval_library": {
            "name": "lmms-eval",
            "version": "unknown" if entry is None else entry.versions.harness,
            "additional_details": libraries,
        },
        "model_info": {
            "name": first.model,
            "id": first.model,
            "developer": first.model.split("/")[0],
            # later versions of the form ask for the last two; neither is known from an entry
            "additional_details": model | {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": results,
    }
    return log, left


def every_eval_ever(source: Source) -> Export:
    """One aggregate JSON of Every Eval Ever for each run."""
    by_run: dict[str, list[BoardRow]] = {}
    for row in _runs(source):
        by_run.setdefault(str(row.entry), []).append(row)
    documents, notes = [], []
    for path, rows in sorted(by_run.items()):
        log, left = eee_log(path, rows, source)
        notes += left
        if log is not None:
            text = json.dumps(log, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
            documents.append(Document(f"{path.replace('/', '__')}.json", text))
    return _require(documents, notes, "eee")


# -- CSV --------------------------------------------------------------------------------------------------------------

_ROW_COLUMNS = (
    "key", "status", "model", "group", "revision", "backend", "evaluator", "benchmark", "task", "version", "prompt",
    "decoding", "date", "source", "n", "parse_rate", "signature", "superseded",
)  # fmt: skip
_METRIC_COLUMNS = (
    "value", "n", "numerator", "denominator", "low", "high", "unit", "higher_is_better", "reason", "per_item_sha256",
)  # fmt: skip
CSV_COLUMNS = (*_ROW_COLUMNS, "breakdown", "breakdown_group", "metric", *(f"metric_{name}" for name in _METRIC_COLUMNS))


def _cell(value: Any) -> str:
    """A cell: numbers exactly, nothing for null, and no text that a spreadsheet would run as a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else text


def _figures(row: BoardRow) -> Iterable[tuple[str, str, str, Metric]]:
    """Breakdown, group, name and figure of everything in a row; the first two are empty overall."""
    for name, metric in row.metrics.items():
        yield "", "", name, metric
    for breakdown, groups in row.breakdowns.items():
        for group, metrics in groups.items():
            for name, metric in metrics.items():
                yield breakdown, group, name, metric


def csv_table(source: Source) -> Export:
    """One line for each figure of each row, breakdowns and superseded rows included."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in source.rows:
        own = [_cell(getattr(row, name)) for name in _ROW_COLUMNS]
        for breakdown, group, name, metric in _figures(row):
            facts = [_cell(getattr(metric, column)) for column in _METRIC_COLUMNS]
            writer.writerow([*own, _cell(breakdown), _cell(group), _cell(name), *facts])
    return Export([Document("board.csv", out.getvalue())], [])


# -- LaTeX ------------------------------------------------------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""A text in which LaTeX finds no command; control characters become spaces.

    >>> latex_text("a_b & 5%")
    'a\\_b \\& 5\\%'
    """
    return "".join(_LATEX.get(char, char if char.isprintable() else " ") for char in text)


def _printed(metric: Metric) -> str:
    """A figure as the papers print it: fractions as percent, ρ with three digits."""
    if metric.value is None:
        return "--"
    if metric.unit == "fraction":
        return f"{100 * metric.value:.2f}"
    return f"{metric.value:.3f}" if metric.unit in {"rho", "p", "ratio"} else f"{metric.value:.2f}"


def _best(rows: Sequence[BoardRow], name: str) -> float | None:
    """The best exact value of a column; None where no direction is better or nothing is there to compare."""
    metrics = [row.metrics[name] for row in rows if name in row.metrics and row.metrics[name].value is not None]
    directions = {metric.higher_is_better for metric in metrics}
    values = [metric.value for metric in metrics if metric.value is not None]
    if len(values) < 2 or len(directions) != 1 or None in directions:
        return None
    return max(values) if True in directions else min(values)


def _latex_cell(row: BoardRow, name: str, best: float | None) -> str:
    metric = row.metrics.get(name)
    if metric is None:
        return "--"
    text = _printed(metric).replace("-", "$-$", 1) if (metric.value or 0) < 0 else _printed(metric)
    return f"\\textbf{{{text}}}" if best is not None and metric.value == best else text


_MARKS = {"recomputed": "", "self-reported": r"$^{s}$", "published": r"$^{p}$"}


def _latex_table(benchmark: str, rows: Sequence[BoardRow]) -> str:
    """One table: a section a task, a column a metric; the best of each column of a section is bold."""
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    head = " & ".join(["Model", *map(latex_text, names), "$n$"])
    lines = [
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{latex_text(_title_of(rows[0]))}. Fractions are percentages; the best of a task is bold. "
        "$^{s}$: self-reported, $^{p}$: from the paper, others were recomputed.}",
        f"\\begin{{tabular}}{{l{'r' * (len(names) + 1)}}}",
        "\\toprule",
        f"{head} \\\\",
    ]
    for task in sorted({row.task for row in rows}):
        own = [row for row in rows if row.task == task]
        lines += ["\\midrule", f"\\multicolumn{{{len(names) + 2}}}{{l}}{{\\texttt{{{latex_text(task)}}}}} \\\\"]
        best = {name: _best(own, name) for name in names}
        for row in own:
            cells = [_latex_cell(row, name, best[name]) for name in names]
            count = "--" if not row.n else str(row.n)
            lines.append(" & ".join([latex_text(row.model) + _MARKS[row.status], *cells, count]) + " \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}"])


def latex_tables(source: Source) -> Export:
    """One table a benchmark, with booktabs; superseded rows, and rows of breakdowns alone, are left out."""
    rows = [row for row in source.rows if row.metrics and not row.superseded]
    tables = [
        _latex_table(benchmark, [row for row in rows if row.benchmark == benchmark])
        for benchmark in sorted({row.benchmark for row in rows})
    ]
    text = "% \\usepackage{booktabs}\n% \\usepackage[T1]{fontenc}\n" + "\n\n".join(tables) + "\n"
    return Export([Document("board.tex", text)], [])


FORMATS: Mapping[str, Callable[[Source], Export]] = {
    "hf-eval-results": hf_eval_results,
    "model-index": model_index,
    "eee": every_eval_ever,
    "csv": csv_table,
    "latex": latex_tables,
}
