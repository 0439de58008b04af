"""Receivers on this machine: real HTTP servers that record what arrives, and answer as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from leadsman.model import Diagnosis, Evidence, Finding, LinkFinding, State, Verdict
from leadsman.notify.kind import destination_of
from leadsman.notify.send import send_notifications

HOSTILE_TITLE = (
    "Leak <!channel> <@U012AB3CD> @channel @everyone @octocat fixes #12 `rm` *bold* [x](http://evil) <at>all</at> "
    "{code} [~admin] <img src=x onerror=alert(1)> \x1b[31m\u202e\r\nSubject: x\x00"
)
HOSTILE_LINE = "``` </code> {noformat} <!here> password=hunter22 \x1b]0;t\x07 @channel"


@dataclass(slots=True)
class Received:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Receiver:
    """A running server."""

    port: int
    requests: list[Received] = field(default_factory=list)

    def url(self, path: str = "", credentials: str = "") -> str:
        at = f"{credentials}@" if credentials else ""
        return f"http://{at}127.0.0.1:{self.port}{path}"

    @property
    def only(self) -> Received:
        (request,) = self.requests
        return request


Respond = Callable[[BaseHTTPRequestHandler, Received], None]
Start = Callable[[Respond], Receiver]


def respond(
    handler: BaseHTTPRequestHandler, status: int, body: object = None, *, headers: dict[str, str] | None = None
) -> None:
    """Answer with JSON."""
    data = b"" if body is None else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


@contextmanager
def running(answer: Respond) -> Iterator[Receiver]:
    receiver = Receiver(0)

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            received = Received(self.command, self.path, dict(self.headers.items()), body)
            receiver.requests.append(received)
            answer(self, received)

        do_GET = do_POST = do_PATCH = handle_any  # noqa: N815 - http.server's names

        def log_message(self, *_arguments: object) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_arguments: object) -> None:
            """A client that left is what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield receiver
    server.shutdown()
    server.server_close()


@pytest.fixture
def start() -> Iterator[Start]:
    """Start receivers; they end with the test."""
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(running(answer))


def diagnosis(
    title: str = "Idle disconnect: 7 of 9 failures after 350 s idle", *, path: str = "logs", **more: Any
) -> Diagnosis:
    line = Evidence(file="worker-1.log", line=41, text=more.pop("text", "2020-12-20 ERROR The server disconnected"))
    finding = Finding(
        mode="idle_disconnect",
        verdict=more.pop("verdict", Verdict.PRESENT),
        title=title,
        summary="",
        since=more.pop("since", datetime(2020, 12, 20, 8)),  # noqa: DTZ001 - without a zone, as Spark returns times
        do_now=("Set connections.max.idle.ms=157500 & deploy.",),
        chain=(LinkFinding(link="lost", claim="lost", state=State.OBSERVED, explanation="", evidence=(line,)),),
    )
    return Diagnosis(path=path, verdicts={finding.mode: finding.verdict}, findings=(finding,), **more)


def hostile() -> Diagnosis:
    return diagnosis(HOSTILE_TITLE, text=HOSTILE_LINE, cluster="prod\n<!channel>")


def send(given: Diagnosis, *destinations: str, **options: Any) -> list[str]:
    """The lines about what was not sent."""
    return send_notifications([given], [destination_of(each) for each in destinations], **options)
