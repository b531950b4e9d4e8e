"""Makes the functions `aggregate_<metric>` that a task's YAML names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


def aggregation(
    module: str, metric: str, meaning: str, value: Callable[[Iterable[_Item]], _Value]
) -> Callable[[Iterable[_Item]], _Value]:
    """A function of a module, as if it stood there by `def`: it has its name, its documentation, and can be pickled.

    Args:
        module: Name of the module that assigns it to `aggregate_<metric>`.
        metric: The metric, in letters, digits and underscores.
        meaning: Its documentation.
        value: The metric's value over items.
    """

    def aggregate(items: Iterable[_Item]) -> _Value:
        return value(items)

    aggregate.__module__ = module
    aggregate.__name__ = aggregate.__qualname__ = f"aggregate_{metric}"
    aggregate.__doc__ = meaning
    return aggregate
