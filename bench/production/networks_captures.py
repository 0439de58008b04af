"""Prints packets as `tcpdump -tttt -nne` does: handshakes that succeed, and SYN-ACKs that go to another MAC."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from bench.production.networks_faults import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from random import Random

    from bench.production.networks_faults import NetworkFaults
    from bench.production.networks_fleet import HostFleet, Node

BANNER = (
    "tcpdump: verbose output suppressed, use -v[v]... for full protocol decode\n"
    "listening on eth0, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n"
)
SYN_RETRIES = (0.0, 1.02, 3.04, 7.2)
Packet = tuple["datetime", str]


def _packet(
    moment: datetime, macs: tuple[str, str], ends: tuple[str, str], *, flags: str, rest: str, length: int = 74
) -> Packet:
    header = f"{moment:%Y-%m-%d %H:%M:%S.%f} {macs[0]} > {macs[1]}, ethertype IPv4 (0x0800), length {length}"
    return moment, f"{header}: {ends[0]} > {ends[1]}: Flags [{flags}], {rest}, length 0"


def _options(random: Random, echo: int) -> str:
    return f"options [mss 1460,sackOK,TS val {random.getrandbits(32)} ecr {echo},nop,wscale 7]"


def _handshake(moment: datetime, pair: tuple[Node, Node], random: Random) -> Iterator[Packet]:
    host, broker = pair
    ends = (f"{host.address}.{random.randint(32_768, 60_999)}", f"{broker.address}.9092")
    there, back = random.getrandbits(32), random.getrandbits(32)
    yield _packet(
        moment, (host.mac, broker.mac), ends, flags="S", rest=f"seq {there}, win 64240, {_options(random, 0)}"
    )
    moment += timedelta(microseconds=random.randint(40, 300))
    rest = f"seq {back}, ack {there + 1}, win 65160, {_options(random, 77)}"
    yield _packet(moment, (broker.mac, host.mac), ends[::-1], flags="S.", rest=rest)
    moment += timedelta(microseconds=random.randint(40, 300))
    rest = f"ack 1, win 502, options [nop,nop,TS val {random.getrandbits(32)} ecr {random.getrandbits(32)}]"
    yield _packet(moment, (host.mac, broker.mac), ends, flags=".", rest=rest, length=66)


def _unanswered(
    moment: datetime, pair: tuple[Node, Node], *, to: str, mac_entries: str | None, random: Random
) -> Iterator[Packet]:
    """SYNs sent again and again; with `mac_entries`, SYN-ACKs to that MAC, as the broker's own capture shows them."""
    host, broker = pair
    ends = (f"{host.address}.{random.randint(32_768, 60_999)}", f"{broker.address}.9092")
    there, back = random.getrandbits(32), random.getrandbits(32)
    for after in SYN_RETRIES:
        at = moment + timedelta(seconds=after, microseconds=random.randrange(2_000))
        rest = f"seq {there}, win 64240, {_options(random, 0)}"
        yield _packet(at, (host.mac, to), ends, flags="S", rest=rest)
        if mac_entries:
            at += timedelta(microseconds=random.randint(20, 80))
            rest = f"seq {back}, ack {there + 1}, win 65160, {_options(random, 77)}"
            yield _packet(at, (broker.mac, mac_entries), ends[::-1], flags="S.", rest=rest)


def capture(fleet: HostFleet, node: Node, *, faults: NetworkFaults, random: Random) -> Iterator[str]:
    """What `node` saw on port 9092 in the five minutes before the last look."""
    begin = fleet.looks[-1] - timedelta(minutes=5)
    packets: list[Packet] = []
    for host, broker in _pairs(fleet, node):
        moment = begin + timedelta(seconds=random.uniform(0, 270))
        failure = faults.failing.get((host.name, broker.name))
        if failure is None and host.number % 3 == 0:  # most connections are older than the capture
            packets.extend(_handshake(moment, (host, broker), random))
        elif failure is Failure.SYN_ACK_LOST or (failure and node is host):
            mac_entries = faults.mac_entries.get((broker.name, host.address)) if node is broker else None
            to = faults.host_mac_entries.get((host.name, broker.name), broker.mac)
            for attempt in range(4):
                start = begin + timedelta(seconds=9 + 31 * attempt + random.random())
                packets.extend(_unanswered(start, (host, broker), to=to, mac_entries=mac_entries, random=random))
    yield BANNER
    for _, line in sorted(packets):
        yield line + "\n"


def _pairs(fleet: HostFleet, node: Node) -> Iterator[tuple[Node, Node]]:
    for host in fleet.hosts:
        for broker in fleet.brokers:
            if node is host or node is broker:
                yield host, broker
