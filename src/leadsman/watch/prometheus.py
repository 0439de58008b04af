"""Asks a Prometheus server the queries of `leadsman collect prometheus`, each time from the end of the time before."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from leadsman.collect.collector import NotCollected
from leadsman.collect.collectors.prometheus import QUERIES, read_range
from leadsman.waiting import wait_for_ever
from leadsman.watch.messages import SourceMessages
from leadsman.watch.outputs import OutputEntry, packed_outputs
from leadsman.watch.positions import PositionChange, SeriesPosition
from leadsman.watch.stream_changes import ChangedEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

    import pyarrow as pa

    from leadsman.watch.positions import Positions

STEP_SECONDS = 30
"""The resolution that `leadsman collect prometheus` asks for: two scrapes of the usual interval."""

FIRST_RANGE_SECONDS = 3600
"""How far back the first request goes, as that of `leadsman collect prometheus`."""

MAX_RANGE_SECONDS = 6 * 3600
"""What one trigger asks for at most, after a server or the watch was down."""

SAMPLE_DELAY_SECONDS = 5
"""A sample can reach the server so long after its time: later times are not asked for yet."""

RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PrometheusRequest:
    """Which server to ask. `settings_file` holds its URL, which can hold a password; its samples are of `capture`."""

    name: str
    capture: str
    settings_file: str
    folder: str
    step_seconds: int = STEP_SECONDS

    def range(self, query: str, since: int, until: int) -> str:
        """Return the response to a range query. Raises NotCollected."""
        url = json.loads(Path(self.settings_file).read_text(encoding="utf-8"))["url"]
        return read_range(url, query, since=since, until=until, step_seconds=self.step_seconds)

    def report(self, text: str) -> None:
        """Report a line to the user."""
        SourceMessages(Path(self.folder, "sources")).report(text)


def prometheus_request(url: str, *, capture: str | None, folder: Path, private: Path) -> PrometheusRequest:
    """Return the request for a server. Its URL is written to a file of its own below `private`."""
    full = url if "://" in url else f"http://{url}"
    name = urlsplit(full).netloc.rpartition("@")[2]
    path = private / "prometheus.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"url": full}), encoding="utf-8")
    return PrometheusRequest(name, capture or f"prometheus:{name}", str(path), str(folder))


@dataclass(slots=True)
class PrometheusListing:
    """The time up to which the server can be asked."""

    request: PrometheusRequest
    clock: Callable[[], float] = time.time
    _unreachable_since: float | None = None

    def positions(self, earlier: Positions, query_offset: int) -> Positions:
        """Return up to which time the server is read in a query offset, after `earlier`."""
        request, step = self.request, self.request.step_seconds
        now = int(self.clock() - SAMPLE_DELAY_SECONDS) // step * step
        previous = earlier.get((request.capture, request.name))
        since = previous.until if isinstance(previous, SeriesPosition) else now - FIRST_RANGE_SECONDS
        if now <= since or not self._answers(now):
            return earlier
        until = min(now, since + MAX_RANGE_SECONDS)
        position = SeriesPosition(request.capture, request.name, since + step, until, query_offset)
        return {**earlier, position.key: position}

    def _answers(self, now: int) -> bool:
        """Whether the server answers. It is reported once that it does not, and once that it does again."""
        try:
            self.request.range("vector(1)", now, now)
        except NotCollected as error:
            if self._unreachable_since is None:
                self._unreachable_since = self.clock()
                self.request.report(f"Prometheus at {self.request.name} does not answer: {error}. Waiting for it.")
            return False
        if self._unreachable_since is not None:
            seconds = round(self.clock() - self._unreachable_since)
            self.request.report(f"Prometheus at {self.request.name} answers again, after {seconds} s.")
            self._unreachable_since = None
        return True


@dataclass(frozen=True, slots=True)
class SeriesChange(PositionChange[SeriesPosition]):
    """The samples of a span of time, from `since` to `until` of the position, both included."""

    request: PrometheusRequest

    @property
    def bytes(self) -> int:
        """Bytes to read, about: a sample of a hundred series for each step."""
        return (self.position.until - self.position.since) // self.request.step_seconds * 100 * 20


def read_series_change(change: SeriesChange, zone: tzinfo) -> Iterator[pa.RecordBatch]:
    """Yield the packed events of a span of time. A server that cannot be reached any more is waited for."""
    request, position = change.request, change.position
    responses = [
        wait_for_ever(
            lambda query=query: request.range(query, position.since, position.until),  # type: ignore[misc]  # bound in this round
            error=NotCollected,
            every_seconds=RETRY_SECONDS,
        )
        for query in QUERIES
    ]
    outputs = [OutputEntry(request.name, position.until * 1000, text.encode()) for text in responses]
    changed = ChangedEvents(change.capture, f"{request.name} metrics", position.changed_in, 1)
    yield from packed_outputs(changed, request.name, outputs, zone)
