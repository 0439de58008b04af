"""Prints sockets as `ss -tan` and `ss -tano` do, and counters as `nstat -az` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.production.networks_faults import Failure
from bench.production.networks_tables import address_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from random import Random

    from bench.production.networks_faults import NetworkFaults
    from bench.production.networks_fleet import HostFleet, Node

PORT = 9092
BACKLOG = 50  # Kafka's socket.listen.backlog.size


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketRow:
    """A row of `ss`: `local` and `peer` are (address, port)."""

    state: str
    local: tuple[str, str]
    peer: tuple[str, str]
    queues: tuple[int, int] = (0, 0)
    timer: str = ""


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _port(host: Node, broker: Node, attempt: datetime | None) -> str:
    """A connection keeps its port; each attempt of a failing one has another."""
    later = int(attempt.timestamp()) // 60 * 31 if attempt else 0
    return str(32768 + (host.number * 7919 + broker.number * 104_729 + later) % 28_000)


def talks(host: Node, broker: Node, *, fleet: HostFleet, faults: NetworkFaults) -> bool:
    """A client keeps connections to most brokers of a large cluster, and to all of a small one."""
    if (host.name, broker.name) in faults.unused:
        return False
    if (host.name, broker.name) in faults.failing:
        return True
    return len(fleet.brokers) <= 5 or (broker.number + host.number) % 5 > 0  # noqa: PLR2004 - as said


def broker_sockets(
    fleet: HostFleet, broker: Node, *, moment: datetime, faults: NetworkFaults, random: Random, family: int
) -> Iterator[SocketRow]:
    failures = [f for (_, name), f in faults.failing.items() if name == broker.name and faults.runs(moment)]
    if Failure.REFUSED not in failures:
        waiting = BACKLOG + 1 if Failure.BACKLOG in failures else 0
        yield SocketRow(state="LISTEN", local=("*", str(PORT)), peer=("*", "*"), queues=(waiting, BACKLOG))
    yield SocketRow(state="LISTEN", local=("0.0.0.0", "22"), peer=("0.0.0.0", "*"), queues=(0, 128))
    for address, count in faults.guests.items():
        for n in range(count):
            peer = (address, str(32_768 + (n * 997 + broker.number * 7) % 28_000))
            yield SocketRow(state="ESTAB", local=(broker.address, str(PORT)), peer=peer)
    for host in fleet.hosts:
        if talks(host, broker, fleet=fleet, faults=faults) and Failure.REFUSED not in failures:
            yield from _broker_side(
                (broker, host),
                faults.failure(host.name, broker.name, moment),
                moment=moment,
                random=random,
                family=family,
            )


def _broker_side(
    pair: tuple[Node, Node], failure: Failure | None, *, moment: datetime, random: Random, family: int
) -> Iterator[SocketRow]:
    broker, host = pair
    local = (address_of(broker, family), str(PORT))
    peer = (address_of(host, family), _port(host, broker, moment if failure else None))
    if failure is Failure.SYN_ACK_LOST:
        timer = f"timer:(on,{random.choice((2, 4, 7))}.{random.randrange(1000):03d}ms,{random.randint(2, 5)})"
        yield SocketRow(state="SYN-RECV", local=local, peer=peer, timer=timer)
    elif failure is Failure.SEGMENTS_LOST:
        yield SocketRow(state="ESTAB", local=local, peer=peer)
    elif failure is None:
        yield SocketRow(state="ESTAB", local=local, peer=peer, queues=(0, random.choice((0, 0, 0, 0, 318))))


def host_sockets(
    fleet: HostFleet, host: Node, *, moment: datetime, faults: NetworkFaults, random: Random, family: int
) -> Iterator[SocketRow]:
    yield SocketRow(state="LISTEN", local=("0.0.0.0", "22"), peer=("0.0.0.0", "*"), queues=(0, 128))
    yield SocketRow(state="LISTEN", local=("127.0.0.1", "8125"), peer=("0.0.0.0", "*"), queues=(0, 4096))
    yield SocketRow(state="ESTAB", local=(host.address, "48212"), peer=("10.4.0.9", "8086"))
    for broker in fleet.brokers:
        if talks(host, broker, fleet=fleet, faults=faults):
            failure = faults.failure(host.name, broker.name, moment)
            yield from _host_side((host, broker), failure, moment=moment, faults=faults, random=random, family=family)


def _host_side(
    pair: tuple[Node, Node],
    failure: Failure | None,
    *,
    moment: datetime,
    faults: NetworkFaults,
    random: Random,
    family: int,
) -> Iterator[SocketRow]:
    host, broker = pair
    local = (address_of(host, family), _port(host, broker, moment if failure else None))
    peer = (faults.strangers.get(broker.name, address_of(broker, family)), str(PORT))
    if failure in {Failure.SYN_ACK_LOST, Failure.SYN_LOST, Failure.UNREACHABLE, Failure.BACKLOG}:
        timer = f"timer:(on,{random.choice((1, 3, 6))}.{random.randrange(1000):03d}ms,{random.randint(1, 4)})"
        yield SocketRow(state="SYN-SENT", local=local, peer=peer, queues=(0, 1), timer=timer)
    elif failure is Failure.SEGMENTS_LOST:
        timer = f"timer:(on,{random.randint(4, 50)}sec,{random.randint(6, 11)})"
        yield SocketRow(state="ESTAB", local=local, peer=peer, queues=(0, random.randint(16_000, 90_000)), timer=timer)
    elif failure is None:
        yield SocketRow(state="ESTAB", local=local, peer=peer)


def print_sockets(sockets: Sequence[SocketRow], *, timers: bool = False) -> Iterator[str]:
    """Columns are as wide as their widest value, addresses stand right and ports left of the colon."""
    state = max(len("State"), *(len(s.state) for s in sockets))
    here = max(len("Local Address"), *(len(_bracketed(s.local[0])) for s in sockets))
    there = max(len("Peer Address"), *(len(_bracketed(s.peer[0])) for s in sockets))
    yield f"{'State':<{state}} Recv-Q Send-Q {'Local Address':>{here}}:Port  {'Peer Address':>{there}}:Port  Process\n"
    for s in sockets:
        ends = f"{_bracketed(s.local[0]):>{here}}:{s.local[1]:<5} {_bracketed(s.peer[0]):>{there}}:{s.peer[1]:<5}"
        yield f"{s.state:<{state}} {s.queues[0]:<6} {s.queues[1]:<6} {ends} {s.timer if timers else ''}\n"


def print_counters(random: Random, **raised: int) -> Iterator[str]:
    """An extract of `nstat -az`; `raised` overrides counters by name."""
    counters = {
        "IpInReceives": random.randrange(10**8, 10**9),
        "IpInDelivers": random.randrange(10**8, 10**9),
        "IpOutRequests": random.randrange(10**8, 10**9),
        "TcpActiveOpens": random.randrange(2_000, 60_000),
        "TcpPassiveOpens": random.randrange(2_000, 600_000),
        "TcpAttemptFails": random.randrange(40),
        "TcpEstabResets": random.randrange(900),
        "TcpRetransSegs": random.randrange(5_000),
        "TcpOutRsts": random.randrange(900),
        "TcpExtSyncookiesSent": 0,
        "TcpExtIPReversePathFilter": 0,
        "TcpExtListenOverflows": 0,
        "TcpExtListenDrops": 0,
        "TcpExtTCPTimeouts": random.randrange(900),
        "TcpExtTCPSynRetrans": random.randrange(60),
        "TcpExtTCPReqQFullDrop": 0,
    } | raised
    yield "#kernel\n"
    for name, value in counters.items():
        yield f"{name:<32}{value:<19}0.0\n"
