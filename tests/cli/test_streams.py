"""Standard output of other encodings, closed pipes, and how fast the command answers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from lmms_aes_tasks.cli.app import app
from tests.cli.test_nonsense import leaves
from tests.cli.test_outputs import COMMAND

ENCODINGS = ("latin-1", "cp1252", "gbk", "ascii", "koi8-r")


def output(*arguments: Any, encoding: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": encoding} | environment,
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_tables_keep_their_numbers_in_every_encoding(encoding: str) -> None:
    finished = output("analyze", "consensus", "--candidates", 6, "--samples", 100, encoding=encoding)
    assert finished.returncode == 0, finished.stderr
    shown = finished.stdout.decode(encoding)
    assert "8.794e-11" in shown  # 6 images, 9 of 10 votes: Monte Carlo of 100 beside it, with its ±
    assert "0.000e+00" in shown


def test_a_sign_that_an_encoding_lacks_becomes_the_nearest_one() -> None:
    plain = output("analyze", "consensus", "--candidates", 2, encoding="ascii").stdout.decode("ascii")
    assert " - " in plain  # in place of the dash of a value that is not there
    assert "?" not in plain


@pytest.mark.parametrize("name", ["", *leaves(typer.main.get_command(app))])
def test_help_in_the_narrowest_encoding(name: str) -> None:
    finished = output(*name.split(), "-h", encoding="ascii")
    assert finished.returncode == 0, finished.stderr
    assert "Usage" in finished.stdout.decode("ascii")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_messages_and_file_names_in_other_encodings(encoding: str, tmp_path: Path) -> None:
    finished = output("runs", tmp_path / "图–ρ", encoding=encoding, LC_ALL="C", PYTHONUTF8="1")
    assert finished.returncode == 2
    assert finished.stderr.startswith(b"lmms-aes: ")
    assert b"is not a folder" in finished.stderr
    (tmp_path / "é–").mkdir()
    finished = output(
        "leaderboard", "merge", tmp_path / "é–", "-o", tmp_path / "图.json", encoding=encoding, PYTHONUTF8="1"
    )
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "图.json").is_file()


def test_a_file_name_that_is_no_text_is_printed_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    name = os.fsencode(tmp_path) + b"/board\xff.json"
    command = [
        *(os.fsencode(part) for part in COMMAND),
        b"leaderboard",
        b"merge",
        os.fsencode(tmp_path / "none"),
        b"-o",
        name,
    ]
    finished = subprocess.run(command, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "utf-8"})
    assert finished.returncode == 0, finished.stderr
    assert name in finished.stdout


@pytest.mark.parametrize(
    "line",
    [
        "analyze consensus --judges 50",
        "leaderboard schema",
        "--help",
        "parse",
        "leaderboard build missing --out x --model-id a/b 2>&1",
        "leaderboard build missing 2>&1",
    ],
)
def test_a_reader_that_leaves_ends_the_command_without_a_word(line: str, tmp_path: Path) -> None:
    script = tmp_path / "command"
    script.write_text("#!/bin/sh\nexec " + " ".join(f"'{part}'" for part in COMMAND[:2]) + f' "{COMMAND[2]}" "$@"\n')
    script.chmod(0o755)
    lines = tmp_path / "lines"
    lines.write_text('{"kind": "winner", "text": "left"}\n' * 20_000)
    # true leaves before anything is written, head -1 in the midst
    for reader in ("true", "head -1", "head -c 1"):
        finished = subprocess.run(
            ["bash", "-c", f"{script} {line} < {lines} | {reader} >/dev/null; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert finished.stderr == ""
        assert finished.stdout == ("2\n" if "missing" in line else "0\n")


def test_a_closed_standard_output_is_no_error() -> None:
    for line in ("data list", "analyze consensus", "--help"):
        finished = subprocess.run(
            ["bash", "-c", '"$@" >&-', "sh", *COMMAND, *line.split()], capture_output=True, check=False
        )
        assert (finished.returncode, finished.stderr) == (0, b"")


def test_the_command_starts_at_once() -> None:
    """Half a second of this process's own time: a clock on the wall would measure the machine's other work."""
    code = (
        "import sys, time; from lmms_aes_tasks.cli import main\n"
        "try: main()\n"
        "finally: sys.stderr.write(str(time.process_time()))"
    )
    times = []
    for _ in range(3):
        finished = subprocess.run([COMMAND[0], "-c", code, "--help"], capture_output=True, check=True)
        times.append(float(finished.stderr))
    assert min(times) < 0.5
