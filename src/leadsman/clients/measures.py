"""What providers and consumers measure of themselves: one table, with the names of Prometheus and OpenTelemetry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from leadsman.clients.consumer.health import Health
    from leadsman.clients.tally import Stats


@runtime_checkable
class HasStats(Protocol):
    """A provider, or producers."""

    @property
    def stats(self) -> Stats:
        """How it is doing."""


@runtime_checkable
class HasHealth(Protocol):
    """A runner of a consumer."""

    name: str

    @property
    def health(self) -> Health:
        """How it is doing."""


Watched: TypeAlias = HasStats | HasHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One of them. `name` is OpenTelemetry's; Prometheus has underscores, and `_total` at the end of a count."""

    name: str
    says: str
    read: Callable[[Any], Mapping[str, float]]
    """From Stats or Health to the value of each label; the label is empty where there is one value."""
    counts: bool = False
    unit: str = "1"
    label: str = ""

    @property
    def prometheus(self) -> str:
        """Its name in Prometheus, without `_total`, which the client adds."""
        unit = "_seconds" if self.unit == "s" and not self.name.endswith("seconds") else ""
        return self.name.replace(".", "_") + unit


def _one(field: str) -> Callable[[Any], Mapping[str, float]]:
    def read(told: Any) -> Mapping[str, float]:  # noqa: ANN401 (Stats or Health)
        value = getattr(told, field)
        return {} if value is None else {"": float(value)}

    return read


def _count(name: str, field: str, says: str) -> Measure:
    return Measure(name=name, says=says, read=_one(field), counts=True)


def _gauge(name: str, field: str, says: str, unit: str = "1") -> Measure:
    return Measure(name=name, says=says, read=_one(field), unit=unit)


OF_PROVIDERS = (
    _count("leadsman.client.created", "created", "Instances created."),
    _count("leadsman.client.create_failures", "create_failed", "Creations that failed."),
    Measure(
        name="leadsman.client.expired",
        says="Instances that are no longer given out, by reason.",
        read=lambda stats: stats.expired,
        counts=True,
        label="reason",
    ),
    _count("leadsman.client.closed", "closed", "Instances flushed and closed."),
    _count("leadsman.client.abandoned", "abandoned", "Instances let go of untouched."),
    _count("leadsman.client.unsent", "unsent", "Records given up while closing, each with its delivery report."),
    Measure(
        name="leadsman.client.create.time", says="Spent creating.", read=_one("create_seconds"), counts=True, unit="s"
    ),
    Measure(
        name="leadsman.client.close.time", says="Spent closing.", read=_one("retire_seconds"), counts=True, unit="s"
    ),
    _gauge("leadsman.client.live", "live", "Whether there is a live instance."),
    _gauge("leadsman.client.leases", "leases", "Leases held."),
    _gauge("leadsman.client.retiring", "retiring", "Expired instances that somebody still holds."),
    _gauge("leadsman.client.age", "age_seconds", "Age of the live instance.", "s"),
    _gauge("leadsman.client.idle", "idle_seconds", "Since the live instance last proved alive.", "s"),
)

OF_CONSUMERS = (
    _count("leadsman.consumer.processed", "processed", "Records processed."),
    _count("leadsman.consumer.dead_lettered", "dead_lettered", "Records put aside."),
    _count("leadsman.consumer.skipped", "skipped", "Records skipped."),
    _count("leadsman.consumer.retried", "retried", "Further attempts at records."),
    _count("leadsman.consumer.restarts", "restarts", "Consumers replaced."),
    _count("leadsman.consumer.commits", "commits", "Commits acknowledged."),
    _count("leadsman.consumer.commit_failures", "commit_failures", "Commits refused, or not answered in time."),
    _gauge("leadsman.consumer.ready", "ready", "Whether it is a member of its group and works."),
    _gauge("leadsman.consumer.alive", "alive", "Whether it makes progress, or has nothing to do."),
    _gauge("leadsman.consumer.partitions", "partitions", "Partitions assigned."),
    _gauge("leadsman.consumer.under_way", "under_way", "Records received and not done with."),
    _gauge("leadsman.consumer.lag", "lag", "Records of its partitions not received yet."),
    _gauge("leadsman.consumer.idle", "idle_seconds", "Since the last progress.", "s"),
)


def read(watched: Iterable[Watched]) -> Iterator[tuple[Measure, str, Mapping[str, float]]]:
    """Return what each measures now: the measure, whose it is, and the values by label."""
    for each in watched:
        told: Any = each.health if isinstance(each, HasHealth) else each.stats
        name = each.name if isinstance(each, HasHealth) else told.name
        for measure in OF_CONSUMERS if isinstance(each, HasHealth) else OF_PROVIDERS:
            yield measure, name, measure.read(told)
