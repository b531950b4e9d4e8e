"""Commands that write: where they cannot, one message names the target; what is not theirs stays as it was."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from lmms_aes_tasks.models import tiny_qwen
from lmms_aes_tasks.outputs import OutputError, atomic_path, writing
from lmms_aes_tasks.utils.errors import AesError
from lmms_aes_tasks.utils.vector_store import VectorStore
from lmms_aes_tasks.utils.wordnet import WordNetError, build_corpus, find_wordnet
from tests.cli.conftest import call
from tests.leaderboard.conftest import built, run_folder  # noqa: F401 - fixtures

COMMAND = [sys.executable, "-c", "import sys; sys.argv[0] = 'lmms-aes'; from lmms_aes_tasks.cli import main; main()"]


@pytest.fixture
def inputs(tmp_path: Path, run_folder: Path, built: Path) -> dict[str, Path]:  # noqa: F811
    """What the commands read, sound."""
    folder = tmp_path / "in"
    (folder / "critiques").mkdir(parents=True)
    (folder / "none").mkdir()
    Image.new("RGB", (8, 8), "red").save(folder / "critiques/a.png")
    record = {"id": "1", "image": "a.png", "domain": "photography", "instruction": "Critique it.", "reference": "Soft."}
    (folder / "critiques/records.json").write_text(json.dumps([record]))
    (folder / "responses.jsonl").write_text('{"id": "1", "response": "Soft light."}\n')
    (folder / "file").write_text("mine")
    assert call("leaderboard", "merge", folder / "none", "--output", folder / "board.json").exit_code == 0
    return {
        "critiques": folder / "critiques",
        "responses": folder / "responses.jsonl",
        "none": folder / "none",
        "board": folder / "board.json",
        "file": folder / "file",
        "runs": run_folder,
        "entry": built,
        "wordnet": Path(find_wordnet() or ""),
        "tmp": tmp_path,
    }


_SCORE = "score critiquecanvas <responses> --data <critiques> --metrics style --resamples 100"
FILES = {
    "per-item": f"{_SCORE} --per-item TARGET",
    "plot": f"{_SCORE} --plot TARGET.png",
    "merge": "leaderboard merge <none> --output TARGET",
    "export": "leaderboard export <board> --format csv --output TARGET",
    "verify": "leaderboard verify <entry> --out TARGET",
}
FOLDERS = {
    "import": "data import critiquecanvas <critiques> --to TARGET",
    "fetch": "data fetch wordnet --from <wordnet> --to TARGET",
    "build": "leaderboard build <runs> --model-id a/b --allow-incomplete --out TARGET",
    "page": "leaderboard page <board> --out TARGET",
    "tiny-model": "tiny-model TARGET",
}


def arguments(line: str, inputs: dict[str, Path], target: str) -> list[str]:
    words = []
    for word in line.split():
        for name, path in inputs.items():
            word = word.replace(f"<{name}>", str(path))
        words.append(word.replace("TARGET", target))
    return words


def names_target(message: str, target: str) -> bool:
    return message.startswith("lmms-aes: ") and target in message and message.count("\n") == 1


@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
@pytest.mark.parametrize("target", ["<file>/x", "/proc/nothing/x"])
def test_a_folder_that_cannot_be_made(
    name: str, target: str, inputs: dict[str, Path], error_of: Callable[..., str]
) -> None:
    place = target.replace("<file>", str(inputs["file"]))
    message = error_of(*arguments((FILES | FOLDERS)[name], inputs, place))
    assert names_target(message.splitlines(keepends=True)[-1], place), message
    assert inputs["file"].read_text() == "mine"


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_place_of_a_file(name: str, inputs: dict[str, Path], error_of: Callable[..., str]) -> None:
    folder = inputs["tmp"] / ("taken.png" if name == "plot" else "taken")
    if name == "export":  # which then is the folder to write into
        folder = inputs["tmp"] / "taken"
        (folder / "scores.csv").mkdir(parents=True)
        for other in ("board.csv", "rows.csv", "results.csv"):
            (folder / other).mkdir()
    folder.mkdir(exist_ok=True)
    target = str(folder).removesuffix(".png") if name == "plot" else str(folder)
    message = error_of(*arguments(FILES[name], inputs, target))
    assert names_target(message.splitlines(keepends=True)[-1], str(folder)), message


@pytest.mark.parametrize("name", [name for name in FOLDERS if name != "import"])
def test_a_file_in_place_of_a_folder(name: str, inputs: dict[str, Path], error_of: Callable[..., str]) -> None:
    message = error_of(*arguments(FOLDERS[name], inputs, str(inputs["file"])))
    assert names_target(message.splitlines(keepends=True)[-1], str(inputs["file"])), message
    assert inputs["file"].read_text() == "mine"


@pytest.mark.parametrize("name", ["per-item", "plot", "merge", "verify", "import", "build", "page"])
def test_a_full_disk(name: str, inputs: dict[str, Path]) -> None:
    """The system's limit of a file's size stands for the disk: the write fails when something was written."""
    target = inputs["tmp"] / "out" / "x"
    finished = subprocess.run(
        [*COMMAND, *arguments((FILES | FOLDERS)[name], inputs, str(target))],
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)),
        check=False,
        env=os.environ | {"MPLCONFIGDIR": str(inputs["tmp"])},
    )
    message = finished.stderr.decode().splitlines(keepends=True)[-1]
    assert finished.returncode == 2, finished.stderr.decode()
    assert names_target(message, str(target)), message
    assert "Traceback" not in finished.stderr.decode()
    left = [path for path in inputs["tmp"].rglob("*") if path.is_file() and (inputs["tmp"] / "out") in path.parents]
    assert left == []  # neither half a file nor a temporary one


@pytest.mark.parametrize("code", [["data", "list"], ["analyze", "consensus"], ["--help"], ["tasks-path"]])
def test_standard_output_on_a_full_disk(code: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        finished = subprocess.run([*COMMAND, *code], stdout=full, stderr=subprocess.PIPE, check=False)
    assert finished.returncode == 2
    assert finished.stderr.decode() == (
        "lmms-aes: standard output cannot be written (No space left on device). Write it elsewhere.\n"
    )


# -- atomic_path and writing ------------------------------------------------------------------------------------------


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    with atomic_path(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_device_and_a_pipe_are_written_into_and_stay_what_they_are(tmp_path: Path) -> None:
    with atomic_path(Path(os.devnull)) as temporary:
        temporary.write_text("x")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    with pytest.raises(OutputError) as error, atomic_path(Path("/dev/full")) as temporary:
        temporary.write_text("x")
    assert (
        str(error.value) == "/dev/full cannot be written (No space left on device). Name another place, or make room."
    )
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    code = "from lmms_aes_tasks.outputs import atomic_path; from pathlib import Path\n"
    code += "with atomic_path(Path('/dev/stdout')) as t: t.write_text('whole')"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert shown == b"whole"


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error, writing(tmp_path / "out"):
        (tmp_path / "in").read_text()
    assert not isinstance(error.value, AesError)


def test_an_output_error_is_still_one_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot be written") as error, atomic_path(tmp_path / "file/x"):
        pass
    assert isinstance(error.value, AesError)
    assert str(error.value).startswith(f"{tmp_path / 'file/x'} cannot be written (")


# -- What is not replaced ---------------------------------------------------------------------------------------------


def real_model(folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen3_vl"}')
    (folder / "model-00001-of-00004.safetensors").write_bytes(b"weights")
    (folder / "my_notes.txt").write_text("years of work")
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_real_model_is_not_replaced(tmp_path: Path, error_of: Callable[..., str]) -> None:
    folder = tmp_path / "model"
    before = real_model(folder)
    assert error_of("tiny-model", folder) == (
        f"lmms-aes: {folder} holds files and no .lmms-aes-tiny-model.json, so it is no model of this command and stays "
        "as it is. Name another folder.\n"
    )
    assert contents(folder) == before
    (folder / tiny_qwen.MARKER).write_text('{"files": ["config.json"]}')
    assert error_of("tiny-model", folder) == (
        f"lmms-aes: {folder} holds model-00001-of-00004.safetensors, my_notes.txt besides the model, which replacing "
        "it would delete. Move that, or name another folder.\n"
    )
    (tmp_path / "link").symlink_to(folder)
    assert "is a file or a link" in error_of("tiny-model", tmp_path / "link")
    assert before.items() <= contents(folder).items()


@pytest.mark.parametrize("marker", [b"", b"[]", b'{"files": 3}', b"\xff"])
def test_a_marker_that_says_nothing_is_none(marker: bytes, tmp_path: Path) -> None:
    (tmp_path / tiny_qwen.MARKER).write_bytes(marker)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(tiny_qwen.ModelFolderError):
        tiny_qwen.check_folder(tmp_path)


def test_a_model_of_ours_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "new/model"
    assert call("tiny-model", folder).exit_code == 0
    first = (folder / "model.safetensors").read_bytes()
    assert call("tiny-model", folder, "--seed", 1).exit_code == 0
    assert (folder / "model.safetensors").read_bytes() != first
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["model"]


def test_a_corpus_with_files_of_the_users_is_not_replaced(tmp_path: Path) -> None:
    corpus = tmp_path / "corpora/wordnet"
    corpus.mkdir(parents=True)
    (corpus / "my_senses.txt").write_text("mine")
    with pytest.raises(WordNetError) as error:
        build_corpus(Path(find_wordnet() or ""), tmp_path)
    assert str(error.value) == (
        f"{corpus} holds my_senses.txt besides the corpus, which replacing it would delete. Move that, or name another "
        "folder."
    )
    assert (corpus / "my_senses.txt").read_text() == "mine"


def test_records_under_the_name_of_an_import_are_not_replaced(
    inputs: dict[str, Path], tmp_path: Path, error_of: Callable[..., str]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = tmp_path / "root/critiquecanvas.parquet"
    target.parent.mkdir()
    pq.write_table(pa.table({"mine": [1]}), target)
    message = error_of("data", "import", "critiquecanvas", inputs["critiques"], "--to", target.parent)
    assert message == (
        f"lmms-aes: {target} is there already, and no import wrote it. Move it out of the way, or name another folder "
        "with --to.\n"
    )
    target.unlink()
    for _ in range(2):  # an import of ours is replaced
        assert call("data", "import", "critiquecanvas", inputs["critiques"], "--to", target.parent).exit_code == 0


def test_what_is_read_is_not_written_over(inputs: dict[str, Path], error_of: Callable[..., str]) -> None:
    for output in ("--per-item",):
        message = error_of(*arguments(_SCORE, inputs, ""), output, inputs["responses"])
        assert message == (
            f"lmms-aes: {inputs['responses']} would be written over, and it is what is read. Name another file to "
            "write.\n"
        )


# -- Caches -----------------------------------------------------------------------------------------------------------


def test_a_cache_that_cannot_be_written(
    inputs: dict[str, Path], monkeypatch: pytest.MonkeyPatch, error_of: Callable[..., str]
) -> None:
    folder = inputs["file"] / "cache"
    monkeypatch.setenv("LMMS_AES_CACHE", str(folder))
    assert error_of("data", "check", "contextcanvas_demo") == (
        f"lmms-aes: {folder} cannot be written (Not a directory). Set LMMS_AES_CACHE to a folder that can be written, "
        "with room for the data.\n"
    )
    with pytest.raises(AesError, match="Set LMMS_AES_CACHE to a folder that can be written"):
        VectorStore(folder / "embeddings.sqlite")


def test_a_damaged_store_of_values_is_named(tmp_path: Path) -> None:
    path = tmp_path / "embeddings.sqlite"
    path.write_bytes(b"no database" * 500)
    with pytest.raises(AesError, match="remove the file if it is damaged"):
        VectorStore(path)


@pytest.mark.parametrize("task", ["contextcanvas_demo", "critiquecanvas_demo", "vab_demo"])
def test_documents_end_a_run_with_one_message(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SystemExit, for the harness tries everything else five times and prints a traceback."""
    import importlib

    import datasets

    from lmms_aes_tasks.task_folders import TASKS_PATH

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "file"))
    name = task.removesuffix("_demo")
    card = datasets.Dataset.from_list(json.loads((TASKS_PATH / name / "demo_card.json").read_text("utf-8")))
    module = importlib.import_module(f"lmms_aes_tasks.{name}")
    documents = module.documents_top1 if name == "vab" else getattr(module, "documents", None)
    if documents is None:
        from lmms_aes_tasks.sources import documents
    with pytest.raises(SystemExit) as error:
        documents(card)
    assert str(error.value) == (
        f"\nlmms-aes-tasks: {tmp_path / 'file'} cannot be written (Not a directory). Set LMMS_AES_CACHE to a folder "
        "that can be written, with room for the data."
    )
