"""One HTTP attempt, and what came of it: a completion, no response, or an endpoint that refuses.

Gateways also report faults inside a reply of HTTP status 200. An error object is read first, and its code decides as
the HTTP status would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lmms_aes_tasks.predictions import PredictionError

MAX_RETRY_AFTER_SECONDS = 60.0
"""Longest wait that a server's Retry-After header is followed."""
MAX_MESSAGE_CHARS = 300
"""Of what an endpoint says, as it is shown."""
_READ_START = 4096
"""Bytes of a reply that is no JSON which are looked at: more than are shown, so that a key in them is hidden whole."""


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


# -- Errors that an endpoint reports ----------------------------------------------------------------------------------

_RETRIED = frozenset({408, 409, 429})
_STATUS_OF_NAME = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "unauthorized": 401,
    "billing_error": 402,
    "insufficient_credits": 402,
    "insufficient_quota": 402,
    "payment_required": 402,
    "forbidden": 403,
    "permission_denied": 403,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found": 404,
    "not_found_error": 404,
    "bad_request": 400,
    "context_length_exceeded": 400,
    "invalid_argument": 400,
    "invalid_request": 400,
    "invalid_request_error": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "too_many_requests": 429,
}
"""HTTP status of the names that endpoints give in `code`, `status` or `type`; others are faults that may pass."""


@dataclass(frozen=True)
class EndpointError:
    """An error as an endpoint reports it.

    Attributes:
        message: What it says, as it came; empty where it says nothing.
        code: HTTP status that it stands for; None where that is not known.
        name: The code as it was given.
    """

    message: str
    code: int | None
    name: str = ""

    @property
    def is_final(self) -> bool:
        """Whether no further attempt can mend it."""
        return self.code is not None and self.code not in _RETRIED and 400 <= self.code < 500

    def __str__(self) -> str:
        return ": ".join(filter(None, (f"error {self.name}" if self.name else "an error", self.message)))


class Refused(Exception):  # noqa: N818 - likewise
    """An error object in a reply which no further attempt can mend.

    Attributes:
        error: What the endpoint said.
    """

    def __init__(self, error: EndpointError) -> None:
        super().__init__(str(error))
        self.error = error


def shown_text(text: str) -> str:
    """Text of an endpoint on one line, without what cannot be printed, cut."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= MAX_MESSAGE_CHARS else f"{line[:MAX_MESSAGE_CHARS]}…"


def _status(value: Any) -> int | None:
    """The HTTP status of a code: a number, a number as text, or a known name."""
    if isinstance(value, str):
        name = value.strip().lower()
        return int(name) if re.fullmatch(r"[1-5][0-9]{2}", name, re.ASCII) else _STATUS_OF_NAME.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 100 <= value < 600:
        return None
    return int(value)


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _endpoint_error(value: Any) -> EndpointError | None:
    """An error object, or a text in its place; None where it says nothing, or success."""
    if isinstance(value, str):
        return EndpointError(value, None) if value.strip() else None
    if not isinstance(value, Mapping):
        return None
    codes = [value[key] for key in ("code", "status", "type") if value.get(key)]
    message = _text_of(value.get("message") or value.get("detail"))
    code = next((status for status in map(_status, codes) if status is not None), None)
    if not (codes or message) or (code is not None and code < 400):
        return None
    return EndpointError(message, code, _text_of(codes[0])[:60] if codes else "")


def error_in(body: Any) -> EndpointError | None:
    """The error object in a body that was read as JSON, wherever gateways put it; None without one."""
    if isinstance(body, list):
        return next((error for error in map(error_in, body[:3]) if error is not None), None)
    if not isinstance(body, Mapping):
        return None
    errors = body.get("errors")
    listed = errors if isinstance(errors, list) else []
    for value in (body.get("error"), *listed[:1]):
        if (error := _endpoint_error(value)) is not None:
            return error
    choices = body.get("choices")
    if isinstance(choices, list) and choices:
        first = choices[0]
        return _endpoint_error(first.get("error")) if isinstance(first, Mapping) else None
    if body.get("object") == "error" or isinstance(body.get("message"), str):  # the error itself is the body
        return _endpoint_error({key: value for key, value in body.items() if key != "error"})
    return None


# -- The completion ---------------------------------------------------------------------------------------------------


def _json_of(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        start = content[:_READ_START].decode("utf-8", "replace").strip()
        what = "a web page" if start.lower().startswith(("<!doctype", "<html")) else "no JSON"
        raise NoResponse(f"the reply is {what} (is --base-url right?): {start}") from None


def _text_parts(content: Any) -> str:
    """The text of a message's content, which may come in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _first_choice(body: Any) -> Mapping[str, Any]:
    try:
        choices = body["choices"]
        if isinstance(choices, list) and not choices and body.get("finish_reason"):
            return {"message": {}, "finish_reason": body["finish_reason"]}
        choice = choices[0]
        if isinstance(choice, Mapping) and isinstance(choice["message"], Mapping):
            return choice
    except (KeyError, IndexError, TypeError, AttributeError):
        pass
    raise NoResponse("the reply holds no completion")


def completion_of(content: bytes) -> Completion:
    """The completion in the body of a reply.

    Messages are as they came: before they are shown, the key is hidden and they are cut (`shown_text`).

    Raises:
        NoResponse: There is none, it is empty, or it is an error that may pass.
        Refused: It is an error that no further attempt can mend.
    """
    body = _json_of(content)
    error = error_in(body)
    if error is not None:
        if error.is_final:
            raise Refused(error)
        raise NoResponse(str(error))
    choice = _first_choice(body)
    message, reason = choice["message"], choice.get("finish_reason")
    text, refusal = _text_parts(message.get("content")), message.get("refusal")
    if reason == "error":
        raise NoResponse("the endpoint broke the response off (finish_reason error)")
    if text.strip():
        return Completion(text, cut=reason == "length")
    if isinstance(refusal, str) and refusal.strip():
        return Completion(refusal, problem="the judge refused")
    if reason == "content_filter":
        return Completion("", problem="the endpoint filtered the response (finish_reason content_filter)")
    named = f" (finish_reason {reason[:60]})" if isinstance(reason, str) and reason else ""
    raise NoResponse(f"the response is empty{named}")


# -- HTTP -------------------------------------------------------------------------------------------------------------


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


def _remedy(code: int | None, body: Mapping[str, Any]) -> str:
    if code in {401, 403}:
        return "Check OPENAI_API_KEY, and whether it may use this model"
    if code == 402:
        return "Add credits at the endpoint, or give another --base-url"
    if code == 404:
        return f"Check --base-url and --judge {body['model']}"
    if "response_format" in body:
        return "Where the endpoint knows no JSON schema, give --response-format json_object or none"
    return "Check --judge and the endpoint's limits"


def _refusal(said: str, code: int | None, body: Mapping[str, Any]) -> PredictionError:
    return PredictionError(f"the endpoint refuses the request: {said.rstrip('.')}. {_remedy(code, body)}")


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
            raise NoResponse(shown_text(hide_key(f"{error}{cause}", key))) from None
        except openai.APIStatusError as error:
            code, said = error.status_code, hide_key(str(error), key)
            if code in _RETRIED or code >= 500:
                raise NoResponse(f"HTTP status {code}", _retry_after(error.response.headers)) from None
            raise _refusal(shown_text(said), code, body) from None
        except openai.OpenAIError as error:
            raise NoResponse(shown_text(hide_key(str(error), key))) from None
        headers = reply.http_response.headers
        try:
            return completion_of(reply.http_response.content)
        except NoResponse as error:
            raise NoResponse(shown_text(hide_key(str(error), key)), _retry_after(headers)) from None
        except Refused as refused:
            said = shown_text(hide_key(str(refused.error), key))
            raise _refusal(f"{said} (in a reply of HTTP status 200)", refused.error.code, body) from None

    with client:
        yield send
