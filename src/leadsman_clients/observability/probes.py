"""Liveness and readiness probes for an orchestrator, and metrics for Prometheus, on one port."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from leadsman_clients.observability.exporters import PrometheusCollector
from leadsman_clients.observability.metrics import HasHealth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leadsman_clients.observability.metrics import MetricSource

ProbeResponse = tuple[bool, str, str]
"""Whether all is well (200, otherwise 503), the content, its type."""


@contextmanager
def serve_probes(port: int, *sources: MetricSource, address: str = "") -> Iterator[int]:
    """Serve /live, /ready and /metrics while inside; yield the port (with 0: a free one).

    /live and /ready respond 200 or 503, with the reasons as JSON. Sources without health, such as producers, do not
    count: without a broker they are right to wait, and restarting the process does not bring the broker back.
    """
    runners = [source for source in sources if isinstance(source, HasHealth)]
    pages: dict[str, Callable[[], ProbeResponse]] = {
        "/live": lambda: _states(runners, lambda runner: runner.health.alive),
        "/ready": lambda: _states(runners, lambda runner: runner.health.ready),
        "/metrics": lambda: _metrics(sources),
    }
    with ThreadingHTTPServer((address, port), _handler(pages)) as server:
        threading.Thread(target=server.serve_forever, name="leadsman-probes", daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()


def _states(runners: Sequence[HasHealth], is_ok: Callable[[HasHealth], bool]) -> ProbeResponse:
    states = {
        runner.name: {"ok": is_ok(runner), "state": runner.health.state, "reason": runner.health.reason}
        for runner in runners
    }
    return all(state["ok"] for state in states.values()), json.dumps(states), "application/json"


def _metrics(sources: Sequence[MetricSource]) -> ProbeResponse:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_LATEST

    registry = CollectorRegistry()
    registry.register(PrometheusCollector(*sources))
    return True, generate_latest(registry).decode(), CONTENT_TYPE_LATEST


def _handler(pages: dict[str, Callable[[], ProbeResponse]]) -> type[BaseHTTPRequestHandler]:
    class ProbeHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            is_ok, text, content_type = page() if page else (False, f"There is {', '.join(pages)}.", "text/plain")
            self.send_response((200 if is_ok else 503) if page else 404)
            self.send_header("Content-Type", content_type)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Log nothing: an orchestrator sends a request every few seconds."""

    return ProbeHandler
