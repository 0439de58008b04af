"""Answers an orchestrator: is this process alive, is it ready? And Prometheus, on the same port."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from leadsman.clients.measures import HasHealth
from leadsman.clients.metrics import PrometheusCollector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leadsman.clients.measures import Watched

Answer = tuple[bool, str, str]
"""Whether all is well, the content, its type."""


@contextmanager
def probes(port: int, *watched: Watched, address: str = "") -> Iterator[int]:
    """Serve /live, /ready and /metrics while inside; give the port (with 0: a free one).

    /live and /ready answer 200 or 503, with the reasons as JSON. Producers have no say in it: without a broker they are
    right to wait, and restarting the process brings none.
    """
    runners = [each for each in watched if isinstance(each, HasHealth)]
    pages: dict[str, Callable[[], Answer]] = {
        "/live": lambda: _states(runners, lambda runner: runner.health.alive),
        "/ready": lambda: _states(runners, lambda runner: runner.health.ready),
        "/metrics": lambda: _metrics(watched),
    }
    with ThreadingHTTPServer((address, port), _handler(pages)) as server:
        threading.Thread(target=server.serve_forever, name="leadsman-probes", daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()


def _states(runners: Sequence[HasHealth], well: Callable[[HasHealth], bool]) -> Answer:
    told = {
        each.name: {"well": well(each), "state": each.health.state, "because": each.health.because} for each in runners
    }
    return all(state["well"] for state in told.values()), json.dumps(told), "application/json"


def _metrics(watched: Sequence[Watched]) -> Answer:
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 (only who scrapes needs it)
    from prometheus_client.exposition import CONTENT_TYPE_LATEST  # noqa: PLC0415 (the same)

    registry = CollectorRegistry()
    registry.register(PrometheusCollector(*watched))
    return True, generate_latest(registry).decode(), CONTENT_TYPE_LATEST


def _handler(pages: dict[str, Callable[[], Answer]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            well, text, kind = page() if page else (False, f"There is {', '.join(pages)}.", "text/plain")
            self.send_response((200 if well else 503) if page else 404)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing: an orchestrator asks every few seconds."""

    return Handler
