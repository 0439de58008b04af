"""How many producer ids brokers hold over time: what leaks, fleets, bursts and restarts do to the count.

Hours count from `START`. A series gives a value for an hour, also for hours before the capture.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

Series = Callable[[float], float]

START = datetime(2026, 11, 17, tzinfo=UTC)  # a Tuesday, midnight
DAY, WEEK = 24.0, 168.0
STEP_HOURS = 0.1
EARLIEST_HOUR = -240.0
GIB = 1 << 30
BYTES_PER_ID = 267  # one producer on one partition with one batch, on a JVM with compressed references
RELOAD_HOURS = 0.3  # how long a broker takes until all its partitions are online again
FULL_HEAP = 0.985


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHistory:
    """One broker: the producer ids and connections that it holds, and when it was not there to be asked."""

    number: int
    host: str
    ids: Series
    connections: Series
    heap_bytes: int = GIB
    other_heap: Series = lambda _hour: 0.0
    restarts: tuple[float, ...] = ()
    unseen: tuple[tuple[float, float], ...] = ()


def moment(hour: float) -> datetime:
    """The time of an hour of the capture."""
    return START + timedelta(hours=hour)


def file_time(hour: float) -> str:
    """The time as file names carry it."""
    return moment(hour).strftime("%Y%m%dT%H%M%SZ")


def milliseconds(hour: float) -> int:
    """The time as Kafka's records carry it."""
    return int(moment(hour).timestamp() * 1000)


def every(hours: float, length: float = 72.0) -> tuple[float, ...]:
    """Looks at even distances."""
    return tuple(hours * number for number in range(round(length / hours) + 1))


def flat(value: float) -> Series:
    """Always about the same."""
    return lambda hour: value * (1 + 0.004 * math.sin(hour * 1.7))


def line(first: float, last: float, length: float = 72.0) -> Series:
    """Evenly from one value to another over the capture."""
    return lambda hour: first + (last - first) * min(1.0, max(0.0, hour / length))


def steady(rate: float, since: float = EARLIEST_HOUR, until: float = math.inf) -> Series:
    """So many new ids an hour, a little more by day than by night."""

    def rate_at(hour: float) -> float:
        by_day = 1 + 0.2 * math.sin((hour - 8) * math.pi / 12) + 0.05 * math.sin(hour * 5.3)
        return rate * by_day if since <= hour < until else 0.0

    return rate_at


def office_hours(rate: float) -> Series:
    """New ids from eight to six only."""
    return lambda hour: rate if 8 <= hour % 24 < 18 and hour > 0 else 0.0  # noqa: PLR2004 - the hours of an office


def nightly(rate: float) -> Series:
    """New ids from two to half past three at night only."""
    return lambda hour: rate if 2 <= hour % 24 < 3.5 and hour > 0 else 0.0  # noqa: PLR2004 - the hours of a batch job


def retained_ids(rate: Series, expiration_hours: float, live: float = 300.0) -> Series:
    """Ids that brokers hold when ids come at a rate and each is forgotten after a time, beside the live producers'."""
    totals = [0.0]
    for number in range(int((400 - EARLIEST_HOUR) / STEP_HOURS)):
        totals.append(totals[-1] + rate(EARLIEST_HOUR + number * STEP_HOURS) * STEP_HOURS)

    def total(hour: float) -> float:
        step = max(0.0, min(len(totals) - 1.001, (hour - EARLIEST_HOUR) / STEP_HOURS))
        before, after = totals[int(step)], totals[int(step) + 1]
        return before + (after - before) * (step - int(step))

    producers = flat(live)
    return lambda hour: producers(hour) + total(hour) - total(hour - expiration_hours)


def burst(live: float, at: float, expiration_hours: float) -> Series:
    """All producers restart once: each leaves its id behind until it expires."""
    return lambda hour: live * (2 if at <= hour < at + expiration_hours else 1) * (1 + 0.003 * math.sin(hour))


def with_restarts(broker: BrokerHistory, *hours: float) -> BrokerHistory:
    """The broker restarts; its count begins at nothing and comes back as its partitions come online."""

    def ids(hour: float) -> float:
        since = min((hour - at for at in hours if hour >= at), default=math.inf)
        return broker.ids(hour) * min(1.0, since / RELOAD_HOURS)

    return replace(broker, ids=ids, restarts=hours)


def seen(broker: BrokerHistory, hour: float) -> bool:
    """Whether the collector reached the broker."""
    return not any(first <= hour < last for first, last in broker.unseen)


def count(broker: BrokerHistory, hour: float) -> int:
    """Producer ids on the broker, each counted on each partition."""
    return round(broker.ids(hour))


def heap_used(broker: BrokerHistory, hour: float, random: Random) -> int:
    """Bytes of heap in use: the broker's own, what else fills it, ids, and what the next collection frees."""
    young = broker.heap_bytes * random.uniform(0.02, 0.2)
    own = broker.heap_bytes * 0.22
    heap_bytes = own + young + broker.other_heap(hour) + count(broker, hour) * BYTES_PER_ID
    return int(min(broker.heap_bytes * FULL_HEAP, heap_bytes))


def equal_brokers(number: int, ids: Series, *, connections: Series, heap_bytes: int = GIB) -> tuple[BrokerHistory, ...]:
    """Brokers of one cluster: partitions are spread evenly, so that each holds about the same."""
    return tuple(
        BrokerHistory(
            number=broker,
            host=f"kafka-{broker}.sable.internal",
            ids=_scaled(ids, 1 + 0.03 * ((broker * 7) % 5 - 2)),
            connections=_scaled(connections, 1 + 0.05 * ((broker * 3) % 4 - 1)),
            heap_bytes=heap_bytes,
        )
        for broker in range(1, number + 1)
    )


def _scaled(series: Series, factor: float) -> Series:
    return lambda hour: series(hour) * factor
