"""Counts the events of a provider's instances."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from leadsman_clients.clock import elapsed
from leadsman_clients.observability.events import EventKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman_clients.clock import Instant
    from leadsman_clients.instance._lifecycle import Lifecycle
    from leadsman_clients.observability.events import ClientEvent

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStats:
    """The state of a provider at one moment.

    `expired` counts by reason. `unsent` counts records that were given up while retiring. `retiring` counts expired
    instances that are still leased. `age_seconds` and `idle_seconds` are the live instance's; None: there is none.
    """

    name: str
    generation: int
    live: bool
    leases: int
    retiring: int
    created: int
    create_failed: int
    expired: Mapping[str, int]
    closed: int
    abandoned: int
    unsent: int
    create_seconds: float
    retire_seconds: float
    age_seconds: float | None
    idle_seconds: float | None


@dataclass(slots=True)
class EventCounters:
    """Sums over events, by their kind."""

    count: Counter[EventKind] = field(default_factory=Counter)
    expired: Counter[str] = field(default_factory=Counter)
    seconds: dict[EventKind, float] = field(default_factory=lambda: dict.fromkeys(EventKind, 0.0))
    unsent: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, event: ClientEvent) -> None:
        """Count one event. Events come from several threads."""
        with self._lock:
            self.count[event.kind] += 1
            self.seconds[event.kind] += event.seconds
            self.unsent += event.unsent
            if event.kind is EventKind.EXPIRED:
                self.expired[str(event.reason)] += 1


def collect_stats(name: str, lifecycle: Lifecycle[T], counters: EventCounters, now: Instant) -> ProviderStats:
    """Return the provider's statistics. The caller holds the provider's lock."""
    live = lifecycle.live
    leased = (*lifecycle.expired_in_use, *([live] if live else []))
    return ProviderStats(
        name=name,
        generation=lifecycle.created_count,
        live=live is not None,
        leases=sum(each.leases for each in leased),
        retiring=len(lifecycle.expired_in_use),
        created=counters.count[EventKind.CREATED],
        create_failed=counters.count[EventKind.CREATE_FAILED],
        expired=dict(counters.expired),
        closed=counters.count[EventKind.CLOSED],
        abandoned=counters.count[EventKind.ABANDONED],
        unsent=counters.unsent,
        create_seconds=counters.seconds[EventKind.CREATED],
        retire_seconds=counters.seconds[EventKind.CLOSED],
        age_seconds=elapsed(live.created_at, now) if live else None,
        idle_seconds=elapsed(live.last_active_at, now) if live else None,
    )
