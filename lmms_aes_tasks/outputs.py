"""Writing files and folders of ours: whole or not at all, and with a message that names the target."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lmms_aes_tasks.utils.errors import AesError


class OutputError(AesError, OSError):
    """A file or folder that cannot be written. It stays an OSError, so that what expects one meets it."""

    def __init__(self, target: Path, error: OSError, remedy: str) -> None:
        super().__init__(error.errno, reason_of(error), str(target))
        self.message = f"{target} cannot be written ({reason_of(error)}). {remedy}"

    def __str__(self) -> str:
        return self.message


def reason_of(error: OSError) -> str:
    """The system's reason in one line, without number and file name."""
    if isinstance(error, FileExistsError):  # "File exists" would puzzle: it comes of a folder that cannot be made
        return "a file stands where a folder is needed"
    lines = (error.strerror or str(error) or type(error).__name__).splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def concerns(error: OSError, target: Path) -> bool:
    """Whether an error is about a target: itself, a folder on its way, what lies in it, a hidden temporary beside it.

    So is an error that names no file, as that of a full disk.
    """
    if not isinstance(error.filename, (str, bytes, os.PathLike)):
        return True
    named, place = (Path(os.path.realpath(os.fsdecode(path))) for path in (error.filename, target))
    if named == place or place in named.parents or named in place.parents:
        return True
    return place.parent in named.parents and named.relative_to(place.parent).parts[0].startswith(".")


@contextmanager
def writing(target: Path, remedy: str = "Name another place, or make room.") -> Iterator[None]:
    """Turn an OSError about the target into an `OutputError` that names it; one about another file passes.

    Raises:
        OutputError: The block could not write.
    """
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        if isinstance(error, BrokenPipeError) or not concerns(error, target):
            raise
        raise OutputError(target, error, remedy) from None


def _is_special(path: Path) -> bool:
    """Whether a path is there and neither file nor folder: a device, a pipe, `/dev/stdout`."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A temporary path beside `target` that replaces it when the block ends well, and is removed when it does not.

    A link stays a link: the file that it leads to is replaced. A device or a pipe is written into.

    Raises:
        OutputError: The target, or a folder on its way, cannot be written.
    """
    with writing(target):
        if _is_special(target):
            with _special_path(target) as content:
                yield content
            return
        place = Path(os.path.realpath(target)) if target.is_symlink() else target
        if place.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(target))
        made = [folder for folder in place.parents if not folder.exists()]  # innermost first
        temporary: Path | None = None
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".lmms-aes.", suffix=".tmp", dir=place.parent)
            os.close(handle)
            temporary = Path(name)
            yield temporary
            temporary.chmod(0o644)
            temporary.replace(place)
        except BaseException:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
            for folder in made:
                with suppress(OSError):  # not empty, or never made
                    folder.rmdir()
            raise


@contextmanager
def _special_path(target: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name) / "content"
        temporary.touch()
        yield temporary
        with temporary.open("rb") as content, target.open("wb") as output:
            shutil.copyfileobj(content, output)


def refuse_input(target: Path | None, *inputs: Path | None) -> None:
    """Make sure that a command does not write over what it reads.

    Raises:
        AesError: The target is one of the inputs.
    """
    for path in inputs:
        if target is not None and path is not None and target.is_file() and path.exists() and target.samefile(path):
            raise AesError(f"{target} would be written over, and it is what is read. Name another file to write.")
