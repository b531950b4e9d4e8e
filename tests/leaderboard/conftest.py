"""Sites that several tests look at, made once."""

from __future__ import annotations

import pytest

from lmms_aes_tasks.leaderboard.page import site_files
from lmms_aes_tasks.leaderboard.schema import Board
from tests.leaderboard.board_example import board, hostile_board


@pytest.fixture(scope="session")
def whole() -> Board:
    return board()


@pytest.fixture(scope="session")
def site(whole: Board) -> dict[str, str]:
    return site_files(whole)


@pytest.fixture(scope="session")
def hostile() -> dict[str, str]:
    return site_files(hostile_board(), title="<script>window.hacked=1</script>")
