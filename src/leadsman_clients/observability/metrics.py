"""The metrics of providers and consumers, as one table with their OpenTelemetry and Prometheus names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from leadsman_clients.consumer.health import ConsumerHealth
    from leadsman_clients.observability.statistics import ProviderStats


@runtime_checkable
class HasStats(Protocol):
    """A provider."""

    @property
    def stats(self) -> ProviderStats:
        """Its statistics."""


@runtime_checkable
class HasHealth(Protocol):
    """A ConsumerRunner."""

    name: str

    @property
    def health(self) -> ConsumerHealth:
        """Its health."""


MetricSource: TypeAlias = HasStats | HasHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric. `name` is OpenTelemetry's; Prometheus has underscores, and `_total` at the end of a counter."""

    name: str
    description: str
    values: Callable[[Any], Mapping[str, float]]
    """From ProviderStats or ConsumerHealth to the value for each label; the label is empty where there is one value."""
    is_counter: bool = False
    unit: str = "1"
    label: str = ""

    @property
    def prometheus_name(self) -> str:
        """Its name in Prometheus, without `_total`, which the client library adds."""
        unit = "_seconds" if self.unit == "s" and not self.name.endswith("seconds") else ""
        return self.name.replace(".", "_") + unit


def _field_value(field: str) -> Callable[[Any], Mapping[str, float]]:
    def values(snapshot: Any) -> Mapping[str, float]:  # noqa: ANN401 - ProviderStats or ConsumerHealth
        value = getattr(snapshot, field)
        return {} if value is None else {"": float(value)}

    return values


def _counter(name: str, field: str, description: str, unit: str = "1") -> Metric:
    return Metric(name=name, description=description, values=_field_value(field), is_counter=True, unit=unit)


def _gauge(name: str, field: str, description: str, unit: str = "1") -> Metric:
    return Metric(name=name, description=description, values=_field_value(field), unit=unit)


PROVIDER_METRICS = (
    _counter("leadsman.client.created", "created", "Instances created."),
    _counter("leadsman.client.create_failures", "create_failed", "Creations that failed."),
    Metric(
        name="leadsman.client.expired",
        description="Instances that are no longer given out, by reason.",
        values=lambda stats: stats.expired,
        is_counter=True,
        label="reason",
    ),
    _counter("leadsman.client.closed", "closed", "Instances flushed and closed."),
    _counter("leadsman.client.abandoned", "abandoned", "Instances left open because closing them could hang."),
    _counter("leadsman.client.unsent", "unsent", "Records given up while closing, each with its delivery report."),
    _counter("leadsman.client.create.time", "create_seconds", "Time spent creating.", "s"),
    _counter("leadsman.client.close.time", "retire_seconds", "Time spent flushing and closing.", "s"),
    _gauge("leadsman.client.live", "live", "Whether there is a live instance."),
    _gauge("leadsman.client.leases", "leases", "Leases that are out."),
    _gauge("leadsman.client.retiring", "retiring", "Expired instances that are still leased."),
    _gauge("leadsman.client.age", "age_seconds", "Age of the live instance.", "s"),
    _gauge("leadsman.client.idle", "idle_seconds", "Since the live instance last proved to be alive.", "s"),
)

CONSUMER_METRICS = (
    _counter("leadsman.consumer.processed", "processed", "Records processed."),
    _counter("leadsman.consumer.dead_lettered", "dead_lettered", "Records stored in the dead-letter topic."),
    _counter("leadsman.consumer.skipped", "skipped", "Records skipped."),
    _counter("leadsman.consumer.retried", "retried", "Further attempts at records."),
    _counter("leadsman.consumer.restarts", "restarts", "Consumers replaced."),
    _counter("leadsman.consumer.commits", "commits", "Offset commits acknowledged."),
    _counter("leadsman.consumer.commit_failures", "commit_failures", "Offset commits that failed or timed out."),
    _gauge("leadsman.consumer.ready", "ready", "Whether it is a member of its group and works."),
    _gauge("leadsman.consumer.alive", "alive", "Whether it makes progress, or has nothing to do."),
    _gauge("leadsman.consumer.partitions", "partitions", "Partitions assigned."),
    _gauge("leadsman.consumer.in_flight", "in_flight", "Records received and not yet processed."),
    _gauge("leadsman.consumer.lag", "lag", "Records of its partitions not received yet."),
    _gauge("leadsman.consumer.idle", "idle_seconds", "Since the last progress.", "s"),
)


def read_metrics(sources: Iterable[MetricSource]) -> Iterator[tuple[Metric, str, Mapping[str, float]]]:
    """Return the current values of each source: the metric, the source's name, and the values by label."""
    for source in sources:
        is_consumer = isinstance(source, HasHealth)
        snapshot: Any = source.health if isinstance(source, HasHealth) else source.stats
        name = source.name if isinstance(source, HasHealth) else snapshot.name
        for metric in CONSUMER_METRICS if is_consumer else PROVIDER_METRICS:
            yield metric, name, metric.values(snapshot)
