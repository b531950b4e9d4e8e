"""Errors of the leaderboard; each message names the value, what is allowed and the next step."""

from __future__ import annotations

from lmms_aes_tasks.utils.errors import AesError


class LeaderboardError(AesError):
    """Anything of the leaderboard that cannot be done as it was asked."""


class BuildError(LeaderboardError):
    """Runs that no entry can be built from."""


class EntryError(LeaderboardError):
    """An entry that cannot be read safely, or is not one; its message is safe to print."""


class CorruptError(EntryError):
    """A compressed file that does not decompress, as one does with a byte changed."""
