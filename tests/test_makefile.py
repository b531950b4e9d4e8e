"""The Makefile's command lines: every command and option of ours that it names exists, and what it makes is used."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from lmms_aes_tasks.cli.app import app
from lmms_aes_tasks.models.aes_baseline import STRATEGIES

ROOT = Path(__file__).parents[1]


def lines(target: str, *variables: str) -> list[list[str]]:
    """What a target would run, in words; of `a || b` and `a; b` each part."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    shown = subprocess.run(
        ["make", "--dry-run", "--always-make", "--no-print-directory", target, *variables],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    parts = re.split(r"\|\||&&|;|\n", shown.replace("\\\n", " "))
    return [shlex.split(part) for part in parts if "lmms-aes " in part or "lmms-eval " in part]


def commands(target: str) -> list[list[str]]:
    """The arguments of each call of `lmms-aes`."""
    found = []
    for words in lines(target):
        place = next((i for i, word in enumerate(words) if word.endswith("/lmms-aes")), None)
        if place is not None:
            found.append([word for word in words[place + 1 :] if not re.match(r"\d?>", word)])
    return found


@pytest.mark.parametrize("target", ["demo", "demo-board"])
def test_its_commands_and_options_exist(target: str) -> None:
    made = commands(target)
    names = [" ".join(word for word in own[:2] if word.isalpha()) for own in made]
    assert names[-4:] == ["leaderboard build", "leaderboard verify", "leaderboard merge", "leaderboard page"]
    for arguments in made:
        parse(arguments)


def parse(arguments: list[str]) -> None:
    """Parse a command line without running it; what is not known ends in a usage error."""
    command, words = typer.main.get_command(app), list(arguments)
    while hasattr(command, "resolve_command"):
        _, command, words = command.resolve_command(typer.Context(command), words)
        assert command is not None
    command.make_context(command.name, words)


def test_what_does_not_exist_is_found() -> None:
    for arguments in (["leaderboard", "merge", "x", "--outt", "y"], ["leaderboard", "merg"], ["nothing"]):
        with pytest.raises(Exception, match="No such"):
            parse(arguments)


def test_the_runs_of_the_demo_become_its_entries() -> None:
    runs = [words for words in lines("demo") if any(word.endswith("/lmms-eval") for word in words)]
    places = [Path(words[words.index("--output_path") + 1]).name for words in runs]
    (models,) = re.findall(r"^DEMO_MODELS := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert places == models.split()
    for words in runs:
        arguments = words[words.index("--model_args") + 1]
        if words[words.index("--model") + 1] == "aes_baseline":
            assert re.fullmatch(f"strategy=({'|'.join(STRATEGIES)})(,accuracy=0\\.\\d)?,seed=\\d", arguments)
    assert "LMMS_AES_EMBEDDINGS := off" in (ROOT / "Makefile").read_text("utf-8")


def test_only_the_tests_want_a_browser() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    rules = dict(re.findall(r"^([a-z\-]+): ?([a-z $()A-Z\-]*)$", text, re.MULTILINE))
    assert "chromium" in rules["test"].split()
    assert not any("chromium" in needs.split() for name, needs in rules.items() if name != "test")


def test_another_python_has_folders_of_its_own() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    # a make that runs the tests hands its variables on
    outside = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}}
    shown = subprocess.run(
        ["make", "--dry-run", "--always-make", "--no-print-directory", "test-python", f"PYTHON={sys.executable}",
         "OUT=demo_output"],
        cwd=ROOT, env=outside, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    version = "{}.{}".format(*sys.version_info)
    assert f"{sys.executable} -m venv .venv-{version}\n" in shown
    assert f".venv-{version}/bin/lmms-eval" in shown
    assert f'cd "demo_output-{version}" && rm -rf' in shown
    assert f'.venv-{version}/bin/python -m pytest -m "not gpu and not harness"' in shown
    assert not re.search(r"(^|\s)\.venv/", shown)
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {".venv-*/", "demo_output-*/"} <= set(ignored)


def test_the_pythons_that_are_named_are_those_that_are_allowed() -> None:
    import tomllib

    content = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    pythons = [own.split(" :: ")[-1] for own in content["project"]["classifiers"] if "Python :: 3." in own]
    assert content["project"]["requires-python"] == f">={pythons[0]}"
    assert content["tool"]["ruff"]["target-version"] == f"py{pythons[0].replace('.', '')}"
    assert content["tool"]["mypy"]["python_version"] == pythons[0]
    assert f"Python {pythons[0]} to {pythons[-1]}" in (ROOT / "README.md").read_text("utf-8")
