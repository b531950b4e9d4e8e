"""Every command with arguments that make no sense: one message and exit code 2, never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from lmms_aes_tasks.cli.app import app, run

# A way to call each command, with <> where nonsense goes; one call for every argument that names a file or a folder.
CALLS = {
    "doctor": [],
    "tasks-path": [],
    "parse": [],  # standard input, see below
    "runs": ["<>"],
    "tiny-model": [],  # writes a folder: test_outputs
    "data import": ["contextcanvas <> --to <tmp>/new", "vab <> --to <tmp>/new", "critiquecanvas <> --to <tmp>/new"],
    "data check": [f"{name} --data <>" for name in ("contextcanvas", "critiquecanvas", "vab", "fineartbench")],
    "data fetch": ["wordnet --from <> --to <tmp>/new"],
    "data list": [],
    "score contextcanvas": ["<>", "<sound> --data <>"],
    "score critiquecanvas": ["<>", "<sound> --data <> --metrics style", "<sound> --compare <> --metrics style"],
    "score vab": ["<>", "<sound> --tasks <>", "<sound> --data <>", "<sound> --compare <>"],
    "score fineartbench": [
        "--mode global --human <> --predictions <sound>",
        "--mode instance --human <human> --predictions <>",
    ],
    "analyze votes": ["<>"],
    "analyze consensus": [],
    "analyze subjectivity": ["<>"],
    "analyze hallucination": ["<>"],
    "analyze ratings": ["<>", "<ratings> --judge <>"],
    "judge critiques": [
        "--model a=<> --model b=<sound> --judge j --out <tmp>/out.jsonl --benchmark critiquecanvas_demo",
        "--model a=<sound> --model b=<sound> --judge j --out <tmp>/out.jsonl --data <>",
        "--model a=<sound> --model b=<sound> --judge j --out <tmp>/out.jsonl --prompt-file <>",
    ],
    "leaderboard build": ["<> --out <tmp>/entry --model-id a/b"],
    "leaderboard verify": ["<>"],
    "leaderboard schema": [],
    "leaderboard merge": ["<> --output <tmp>/board.json"],
    "leaderboard compare": ["<> <>"],
    "leaderboard export": ["<> --output <tmp>/out --format csv"],
    "leaderboard changed": ["<>", "<> --head <>"],
    "leaderboard review": ["<> <tmp> <paths>", "<tmp> <> <paths>", "<tmp> <tmp> <>"],
    "leaderboard page": ["<> --out <tmp>/site"],
}
# Nonsense that is sense there: no entries, no changed paths below the submissions, and a reply without a word.
PATHS = ("leaderboard changed <>", "leaderboard changed <> --head <>", "leaderboard review <tmp> <tmp> <>")
SENSE = {
    "leaderboard merge <> --output <tmp>/board.json": {"folder"},
    "leaderboard review <> <tmp> <paths>": {"folder"},
    "leaderboard review <tmp> <> <paths>": {"folder"},
    "analyze subjectivity <>": {"surrogate"},
}
CONTENTS = {
    "empty": b"",
    "binary": bytes(range(256)) * 40,
    "number": b"3\n",
    "list": b"[]",
    "object": b"{}\n",
    "objects": b"[{}, {}]",
    "deep": b"[" * 100_000,
    "utf16": '{"id": "1", "response": "A"}\n'.encode("utf-16"),
    "surrogate": b'{"id": "\\ud800", "response": "\\udfff", "task_id": "\\ud800"}\n',
    "number-too-long": b'{"id": ' + b"9" * 10_000 + b', "response": "x"}\n',
}
SHAPES = ("missing", "folder", "below-a-file", "loop", "long", "pipe", "null-device")


def leaves(command: Any, name: str = "") -> Iterator[str]:
    for key, child in getattr(command, "commands", {}).items():
        inner = f"{name} {key}".strip()
        if hasattr(child, "commands"):
            yield from leaves(child, inner)
        else:
            yield inner


def test_every_command_is_called() -> None:
    assert sorted(leaves(typer.main.get_command(app))) == sorted(CALLS)


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, str]]:
    """Exit code and standard error of the real entry point; a traceback is an exception here."""

    def end(*arguments: str) -> tuple[Any, str]:
        monkeypatch.setattr(sys, "argv", ["lmms-aes", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as error:
            run()
        return error.value.code, capsys.readouterr().err

    return end


def made(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.jsonl"
    if kind in CONTENTS:
        path.write_bytes(CONTENTS[kind])
    elif kind == "folder":
        path.mkdir()
    elif kind == "below-a-file":
        path.write_text("x")
        return path / "x"
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "long":
        return folder / ("x" * 300)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "null-device":
        return Path(os.devnull)
    return path


@pytest.mark.parametrize("kind", [*SHAPES, *CONTENTS])
@pytest.mark.parametrize("call", [f"{name} {call}" for name, calls in CALLS.items() for call in calls])
def test_nonsense_ends_in_one_message(
    call: str,
    kind: str,
    tmp_path: Path,
    ended: Callable[..., tuple[Any, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.delenv("LMMS_AES_DATA", raising=False)
    inner = tmp_path / "in"
    inner.mkdir()
    sound = inner / "sound.jsonl"
    sound.write_text('{"id": "1", "response": "A"}\n')
    ratings = inner / "ratings.jsonl"
    ratings.write_text(
        '{"id": "1", "model": "m", "evaluator": "e", "factual": 1, "relevance": 1, "specificity": 0, "clarity": 1}\n'
    )
    human = inner / "human.json"
    human.write_text(
        '[{"id": 1, "content_index": 1, "style_index": 1, "method_left": "a", "method_right": "b", "winner": "left"}]'
    )
    paths = inner / "paths"
    paths.write_text("")
    (empty := tmp_path / "empty").mkdir()
    named = {"<tmp>": str(empty), "<sound>": str(sound), "<ratings>": str(ratings), "<human>": str(human)}
    named |= {"<paths>": str(paths), "<>": str(made(tmp_path, kind))}
    arguments = []
    for word in call.split():
        for key, value in named.items():
            word = word.replace(key, value)
        arguments.append(word)
    code, text = ended(*arguments)
    if kind in SENSE.get(call, ()) or (call in PATHS and kind in CONTENTS):
        assert code == 0, text
        return
    assert code == 2, text
    assert "Traceback" not in text
    own = text[text.find("lmms-aes: ") :]
    assert own.startswith("lmms-aes: ") or "Usage:" in text or "Invalid value" in text, text
    assert len(own) < 8_000
