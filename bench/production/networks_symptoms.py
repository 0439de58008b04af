"""Cases in which connections fail and neighbour tables are right: firewalls, full queues, lost segments and more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from bench.production.case import ABSENT
from bench.production.networks_faults import PARTS, Failure, NeighbourRow, NetworkFaults, Plan
from bench.production.networks_fleet import mac_address
from bench.production.networks_hosts import kernel_log
from bench.production.networks_stale import networks_case
from bench.production.networks_writer import log_file

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from bench.production.case import DiagnosisCase
    from bench.production.networks_fleet import HostFleet, Node

WHOLE = PARTS | {"inventory", "host_tables"}


def _stopped(fleet: HostFleet, random: Random) -> NetworkFaults:
    """One broker is shut down; its host answers with resets."""
    broker = random.choice(fleet.brokers)
    return NetworkFaults(
        failing={(host.name, broker.name): Failure.REFUSED for host in fleet.hosts},
        stopped=frozenset({broker.name}),
        since=fleet.looks[-1] - timedelta(minutes=1),
    )


def _stopped_behind_proxy_arp(fleet: HostFleet, random: Random) -> NetworkFaults:
    mac_entries = {(b.name, h.address): fleet.gateway_mac for b in fleet.brokers for h in fleet.hosts[::2]}
    return replace(_stopped(fleet, random), mac_entries=mac_entries)


def _firewall(fleet: HostFleet, random: Random) -> NetworkFaults:  # noqa: ARG001 - all faults have one shape
    """Rules were not extended to two new hosts: their SYNs reach no broker."""
    failing = {(host.name, b.name): Failure.SYN_LOST for host in fleet.reused[:2] for b in fleet.brokers}
    return NetworkFaults(failing=failing, since=fleet.reused[0].launched)


def _accept_queue(fleet: HostFleet, random: Random) -> NetworkFaults:
    broker = random.choice(fleet.brokers)
    hosts = fleet.hosts[::3]
    return NetworkFaults(
        failing={(host.name, broker.name): Failure.BACKLOG for host in hosts},
        since=fleet.looks[0] - timedelta(minutes=2),
    )


def _return_path(fleet: HostFleet, random: Random) -> NetworkFaults:  # noqa: ARG001 - all faults have one shape
    """A route moved; brokers with strict reverse path filtering drop what comes in by the other interface."""
    hosts = fleet.hosts[4:8]
    return NetworkFaults(
        failing={(host.name, b.name): Failure.SYN_LOST for host in hosts for b in fleet.brokers[:2]},
        counters={"TcpExtIPReversePathFilter": 48_211},
        sysctl={"rp_filter": 1},
        since=fleet.looks[0] - timedelta(minutes=3),
    )


def _martians(folder: Path, fleet: HostFleet, faults: NetworkFaults, random: Random) -> None:
    begin = faults.since or fleet.log_start
    for broker in fleet.brokers[:2]:
        texts = [f"IPv4: martian source {broker.address} from {h.address}, on dev eth1" for h in fleet.hosts[4:8]]
        lines = kernel_log(broker, texts, begin=begin, end=fleet.log_end, random=random)
        log_file(folder / "brokers" / broker.name / "kern.log", lines)


def _lost_segments(fleet: HostFleet, random: Random) -> NetworkFaults:
    broker = random.choice(fleet.brokers)
    return NetworkFaults(
        failing={(host.name, broker.name): Failure.SEGMENTS_LOST for host in fleet.hosts[3:9]},
        since=fleet.looks[0] - timedelta(minutes=4),
    )


def _old_address(fleet: HostFleet, random: Random) -> NetworkFaults:
    """Some clients resolve a broker's name to the address that it had before."""
    broker = random.choice(fleet.brokers)
    return NetworkFaults(
        failing={(host.name, broker.name): Failure.UNREACHABLE for host in fleet.hosts[2:7]},
        strangers={broker.name: "10.4.0.177"},
        since=fleet.log_start + timedelta(minutes=1),
    )


def _threshold(fleet: HostFleet) -> int:
    return 1024 if len(fleet.hosts) < 500 else 4096  # noqa: PLR2004 - a fleet of 2,000 does not fit Linux' default


def _overflow(fleet: HostFleet, random: Random) -> NetworkFaults:  # noqa: ARG001 - all faults have one shape
    """One broker's table is full of containers; it cannot add three new hosts."""
    broker, hosts = fleet.brokers[1], fleet.reused[:3]
    count = _threshold(fleet) - len(fleet.brokers) - len(fleet.hosts) + len(hosts)
    return NetworkFaults(
        entries={broker.name: tuple(_container(n) for n in range(count))},
        missing=frozenset((broker.name, host.address) for host in hosts),
        failing={(host.name, broker.name): Failure.SYN_ACK_LOST for host in hosts},
        sysctl={"gc_thresh1": 128, "gc_thresh2": _threshold(fleet) // 2, "gc_thresh3": _threshold(fleet)},
        since=hosts[0].launched,
    )


def _container(n: int) -> NeighbourRow:
    third, fourth = n // 250, 2 + n % 250
    mac = f"02:42:0a:3c:{third:02x}:{fourth:02x}"
    return NeighbourRow(address=f"10.60.{third}.{fourth}", mac=mac, state="REACHABLE", device="cni0")


def _overflow_logged(folder: Path, fleet: HostFleet, faults: NetworkFaults, random: Random) -> None:
    broker: Node = fleet.brokers[1]
    texts = (
        "neighbour: arp_cache: neighbor table overflow!",
        "neighbour: arp_cache: neighbor table overflow!",
        f"net_ratelimit: {random.randint(20, 900)} callbacks suppressed",
    )
    begin = max(fleet.log_start, faults.since or fleet.log_start)
    lines = kernel_log(broker, texts, begin=begin, end=fleet.log_end, random=random)
    log_file(folder / "brokers" / broker.name / "kern.log", lines)


def _second_interface(fleet: HostFleet, random: Random) -> NetworkFaults:
    """Two brokers hold the MAC of a host's second interface, which lost its link."""
    host = next(host for host in fleet.hosts[3:] if host not in fleet.reused)
    second, brokers = mac_address(random), fleet.brokers[1:3]
    return NetworkFaults(
        mac_entries={(b.name, host.address): second for b in brokers},
        second_macs={host.name: second},
        failing={(host.name, b.name): Failure.SYN_ACK_LOST for b in brokers},
        since=fleet.looks[0] - timedelta(minutes=5),
    )


def _link_lost(folder: Path, fleet: HostFleet, faults: NetworkFaults, random: Random) -> None:
    name = next(iter(faults.second_macs))
    path = folder / "hosts" / name / "ip_addr.txt"
    text = path.read_text(encoding="utf-8")
    up = "eth1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP"
    down = "eth1: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN"
    path.write_text(text.replace(up, down), encoding="utf-8")
    moment, uptime = faults.since or fleet.log_start, random.uniform(90_000, 900_000)
    line = f"{moment:%b %d %H:%M:%S} {name} kernel: [{uptime:.6f}] ixgbe 0000:01:00.1 eth1: NIC Link is Down\n"
    log_file(folder / "hosts" / name / "kern.log", [line])


def symptoms() -> tuple[DiagnosisCase, ...]:
    return (*_refused_or_dropped(), *_of_the_network(), *_of_tables())


def _refused_or_dropped() -> tuple[DiagnosisCase, ...]:
    return (
        networks_case(
            "broker-stopped",
            Plan(faults=_stopped, parts=WHOLE),
            verdict=ABSENT,
            form="ip neigh, ss, inventory, client logs, server.log",
            why="The broker was shut down and its host refuses connections at once; every entry is right.",
        ),
        networks_case(
            "broker-stopped-behind-proxy-arp",
            Plan(faults=_stopped_behind_proxy_arp),
            verdict=ABSENT,
            form="ip neigh, ss, ip addr, client logs, server.log",
            why=(
                "The broker was shut down and refuses connections at once; "
                "the router's MAC stands for hosts that reach all other brokers."
            ),
        ),
        networks_case(
            "firewall",
            Plan(faults=_firewall, parts=WHOLE | {"captures"}, reuse=timedelta(minutes=-10)),
            verdict=ABSENT,
            form="ip neigh, ss, ip addr, tcpdump on both sides",
            why="New hosts' SYNs reach no broker, no broker has SYN-RECV, and every entry is right.",
            conditions=("client_never_connected",),
        ),
        networks_case(
            "accept-queue-full",
            Plan(faults=_accept_queue, parts=WHOLE),
            verdict=ABSENT,
            form="ip neigh, ss, nstat, inventory",
            why="The listening socket's queue is over its limit and ListenOverflows is high; every entry is right.",
        ),
    )


def _of_the_network() -> tuple[DiagnosisCase, ...]:
    return (
        networks_case(
            "reverse-path-filter",
            Plan(faults=_return_path, extra=_martians),
            verdict=ABSENT,
            form="ip neigh, ss, sysctl, nstat, kern.log",
            why="Strict reverse path filtering drops the SYNs and counts them as martians; every entry is right.",
        ),
        networks_case(
            "mtu-black-hole",
            Plan(faults=_lost_segments),
            verdict=ABSENT,
            form="ip neigh, ss, ip addr, client logs",
            why="Handshakes succeed and large segments are sent again and again; every entry is right.",
        ),
        networks_case(
            "old-broker-address",
            Plan(faults=_old_address, parts=PARTS | {"host_tables"}),
            verdict=ABSENT,
            form="ip neigh of both sides, ss, client logs",
            why="Clients try an address that nobody has, and their tables have it as FAILED, without a MAC.",
        ),
    )


def _of_tables() -> tuple[DiagnosisCase, ...]:
    return (
        networks_case(
            "second-interface-down",
            Plan(faults=_second_interface, extra=_link_lost),
            verdict=None,
            form="ip neigh, ss, ip addr, kern.log of the host",
            why="The MAC that two brokers hold is the same living host's second interface, whose link is down.",
        ),
        networks_case(
            "neighbour-table-overflow",
            Plan(faults=_overflow, extra=_overflow_logged),
            verdict=ABSENT,
            form="ip neigh, ss, sysctl, kern.log",
            why="The kernel says that the table is full; the new hosts have no entry at all, so none is stale.",
        ),
    )
