"""`lmms-aes tiny-model`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def tiny_model(
    folder: Annotated[Path, typer.Argument(help="Where to save it; an earlier one of this command is replaced.")],
    seed: Annotated[int, typer.Option(help="Seed of the weights.")] = 0,
) -> None:
    """Build a real Qwen3-VL with random weights (0.15 million parameters), to try an installation on any CPU.

    Then: `lmms-eval --model qwen3_vl --model_args pretrained=FOLDER,device=cpu,device_map=cpu --tasks …`
    """
    from lmms_aes_tasks.models.tiny_qwen import build_tiny_qwen3_vl
    from lmms_aes_tasks.outputs import writing

    with writing(folder):
        parameters = build_tiny_qwen3_vl(folder, seed)
    typer.echo(f"{folder}: random Qwen3-VL, {parameters:,} parameters")
