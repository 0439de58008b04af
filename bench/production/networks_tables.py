"""Prints neighbour tables as `ip neigh`, `ip -s neigh`, `ip -j neigh` and `arp -an` do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from bench.production.networks_faults import NeighbourRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from random import Random

    from bench.production.networks_faults import NetworkFaults
    from bench.production.networks_fleet import HostFleet, Node

STATES = ("REACHABLE", "REACHABLE", "REACHABLE", "STALE", "STALE", "DELAY")


def address_of(node: Node, family: int) -> str:
    return node.address if family == 4 else node.address6  # noqa: PLR2004 - IP's versions are 4 and 6


def broker_entries(
    fleet: HostFleet, broker: Node, *, moment: datetime, faults: NetworkFaults, random: Random, family: int
) -> Iterator[NeighbourRow]:
    """The gateway, the other brokers, every host that the broker has talked to, and what faults add."""
    yield _gateway(fleet, family)
    for peer in (*fleet.brokers, *fleet.hosts):
        if peer is not broker and (broker.name, peer.address) not in faults.missing:
            yield _peer_entry(fleet, (broker, peer), moment=moment, faults=faults, random=random, family=family)
    yield from faults.entries.get(broker.name, ())


def _gateway(fleet: HostFleet, family: int) -> NeighbourRow:
    return NeighbourRow(address="10.4.0.1" if family == 4 else "fe80::1", mac=fleet.gateway_mac, state="REACHABLE")  # noqa: PLR2004 - as above


def _peer_entry(
    fleet: HostFleet, pair: tuple[Node, Node], *, moment: datetime, faults: NetworkFaults, random: Random, family: int
) -> NeighbourRow:
    broker, peer = pair
    key = (broker.name, peer.address)
    mac = faults.mac_entries.get(key)
    if not faults.runs(moment) and peer in fleet.reused and mac == fleet.dead_for(peer).mac:
        mac = None
    state = faults.states.get(key) if faults.runs(moment) else None
    entry = _entry(address_of(peer, family), mac or fleet.owner(peer, moment).mac, state=state, random=random)
    if mac is None or peer not in fleet.reused or mac != fleet.dead_for(peer).mac:
        return entry
    updated = max(20, int((moment - peer.launched).total_seconds()) + 40 + random.randrange(4000))
    state = state or random.choice(("REACHABLE", "REACHABLE", "DELAY"))
    return replace(entry, state=state, ages=(random.randrange(4), 3 + random.randrange(20), updated))


def _entry(address: str, mac: str, *, state: str | None, random: Random) -> NeighbourRow:
    state = state or random.choice(STATES)
    used = random.randrange(60) if state == "STALE" else random.randrange(6)
    confirmed = used + random.randrange(30)
    ages = (used, confirmed, confirmed + random.randrange(40))
    gone = state in {"FAILED", "INCOMPLETE"}
    return NeighbourRow(
        address=address,
        mac=None if gone else mac,
        state=state,
        ages=ages,
        probes=3 if gone else random.choice((0, 1, 1, 4)),
    )


def host_entries(
    fleet: HostFleet, host: Node, *, faults: NetworkFaults, family: int, random: Random
) -> Iterator[NeighbourRow]:
    """What a client host holds: the gateway, the brokers, and addresses where it finds nobody."""
    yield _gateway(fleet, family)
    for broker in fleet.brokers:
        pair = (host.name, broker.name)
        mac = faults.host_mac_entries.get(pair, broker.mac)
        if pair in faults.failing and broker.name in faults.strangers:
            yield NeighbourRow(address=faults.strangers[broker.name], mac=None, state="FAILED", probes=3)
        elif (broker.number + host.number) % 5 or len(fleet.brokers) <= 5 or pair in faults.failing:  # noqa: PLR2004 - small clusters are used whole
            yield _entry(address_of(broker, family), mac, state=None, random=random)


def print_table(entries: Iterable[NeighbourRow], form: str) -> Iterator[str]:
    """`form` is one of ip_neigh, ip_s_neigh, ip_j_neigh, arp_an."""
    if form == "ip_j_neigh":
        yield json.dumps([_as_json(entry) for entry in entries], separators=(",", ":")) + "\n"
        return
    line = {"ip_neigh": _ip_neigh, "ip_s_neigh": _ip_s_neigh, "arp_an": _arp}[form]
    for entry in entries:
        yield line(entry) + "\n"


def _lladdr(entry: NeighbourRow) -> str:
    return f"lladdr {entry.mac} " if entry.mac else ""


def _ip_neigh(entry: NeighbourRow) -> str:
    return f"{entry.address} dev {entry.device} {_lladdr(entry)}{entry.state} "


def _ip_s_neigh(entry: NeighbourRow) -> str:
    used, confirmed, updated = entry.ages
    reference = " ref 1" if entry.state in {"REACHABLE", "DELAY"} else ""
    ages = f" used {used}/{confirmed}/{updated}probes {entry.probes}"
    return f"{entry.address} dev {entry.device} {_lladdr(entry)}{reference}{ages} {entry.state} "


def _arp(entry: NeighbourRow) -> str:
    mac_text = f"{entry.mac} [ether]" + (" PERM" if entry.state == "PERMANENT" else "") if entry.mac else "<incomplete>"
    return f"? ({entry.address}) at {mac_text} on {entry.device}"


def _as_json(entry: NeighbourRow) -> dict[str, object]:
    row: dict[str, object] = {"dst": entry.address, "dev": entry.device}
    if entry.mac:
        row["lladdr"] = entry.mac
    row["state"] = [entry.state]
    return row
