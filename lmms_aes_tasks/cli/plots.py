"""What every `--plot` shares: the names it takes, and axes whose figure appears when it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.outputs import atomic_path
from lmms_aes_tasks.predictions import PredictionError

if TYPE_CHECKING:
    pass

SUFFIXES = (".png", ".svg", ".pdf")


def check_plot_name(path: Path | None) -> None:
    """Make sure, before any work, that a figure can be written under this name.

    Raises:
        PredictionError: The suffix is none of `SUFFIXES`.
    """
    if path is not None and path.suffix.lower() not in SUFFIXES:
        raise PredictionError(f"plot is {str(path)!r}: use a name that ends in {', '.join(SUFFIXES)}")


@contextmanager
def drawing(path: Path, rows: int, columns: int, size: tuple[float, float], title: str) -> Iterator[Any]:
    """Axes of shape (rows, columns) to draw into; the file appears when it is whole."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    try:
        yield axes
        figure.suptitle(title.replace("$", r"\$"))
        figure.tight_layout()
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=path.suffix.lstrip(".").lower(), dpi=150)
    finally:
        plt.close(figure)
