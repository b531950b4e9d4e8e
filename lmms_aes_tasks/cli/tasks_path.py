"""`lmms-aes tasks-path`."""

from __future__ import annotations

import typer

from lmms_aes_tasks.task_folders import TASKS_PATH


def tasks_path() -> None:
    """Print the folder of our task YAML, for lmms-eval's --include_path where registration does not reach."""
    typer.echo(str(TASKS_PATH))
