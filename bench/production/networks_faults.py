"""What goes wrong in a fleet's network: entries of neighbour tables that differ, and connections that fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path
    from random import Random

    from bench.production.networks_fleet import HostFleet

ALWAYS = timedelta(days=400)


class Failure(StrEnum):
    """How a connection of a host to a broker fails."""

    SYN_ACK_LOST = "the broker answers and the answer does not arrive"
    SYN_LOST = "the broker never sees the SYN"
    REFUSED = "nobody listens at the broker"
    BACKLOG = "the accept queue is full"
    SEGMENTS_LOST = "the handshake succeeds and full-sized segments do not arrive"
    UNREACHABLE = "nobody has the address"


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourRow:
    """A row of a neighbour table; ages are seconds since used, confirmed and updated."""

    address: str
    mac: str | None
    state: str
    device: str = "eth0"
    ages: tuple[int, int, int] = (4, 9, 21)
    probes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFaults:
    """`mac_entries` is the MAC that a broker has for an address instead of its owner's, by (broker, address).

    `states` overrides the entry's state likewise. `failing` is by (host, broker). Both hold from `since` to `until`.
    """

    mac_entries: Mapping[tuple[str, str], str] = field(default_factory=dict)
    states: Mapping[tuple[str, str], str] = field(default_factory=dict)
    entries: Mapping[str, tuple[NeighbourRow, ...]] = field(default_factory=dict)
    failing: Mapping[tuple[str, str], Failure] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    second_macs: Mapping[str, str] = field(default_factory=dict)
    """The MAC of a second interface of a host, by host."""
    unused: frozenset[tuple[str, str]] = frozenset()
    """Pairs of (host, broker) that never talk to each other."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Counters of `nstat` that brokers show raised."""
    sysctl: Mapping[str, int] = field(default_factory=dict)
    missing: frozenset[tuple[str, str]] = frozenset()
    """Entries that a broker does not have, by (broker, address)."""
    host_mac_entries: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The MAC that a host holds for a broker instead of the broker's own, by (host, broker)."""
    stopped: frozenset[str] = frozenset()
    """Brokers that are shut down at `since`."""
    guests: Mapping[str, int] = field(default_factory=dict)
    """How many connections every broker has from an address outside the fleet."""
    strangers: Mapping[str, str] = field(default_factory=dict)
    """Addresses that clients still try instead of the broker's, by broker."""

    def runs(self, moment: datetime) -> bool:
        return (self.since is None or self.since <= moment) and (self.until is None or moment < self.until)

    def failure(self, host: str, broker: str, moment: datetime) -> Failure | None:
        return self.failing.get((host, broker)) if self.runs(moment) else None


PARTS = frozenset(
    {"tables", "broker_sockets", "host_sockets", "addresses", "client_logs", "broker_logs", "sysctl", "nstat"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which telemetry is handed over, in which form, and the faults that it shows."""

    faults: Callable[[HostFleet, Random], NetworkFaults]
    parts: frozenset[str] = PARTS
    table: str = "ip_neigh"
    addresses: str = "ip_addr"
    family: int = 4
    dated: bool = False
    """Whether a `date -u` line stands before each output, instead of the time in the file's name."""
    reuse: timedelta = timedelta(hours=-3)
    logs: str = "around"
    """Whether logs are of the time "around" the looks, "before" or "after" them."""
    extra: Callable[[Path, HostFleet, NetworkFaults, Random], None] | None = None
    more_looks: int = 1
    """How many times as many looks as usual: for captures that have little else."""
    bare: frozenset[str] = frozenset()
    """Kinds of node ("hosts", "brokers") that nobody looked at."""


def nothing(fleet: HostFleet, random: Random) -> NetworkFaults:  # noqa: ARG001 - a healthy fleet has no faults
    return NetworkFaults()
