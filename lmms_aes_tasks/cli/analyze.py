"""`lmms-aes analyze`: studies around the benchmarks."""

from __future__ import annotations

import typer

from lmms_aes_tasks.cli import ratings, traces, votes

app = typer.Typer(
    help="Studies around the benchmarks: annotators' votes and ratings, consensus thresholds.", no_args_is_help=True
)

app.command("votes")(votes.votes)
app.command("consensus")(votes.consensus)
app.command("subjectivity")(traces.subjectivity)
app.command("hallucination")(traces.hallucination)

app.command("ratings")(ratings.ratings)
