"""Serves the live page: read-only, on loopback, or elsewhere behind a token.

The token is the password of HTTP's basic authentication (browsers ask for it, Prometheus sends it), or a bearer token.
On loopback no token is needed, so requests for another host name are refused: a page of the web whose name was rebound
to 127.0.0.1 must not read the findings.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from leadsman.errors import LeadsmanError
from leadsman.waiting import wait_for
from leadsman.watch.live.metrics import metrics_text
from leadsman.watch.live.page import content_html, page_html, script, style

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from leadsman.watch.live.address import ServeAddress
    from leadsman.watch.live.snapshot import LiveState

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

OPEN_PATHS = ("/live", "/ready")
"""Probes carry no token, and learn nothing but yes or no."""

MAX_STREAMS = 50
"""Pages that are open at once. Each further one is served, and does not update by itself."""

MAX_CONNECTIONS = 200

LOOK_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0
"""A comment in the stream, so that proxies do not close it, and a closed page is noticed."""

READY_WITHIN = timedelta(minutes=2)
LIVE_WITHIN = timedelta(minutes=10)
"""A round over a large capture takes a minute; without a round for ten, the process is stuck."""

PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class LivePage:
    """The routes. `state` is what they show."""

    state: LiveState
    streams: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)

    def routes(self) -> list[Route]:
        """Return all routes; each answers GET and HEAD alone."""
        return [
            Route("/", self.page),
            Route("/content", self.content),
            Route("/events", self.events),
            Route("/live.css", self.css),
            Route("/live.js", self.javascript),
            Route("/metrics", self.metrics),
            Route("/live", self.live),
            Route("/ready", self.ready),
        ]

    def page(self, _request: Request) -> Response:
        """Return the page."""
        return HTMLResponse(page_html(self.state.snapshot))

    def content(self, _request: Request) -> Response:
        """Return what changes on the page."""
        snapshot = self.state.snapshot
        return HTMLResponse(content_html(snapshot), headers={"Leadsman-Revision": str(snapshot.revision)})

    async def events(self, _request: Request) -> Response:
        """Return a stream with a message for each snapshot that differs."""
        if self.streams >= MAX_STREAMS:
            return PlainTextResponse("Too many pages are open.", status_code=503, headers={"Retry-After": "30"})
        return StreamingResponse(self._messages(), media_type="text/event-stream")

    async def _messages(self) -> AsyncIterator[str]:
        self.streams += 1
        try:
            yield "retry: 2000\n\n"
            shown, beat = -1, time.monotonic()
            while not self.stopping.is_set():
                revision = self.state.snapshot.revision
                if revision != shown:
                    shown, beat = revision, time.monotonic()
                    yield f"data: {revision}\n\n"
                elif time.monotonic() - beat > HEARTBEAT_SECONDS:
                    beat = time.monotonic()
                    yield ": still here\n\n"
                await asyncio.sleep(LOOK_SECONDS)  # reason: the pause between two looks at the snapshot
        finally:
            self.streams -= 1

    def css(self, _request: Request) -> Response:
        """Return the style sheet."""
        return Response(style(), media_type="text/css")

    def javascript(self, _request: Request) -> Response:
        """Return the script."""
        return Response(script(), media_type="text/javascript")

    def metrics(self, _request: Request) -> Response:
        """Return the metrics."""
        return Response(metrics_text(lambda: self.state.snapshot), headers={"Content-Type": PROMETHEUS_TEXT})

    def live(self, _request: Request) -> Response:
        """Say whether the process goes on with its rounds."""
        return self._probe(LIVE_WITHIN)

    def ready(self, _request: Request) -> Response:
        """Say whether the first round is over, and the last one was just now."""
        if not self.state.snapshot.query.rounds and not self.state.snapshot.captures:
            return PlainTextResponse("Nothing was read yet.\n", status_code=503)
        return self._probe(READY_WITHIN)

    def _probe(self, within: timedelta) -> Response:
        age = self.state.age(datetime.now(UTC))
        if age > within:
            return PlainTextResponse(f"No look at the telemetry for {age.total_seconds():.0f} s.\n", status_code=503)
        return PlainTextResponse("ok\n")


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses what may not read, and puts the headers on every answer."""

    app: ASGIApp
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope))

        async def send_with_headers(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}  # type: ignore[misc]
            await send(message)

        await (refusal or self.app)(scope, receive, send_with_headers)  # type: ignore[arg-type]

    def _refusal(self, path: str, headers: Headers) -> Response | None:
        if self.token:
            if path in OPEN_PATHS or has_token(headers.get("authorization", ""), self.token):
                return None
            challenge = {"WWW-Authenticate": 'Basic realm="leadsman watch", charset="UTF-8"'}
            return PlainTextResponse("The token is missing or wrong.\n", status_code=401, headers=challenge)
        if not is_loopback_name(headers.get("host", "")):
            return PlainTextResponse("This page answers for localhost alone.\n", status_code=421)
        return None


def has_token(authorization: str, token: str) -> bool:
    """Whether a header has the token: as bearer token, or as the password of any user."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            value = base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(value.strip().encode(), token.encode())


def is_loopback_name(host: str) -> bool:
    """Whether a Host header names this machine by a loopback address or as localhost."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


@contextmanager
def serving(state: LiveState, address: ServeAddress) -> Iterator[str]:
    """Serve the page until the end of the block; yield its URL."""
    page = LivePage(state)
    app = Guard(Starlette(routes=page.routes()), address.token)
    with run_server(app, address, option="--serve") as port:
        try:
            yield address.url(port)
        finally:
            page.stopping.set()


@contextmanager
def run_server(app: ASGIApp, address: ServeAddress, *, option: str) -> Iterator[int]:
    """Serve an application in a thread until the end of the block; yield its port. `option` named the address."""
    listener = _bind(address, option)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        limit_concurrency=MAX_CONNECTIONS,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_for(lambda: server.started, timeout=timedelta(seconds=10), what="the server to start")
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(5)
        listener.close()


def _bind(address: ServeAddress, option: str) -> socket.socket:
    family = socket.AF_INET6 if address.ip.version == 6 else socket.AF_INET  # noqa: PLR2004 - IP's own number
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((str(address.ip), address.port))
    except OSError as error:
        listener.close()
        raise LeadsmanError(
            f"Cannot serve at {address.ip} port {address.port}: {error.strerror}. Choose another {option} ADDRESS:PORT."
        ) from error
    return listener
