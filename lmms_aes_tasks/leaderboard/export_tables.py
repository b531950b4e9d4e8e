"""Exports as tables: CSV for a spreadsheet, LaTeX for a paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.board.schema import BoardRow, Metric

if TYPE_CHECKING:
    pass
from lmms_aes_tasks.leaderboard.export_forms import Export, ExportFile, Source, title_of

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
    return Export([ExportFile("board.csv", out.getvalue())], [])


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
        f"\\caption{{{latex_text(title_of(rows[0]))}. Fractions are percentages; the best of a task is bold. "
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
    return Export([ExportFile("board.tex", text)], [])
