"""The papers' own rows as rows of the board, with status `published`.

The files in `published/` keep the papers' units; here every share becomes a fraction. What a paper does not say stays
open: a figure whose number of items is not printed has n = 0, and a name that may or may not be the same model in two
tables stays two rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.leaderboard.schema import BoardRow, Finding, Metric, Unit

PUBLISHED = Path(__file__).parent / "published"
"""Folder of the papers' figures."""

UNKNOWN_N = 0
"""`n` of a figure whose number of items the paper does not print."""

_N_JUDGED = 100
"""Critiques rated in AesCanvas, Tables 4 and S6."""

_Groups = dict[str, dict[str, Metric]]


def published_json(name: str) -> dict[str, Any]:
    """The content of one of the files in `published/`, by its name without the suffix."""
    content = json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def _share(percent: float) -> float:
    """Percent as a fraction; rounding keeps 91.69 from becoming 0.9168999999999999."""
    return round(percent / 100, 12)


def _percent(value: float, n: int, higher_is_better: bool | None = True) -> Metric:
    return Metric(value=_share(value), n=n, higher_is_better=higher_is_better)


def _figure(value: float, n: int, unit: Unit, higher_is_better: bool | None = True) -> Metric:
    return Metric(value=float(value), n=n, unit=unit, higher_is_better=higher_is_better)


def _row(benchmark: str, task: str, model: str, **rest: Any) -> BoardRow:
    key = f"published/{benchmark}/{model}/{task}"
    return BoardRow(key=key, status="published", model=model, benchmark=benchmark, task=task, **rest)


# -- ContextCanvas -----------------------------------------------------------------------------------------------------


def _counterfactual(row: Mapping[str, Any], n: int) -> tuple[str, _Groups]:
    low, high = (_share(end) for end in row["ci95"])
    net = row["correct_updates"] - row["reverse_updates"]
    ncu = Metric(value=_share(row["ncu"]), n=n, numerator=net, denominator=n, low=low, high=high, unit="ratio")
    groups = {name: {"accuracy": _percent(row[name], n)} for name in ("original", "edit", "pair")}
    return "counterfactual", groups | {"net correct update": {"ncu": ncu}}


def _grounding(row: Mapping[str, Any], n: int) -> tuple[str, _Groups]:
    figures = {name: _percent(row[name], n) for name in ("accuracy", "ega")}
    right = round(row["accuracy"] * n / 100)
    return "grounding", {"audited cases": figures | {"unsupported": _percent(row["unsupported"], right, False)}}


def _modality(row: Mapping[str, Any], n: int) -> tuple[str, _Groups]:
    return "visual information", {
        name: {"accuracy": _percent(row[name], n)} for name in ("text", "neutral", "evidence", "image")
    }


def _diagnostics() -> dict[str, dict[str, _Groups]]:
    """Breakdowns by model: the audits of Tables S7 to S9."""
    content = published_json("contextcanvas_diagnostics")
    readers = (
        ("counterfactual", _counterfactual, "n_pairs"),
        ("grounding", _grounding, "n_cases"),
        ("modality", _modality, "n_cases"),
    )
    found: dict[str, dict[str, _Groups]] = {}
    for name, read, count in readers:
        part = content[name]
        for row in part["rows"]:
            breakdown, groups = read(row, part[count])
            found.setdefault(row["model"], {})[breakdown] = groups
    return found


def contextcanvas_rows() -> list[BoardRow]:
    """Tables 2 and S4; the audits of Tables S7 to S9 as breakdowns of the models that have them."""
    content = published_json("contextcanvas")
    cases, binary = content["n_cases"], content["n_binary"]
    diagnostics = _diagnostics()
    note = Finding(kind="note", where="model", message="the model that difficulty was screened with")

    def metrics(row: Mapping[str, Any]) -> dict[str, Metric]:
        return {
            "accuracy": _percent(row["accuracy"], cases),
            "macro_f1": _percent(row["macro_f1"], binary),
            "yes_rate": _percent(row["yes_rate"], binary, None),
            "yes_f1": _percent(row["yes_f1"], binary),
            "no_f1": _percent(row["no_f1"], binary),
        }

    return [
        _row(
            "contextcanvas",
            "contextcanvas",
            row["model"],
            group=row["group"],
            source=content["source"] + ("; audits: S7 to S9" if row["model"] in diagnostics else ""),
            n=cases,
            metrics=metrics(row),
            breakdowns=diagnostics.get(row["model"], {}),
            findings=[note] if row["development_model"] else [],
        )
        for row in content["rows"]
    ]


# -- CritiqueCanvas ----------------------------------------------------------------------------------------------------


def same_name(name: str) -> str:
    """A name without case, spaces and punctuation: `Qwen3-VLFT` and `Qwen3-VL-FT` are one model, typeset twice.

    `InternVL` and `InternVL3.5-8B` are not: that both mean one model is likely, but no table says it.
    """
    return "".join(char for char in name.lower() if char.isalnum())


def _critique_metrics(row: Mapping[str, Any], n: int) -> dict[str, Metric]:
    names = ("rouge_l", "meteor", "bert_f1", "sbert_cos", "clip_cos")
    return {"bleu": _percent(row["bleu"], n)} | {name: _figure(row[name], n, "fraction") for name in names}


def _style_metrics(row: Mapping[str, Any], n: int) -> dict[str, Metric]:
    """Table S5; form, not quality: only following a focused prompt has a better direction."""
    return {
        "avg_length": _figure(row["avg_length"], n, "words", None),
        "len_ref": _figure(row["len_ref"], n, "ratio", None),
        "dim_hits": _figure(row["dim_hits"], n, "dimensions", None),
        "density": _figure(row["density"], n, "per 100 words", None),
        "prompt_align": _percent(row["prompt_align"], UNKNOWN_N),  # how many prompts are focused is not printed
    }


def _judge_metrics(row: Mapping[str, Any]) -> dict[str, Metric]:
    return {
        "human_rating": _figure(row["human"], _N_JUDGED, "rating"),
        "judge_rating": _figure(row["mllm"], _N_JUDGED, "rating"),
    }


def _by_name(rows: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {same_name(row["model"]): row for row in rows}


def critiquecanvas_rows() -> list[BoardRow]:
    """Tables 3, S5 and S6, merged where the name is the same (`same_name`).

    Table S5 calls the groups a little differently; which of its groups is which of Table 3's follows from the models
    that are in both.
    """
    content = published_json("critiquecanvas")
    n = content["n_samples"]
    main, style, judged = (_by_name(content[part]) for part in ("rows", "style_rows", "judge_rows"))
    groups = {row["group"]: main[name]["group"] for name, row in style.items() if name in main}
    rows = []
    for name in dict.fromkeys([*main, *style, *judged]):
        parts: list[tuple[str, dict[str, Metric]]] = []
        if name in main:
            parts.append(("3", _critique_metrics(main[name], n)))
        if name in style:
            parts.append(("S5", _style_metrics(style[name], n)))
        if name in judged:
            parts.append(("S6", _judge_metrics(judged[name])))
        first = next(part[name] for part in (main, style, judged) if name in part)
        group = first.get("group", "")
        tables = ", ".join(table for table, _ in parts)
        rows.append(
            _row(
                "critiquecanvas",
                "critiquecanvas",
                first["model"],
                group=groups.get(group, group),
                source=f"AesCanvas, Table{'s' if len(parts) > 1 else ''} {tables}",
                n=n,
                metrics={metric: figure for _, figures in parts for metric, figure in figures.items()},
            )
        )
    return rows


# -- Visual Aesthetic Benchmark ----------------------------------------------------------------------------------------

_VAB_METRICS = {"ap1": "ap@1", "pass3": "pass^3", "": "accuracy"}
"""The file's suffix to our metric. Experts and reward models answer a set once: theirs is a plain accuracy."""


def _vab_group(row: Mapping[str, Any]) -> str:
    if row["model"] == "Human experts":
        return "Human baseline"
    return "Reward models" if row.get("kind") == "reward model" else "MLLMs"


def _human_by_size(content: Mapping[str, Any]) -> dict[str, _Groups]:
    """Experts' TB-1 by size of the set. The best model's figures beside them name no model, so they are no row."""
    sizes = {str(row["k"]): {"accuracy": _percent(row["human_tb1"], UNKNOWN_N)} for row in content["by_k"]}
    return {"n_images": sizes}


def vab_rows() -> list[BoardRow]:
    """The figures in the text of sections 4.2, 4.3 and 5: one row a model and question, with what the text gives."""
    content = published_json("vab")
    source = content["source"].split(" (")[0]
    rows = []
    for row in content["rows"]:
        for question in ("top1", "bot1", "tb1"):
            metrics = {
                metric: _percent(row[key], content["n_tasks"])
                for suffix, metric in _VAB_METRICS.items()
                if (key := f"{question}_{suffix}".rstrip("_")) in row
            }
            if not metrics:
                continue
            human = row["model"] == "Human experts"
            rows.append(
                _row(
                    "vab",
                    f"vab_{question}",
                    row["model"],
                    group=_vab_group(row),
                    source=source,
                    n=content["n_tasks"],
                    metrics=metrics,
                    breakdowns=_human_by_size(content) if human and question == "tb1" else {},
                    findings=[Finding(kind="note", where="model", message=row["note"])] if "note" in row else [],
                )
            )
    return rows


# -- FineArtBench ------------------------------------------------------------------------------------------------------

_REASONING = {"Zero-shot CoT": "_cot", "ArtCoT": "_artcot"}
_LEVELS = {"artist": "fineartbench_2afc_global", "task": "fineartbench_2afc_instance"}


_ROUNDING = Finding(
    kind="note",
    where="task_bt_rho_official",
    message="Task Bradley–Terry ρ: rounding decides ranks in the authors' fit; their code gave the same predictions up "
    "to 0.011 more or less on another machine",
)
"""Largest difference among the four comparisons of docs/fineartbench.md: 0.6997 against 0.6887."""


def _p(value: float | str) -> Metric:
    if isinstance(value, str):
        return Metric(
            value=None,
            n=UNKNOWN_N,
            unit="p",
            higher_is_better=None,
            reason=f"p {value.replace('<', '< ')}: the paper prints no more",
        )
    return Metric(value=value, n=UNKNOWN_N, unit="p", higher_is_better=None)


def _fineartbench_group(row: Mapping[str, Any]) -> str:
    if row["model"] == "Random guess":
        return "Random baseline"
    return "Conventional models" if row["reasoning"] is None else "MLLMs"


def fineartbench_rows() -> list[BoardRow]:
    """Table 1: one row a model, way of reasoning and level (artist, task).

    The figures are put under the `official` protocol, which follows the authors' code; that the paper's table was made
    with it is our reading. Its title sorts rows into conventional models and MLLMs. A task-level Bradley–Terry ρ of
    theirs hangs on the machine that fitted it, and says so.
    """
    content = published_json("fineartbench")
    paper = content["source"].split(", Table")[0]
    rows = []
    for row in content["rows"]:
        for level, task in _LEVELS.items():
            metrics = {}
            for rating in ("elo", "bt"):
                metrics[f"{level}_{rating}_rho_official"] = _figure(row[f"{level}_{rating}_rho"], UNKNOWN_N, "rho")
                metrics[f"{level}_{rating}_p_official"] = _p(row[f"{level}_{rating}_p"])
            rows.append(
                _row(
                    "fineartbench",
                    task + _REASONING.get(row["reasoning"] or "", ""),
                    row["model"],
                    group=_fineartbench_group(row),
                    source=f"{paper}, Table 1",
                    metrics=metrics,
                    findings=[_ROUNDING] if level == "task" else [],
                )
            )
    return rows


def published_rows() -> list[BoardRow]:
    """Every row of the papers, by benchmark, in the papers' order."""
    return [*contextcanvas_rows(), *critiquecanvas_rows(), *vab_rows(), *fineartbench_rows()]
