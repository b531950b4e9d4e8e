"""A run: every case asked within a budget, again where no response came, each line written as it comes."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from lmms_aes_tasks.critiquecanvas.judge.cases import JudgeCase
from lmms_aes_tasks.critiquecanvas.judge.output import identity
from lmms_aes_tasks.critiquecanvas.judge.request import MAX_TOKENS, JudgeSettings, request_body
from lmms_aes_tasks.critiquecanvas.judge.transport import Completion, NoResponse, Send
from lmms_aes_tasks.critiquecanvas.judge.verdict import MAX_REPLY_CHARS, parse_verdict
from lmms_aes_tasks.utils.unicode_text import well_formed

MAX_ATTEMPTS = 4
"""HTTP attempts for a case in one run, as long as no response comes."""
BACKOFF_SECONDS = 1.0
"""Wait before the second attempt; it doubles, and has jitter of a half to one and a half."""


class BudgetSpent(Exception):  # noqa: N818 - not an error: what is left is asked next time
    """No further HTTP attempt is allowed."""


class Budget:
    """A number of HTTP attempts, shared by threads."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self.spent = 0

    def take(self) -> None:
        """Take one attempt.

        Raises:
            BudgetSpent: None is left.
        """
        with self._lock:
            if self._limit is not None and self.spent >= self._limit:
                raise BudgetSpent
            self.spent += 1


def backoff_seconds(seed: int, case_id: str, attempt: int) -> float:
    """Wait before an attempt (2, 3, …): doubling, with jitter from a generator of this seed, case and attempt."""
    jitter = random.Random(f"backoff\0{seed}\0{case_id}\0{attempt}").uniform(0.5, 1.5)
    return float(BACKOFF_SECONDS * 2 ** (attempt - 2) * jitter)


@dataclass
class JudgeRun:
    """What came of the cases that were asked for in this run.

    Attributes:
        lines: Lines written, by id.
        no_response: Reason of the last attempt by id, where none brought a response.
        not_asked: Ids of the rest: the budget was used up, or the run was stopped.
        calls: HTTP attempts made.
    """

    lines: dict[str, dict[str, Any]] = field(default_factory=dict)
    no_response: dict[str, str] = field(default_factory=dict)
    not_asked: list[str] = field(default_factory=list)
    calls: int = 0


def ask(
    body: dict[str, Any], case_id: str, seed: int, send: Send, budget: Budget, wait: Callable[[float], object]
) -> tuple[Completion, int]:
    """Ask until a response comes, at most four times; a response is final, whatever it says.

    Args:
        body: The request.
        case_id: For the jitter.
        seed: The same.
        send: One attempt.
        budget: Of attempts.
        wait: Waits for so many seconds; true ends the asking.

    Returns:
        The response, and the number of attempts.

    Raises:
        NoResponse: None came.
        BudgetSpent: No attempt is left, or the waiting was ended.
        PredictionError: The endpoint refuses.
    """
    attempt = 1
    while True:
        budget.take()
        try:
            return send(body), attempt
        except NoResponse as error:
            if attempt >= MAX_ATTEMPTS:
                raise
            attempt += 1
            if wait(max(backoff_seconds(seed, case_id, attempt), error.retry_after)):
                raise BudgetSpent from None


def line_of(
    own: Mapping[str, Any], completion: Completion, attempts: int, hide: Callable[[str], str]
) -> dict[str, Any]:
    """The output line of a response: aliases become models again.

    Args:
        own: The case's identity.
        completion: The response.
        attempts: HTTP attempts that it took.
        hide: Removes secrets from text.
    """
    order = own["order"]
    text = hide(well_formed(completion.text))
    verdict, problem = (None, completion.problem) if completion.problem else parse_verdict(text, list(order))
    if problem and completion.cut:
        problem += f"; cut off at {MAX_TOKENS} tokens"
    return {
        **own,
        "verdict": None if verdict is None else {order[alias]: verdict[alias] for alias in order},
        "problem": problem,
        "raw": text[:MAX_REPLY_CHARS],
        "attempts": attempts,
    }


@dataclass(frozen=True)
class RunOptions:
    """How a run is made; nothing here changes what the judge is sent.

    Attributes:
        concurrency: Cases at once.
        budget: HTTP attempts allowed; no limit when None.
        hide: Removes secrets from the judge's text.
        advance: Called after every case that is done.
    """

    concurrency: int = 4
    budget: int | None = None
    hide: Callable[[str], str] = str
    advance: Callable[[], object] = lambda: None


def run_judge(
    cases: Sequence[JudgeCase],
    document: Callable[[str], Mapping[str, Any]],
    settings: JudgeSettings,
    send: Send,
    write: Callable[[Mapping[str, Any]], None],
    options: RunOptions | None = None,
) -> JudgeRun:
    """Ask the judge about every case; a line is written as its response comes.

    Args:
        cases: What is to be asked.
        document: Instruction and image by id.
        settings: What every request shares.
        send: One HTTP attempt.
        write: Appends a line.
        options: How the run is made.

    Raises:
        PredictionError: The endpoint refuses, or a line cannot be written. Responses under way are written first.
    """
    options = options or RunOptions()
    budget = Budget(options.budget)
    stop = threading.Event()
    found = JudgeRun()

    def work(case: JudgeCase) -> None:
        if stop.is_set():
            return
        try:
            own_document = document(case.id)
            body = request_body(case, own_document, settings)
            completion, attempts = ask(body, case.id, settings.seed, send, budget, stop.wait)
            line = line_of(identity(case, own_document, settings), completion, attempts, options.hide)
            write(line)
            found.lines[case.id] = line
        except NoResponse as error:
            found.no_response[case.id] = str(error)
        except BudgetSpent:
            return
        except BaseException:
            stop.set()
            raise
        options.advance()

    with ThreadPoolExecutor(max_workers=options.concurrency) as pool:
        futures = [pool.submit(work, case) for case in cases]
        try:
            for future in futures:
                future.result()
        except BaseException:  # Ctrl-C as well: nothing new is asked, and what is under way is written
            stop.set()
            raise
    found.not_asked = [case.id for case in cases if case.id not in found.lines and case.id not in found.no_response]
    found.calls = budget.spent
    return found
