"""Standard output of a command: signs that its encoding lacks, readers that leave, disks that are full."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata
from contextlib import suppress
from typing import NoReturn

ERRORS = "lmms_aes.nearest"
"""Name of our handler for what an encoding cannot hold."""
_NEAREST = {
    "–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "±": "+/-", "²": "2", "³": "3",
    "ρ": "rho", "τ": "tau", "κ": "kappa", "≤": "<=", "≥": ">=", "→": "->",
    "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "•": "*", "✓": "ok", "★": "*",
}  # fmt: skip


def nearest(char: str) -> str:
    """The ASCII text nearest to a sign; a question mark where there is none.

    >>> nearest("–"), nearest("ρ"), nearest("é"), nearest("图")
    ('-', 'rho', 'e', '?')
    """
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode("ascii")
    return _NEAREST.get(char) or plain or "?"


def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    if all("\udc80" <= char <= "\udcff" for char in part):  # a file name's bytes, as the system gave them
        return part.encode("ascii", "surrogateescape"), error.end
    return "".join(map(nearest, part)), error.end  # ASCII, which every console's encoding holds


def prepare() -> None:
    """Make standard output take every text, whatever its encoding; a closed one becomes the null device.

    Standard error escapes what its encoding lacks, as it does in Python by itself.
    """
    codecs.register_error(ERRORS, _replace)
    if sys.stdout is None:  # closed by `>&-`
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=ERRORS)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def leave_quietly(code: int) -> NoReturn:
    """End with a code although standard output no longer takes anything, which Python would report when it ends."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.__stdout__, sys.__stderr__):
            with suppress(OSError, ValueError, AttributeError):
                os.dup2(null, stream.fileno())  # type: ignore[union-attr]
    sys.exit(code)


def code_of_closed_pipe(end: BaseException) -> int | None:
    """The exit code when a command ended because nobody reads any more: 0, or that of the usage error it was telling.

    None when it ended for another reason.
    """
    error = end.__context__
    if not isinstance(error, BrokenPipeError):
        return None
    told = getattr(error.__context__, "exit_code", 0)
    return told if isinstance(told, int) else 0


def output_error() -> OSError | None:
    """Why standard output does not take what is still to be written; None when it does."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    except ValueError:  # closed
        return None
    return None
