"""Counts what happened to a provider's instances."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from leadsman.clients.clock import elapsed
from leadsman.clients.events import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.clients.clock import Instant
    from leadsman.clients.events import Event
    from leadsman.clients.lifecycle import Lifecycle

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How a provider is doing, at one moment.

    `expired` counts by reason. `unsent` counts records that were given up while retiring. `age_seconds` and
    `idle_seconds` are the live instance's; None: there is none.
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
class Tally:
    """Sums over events, by their kind."""

    count: Counter[Kind] = field(default_factory=Counter)
    expired: Counter[str] = field(default_factory=Counter)
    seconds: dict[Kind, float] = field(default_factory=lambda: dict.fromkeys(Kind, 0.0))
    unsent: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, event: Event) -> None:
        """Count one event. Events come from several threads."""
        with self._lock:
            self.count[event.kind] += 1
            self.seconds[event.kind] += event.seconds
            self.unsent += event.unsent
            if event.kind is Kind.EXPIRED:
                self.expired[str(event.reason)] += 1


def stats(name: str, lifecycle: Lifecycle[T], tally: Tally, now: Instant) -> Stats:
    """Sum up. The caller holds the provider's lock."""
    live = lifecycle.live
    held = (*lifecycle.waiting, *([live] if live else []))
    return Stats(
        name=name,
        generation=lifecycle.made,
        live=live is not None,
        leases=sum(generation.leases for generation in held),
        retiring=len(lifecycle.waiting),
        created=tally.count[Kind.CREATED],
        create_failed=tally.count[Kind.CREATE_FAILED],
        expired=dict(tally.expired),
        closed=tally.count[Kind.CLOSED],
        abandoned=tally.count[Kind.ABANDONED],
        unsent=tally.unsent,
        create_seconds=tally.seconds[Kind.CREATED],
        retire_seconds=tally.seconds[Kind.CLOSED],
        age_seconds=elapsed(live.created, now) if live else None,
        idle_seconds=elapsed(live.active, now) if live else None,
    )
