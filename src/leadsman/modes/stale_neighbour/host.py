"""Forecasts how long a host sends to MACs of dead instances, from its settings and the fleet around it."""

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
"""The kernel's collector runs at half the base reachable time. Measured: entries deleted 68 to 70 s after death."""

HEALS_SECONDS = (24.0, 26.0)
"""Measured on a network that confirms no entry: the kernel detects the dead MAC by itself."""

DAYS, SEED = 1000, 1
"""Simulated days. With ten reused addresses a day the results differ by less than 2 % between seeds."""

MOST_REUSES = 100_000
"""Simulated reuses at most, in fewer days: ten times as many as ten a day have in 1000 days."""

DAY = 86_400.0


def check(settings: Mapping[str, str], fleet: Fleet) -> Forecast:
    """Return the advice, and the minutes per day in which a client cannot reach this host."""
    limit = _number(settings, "net.ipv4.neigh.default.gc_thresh1", FIRST)
    stale_time = _number(settings, "net.ipv4.neigh.default.gc_stale_time", "gc_stale_time")
    return Forecast(
        advice=tuple(advice for family in FAMILIES for advice in _advice(settings, family, fleet)),
        harm="minutes per day, summed over clients, in which a client cannot reach this host",
        harm_now=stale_minutes(fleet, collects=fleet.addresses >= limit, stale_time=stale_time),
        harm_advised=stale_minutes(fleet, collects=True, stale_time=stale_time),
        assumptions=(
            f"{simulated_days(fleet):g} simulated days; each new owner of an address connects to this host at once",
            "traffic keeps a wrong entry in use until an operator repairs it or the client ends",
        ),
    )


def _advice(settings: Mapping[str, str], family: str, fleet: Fleet) -> Iterator[Advice]:
    prefix = f"net.{family}.neigh.default."
    first = settings.get(prefix + FIRST)
    if first is None and family == "ipv6":
        return  # a kernel without IPv6
    if first != "0":
        why = "With fewer than gc_thresh1 entries the kernel deletes no neighbour entry, even of a dead instance."
        yield Advice(prefix + FIRST, first, "0", why)
    for name, times in ((SECOND, 2), (THIRD, 4)):
        if _number(settings, prefix + name, name) < times / 2 * fleet.addresses:
            why = f"A table of {fleet.addresses} neighbours does not fit: the kernel deletes entries in use."
            yield Advice(prefix + name, settings.get(prefix + name), str(times * fleet.addresses), why)


def _number(settings: Mapping[str, str], key: str, name: str) -> float:
    text = settings.get(key, "")
    return float(text) if text.isdigit() else float(DEFAULTS[name])


def simulated_days(fleet: Fleet) -> float:
    """Return the simulated days: fewer where many addresses are reused each day, so that the simulation ends."""
    return min(DAYS, MOST_REUSES / max(1.0, fleet.reuses_per_day))


def stale_minutes(fleet: Fleet, *, collects: bool, stale_time: float, seed: int = SEED) -> float:
    """Return the minutes per day, over simulated days, in which answers go to a dead MAC."""
    if fleet.reuses_per_day <= 0:
        return 0.0
    chance = Random(seed)  # noqa: S311 - a simulation that is the same every time
    days, seconds, at = simulated_days(fleet), 0.0, chance.expovariate(fleet.reuses_per_day)
    while at < days:
        seconds += _stale_seconds(fleet, chance, collects=collects, stale_time=stale_time)
        at += chance.expovariate(fleet.reuses_per_day)
    return seconds / 60 / days


def _stale_seconds(fleet: Fleet, chance: Random, *, collects: bool, stale_time: float) -> float:
    """Return for how long the next owner of one address is unreachable."""
    rest = chance.expovariate(1 / fleet.address_unused_seconds) if fleet.address_unused_seconds > 0 else 0.0
    forgotten = stale_time + chance.uniform(0, COLLECTOR_SECONDS)
    if collects and rest > forgotten:
        return 0.0
    if not fleet.network_confirms_mac:
        return chance.uniform(*HEALS_SECONDS)
    life = chance.expovariate(fleet.reuses_per_day / max(1, fleet.addresses)) * DAY
    return min(life, fleet.repair_seconds)
