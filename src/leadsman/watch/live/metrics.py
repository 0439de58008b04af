"""The metrics of a watch, in Prometheus's format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.metrics_core import Metric

    from leadsman.watch.live.snapshot import Snapshot

PREFIX = "leadsman_watch_"


class WatchCollector(Collector):
    """Collects the metrics of the latest snapshot."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        snapshot = self._snapshot()
        yield from _findings(snapshot)
        yield from _captures(snapshot)
        yield from _topics(snapshot)
        yield from _query(snapshot)
        yield from _messages(snapshot)


def metrics_text(snapshot: Callable[[], Snapshot]) -> bytes:
    """Return the metrics as Prometheus reads them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(WatchCollector(snapshot))
    return generate_latest(registry)


def _findings(snapshot: Snapshot) -> Iterator[Metric]:
    findings = GaugeMetricFamily(f"{PREFIX}findings", "Findings by mode and state.", labels=["mode", "state"])
    for (mode, state), count in snapshot.counts.items():
        findings.add_metric([mode, state], count)
    yield findings


def _captures(snapshot: Snapshot) -> Iterator[Metric]:
    lag = GaugeMetricFamily(f"{PREFIX}lag_bytes", "Bytes that are written and not read yet.", labels=["capture"])
    files = GaugeMetricFamily(f"{PREFIX}files", "Files that are followed.", labels=["capture"])
    last = GaugeMetricFamily(
        f"{PREFIX}last_line_timestamp_seconds", "Time on the last line that was read.", labels=["capture"]
    )
    missing = GaugeMetricFamily(
        f"{PREFIX}not_understood", "Files, or parts of files, that were not understood.", labels=["capture"]
    )
    for each in snapshot.captures:
        lag.add_metric([each.name], each.lag_bytes)
        files.add_metric([each.name], each.files)
        missing.add_metric([each.name], len(each.not_understood))
        if each.last_line:
            last.add_metric([each.name], each.last_line.timestamp())
    yield from (lag, files, last, missing)


def _topics(snapshot: Snapshot) -> Iterator[Metric]:
    labels = ["capture", "topic"]
    lag = GaugeMetricFamily(f"{PREFIX}lag_records", "Records that are written and not read yet.", labels=labels)
    lost = GaugeMetricFamily(f"{PREFIX}lost_records", "Records that were deleted before they were read.", labels=labels)
    aside = GaugeMetricFamily(f"{PREFIX}set_aside_records", "Records that could not be read.", labels=labels)
    for capture in snapshot.captures:
        for each in capture.topics:
            for metric, value in ((lag, each.lag), (lost, each.lost), (aside, each.set_aside)):
                metric.add_metric([capture.name, each.name], value)
    yield from (lag, lost, aside)


def _query(snapshot: Snapshot) -> Iterator[Metric]:
    query = snapshot.query
    yield GaugeMetricFamily(f"{PREFIX}events", "Events that are kept.", value=query.events)
    yield GaugeMetricFamily(
        f"{PREFIX}trigger_seconds", "Duration of the last trigger of the query.", value=query.trigger_seconds
    )
    yield SummaryMetricFamily(
        f"{PREFIX}batch_seconds",
        "Duration of writing a batch to the table of events.",
        count_value=query.batches,
        sum_value=query.batch_seconds_total,
    )
    yield SummaryMetricFamily(
        f"{PREFIX}round_seconds",
        "Duration of a round of the detectors.",
        count_value=query.rounds,
        sum_value=query.round_seconds_total,
    )


def _messages(snapshot: Snapshot) -> Iterator[Metric]:
    results = CounterMetricFamily(
        f"{PREFIX}messages", "Messages to destinations, by result.", labels=["destination", "result"]
    )
    waiting = GaugeMetricFamily(f"{PREFIX}messages_waiting", "Changes that are not sent yet.", labels=["destination"])
    for each in snapshot.destinations:
        for result, count in (("sent", each.sent), ("failed", each.failed), ("given_up", each.given_up)):
            results.add_metric([each.destination, result], count)
        waiting.add_metric([each.destination], each.waiting)
    yield from (results, waiting)
