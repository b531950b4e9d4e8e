"""Versions of what is installed on this machine, as far as figures hang on them."""

from __future__ import annotations

import importlib.metadata

from lmms_aes_tasks.board.schema import Versions

_LIBRARIES = ("torch", "transformers", "sacrebleu", "nltk", "rapidfuzz", "numpy", "scipy", "pillow")


def versions() -> Versions:
    """Versions on this machine: those that scored the responses, and as a rule those that made them."""
    from lmms_aes_tasks import __version__

    def version(name: str) -> str | None:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    libraries = {name: found for name in _LIBRARIES if (found := version(name)) is not None}
    return Versions(harness=version("lmms-eval") or "unknown", plugin=__version__, libraries=libraries)
