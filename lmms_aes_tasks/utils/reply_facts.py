"""What is known of a reply beside what it says: whether its request failed, and whether it held reasoning.

A request that failed has no reply. It is counted (`failed_requests`), it is wrong wherever a figure is shown all the
same, and it enters no figure of text or style; the share of replies with reasoning (`reasoning_rate`) is over replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from lmms_aes_tasks.utils.failed_requests import failed_request
from lmms_aes_tasks.utils.visible_text import visible_text

REPLY_METRICS = ("failed_requests", "reasoning_rate")
"""Metrics that every task has."""
FAILED = "failed"
"""The rule of a record whose request failed."""
_MANY = 0.5
_MORE_TOKENS = "--gen_kwargs max_new_tokens=8192"


@dataclass(frozen=True)
class ReplyFacts:
    """Facts of one reply, or of the rounds of one document together.

    Attributes:
        failed: Whether lmms-eval's mark of a failed request stands in its place.
        reasoning: Whether reasoning was taken off.
        reasoning_cut: Whether it ended inside its reasoning: the answer never came.
    """

    failed: bool = False
    reasoning: bool = False
    reasoning_cut: bool = False

    def as_record(self) -> dict[str, bool]:
        """The fields of a record; `facts_of_record` reads them."""
        return asdict(self)


PLAIN_REPLY = ReplyFacts()
"""A reply without reasoning."""


class Replied(Protocol):
    """An item of a metric that knows the facts of its reply."""

    @property
    def reply(self) -> ReplyFacts:
        """The facts."""


def reply_facts(*rounds: str | None) -> ReplyFacts:
    """The facts of a reply; of several rounds each counts, and one that failed is enough.

    >>> reply_facts("<think>A or B?</think>B")
    ReplyFacts(failed=False, reasoning=True, reasoning_cut=False)
    >>> reply_facts("A calm scene.", "[LMMS_EVAL_BUDGET_EXCEEDED]")
    ReplyFacts(failed=True, reasoning=False, reasoning_cut=False)
    """
    if any(map(failed_request, rounds)):
        return ReplyFacts(failed=True)
    texts = [visible_text(text) for text in rounds]
    return ReplyFacts(False, any(text.reasoning for text in texts), any(text.cut for text in texts))


def facts_of_record(record: Mapping[str, Any]) -> ReplyFacts:
    """The facts that a record holds.

    Raises:
        ValueError: One is missing, or no truth value.
    """
    values = [record.get(name) for name in ReplyFacts.__dataclass_fields__]
    if not all(isinstance(value, bool) for value in values):
        raise ValueError(f"failed, reasoning and reasoning_cut are {values!r}: give true or false")
    return ReplyFacts(*map(bool, values))


# -- Of a run ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReplyCounts:
    """Facts counted.

    Attributes:
        requests: Documents that were asked about.
        failed: Those whose request failed.
        reasoning: Replies that held reasoning.
        cut: Replies that ended inside it.
    """

    requests: int
    failed: int
    reasoning: int
    cut: int

    @property
    def replies(self) -> int:
        """Requests that did not fail."""
        return self.requests - self.failed

    @property
    def reasoning_rate(self) -> float | None:
        """Share of replies that held reasoning; None without a reply."""
        return self.reasoning / self.replies if self.replies else None


def count_replies(items: Iterable[Replied]) -> ReplyCounts:
    """Count the facts of items, in any order."""
    facts = [item.reply for item in items]
    return ReplyCounts(
        len(facts),
        sum(own.failed for own in facts),
        sum(own.reasoning for own in facts),
        sum(own.reasoning_cut for own in facts),
    )


def failed_requests(items: Iterable[Replied]) -> float:
    """Number of requests that failed."""
    return float(count_replies(items).failed)


def reasoning_rate(items: Iterable[Replied]) -> float | None:
    """Share of replies that held reasoning; None without a reply."""
    return count_replies(items).reasoning_rate


AGAIN = (
    "Run the same command again (where it has --use_cache DIR and the task is decoded greedily, only what failed is "
    "asked again)"
)
"""What to do after failed requests."""


def reply_remarks(name: str, counts: ReplyCounts) -> list[str]:
    """What has to be said of a run: requests that failed, and replies of which most ended inside their reasoning.

    Args:
        name: The task.
        counts: Of its replies.

    Returns:
        Sentences; none for a sound run.
    """
    said = []
    if counts.failed:
        said.append(
            f"{name}: {counts.failed} of {counts.requests} requests failed. They have no answer and count as wrong; "
            f"such a run cannot be published. {AGAIN}."
        )
    if counts.cut > _MANY * counts.replies:
        said.append(
            f"{name}: {counts.cut} of {counts.replies} replies ended inside their reasoning, before an answer. Run it "
            f"with more tokens: {_MORE_TOKENS}"
        )
    return said
