"""The benchmarks: their names, and the object that knows each.

Ours are found by their cards in `task_yamls/`, others by entry point (see `task_folders`). A name that stands in one
place and not in the other is an error: a benchmark that is half there would be skipped in silence.
"""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lmms_aes_tasks.sources import SourceCard, card_names, read_card
from lmms_aes_tasks.task_folders import GROUP, TASKS_PATH, entry_points
from lmms_aes_tasks.utils.errors import AesError

if TYPE_CHECKING:
    from lmms_aes_tasks.board.benchmark import Benchmark

_PACKAGE = __name__.rpartition(".")[0]
_FOLDER = Path(__file__).parent


class RegistryError(AesError):
    """A benchmark that is half there."""


def _own_names() -> list[str]:
    """Names of our benchmarks.

    Raises:
        RegistryError: A folder has code and no card, or a card and no code.
    """
    with_cards = {path.parent.name for path in TASKS_PATH.glob("*/card.json")}
    with_code = {path.parent.name for path in _FOLDER.glob("*/board.py")}
    if half := sorted(with_cards ^ with_code):
        lacking = [f"{name}: no {'card.json in task_yamls' if name in with_code else 'board.py'}" for name in half]
        raise RegistryError(f"benchmarks that are half there: {'; '.join(lacking)}. Add what is missing.")
    return sorted(with_cards)


@functools.cache
def names() -> tuple[str, ...]:
    """Names of all benchmarks: ours, then other packages'.

    Raises:
        RegistryError: One is half there, or two have one name.
    """
    ours, others = _own_names(), [point.name for point in entry_points()]
    every = [*ours, *others]
    if twice := sorted({name for name in every if every.count(name) > 1}):
        raise RegistryError(f"two benchmarks are called {', '.join(twice)}. Uninstall one of the packages.")
    cards = {name for name in card_names() if not read_card(name).generator}
    if uncarded := sorted(set(every) - cards):
        raise RegistryError(
            f"no source card for {', '.join(uncarded)}: put task_yamls/<name>/card.json, with this name, into the "
            "package that the entry point names"
        )
    if unnamed := sorted(cards - set(every)):
        raise RegistryError(
            f"a source card and no benchmark: {', '.join(unnamed)}. Name its object in the entry-point group {GROUP}, "
            "or give the card a generator if it is another benchmark's demo"
        )
    return tuple(every)


@functools.cache
def benchmark(name: str) -> Benchmark:
    """The object of a benchmark.

    Raises:
        RegistryError: There is none of this name, or the object says another.
    """
    if name not in names():
        raise RegistryError(f"no benchmark {name!r}: use one of {', '.join(names())}")
    point = next((point for point in entry_points() if point.name == name), None)
    if point is None:
        found: Benchmark = importlib.import_module(f"{_PACKAGE}.{name}.board").BENCHMARK
    else:
        found = point.load()
    if found.name != name:
        raise RegistryError(f"the object of the benchmark {name} calls itself {found.name!r}: give both one name")
    return found


def benchmarks() -> tuple[Benchmark, ...]:
    """The objects of all benchmarks, in the order of a page.

    Raises:
        RegistryError: One is half there.
    """
    return tuple(sorted(map(benchmark, names()), key=lambda one: (one.order, one.name)))


def benchmark_of(card: SourceCard) -> Benchmark:
    """The benchmark that a card's data is of: a demo's card names the benchmark's module, too.

    Raises:
        RegistryError: There is none.
    """
    owner = next((name for name in names() if read_card(name).module == card.module), None)
    if owner is None:
        raise RegistryError(f"{card.name}: no benchmark has the module {card.module}. Correct the card.")
    return benchmark(owner)


def hooks(name: str) -> ModuleType:
    """The module that a benchmark's card names: the functions that its YAML calls."""
    return importlib.import_module(read_card(name).module)
