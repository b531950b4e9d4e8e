"""An OpenAI-compatible server on loopback, for tests that speak real HTTP."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reply:
    """A whole HTTP reply, for what a text alone cannot say.

    Attributes:
        content: Body.
        status: HTTP status.
        headers: Further headers.
    """

    content: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Server:
    """A running server: what it was asked, and how to be asked.

    Attributes:
        address: Base URL.
        requests: Bodies of all requests.
        headers: Headers of all requests.
        reply: Gives the answer to a request's body; to be replaced by a test.
    """

    address: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    reply: Callable[[dict[str, Any]], str | Reply] = lambda body: '```json\n{"answer": "A", "confidence": "high"}\n```'

    @property
    def model(self) -> tuple[str, ...]:
        return "--model", "openai", "--model_args", f"model_version=some-model,base_url={self.address},api_key=none"

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": "none", "OPENAI_API_BASE": self.address}


def completion(text: str | None, **changes: Any) -> bytes:
    """The body of a chat completion; `changes` replace fields of its one choice."""
    message = {"role": "assistant", "content": text}
    answer = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "some-model",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message} | changes],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return json.dumps(answer).encode()


class _Handler(http.server.BaseHTTPRequestHandler):
    state: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.state.requests.append(body)
        self.state.headers.append({name.lower(): value for name, value in self.headers.items()})
        found = self.state.reply(body)
        reply = Reply(completion(found)) if isinstance(found, str) else found
        self.send_response(reply.status)
        for name, value in ({"Content-Type": "application/json"} | reply.headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def running_server() -> Iterator[Server]:
    """A server of one's own, stopped at the end."""
    state = Server()
    handler = type("Handler", (_Handler,), {"state": state})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        running.daemon_threads = True
        state.address = f"http://127.0.0.1:{running.server_address[1]}/v1"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield state
        running.shutdown()
        thread.join()
