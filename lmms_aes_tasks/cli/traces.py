"""`lmms-aes analyze subjectivity` and `hallucination`: how models write in FineArtBench."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer


def subjectivity(
    samples: Annotated[list[Path], typer.Argument(help="JSONL of id and response, or samples files of lmms-eval.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Length and subjectivity of responses (FineArtBench, Table 4): TextBlob, and the share of subjective words."""
    from lmms_aes_tasks.cli.tables import console, percent, table
    from lmms_aes_tasks.fineartbench.task import last_reply
    from lmms_aes_tasks.predictions import read_predictions
    from lmms_aes_tasks.utils.answers import visible_text
    from lmms_aes_tasks.utils.subjectivity import subjective_words
    from lmms_aes_tasks.utils.subjectivity import subjectivity as measure

    def text(response: str) -> str:
        """All rounds of ArtCoT, for the trace is what is measured; without a model's reasoning."""
        reply, rounds = last_reply(response)
        return "\n".join(visible_text(own["reply"]).text for own in rounds) if rounds else visible_text(reply).text

    found = {
        str(path): measure([text(item.response) for item in read_predictions(path, by_position=True)])
        for path in samples
    }
    version, _ = subjective_words()
    if as_json:
        content = {"word_list": version, "files": {name: asdict(own) for name, own in found.items()}}
        typer.echo(json.dumps(content, allow_nan=False))
        return
    rows = [
        (
            Path(name).name,
            str(own.texts),
            str(own.empty),
            "–" if own.words is None else f"{own.words:.2f}",
            "–" if own.textblob is None else f"{own.textblob:.2f}",
            percent(own.subjective),
        )
        for name, own in found.items()
    ]
    heads = ["file", "texts", "empty", "words", "TextBlob", "subjective words (%)"]
    console().print(table(f"Subjectivity (word list {version})", heads, rows))


def hallucination(
    file: Annotated[
        Path, typer.Argument(help="JSONL or CSV: method, visual, textual, opinionated, interpretation (0 to 2).")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Human ratings of hallucination by method and kind (FineArtBench, Table 4), brought from 0–2 to 0–1."""
    from lmms_aes_tasks.cli.tables import console, table
    from lmms_aes_tasks.records import SourceError, read_records
    from lmms_aes_tasks.utils.cells import is_empty, whole_number
    from lmms_aes_tasks.utils.errors import problem_text
    from lmms_aes_tasks.utils.subjectivity import KINDS
    from lmms_aes_tasks.utils.subjectivity import hallucination as measure

    by_method: dict[str, list[dict[str, float]]] = {}
    problems: list[str] = []
    for number, row in enumerate(read_records(file), 1):
        wrong = [kind for kind in KINDS if whole_number(row.get(kind)) not in (0, 1, 2)]
        problems.extend(f"rating {number}: {kind} is {row.get(kind)!r}; use 0, 1 or 2" for kind in wrong)
        if not isinstance(row.get("method"), str) or is_empty(row["method"]):
            problems.append(f"rating {number}: method is {row.get('method')!r}; give a text")
        elif not wrong:
            by_method.setdefault(row["method"], []).append({kind: float(row[kind]) for kind in KINDS})
    if not by_method and not problems:
        problems.append("no ratings")
    if problems:
        raise SourceError(problem_text(file, problems))
    found = {method: measure(ratings) | {"n": len(ratings)} for method, ratings in by_method.items()}
    if as_json:
        typer.echo(json.dumps(found, allow_nan=False))
        return
    rows = [(method, *(f"{own[kind]:.2f}" for kind in KINDS), str(own["n"])) for method, own in found.items()]
    console().print(table("Hallucination, 0 to 1", ["method", *KINDS, "n"], rows))
