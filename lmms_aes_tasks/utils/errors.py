"""The one base of every error that names its remedy: the command ends in its message and code 2."""

from __future__ import annotations


class AesError(Exception):
    """What a user can mend; the message names the value, what is allowed, and the next step."""
