"""How long a host will answer to dead neighbours, by its settings and the fleet that it lives among."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from leadsman.gate.host import Advice, Fleet, Forecast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FAMILIES = ("ipv4", "ipv6")
FIRST, SECOND, THIRD = "gc_thresh1", "gc_thresh2", "gc_thresh3"
DEFAULTS = {FIRST: 128, SECOND: 512, THIRD: 1024, "gc_stale_time": 60}
"""Linux 6.18, net/core/neighbour.c and net/ipv4/arp.c."""

SETTINGS = tuple(f"net.{family}.neigh.default.{name}" for family in FAMILIES for name in DEFAULTS)

COLLECTOR_SECONDS = 15.0
"""The kernel's collector runs so often: half of the base reachable time. Measured: gone 68 to 70 s after death."""

HEALS_SECONDS = (24.0, 26.0)
"""Measured, on a network that confirms nothing: the host finds out by itself."""

DAYS, SEED = 1000, 1
"""Simulated. Ten addresses a day then differ by less than 2 % from seed to seed."""

DAY = 86_400.0


def check(settings: Mapping[str, str], fleet: Fleet) -> Forecast:
    """Return the advice, and the minutes a day that some client cannot reach this host."""
    limit = _number(settings, "net.ipv4.neigh.default.gc_thresh1", FIRST)
    stale_time = _number(settings, "net.ipv4.neigh.default.gc_stale_time", "gc_stale_time")
    return Forecast(
        advice=tuple(advice for family in FAMILIES for advice in _advice(settings, family, fleet)),
        harm="minutes a day, summed over clients, in which one cannot reach this host",
        now=stale_minutes(fleet, collects=fleet.addresses >= limit, stale_time=stale_time),
        advised=stale_minutes(fleet, collects=True, stale_time=stale_time),
        assumed=(
            f"{DAYS} days simulated; each new owner of an address connects to this host at once",
            "what kept a wrong entry alive with traffic is healed when somebody notices, or the client ends",
        ),
    )


def _advice(settings: Mapping[str, str], family: str, fleet: Fleet) -> Iterator[Advice]:
    prefix = f"net.{family}.neigh.default."
    first = settings.get(prefix + FIRST)
    if first is None and family == "ipv6":
        return  # a kernel without it
    if first != "0":
        why = "Below gc_thresh1 entries the kernel forgets no neighbour, however long it is dead."
        yield Advice(prefix + FIRST, first, "0", why)
    for name, times in ((SECOND, 2), (THIRD, 4)):
        if _number(settings, prefix + name, name) < times / 2 * fleet.addresses:
            why = f"A table of {fleet.addresses} neighbours does not fit: entries in use are thrown out."
            yield Advice(prefix + name, settings.get(prefix + name), str(times * fleet.addresses), why)


def _number(settings: Mapping[str, str], key: str, name: str) -> float:
    text = settings.get(key, "")
    return float(text) if text.isdigit() else float(DEFAULTS[name])


def stale_minutes(fleet: Fleet, *, collects: bool, stale_time: float, seed: int = SEED) -> float:
    """Return the minutes a day, over simulated days, in which somebody is answered to a dead MAC."""
    if fleet.reuses_a_day <= 0:
        return 0.0
    chance = Random(seed)  # noqa: S311 - a simulation that is the same every time
    seconds, at = 0.0, chance.expovariate(fleet.reuses_a_day)
    while at < DAYS:
        seconds += _stale_seconds(fleet, chance, collects=collects, stale_time=stale_time)
        at += chance.expovariate(fleet.reuses_a_day)
    return seconds / 60 / DAYS


def _stale_seconds(fleet: Fleet, chance: Random, *, collects: bool, stale_time: float) -> float:
    """Return how long the next owner of one address is cut off."""
    rest = chance.expovariate(1 / fleet.rest_seconds) if fleet.rest_seconds > 0 else 0.0
    forgotten = stale_time + chance.uniform(0, COLLECTOR_SECONDS)
    if collects and rest > forgotten:
        return 0.0
    if not fleet.confirms:
        return chance.uniform(*HEALS_SECONDS)
    life = chance.expovariate(fleet.reuses_a_day / max(1, fleet.addresses)) * DAY
    return min(life, fleet.noticed_seconds)
