"""An MLLM as judge of critiques (AesCanvas, S2.2.3, S16): anonymous candidates, one strict JSON verdict a case.

A run's output is a JSONL file, one line a case, which is also its memory: a run begun again asks for what is missing.
Everything that comes back from the judge is hostile text: it is read as JSON, with limits, and never evaluated.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import random
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from lmms_aes_tasks.critiquecanvas.items import critique_text
from lmms_aes_tasks.predictions import PredictionError
from lmms_aes_tasks.records import IMAGES_COLUMN
from lmms_aes_tasks.settings import PROMPTS
from lmms_aes_tasks.utils.answers import strip_reasoning
from lmms_aes_tasks.utils.errors import bulleted
from lmms_aes_tasks.utils.images import Fit, fit_image, load_image
from lmms_aes_tasks.utils.prompts import Prompt, read_prompt
from lmms_aes_tasks.utils.ratings import CRITERIA, OVERALL, SCALE
from lmms_aes_tasks.utils.unicode_text import well_formed

SCORES = (*CRITERIA, OVERALL)
ALIASES = "ABCDE"
PROMPT_ID = "critique-judge-1"
IMAGE_SIZE = 448
JPEG_QUALITY = 90
MAX_TOKENS = 320
"""Of the reply (S2.2.3), as are image size, JPEG quality and temperature 0."""
MAX_ATTEMPTS = 4
"""HTTP attempts for a case in one run, as long as no response comes."""
BACKOFF_SECONDS = 1.0
"""Wait before the second attempt; it doubles, and has jitter of a half to one and a half."""
MAX_RETRY_AFTER_SECONDS = 60.0
"""Longest wait that a server's Retry-After header is followed."""
MAX_REPLY_CHARS = 20_000
"""Longest reply that is read as a verdict and kept whole; 320 tokens are far fewer."""
MAX_LINE_BYTES = 1024 * 1024
"""Longest line of an output file; ours are some kilobytes."""

ResponseFormat = Literal["json_schema", "json_object", "none"]
RESPONSE_FORMATS: tuple[str, ...] = get_args(ResponseFormat)
EMPTY = "(empty)"

Verdict = dict[str, dict[str, int]]
"""The five scores by alias, or by model."""


def judge_prompt(prompt_file: Path | None = None) -> Prompt:
    """Our prompt, or a user's file in its place.

    Raises:
        PromptError: The file cannot be used, or lacks `{instruction}` or `{critiques}`.
    """
    required = ("instruction", "critiques")
    if prompt_file is not None:
        return read_prompt(prompt_file, required)
    return read_prompt(PROMPTS / f"{PROMPT_ID}.txt", required, PROMPT_ID)


# -- Cases ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgeCase:
    """One case with its anonymous candidates.

    Attributes:
        id: Id of the record.
        order: Model by alias, A first.
        candidates: Critique by model, as it is scored.
    """

    id: str
    order: Mapping[str, str]
    candidates: Mapping[str, str]


def alias_order(models: Iterable[str], seed: int, case_id: str) -> dict[str, str]:
    """Model by alias in a random order of this seed and case, whatever order the models are named in.

    Raises:
        ValueError: More models than aliases.
    """
    shuffled = sorted(models)
    if len(shuffled) > len(ALIASES):
        raise ValueError(f"{len(shuffled)} models: give at most {len(ALIASES)}")
    random.Random(f"order\0{seed}\0{case_id}").shuffle(shuffled)
    return dict(zip(ALIASES, shuffled, strict=False))


def sample_ids(ids: Iterable[str], n: int | None, seed: int) -> list[str]:
    """A seeded sample of ids, sorted; a larger one of the same ids and seed holds the smaller one.

    Args:
        ids: Different ids.
        n: How many; all when None.
        seed: Seed of a local generator.

    Raises:
        ValueError: There are fewer than n.
    """
    ordered = sorted(ids)
    if n is None:
        return ordered
    if n > len(ordered):
        raise ValueError(f"{n} cases are asked for, {len(ordered)} are there: ask for at most {len(ordered)}")
    random.Random(f"cases\0{seed}").shuffle(ordered)
    return sorted(ordered[:n])


def judge_cases(responses: Mapping[str, Mapping[str, str]], ids: Iterable[str], seed: int) -> list[JudgeCase]:
    """The cases of a run.

    Args:
        responses: By model, the response by id; each has all `ids`.
        ids: The cases.
        seed: Of the random orders.
    """
    return [
        JudgeCase(
            case_id,
            alias_order(responses, seed, case_id),
            {model: critique_text(own[case_id]) for model, own in responses.items()},
        )
        for case_id in ids
    ]


# -- What the judge is sent -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgeSettings:
    """What every request of a run shares.

    Attributes:
        judge: Model name at the endpoint.
        seed: Of the sample, the orders and the jitter.
        prompt: The template.
        image_fit: `pad` or `stretch`.
        response_format: What the endpoint is asked to enforce.
    """

    judge: str
    seed: int
    prompt: Prompt
    image_fit: Fit = "pad"
    response_format: ResponseFormat = "json_schema"


def verdict_schema(aliases: Sequence[str]) -> dict[str, Any]:
    """JSON schema of a verdict: every alias, every score, whole numbers from 1 to 5, nothing else."""
    score = {"type": "integer", "enum": list(SCALE)}
    one = {
        "type": "object",
        "properties": dict.fromkeys(SCORES, score),
        "required": list(SCORES),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": dict.fromkeys(aliases, one),
        "required": list(aliases),
        "additionalProperties": False,
    }


def image_url(content: bytes, name: str, fit: Fit) -> str:
    """An image as the judge gets it: 448×448 JPEG of quality 90, as a data URL (S2.2.3).

    Raises:
        ImageError: It does not decode.
    """
    fitted = fit_image(load_image(content, name), fit, IMAGE_SIZE)
    buffer = io.BytesIO()
    fitted.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def judge_text(case: JudgeCase, instruction: str, prompt: Prompt) -> str:
    """The prompt of a case. The candidates stand in a JSON object, so that no text can pass for another's alias."""
    critiques = {alias: case.candidates[model] or EMPTY for alias, model in case.order.items()}
    fields = {
        "aliases": ", ".join(case.order),
        "instruction": well_formed(instruction),
        "critiques": json.dumps(critiques, ensure_ascii=False, indent=1),
    }
    return prompt.render(fields)


def request_body(case: JudgeCase, document: Mapping[str, Any], settings: JudgeSettings) -> dict[str, Any]:
    """One chat completion: the image, then the text; nothing else of the record, the reference least of all."""
    (cell,) = document[IMAGES_COLUMN]
    url = image_url(cell["bytes"], case.id, settings.image_fit)
    text = judge_text(case, document["instruction"], settings.prompt)
    formats: dict[str, Any] = {
        "json_schema": {
            "type": "json_schema",
            "json_schema": {"name": "critique_verdict", "strict": True, "schema": verdict_schema(list(case.order))},
        },
        "json_object": {"type": "json_object"},
    }
    wanted = {"response_format": formats[settings.response_format]} if settings.response_format in formats else {}
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": text}]
    return {
        "model": settings.judge,
        "messages": [{"role": "user", "content": content}],
        "temperature": 0,
        "max_tokens": MAX_TOKENS,
        **wanted,
    }


# -- The verdict ------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


def _object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _differing_keys(where: str, found: Any, wanted: Sequence[str]) -> list[str]:
    if not isinstance(found, dict):
        return [f"{where} is no object"]
    missing = [f"{where} lacks {name}" for name in wanted if name not in found]
    return missing + [f"{where} has {name[:40]!r} in it" for name in found if name not in wanted][:3]


def parse_verdict(text: str, aliases: Sequence[str]) -> tuple[Verdict | None, str | None]:
    """Read a judge's reply.

    The reply is one JSON object with every alias and every score, each a whole number from 1 to 5, and nothing else
    (S2.2.3). Reasoning is removed first, and one Markdown fence around the whole is taken off: our reading.

    Args:
        text: The reply.
        aliases: Those of the case.

    Returns:
        The verdict and None, or None and what is wrong.

    >>> parse_verdict("Good!", "AB")
    (None, 'not JSON')
    """
    if len(text) > MAX_REPLY_CHARS:
        return None, f"{len(text)} characters; {MAX_REPLY_CHARS} are read"
    text = strip_reasoning(text).strip()
    fenced = _FENCE.fullmatch(text)
    try:
        found = json.loads(fenced.group(1) if fenced else text, object_pairs_hook=_object_once)
    except json.JSONDecodeError:
        return None, "not JSON"
    except (ValueError, RecursionError) as error:
        return None, f"not JSON that is read ({str(error)[:100]})"
    problems = _differing_keys("the verdict", found, aliases)
    if problems:
        return None, "; ".join(problems)
    for alias in aliases:
        problems += _differing_keys(alias, found[alias], SCORES)
        scores = found[alias] if isinstance(found[alias], dict) else {}
        for name in SCORES:
            value = scores.get(name, 1)
            if isinstance(value, bool) or not isinstance(value, int) or value not in SCALE:
                shown = json.dumps(value)[:40]
                problems.append(f"{alias}: {name} is {shown}, not a whole number from 1 to 5")
    if problems:
        return None, "; ".join(problems)
    return {alias: {name: found[alias][name] for name in SCORES} for alias in aliases}, None


# -- Transport --------------------------------------------------------------------------------------------------------


class NoResponse(Exception):  # noqa: N818 - it is an outcome of an attempt, not an error of the run
    """An attempt that brought no response, and may be made again.

    Attributes:
        retry_after: Seconds that the server asks to wait.
    """

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Completion:
    """A response that came, and is final.

    Attributes:
        text: What the judge wrote.
        problem: Why it cannot be a verdict, where the endpoint says so.
        cut: Whether it ended at the token limit.
    """

    text: str
    problem: str | None = None
    cut: bool = False


Send = Callable[[dict[str, Any]], Completion]
"""One HTTP attempt. Raises `NoResponse` or, for what no further attempt can mend, `PredictionError`."""

_RETRIED = frozenset({408, 409, 429})


def completion_of(content: bytes) -> Completion:
    """The completion in the body of a reply.

    Raises:
        NoResponse: There is none, or it is empty.
    """
    try:
        choice = json.loads(content)["choices"][0]
        message = choice["message"]
        text, refusal = message.get("content"), message.get("refusal")
        reason = choice.get("finish_reason")
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        raise NoResponse("the reply holds no completion") from None
    if isinstance(text, list):
        parts = [part.get("text") for part in text if isinstance(part, dict)]
        text = "".join(part for part in parts if isinstance(part, str))
    if isinstance(text, str) and text.strip():
        return Completion(text, cut=reason == "length")
    if isinstance(refusal, str) and refusal.strip():
        return Completion(refusal, problem="the judge refused")
    raise NoResponse("the response is empty")


def hide_key(text: str, key: str) -> str:
    """The text without the API key, should a server or a library repeat it; too short a key is no secret."""
    return text.replace(key, "[API key]") if len(key) >= 6 else text


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        seconds = float(headers.get("retry-after", "0"))
    except ValueError:  # a date
        return 0.0
    return min(seconds, MAX_RETRY_AFTER_SECONDS) if seconds > 0 else 0.0


def check_base_url(base_url: str) -> None:
    """Make sure, before any work, that an address can be one.

    Raises:
        PredictionError: It does not begin with `http://` or `https://` and a host.
    """
    if not re.match(r"https?://[^/\s]+(/\S*)?$", base_url, re.IGNORECASE):
        raise PredictionError(f"base URL is {base_url!r}: give one such as https://api.openai.com/v1")


@contextmanager
def openai_transport(base_url: str, key: str, timeout: float) -> Iterator[Send]:
    """Attempts through the `openai` client, one HTTP request each, closed at the end.

    Args:
        base_url: Of an OpenAI-compatible endpoint, `http://` or `https://`.
        key: API key.
        timeout: Seconds for one attempt.
    """
    import openai

    client: Any = openai.OpenAI(base_url=base_url, api_key=key, timeout=timeout, max_retries=0)

    def send(body: dict[str, Any]) -> Completion:
        try:
            reply = client.chat.completions.with_raw_response.create(**body)
        except openai.APIConnectionError as error:  # timeouts, too
            cause = f" ({error.__cause__})" if error.__cause__ else ""
            raise NoResponse(hide_key(f"{error}{cause}", key)) from None
        except openai.APIStatusError as error:
            code = error.status_code
            if code in _RETRIED or code >= 500:
                raise NoResponse(f"HTTP status {code}", _retry_after(error.response.headers)) from None
            said = " ".join(hide_key(str(error), key).split())[:500]
            raise PredictionError(f"the endpoint refuses the request: {said}. {_remedy(code, body)}") from None
        except openai.OpenAIError as error:
            raise NoResponse(hide_key(str(error), key)) from None
        return completion_of(reply.http_response.content)

    with client:
        yield send


def _remedy(code: int, body: Mapping[str, Any]) -> str:
    if code in {401, 403}:
        return "Check OPENAI_API_KEY, and whether it may use this model"
    if code == 404:
        return f"Check --base-url and --judge {body['model']}"
    if "response_format" in body:
        return "Where the endpoint knows no JSON schema, give --response-format json_object or none"
    return "Check --judge and the endpoint's limits"


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


# -- The output file --------------------------------------------------------------------------------------------------


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def identity(case: JudgeCase, document: Mapping[str, Any], settings: JudgeSettings) -> dict[str, Any]:
    """What makes a line of the output this case of this run: where any of it differs, the line is another run's."""
    (cell,) = document[IMAGES_COLUMN]
    shown = hashlib.sha256(document["instruction"].encode("utf-8", "replace") + b"\0" + cell["bytes"]).hexdigest()
    return {
        "id": case.id,
        "order": dict(case.order),
        "candidates": {model: _sha256(text) for model, text in sorted(case.candidates.items())},
        "case_sha256": shown,
        "seed": settings.seed,
        "judge": settings.judge,
        "prompt": settings.prompt.id,
        "prompt_sha256": settings.prompt.sha256,
        "image_fit": settings.image_fit,
        "response_format": settings.response_format,
    }


def _line_problem(item: Any) -> str | None:
    """What is wrong with a line of an output file, as far as reading it needs it."""
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        return "no line of `lmms-aes judge critiques`"
    order, verdict = item.get("order"), item.get("verdict")
    if not isinstance(order, dict) or not all(a in tuple(ALIASES) and isinstance(m, str) for a, m in order.items()):
        return "no order of aliases"
    if len(set(order.values())) != len(order):
        return "a model has two aliases"
    if "verdict" not in item or not (verdict is None or isinstance(verdict, dict)):
        return "no verdict"
    if verdict is not None:
        if set(verdict) != set(order.values()):
            return "the verdict is not on the models of the order"
        _, problem = parse_verdict(json.dumps(verdict), list(verdict))
        return problem
    return None


@dataclass
class JudgeFile:
    """What an output file holds.

    Attributes:
        lines: Its sound lines, in order.
        size: Bytes up to the end of the last sound line: what follows was cut off while it was written.
        ended: Whether the last sound line ends in a line end.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0
    ended: bool = True


def read_judge_file(path: Path) -> JudgeFile:
    """Read an output file; a last line that was cut off is left out, and nothing is changed.

    Raises:
        PredictionError: It is no such file, a line before the last is damaged, or an id stands twice.
    """
    found = JudgeFile()
    seen: dict[str, int] = {}
    with path.open("rb") as lines:
        number = 0
        while line := lines.readline(MAX_LINE_BYTES + 1):
            number += 1
            where = f"{path}, line {number}"
            if len(line) > MAX_LINE_BYTES:
                raise PredictionError(
                    f"{where}: longer than {MAX_LINE_BYTES} bytes. Is it a file of `judge critiques`?"
                )
            if not line.strip():
                found.size += len(line)
                continue
            try:
                item = json.loads(line)
            except (ValueError, RecursionError) as error:
                # only what begins as our lines do: a wrong file that was named must not lose its end
                ours = line.startswith(b'{"id": ') or (len(line) < 7 and b'{"id": '.startswith(line))
                if ours and not lines.read(1):
                    return found
                raise PredictionError(
                    f"{where}: not JSON ({error}). Correct or remove the line, or name another file."
                ) from None
            if problem := _line_problem(item):
                raise PredictionError(f"{where}: {problem}. Correct or remove the line, or name another file.")
            if item["id"] in seen:
                raise PredictionError(
                    f"{where}: id {item['id']!r} stands in line {seen[item['id']]} already. Keep one of them."
                )
            seen[item["id"]] = number
            found.lines.append(item)
            found.size += len(line)
            found.ended = line.endswith(b"\n")
    return found


def check_lines(path: Path, lines: Iterable[Mapping[str, Any]], identity_of: Callable[[str], dict[str, Any]]) -> None:
    """Make sure that an output file is of this run.

    Args:
        path: For the message.
        lines: What is in it.
        identity_of: Identity of a case by id; raises KeyError for an unknown id.

    Raises:
        PredictionError: Lists every line that differs, and in what.
    """
    problems = []
    for line in lines:
        try:
            wanted = identity_of(line["id"])
        except KeyError:
            problems.append(f"{line['id']!r}: no case that all models answered")
            continue
        differing = [name for name, value in wanted.items() if line.get(name) != value]
        if differing:
            problems.append(f"{line['id']!r}: {', '.join(differing)} differ")
    if problems:
        raise PredictionError(
            f"{path} belongs to another run: {len(problems)} line(s) differ. Name another --out, or run with the "
            f"settings and files of before.\n{bulleted(problems)}"
        )


@contextmanager
def open_output(path: Path, found: JudgeFile) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Open an output file to append whole lines, each flushed; what was cut off at its end is removed first.

    Raises:
        PredictionError: It cannot be written.
    """
    lock = threading.Lock()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        output = path.open("ab")
    except OSError as error:
        raise PredictionError(f"{path} cannot be written ({error.strerror}). Name another --out.") from None
    with output:
        output.truncate(found.size)
        if not found.ended:
            output.write(b"\n")

        def write(line: Mapping[str, Any]) -> None:
            content = json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"
            with lock:
                try:
                    output.write(content)
                    output.flush()
                    os.fsync(output.fileno())
                except OSError as error:
                    raise PredictionError(
                        f"{path} cannot be written ({error.strerror}). Make room, and run again."
                    ) from None

        yield write


# -- The run ----------------------------------------------------------------------------------------------------------


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


def run_judge(
    cases: Sequence[JudgeCase],
    document: Callable[[str], Mapping[str, Any]],
    settings: JudgeSettings,
    send: Send,
    write: Callable[[Mapping[str, Any]], None],
    *,
    concurrency: int = 4,
    budget: Budget | None = None,
    hide: Callable[[str], str] = str,
    advance: Callable[[], object] = lambda: None,
) -> JudgeRun:
    """Ask the judge about every case; a line is written as its response comes.

    Args:
        cases: What is to be asked.
        document: Instruction and image by id.
        settings: Of the run.
        send: One HTTP attempt.
        write: Appends a line.
        concurrency: Cases at once.
        budget: Of HTTP attempts; no limit when None.
        hide: Removes secrets from the judge's text.
        advance: Called after every case that is done.

    Raises:
        PredictionError: The endpoint refuses, or a line cannot be written. Responses under way are written first.
    """
    budget = budget or Budget(None)
    stop = threading.Event()
    found = JudgeRun()

    def work(case: JudgeCase) -> None:
        if stop.is_set():
            return
        try:
            own_document = document(case.id)
            body = request_body(case, own_document, settings)
            completion, attempts = ask(body, case.id, settings.seed, send, budget, stop.wait)
            line = line_of(identity(case, own_document, settings), completion, attempts, hide)
            write(line)
            found.lines[case.id] = line
        except NoResponse as error:
            found.no_response[case.id] = str(error)
        except BudgetSpent:
            return
        except BaseException:
            stop.set()
            raise
        advance()

    with ThreadPoolExecutor(max_workers=concurrency) as pool:
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


# -- Reading for analysis ---------------------------------------------------------------------------------------------


def verdicts_of(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, int]]]:
    """Verdicts by case and model, of the lines that have one."""
    return {line["id"]: line["verdict"] for line in lines if line["verdict"] is not None}


def alias_means(lines: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, int]]:
    """Mean `overall_quality` and number of verdicts by alias: far from equal means that the position counts."""
    by_alias: dict[str, list[int]] = {}
    for line in lines:
        for alias, model in line["order"].items():
            if line["verdict"] is not None:
                by_alias.setdefault(alias, []).append(line["verdict"][model][OVERALL])
    return {alias: (sum(values) / len(values), len(values)) for alias, values in sorted(by_alias.items())}
