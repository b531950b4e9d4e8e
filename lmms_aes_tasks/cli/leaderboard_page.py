"""`lmms-aes leaderboard page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def page(
    board: Annotated[Path, typer.Argument(help="The board.json that `lmms-aes leaderboard merge` writes.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the site; an older site of this command is replaced.")
    ],
    title: Annotated[str | None, typer.Option(help="Name of the site.")] = None,
) -> None:
    """Write the board as a static site that works from a file, without a network."""
    from lmms_aes_tasks.leaderboard.page import TITLE, write_site
    from lmms_aes_tasks.leaderboard.reading import read_board
    from lmms_aes_tasks.outputs import writing

    content = read_board(board)
    with writing(out):
        files = write_site(content, out, title or TITLE)
    typer.echo(f"{out / 'index.html'}: {len(content.rows)} rows, {len(files)} files")
