"""A webhook on this machine that keeps what it accepts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from leadsman.lab.processes.ports import ADDRESS

if TYPE_CHECKING:
    from collections.abc import Iterator

POLL_SECONDS = 0.01
REFUSED = 300

StatusOf = Callable[[int], int]
"""From the number of a request to the status of its response."""


def _accept(_number: int) -> int:
    return 204


@dataclass(slots=True)
class WebhookReceiver:
    """The documents that it accepted, in their order."""

    port: int = 0
    accepted: list[dict[str, Any]] = field(default_factory=list)
    requests: int = 0
    status_of: StatusOf = _accept

    @property
    def url(self) -> str:
        """The destination, as `--notify` takes it."""
        return f"webhook=http://{ADDRESS}:{self.port}/hook"


@contextmanager
def receiving() -> Iterator[WebhookReceiver]:
    """Run a receiver until the end of the block."""
    receiver = WebhookReceiver()

    class WebhookHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.requests += 1
            status = receiver.status_of(receiver.requests)
            if status < REFUSED:
                receiver.accepted.append(document)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_arguments: object) -> None:
            """Print nothing: a client that was killed is what an experiment is about."""

    server = Server((ADDRESS, 0), WebhookHandler)
    receiver.port = server.server_port
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": POLL_SECONDS}, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
