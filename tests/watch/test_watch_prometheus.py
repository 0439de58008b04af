"""A real Prometheus that is asked a step at a time tells what it tells when it is asked once."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from leadsman.lab.alerts.prometheus import Monitoring, monitoring
from leadsman.watch.event_store import CurrentEvents, changes_of
from leadsman.watch.messages import SourceMessages
from leadsman.watch.positions import PositionFiles, SeriesPosition
from leadsman.watch.prometheus import PrometheusListing, SeriesChange, prometheus_request, read_series_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Row

SCRAPE_SECONDS, STEP_SECONDS = 15, 30
HOURS = 3
NO_RECEIVER = {"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}]}

pytestmark = [pytest.mark.lab, pytest.mark.timeout(180)]


def used(at: int) -> float:
    """What the heap has at a time: another value at each scrape."""
    return float(at % 100_000)


@pytest.fixture(scope="module")
def until() -> int:
    return int(time.time() - 600) // STEP_SECONDS * STEP_SECONDS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, until: int) -> Iterator[Monitoring]:
    """A Prometheus with three hours of a broker's heap."""
    folder = tmp_path_factory.mktemp("prometheus")
    lines = [
        f'jvm_memory_used_bytes{{area="heap",instance="broker-1:7071"}} {used(at)} {at}'
        for at in range(until - HOURS * 3600, until + 1, SCRAPE_SECONDS)
    ]
    (folder / "metrics.om").write_text("\n".join(["# TYPE jvm_memory_used_bytes gauge", *lines, "# EOF", ""]))
    promtool = shutil.which("promtool", path=str(Path(sys.executable).parent)) or "promtool"
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", "metrics.om", "data"]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)
    with monitoring(folder, targets=[], rules={}, alertmanager=NO_RECEIVER) as running:
        yield running


class ServerWatch:
    """A watch of one server. Each trigger takes the steps that Spark takes, in its order, at the time of its clock."""

    def __init__(self, url: str, folder: Path) -> None:
        private = folder / "private"
        private.mkdir(parents=True)
        self.request = prometheus_request(url, capture="here", folder=folder, private=private)
        self.listing = PrometheusListing(self.request, clock=lambda: self.now)
        self.files = PositionFiles(folder / "positions")
        self.messages = SourceMessages(folder / "sources")
        self.events = CurrentEvents()
        self.query_offset, self.now = 0, 0.0

    def trigger(self, now: float) -> None:
        self.now = now
        previous = self.files.read(self.query_offset)
        after = self.listing.positions(previous, self.query_offset + 1)
        if after == previous:
            return
        self.query_offset += 1
        self.files.write(self.query_offset, after)
        (position,) = self.files.read(self.query_offset).values()
        assert isinstance(position, SeriesPosition)
        batches = list(read_series_change(SeriesChange(position, self.request), UTC))
        rows = [row for batch in batches for row in batch.to_pylist()]
        self.events.apply(changes_of(cast("Iterable[Row]", rows)))

    def heap(self) -> list[tuple[int, float, str]]:
        rows: list[dict[str, Any]] = self.events.table().to_pylist()
        found = [row for row in rows if row["name"] == "heap.size"]
        return sorted((round(row["at"].timestamp()), row["value"], row["subject"]) for row in found)


def test_steps_and_a_long_absence_hold_every_sample_once(server: Monitoring, until: int, tmp_path: Path):
    watch = ServerWatch(server.prometheus, tmp_path)
    begin = until - 2 * 3600
    for now in (begin, begin + 1, begin + 40, begin + 100, until, until, until):
        watch.trigger(now + 5)

    expected = range(begin - 3600 + STEP_SECONDS, until + 1, STEP_SECONDS)
    assert watch.heap() == [(at, used(at), "broker-1:7071") for at in expected]


def test_a_server_that_does_not_answer_is_reported_once(until: int, tmp_path: Path):
    watch = ServerWatch("http://user:hunter2@127.0.0.1:1", tmp_path)
    watch.trigger(until)
    watch.trigger(until + 60)

    (reported,) = [each.text for each in watch.messages.new()]
    assert "Prometheus at 127.0.0.1:1 does not answer" in reported
    assert watch.query_offset == 0
    assert "hunter2" not in reported + repr(watch.request)
