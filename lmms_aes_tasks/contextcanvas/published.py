"""ContextCanvas: Tables 2, S4 and the audits of AesCanvas as rows of the board."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_aes_tasks.board.published import Groups, fraction, percent_metric, published_json, published_row
from lmms_aes_tasks.board.schema import BoardRow, Finding, Metric

_FIGURES = Path(__file__).parent / "published.json"
_DIAGNOSTICS = Path(__file__).parent / "published_diagnostics.json"


def _counterfactual(row: Mapping[str, Any], n: int) -> tuple[str, Groups]:
    low, high = (fraction(end) for end in row["ci95"])
    net = row["correct_updates"] - row["reverse_updates"]
    ncu = Metric(value=fraction(row["ncu"]), n=n, numerator=net, denominator=n, low=low, high=high, unit="ratio")
    groups = {name: {"accuracy": percent_metric(row[name], n)} for name in ("original", "edit", "pair")}
    return "counterfactual", groups | {"net correct update": {"ncu": ncu}}


def _grounding(row: Mapping[str, Any], n: int) -> tuple[str, Groups]:
    figures = {name: percent_metric(row[name], n) for name in ("accuracy", "ega")}
    right = round(row["accuracy"] * n / 100)
    return "grounding", {"audited cases": figures | {"unsupported": percent_metric(row["unsupported"], right, False)}}


def _modality(row: Mapping[str, Any], n: int) -> tuple[str, Groups]:
    return "visual information", {
        name: {"accuracy": percent_metric(row[name], n)} for name in ("text", "neutral", "evidence", "image")
    }


def _diagnostics() -> dict[str, dict[str, Groups]]:
    """Breakdowns by model: the audits of Tables S7 to S9."""
    content = published_json(_DIAGNOSTICS)
    readers = (
        ("counterfactual", _counterfactual, "n_pairs"),
        ("grounding", _grounding, "n_cases"),
        ("modality", _modality, "n_cases"),
    )
    found: dict[str, dict[str, Groups]] = {}
    for name, read, count in readers:
        part = content[name]
        for row in part["rows"]:
            breakdown, groups = read(row, part[count])
            found.setdefault(row["model"], {})[breakdown] = groups
    return found


def published_rows() -> list[BoardRow]:
    """Tables 2 and S4; the audits of Tables S7 to S9 as breakdowns of the models that have them."""
    content = published_json(_FIGURES)
    cases, binary = content["n_cases"], content["n_binary"]
    diagnostics = _diagnostics()
    note = Finding(kind="note", where="model", message="the model that difficulty was screened with")

    def metrics(row: Mapping[str, Any]) -> dict[str, Metric]:
        return {
            "accuracy": percent_metric(row["accuracy"], cases),
            "macro_f1": percent_metric(row["macro_f1"], binary),
            "yes_rate": percent_metric(row["yes_rate"], binary, None),
            "yes_f1": percent_metric(row["yes_f1"], binary),
            "no_f1": percent_metric(row["no_f1"], binary),
        }

    return [
        published_row(
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
