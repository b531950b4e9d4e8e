"""Tables, numbers and intervals as every sub-command prints and writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, Group

    from lmms_aes_tasks.utils.reply_facts import ReplyCounts
    from lmms_aes_tasks.utils.significance import Interval
    from lmms_aes_tasks.utils.sums import SumDifference, SumScore


def console() -> Console:
    """Standard output; a pipe gets plain text, wide enough that nothing is cut."""
    from rich.console import Console

    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=160)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int = 1) -> Group:
    """A titled table whose columns from `numbers_from` on are aligned right; cells are text, never markup."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    made = Table()
    for position, column in enumerate(columns):
        made.add_column(column, justify="right" if position >= numbers_from else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return Group(Text(title, style="bold"), made)


def percent(value: float | None) -> str:
    """A fraction as the papers print it; a dash where it is not defined."""
    return "–" if value is None else f"{100 * value:.2f}"


def decimals(value: float | None, digits: int = 2) -> str:
    """A number with so many decimals; a dash where it is not defined."""
    return "–" if value is None else f"{value:.{digits}f}"


def number(value: float | None, digits: int = 3) -> str:
    """A correlation or a p-value: decimals, or powers of ten where they would all be 0; a dash where not defined."""
    if value is None or value == 0 or abs(value) >= 1e-3:
        return decimals(value, digits)
    return f"{value:.1e}"


def interval_text(low: float | None, high: float | None, shown: Callable[[float], str] = percent) -> str:
    """An interval as `[low, high]`, a dash where there is none.

    Args:
        low: Lower end.
        high: Upper end.
        shown: Prints an end.
    """
    return "–" if low is None or high is None else f"[{shown(low)}, {shown(high)}]"


def ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """Both ends of an interval, None where there is none."""
    return (None, None) if interval is None else (interval.low, interval.high)


def score_json(score: SumScore | SumDifference) -> dict[str, Any]:
    """A figure as `--json` writes it."""
    low, high = ends(score.interval)
    return {"value": score.value, "low": low, "high": high, "n": score.n}


def replies_json(name: str, counts: ReplyCounts) -> dict[str, Any]:
    """What every score says of its replies: failed requests, the share with reasoning, and what is to be remarked.

    Args:
        name: What was scored, for the remarks.
        counts: Of its replies.
    """
    from lmms_aes_tasks.utils.reply_facts import reply_remarks

    return {
        "failed_requests": counts.failed,
        "reasoning_rate": counts.reasoning_rate,
        "remarks": reply_remarks(name, counts),
    }


def reply_rows(content: Mapping[str, Any], n: int) -> list[tuple[str, str, str, str]]:
    """Lines of a table of metric, value, interval and n, from what `replies_json` gave of n requests."""
    failed = content["failed_requests"]
    return [
        ("failed requests (count)", str(failed), "–", str(n)),
        ("replies with reasoning (%)", percent(content["reasoning_rate"]), "–", str(n - failed)),
    ]


def bootstrap_json(items: str, resamples: int, seed: int) -> dict[str, Any]:
    """How the intervals of an output were made.

    Args:
        items: What was resampled.
        resamples: How often.
        seed: Of the generator.
    """
    return {"method": f"percentile bootstrap over {items}", "level": 0.95, "resamples": resamples, "seed": seed}
