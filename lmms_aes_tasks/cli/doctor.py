"""`lmms-aes doctor`: what is installed, what is known to be bad, what is missing, and the remedy for each."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from lmms_aes_tasks import __version__, registry
from lmms_aes_tasks.board.checks import BAD, OK, WARN, Check
from lmms_aes_tasks.plugin import FALLBACK

TESTED_LMMS_EVAL = "0.7"
"""Series of lmms-eval whose task index our registration extends."""


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())


def check_python() -> Check:
    """Python's version."""
    return Check("python", OK, f"{platform.python_version()} ({sys.executable})")


def check_lmms_eval(version: str | None) -> Check:
    """The harness, in the series that registration was tested with."""
    if version is None:
        return Check("lmms-eval", BAD, "not installed", "pip install 'lmms-eval>=0.7.3,<0.8'")
    if not version.startswith(f"{TESTED_LMMS_EVAL}."):
        remedy = f"if tasks do not appear by name, add {FALLBACK}, or pip install 'lmms-eval>=0.7.3,<0.8'"
        return Check("lmms-eval", WARN, f"{version}, tested with {TESTED_LMMS_EVAL}", remedy)
    return Check("lmms-eval", OK, version)


def check_filelock(version: str | None) -> Check:
    """Version 4 removed the private module that lmms-eval 0.7.3 imports."""
    if version is None:
        return Check("filelock", BAD, "not installed", "pip install 'filelock<4'")
    if _numbers(version)[0] >= 4:
        return Check("filelock", BAD, f"{version}: lmms-eval fails at its first task", "pip install 'filelock<4'")
    return Check("filelock", OK, version)


def check_torch(torch: str | None, torchvision: str | None) -> Check:
    """PyTorch and torchvision have to be of one pair: torchvision 0.(n+15) belongs to torch 2.n."""
    if torch is None:
        return Check("torch", BAD, "not installed", "pip install torch torchvision")
    if torchvision is None:
        return Check("torch", BAD, f"{torch} without torchvision", "pip install 'lmms-aes-tasks[qwen3-vl]'")
    pair = _numbers(torch), _numbers(torchvision)
    if pair[0][:1] == (2,) and pair[1][:1] == (0,) and pair[1][1] != pair[0][1] + 15:
        wanted = f"torchvision==0.{pair[0][1] + 15}.*"
        return Check(
            "torch", BAD, f"{torch} with torchvision {torchvision}: they do not match", f"pip install '{wanted}'"
        )
    return Check("torch", OK, f"{torch}, torchvision {torchvision}")


def check_package(package: str, module: str, why: str, extra: str) -> Check:
    """A package that one model or command needs."""
    version = _version(package)
    if version is None or importlib.util.find_spec(module) is None:
        return Check(package, WARN, "not installed", f"{why}: pip install 'lmms-aes-tasks[{extra}]'")
    return Check(package, OK, version)


def check_entry_point() -> Check:
    """Whether lmms-eval will find this package."""
    names = [point.value for point in metadata.entry_points(group="lmms_eval.models")]
    if "lmms_aes_tasks.plugin:register" in names:
        return Check("registration", OK, "entry point in lmms_eval.models")
    return Check("registration", BAD, "no entry point", "install the package itself: pip install lmms-aes-tasks")


def check_data(name: str) -> Check:
    """Whether a benchmark's data can be found; its content is `lmms-aes data check`'s work."""
    from lmms_aes_tasks.records import SourceError, records_file
    from lmms_aes_tasks.sources import DATA_ENV, access_remedy, data_root, read_card

    card = read_card(name)
    if card.generator:
        installed = importlib.util.find_spec("skimage") is not None
        found = "generated on first use" if installed else "scikit-image is not installed"
        return Check(
            f"data: {name}", OK if installed else WARN, found, "" if installed else "pip install 'lmms-aes-tasks[demo]'"
        )
    root = data_root()
    owner = registry.benchmark(name)
    place = owner.data_place(card, root)
    if card.hub_id and (root is None or not (root / name).exists()):
        if place is not None:
            return Check(f"data: {name}", OK, str(place))
        return Check(
            f"data: {name}", WARN, f"{card.hub_id} was not loaded yet", f"{access_remedy(card)}; then run the task"
        )
    remedy = f"{card.where} Then: export {DATA_ENV}=FOLDER; lmms-aes data import {name} SOURCE"
    if root is None:
        return Check(f"data: {name}", WARN, f"${DATA_ENV} is not set", remedy)
    if not owner.importable:
        return Check(f"data: {name}", OK, f"{root / name} (lmms-aes data check {name} joins pairs and files)")
    try:
        return Check(f"data: {name}", OK, str(records_file(root / name)))
    except SourceError as error:
        return Check(f"data: {name}", WARN, str(error), remedy)


def check_devices() -> Check:
    """GPUs that PyTorch can use, and processors."""
    cores = f"{os.cpu_count()} CPU cores"
    try:
        import torch
    except Exception as error:  # a torch that does not load raises all kinds
        return Check("devices", BAD, f"torch does not load ({error})", "install torch anew")
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
        return Check("devices", OK, f"{len(names)} GPU ({', '.join(names)}), {cores}")
    if torch.backends.mps.is_available():
        return Check("devices", OK, f"Apple GPU, {cores}")
    return Check("devices", WARN, f"no GPU, {cores}", "fine for scoring and API models; a local model needs a GPU")


def check_cache() -> Check:
    """Whether the cache folder can be written."""
    from lmms_aes_tasks.sources import CACHE_ENV, cache_root

    folder = cache_root()
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if existing.is_dir() and os.access(existing, os.W_OK):
        return Check("cache", OK, str(folder))
    return Check("cache", BAD, f"{folder} cannot be written", f"set {CACHE_ENV} to a folder that can")


def all_checks() -> Iterable[Callable[[], Check]]:
    """Every check, in the order of the report."""
    from lmms_aes_tasks.sources import card_names

    yield check_python
    yield lambda: Check("lmms-aes-tasks", OK, f"{__version__} in {Path(__file__).parents[1]}")
    yield lambda: check_lmms_eval(_version("lmms_eval"))
    yield check_entry_point
    yield lambda: check_filelock(_version("filelock"))
    yield lambda: check_torch(_version("torch"), _version("torchvision"))
    for package in ("transformers", "datasets", "accelerate"):
        yield lambda package=package: (  # type: ignore[misc]
            Check(package, OK, found)
            if (found := _version(package))
            else Check(package, BAD, "not installed", f"pip install {package}")
        )
    yield lambda: check_package("decord", "decord", "for --model qwen3_vl", "qwen3-vl")
    yield lambda: check_package("qwen-vl-utils", "qwen_vl_utils", "for --model qwen3_vl", "qwen3-vl")
    yield lambda: check_package("scikit-image", "skimage", "for the demo tasks", "demo")
    for check in [check for benchmark in registry.benchmarks() for check in benchmark.checks()]:
        yield lambda check=check: check  # type: ignore[misc]
    for name in card_names():
        yield lambda name=name: check_data(name)  # type: ignore[misc]
    yield check_cache
    yield check_devices


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False) -> None:
    """Check this installation; each line that is not ok names its remedy. Exit code 1 when a run would fail."""
    checks = [check() for check in all_checks()]
    if as_json:
        typer.echo(json.dumps([asdict(check) for check in checks]))
    else:
        from lmms_aes_tasks.cli.tables import console, table

        rows = [(check.status, check.name, check.found, check.remedy) for check in checks]
        console().print(table("lmms-aes doctor", ["", "checked", "found", "remedy"], rows, numbers_from=4))
    if any(check.status == BAD for check in checks):
        raise typer.Exit(1)
