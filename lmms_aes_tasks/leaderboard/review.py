"""What a pull request with entries changes, and how the new entries stand beside the best ones of the board.

Everything that a pull request brings is data here: paths are checked by pattern, and what is written is Markdown whose
cells hold no markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmms_aes_tasks.board.errors import LeaderboardError
from lmms_aes_tasks.board.schema import ENTRY_FILE, VERIFICATION_FILE, Board
from lmms_aes_tasks.board.text import printable
from lmms_aes_tasks.leaderboard.compare import Comparison, Difference, compare_entries
from lmms_aes_tasks.leaderboard.headlines import best_row
from lmms_aes_tasks.leaderboard.merge import merge_submissions
from lmms_aes_tasks.leaderboard.reading import named, raise_problems, read_entry
from lmms_aes_tasks.leaderboard.responses import FOLDER as RESPONSES_FOLDER
from lmms_aes_tasks.leaderboard.submissions import BESIDES, FOLDER_NAME, FOLDER_OF_SUBMISSIONS, MODEL_FOLDER

MAX_CHANGED = 10_000
MAX_REVIEW_CHARS = 60_000
"""A comment on GitHub holds 65,536 characters."""


@dataclass(frozen=True)
class Changed:
    """What a pull request changes below the submissions.

    Attributes:
        entries: Folders `<org>__<model>/<revision>/<run>` whose entry or responses change.
        verifications: Folders of which only the verification changes.
    """

    entries: tuple[str, ...]
    verifications: tuple[str, ...]


def _part_of(parts: Sequence[str]) -> str | None:
    """What a path below the submissions is: `entry`, `verification`, `beside`; None when it does not belong."""
    if len(parts) == 1 and parts[0] in BESIDES:
        return "beside"
    if len(parts) < 4 or not MODEL_FOLDER.fullmatch(parts[0]) or not all(map(FOLDER_NAME.fullmatch, parts[1:3])):
        return None
    rest = parts[3:]
    if len(rest) == 1:
        return {ENTRY_FILE: "entry", VERIFICATION_FILE: "verification"}.get(rest[0])
    return "entry" if len(rest) == 2 and rest[0] == RESPONSES_FOLDER and FOLDER_NAME.fullmatch(rest[1]) else None


def changed_entries(paths: Iterable[str], root: Path | None = None) -> Changed:
    """The entries that changed paths belong to.

    Args:
        paths: Paths in the repository, as `git diff --name-only` lists them; those outside the submissions are not
            looked at.
        root: The submissions as they would become; a folder that is no longer there was removed, and is left out.

    Raises:
        LeaderboardError: A path below the submissions does not belong there, or an entry brings its own verification.
    """
    kinds: dict[str, set[str]] = {}
    problems = []
    listed = [path for path in paths if path.startswith(f"{FOLDER_OF_SUBMISSIONS}/")]
    if len(listed) > MAX_CHANGED:
        raise LeaderboardError(f"{len(listed)} files change; {MAX_CHANGED} are allowed. Open several pull requests.")
    for path in listed:
        parts = path.removeprefix(f"{FOLDER_OF_SUBMISSIONS}/").split("/")
        kind = _part_of(parts)
        if kind is None:
            problems.append(
                f"{printable(path)} does not belong there; put {ENTRY_FILE} and {RESPONSES_FOLDER}/ into "
                f"{FOLDER_OF_SUBMISSIONS}/<org>__<model>/<revision>/<run>/"
            )
        elif kind != "beside":
            kinds.setdefault("/".join(parts[:3]), set()).add(kind)
    there = {folder for folder in kinds if root is None or (root / folder).is_dir()}
    for folder in sorted(there):
        if kinds[folder] == {"entry", "verification"} and (
            root is None or (root / folder / VERIFICATION_FILE).exists()
        ):
            problems.append(f"{folder}/{VERIFICATION_FILE} is for a maintainer to write, after a review; take it out")
    raise_problems("pull request", problems)
    return Changed(
        tuple(sorted(folder for folder in there if "entry" in kinds[folder])),
        tuple(sorted(folder for folder in there if kinds[folder] == {"verification"})),
    )


# -- Markdown ---------------------------------------------------------------------------------------------------------


def cell(text: str) -> str:
    r"""A stranger's text as a cell of a Markdown table, in which nothing is markup, a link, or a mention.

    >>> cell("a|b")
    '`a¦b`'
    """
    plain = printable(text, 120).replace("`", "'").replace("|", "¦").strip()
    return f"`{plain}`" if plain else ""


def _number(value: float | None, difference: Difference) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.2f}" if difference.unit == "fraction" else f"{value:.2f}"


def _line(one: Difference) -> str:
    place = "all" if one.group is None else f"{one.breakdown} {one.group}"
    interval = "–" if one.low is None else f"[{_number(one.low, one)}, {_number(one.high, one)}]"
    p = "" if one.p_bonferroni is None else f"{one.p_bonferroni:.4f}"
    discordant = "" if one.only_first is None else f"{one.only_first} / {one.only_second}"
    values = [_number(value, one) for value in (one.first, one.second, one.difference)]
    return f"| {' | '.join([cell(one.metric), cell(place), str(one.n), *values, interval, discordant, p])} |"


def comparison_markdown(comparison: Comparison, breakdowns: bool = False) -> str:
    """A comparison as Markdown; without breakdowns it fits a comment."""
    shown = [one for one in comparison.differences if breakdowns or one.group is None]
    lines = [f"First: {cell(comparison.first)}; second: {cell(comparison.second)}.", ""]
    for task in dict.fromkeys(one.task for one in shown):
        lines += [f"**{cell(task)}**", ""]
        heads = ["metric", "over", "n", "first", "second", "second − first", "95% interval", "only first / second", "p"]
        lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        lines += [_line(one) for one in shown if one.task == task]
        lines += ["", *(f"- {cell(what)}" for what in comparison.stated.get(task, [])), ""]
    lines += [f"- {cell(task)} is not comparable: {cell(why)}" for task, why in comparison.not_comparable.items()]
    lines.append(
        f"Shares in percent. p: exact McNemar, times the {comparison.tests} test(s) made (Bonferroni), breakdowns "
        f"included. Intervals: bootstrap, {comparison.resamples} resamples, seed {comparison.seed}, not adjusted."
    )
    return "\n".join(lines)


def _beside_best(board: Board, base: Path, head: Path, folder: str, resamples: int) -> list[str]:
    """One new entry beside the best entry of each of its tasks."""
    with named(folder):
        entry, _ = read_entry(head / folder)
    rivals: dict[str, list[str]] = {}
    lines = [f"### {cell(folder)}", ""]
    for task in sorted(entry.tasks):
        best = best_row((row for row in board.rows if row.entry != folder), task)
        if best is None or best.entry is None:
            lines.append(f"- {cell(task)}: the first entry of this task")
        else:
            rivals.setdefault(best.entry, []).append(task)
    for path, tasks in rivals.items():
        comparison = compare_entries(base / path, head / folder, resamples=resamples, tasks=tasks)
        lines += ["", f"Beside the best entry so far, {cell(path)}:", "", comparison_markdown(comparison)]
    return [*lines, ""]


def review(base: Path, head: Path, changed: Changed, resamples: int = 2_000) -> str:
    """Markdown that sets every changed entry beside the best entry of each of its tasks.

    Args:
        base: The submissions as they are.
        head: The submissions as the pull request has them.
        changed: Which entries change.
        resamples: Of the bootstrap.

    Raises:
        LeaderboardError: The submissions as they are are not sound.
    """
    board = merge_submissions(base)
    lines = ["## Leaderboard", ""]
    for folder in changed.entries:
        try:
            lines += _beside_best(board, base, head, folder, resamples)
        except LeaderboardError as error:
            lines += [
                f"### {cell(folder)}",
                "",
                "Not sound:",
                "",
                *(f"- {cell(one)}" for one in str(error).split("\n")),
            ]
    lines += [f"- only the verification of {cell(folder)} changes" for folder in changed.verifications]
    if not changed.entries and not changed.verifications:
        lines.append("No entry changes.")
    text = "\n".join(lines) + "\n"
    return text if len(text) <= MAX_REVIEW_CHARS else f"{text[:MAX_REVIEW_CHARS]}\n\n… (cut)\n"
