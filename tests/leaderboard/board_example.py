"""A board for tests and screenshots: the papers' rows, and runs of models that do not exist, with figures made up."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from lmms_aes_tasks.board.schema import Board, BoardRow, Finding, Metric, Status
from lmms_aes_tasks.leaderboard.published_rows import published_rows

HOSTILE_NAMES = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror=window.hacked=1>',
    "javascript:window.hacked=1",
    "{{7*7}}{% for x in y %}",
    "$x^2$ \\alpha & <b>bold</b> '\"",
    "\u202egpj.ekaf\u202c reversed",
    "</textarea></select></svg><svg onload=window.hacked=1>",
    "L" * 200,
)
"""What someone may write as a model's name."""

MODELS: tuple[tuple[str, str, Status, float], ...] = (
    ("aurora-lab/Aurora-VL-72B", "Aurora Lab", "recomputed", 0.80),
    ("aurora-lab/Aurora-VL-7B", "Aurora Lab", "recomputed", 0.52),
    ("kestrel/kestrel-vision-3", "J. Okafor", "self-reported", 0.71),
    ("tinybrush/tinybrush-1.5B-instruct", "anonymous reviewer 2", "recomputed", 0.31),
    ("palette/palette-aesthetic-8B", "Palette", "self-reported", 0.38),
    ("orca-mm/orca-mm-34B-chat", "university of examples", "recomputed", 0.63),
)
"""Name, evaluator, status and made-up ability."""


def share(value: float, n: int, better: bool | None = True) -> Metric:
    """A share of n items, with an interval of about the width that its size gives."""
    numerator = round(value * n)
    value = numerator / n
    half = 1.96 * (value * (1 - value) / n) ** 0.5
    return Metric(
        value=value,
        n=n,
        numerator=numerator,
        denominator=n,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        higher_is_better=better,
    )


def figure(value: float, n: int, unit: Any, better: bool | None = True) -> Metric:
    return Metric(value=round(value, 4), n=n, unit=unit, higher_is_better=better)


_WHOLE = {"contextcanvas": 301, "critiquecanvas": 6000}


def run(model: str, evaluator: str, status: Status, task: str, benchmark: str, **rest: Any) -> BoardRow:
    """A row of a run, with everything that is the same for every task."""
    entry = f"{model.replace('/', '__')}/main/{rest.pop('name', '2026-09-14')}"
    rest.setdefault("n_expected", _WHOLE.get(task) if "n" in rest else None)
    n = rest.setdefault("n", 100)
    return BoardRow(
        key=f"{entry}/{task}",
        status=status,
        model=model,
        revision="9f2c1ab4",
        backend="qwen3_vl",
        evaluator=evaluator,
        benchmark=benchmark,
        task=task,
        entry=entry,
        **{
            "version": "1-A",
            "prompt": f"{benchmark}-1 (5d0c77e1)",
            "decoding": "greedy, 800 tokens",
            "date": "2026-09-14",
            "parse_rate": 0.993,
            "signature": f"task:{task}|v:1-A|data:41aa09d3|prompt:5d0c77e1|parser:2|n:{n}|version:0.2.0",
        }
        | rest,
    )


def _context(ability: float, own: random.Random) -> dict[str, Any]:
    yes = 0.38 + (0.7 - ability) * 0.5 + own.uniform(-0.05, 0.05)
    return {
        "n": 301,
        "metrics": {
            "accuracy": share(ability, 301),
            "macro_f1": share(ability - 0.03, 291),
            "yes_rate": share(yes, 291, None),
            "yes_f1": share(ability - 0.1, 291),
            "no_f1": share(min(0.99, ability + 0.04), 291),
            "parse_rate": share(0.993, 301),
        },
        "breakdowns": {
            "category": {
                name: {"accuracy": share(min(0.99, max(0.02, ability + own.uniform(-0.15, 0.15))), 60)}
                for name in ("culture", "festival", "advertising", "education", "rhetoric")
            }
        },
    }


def _critique_metrics(ability: float, own: random.Random, n: int) -> dict[str, Metric]:
    def near(value: float) -> float:
        return value + own.uniform(-0.02, 0.02)

    return {
        "bleu": figure(near(0.05 + 0.06 * ability), n, "fraction"),
        "rouge_l": figure(near(0.2 + 0.09 * ability), n, "fraction"),
        "meteor": figure(near(0.18 + 0.1 * ability), n, "fraction"),
        "bert_f1": figure(near(0.66 + 0.07 * ability), n, "fraction"),
        "sbert_cos": figure(near(0.72 + 0.14 * ability), n, "fraction"),
        "clip_cos": figure(near(0.28 + 0.05 * ability), n, "fraction"),
        "avg_length": figure(90 + 120 * own.random(), n, "words", None),
        "len_ref": figure(0.7 + 0.8 * own.random(), n, "ratio", None),
        "dim_hits": figure(3.5 + 3 * ability, n, "dimensions", None),
        "density": figure(8 + 5 * own.random(), n, "per 100 words", None),
        "prompt_align": share(0.6 + 0.3 * ability, 1180),
        "empty_rate": share(0.001, n, False),
    }


def _critique(ability: float, own: random.Random) -> dict[str, Any]:
    domains = ("photography", "painting", "virtual imagery")
    return {
        "n": 6000,
        "metrics": _critique_metrics(ability, own, 6000),
        "breakdowns": {"domain": {name: _critique_metrics(ability, own, 2000) for name in domains}},
    }


_SIZES = {"2": 120, "3": 150, "4": 80, "5": 30, "6": 20}
_DOMAINS = {"fine-art": 130, "illustration": 120, "photograph": 150}
_SUBSTYLES = ("oil", "ink", "watercolour", "anime", "concept art", "vector", "portrait", "landscape", "street", "macro")


def _choices(ability: float, own: random.Random, counts: dict[str, int]) -> dict[str, dict[str, Metric]]:
    found = {}
    for name, n in counts.items():
        ap = min(0.97, max(0.02, ability + own.uniform(-0.1, 0.1)))
        found[name] = {"ap@1": share(ap, n), "pass^3": share(ap**1.8, n)}
    return found


def _vab(ability: float, own: random.Random) -> dict[str, Any]:
    skill = 0.22 + 0.3 * ability
    weights = [1.0 + (1 - ability) * own.random(), 0.95, 0.62, 0.28, 0.1, 0.04]
    counts = [round(1200 * weight / sum(weights)) for weight in weights]
    positions = {str(place + 1): {"share": share(count / 1200, 1200, None)} for place, count in enumerate(counts)}
    return {
        "n": 1200,
        "prompt": "vab-tb1-1 (88e2b0aa)",
        "decoding": "temperature 1, 4096 tokens",
        "metrics": {
            "ap@1": share(skill, 1200),
            "pass^3": share(skill**1.7, 400),
            "order_flip_rate": share(0.9 - 0.6 * ability, 400, False),
            "parse_rate": share(0.998, 1200),
            "strict_parse_rate": share(0.97, 1200),
            "incomplete_tasks": figure(0, 400, "count", False),
        },
        "breakdowns": {
            "domain": _choices(skill, own, _DOMAINS),
            "substyle": _choices(skill, own, dict.fromkeys(_SUBSTYLES, 40)),
            "n_images": {
                size: {
                    "ap@1": share(1.6 * skill / int(size) ** 0.7, n),
                    "pass^3": share(skill**1.5 / int(size) ** 0.9, n),
                }
                for size, n in _SIZES.items()
            },
            "chosen_position": positions,
        },
    }


def _fineartbench(ability: float, own: random.Random, level: str) -> dict[str, Any]:
    def rho(shift: float) -> Metric:
        return figure(min(0.95, ability - 0.1 + shift + own.uniform(-0.08, 0.08)), 5000, "rho")

    metrics = {
        f"{level}_{rating}_rho_{protocol}": rho(0.0 if protocol == "official" else 0.05)
        for rating in ("elo", "bt")
        for protocol in ("official", "aligned")
    }
    methods = ("AdaIN", "AdaAttN", "CAST", "StyTr2", "InST")
    return {
        "n": 5000,
        "metrics": metrics
        | {
            "pair_agreement": share(0.5 + 0.25 * ability, 4210),
            "left_rate": share(0.5 + 0.2 * own.random(), 4988, None),
            "parse_rate": share(0.997, 5000),
            "missing_pairs": figure(0, 5000, "count", False),
        },
        "breakdowns": {"artist": {name: {"pair_agreement": share(0.5 + 0.3 * own.random(), 420)} for name in methods}},
    }


def runs(models: Sequence[tuple[str, str, Status, float]] = MODELS) -> list[BoardRow]:
    """Rows of made-up runs: the same at every call."""
    rows = []
    for model, evaluator, status, ability in models:
        own = random.Random(model)

        def add(task: str, benchmark: str, content: dict[str, Any], who: Any = (model, evaluator, status)) -> None:
            rows.append(run(*who, task, benchmark, **content))

        add("contextcanvas", "contextcanvas", _context(ability, own))
        add("critiquecanvas", "critiquecanvas", _critique(ability, own))
        for place, task in enumerate(("vab_tb1", "vab_top1", "vab_bot1")):
            add(task, "vab", _vab(ability + 0.2 * min(place, 1), own))
        add("fineartbench_2afc_global", "fineartbench", _fineartbench(ability, own, "artist"))
        add("fineartbench_2afc_instance", "fineartbench", _fineartbench(ability - 0.1, own, "task"))
    model, evaluator, status, ability = models[0]
    own = random.Random("extra")
    rows.append(
        run(
            model,
            evaluator,
            status,
            "vab_tb1_greedy",
            "vab",
            **_vab(ability, own) | {"decoding": "greedy, 4096 tokens"},
        )
    )
    rows.append(
        run(
            *(model, evaluator, "recomputed", "contextcanvas", "contextcanvas"),
            **_context(0.9, own) | {"name": "2026-06-01", "date": "2026-06-01", "superseded": True},
        )
    )
    partial = {name: metric for name, metric in _context(0.9, own)["metrics"].items() if name != "macro_f1"}
    partial["macro_f1"] = Metric(value=None, n=0, reason="no case with the gold label Yes was answered")
    note = Finding(kind="note", where="contextcanvas", message="20 of 301 cases; scores are of these alone")
    flag = Finding(kind="flag", where="decoding.temperature", message="0.7 differs from the task's 0; look at it")
    rows.append(
        run(
            *("kestrel/kestrel-vision-3-nano", "J. Okafor", "self-reported", "contextcanvas", "contextcanvas"),
            **{"n": 20, "metrics": partial, "findings": [note, flag]},
            prompt="other (1b2c3d4e)",
        )
    )
    return rows


def board(names: Sequence[str] = ()) -> Board:
    """The papers' rows and made-up runs; `names` become further runs with every task, for hostile text."""
    extra = [(name, name, "self-reported", 0.3 + 0.05 * place) for place, name in enumerate(names)]
    own = runs((*MODELS, *extra))  # type: ignore[arg-type]
    return Board(plugin="0.2.0", rows=[*own, *published_rows()])


def hostile_board() -> Board:
    """Foreign text everywhere it may stand."""
    whole = board(HOSTILE_NAMES)
    bad = HOSTILE_NAMES[0] + HOSTILE_NAMES[1]

    def poison(row: BoardRow) -> BoardRow:
        if row.model not in HOSTILE_NAMES:
            return row
        return row.model_copy(
            update={
                "prompt": bad,
                "decoding": bad,
                "signature": bad,
                "group": bad,
                "findings": [Finding(kind="flag", where=bad, message=bad)],
                "breakdowns": row.breakdowns | {bad: {bad: {"accuracy": share(0.5, 10)}}},
                "metrics": row.metrics | {bad: Metric(value=None, n=0, reason=bad)},
            }
        )

    return Board(plugin=bad, rows=[poison(row) for row in whole.rows])
