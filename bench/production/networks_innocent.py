"""Cases in which MACs differ for innocent reasons, or nothing is wrong at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from bench.production.case import ABSENT
from bench.production.networks_faults import PARTS, Failure, NeighbourRow, NetworkFaults, Plan, nothing
from bench.production.networks_fleet import mac_address
from bench.production.networks_hosts import ip_addr
from bench.production.networks_logs import client_log
from bench.production.networks_sockets import SocketRow, print_sockets
from bench.production.networks_stale import INVENTORY, networks_case
from bench.production.networks_writer import log_file, output

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from bench.production.case import DiagnosisCase
    from bench.production.networks_fleet import HostFleet, Node

AZURE = "12:34:56:78:9a:bc"


def _two_interfaces(fleet: HostFleet, random: Random) -> NetworkFaults:
    dual = random.sample(fleet.hosts[2:900], max(3, min(900, len(fleet.hosts)) // 20))
    seconds = {host.name: mac_address(random) for host in dual}
    mac_entries = {(b.name, h.address): seconds[h.name] for b in fleet.brokers for h in dual if random.random() < 0.5}  # noqa: PLR2004 - either interface answers first
    return NetworkFaults(mac_entries=mac_entries, second_macs=seconds)


def _proxy_arp(fleet: HostFleet, random: Random) -> NetworkFaults:  # noqa: ARG001 - all faults have one shape
    """The router answers for every second host."""
    return NetworkFaults(
        mac_entries={(b.name, h.address): fleet.gateway_mac for b in fleet.brokers for h in fleet.hosts[::2]}
    )


def _virtual_macs(fleet: HostFleet, random: Random) -> NetworkFaults:
    virtual = (
        NeighbourRow(address="10.4.0.2", mac="00:00:5e:00:01:21", state="REACHABLE"),
        NeighbourRow(address="10.4.0.3", mac="00:00:5e:00:01:22", state="STALE"),
        NeighbourRow(address="10.4.0.4", mac="00:00:0c:07:ac:0a", state="REACHABLE"),
        NeighbourRow(address="10.4.0.5", mac="00:00:5e:00:01:21", state="REACHABLE"),
    )
    return NetworkFaults(entries={b.name: (*virtual, *_containers(random)) for b in fleet.brokers})


def _containers(random: Random) -> tuple[NeighbourRow, ...]:
    numbers = random.sample(range(2, 200), 8)
    return tuple(
        NeighbourRow(address=f"172.17.0.{n}", mac=f"02:42:ac:11:00:{n:02x}", state="REACHABLE", device="docker0")
        for n in numbers
    )


def _azure(fleet: HostFleet, random: Random) -> NetworkFaults:  # noqa: ARG001 - all faults have one shape
    """Azure's virtual switch answers every ARP request with one MAC."""
    peers = (*fleet.brokers, *fleet.hosts)
    return NetworkFaults(mac_entries={(b.name, peer.address): AZURE for b in fleet.brokers for peer in peers})


def _failover(fleet: HostFleet, random: Random) -> NetworkFaults:  # noqa: ARG001 - all faults have one shape
    """An address moved between two looks; for a minute connections timed out, then gratuitous ARP had reached all."""
    moved = fleet.reused[0]
    return NetworkFaults(
        failing={(moved.name, b.name): Failure.SYN_ACK_LOST for b in fleet.brokers[:3]},
        since=moved.launched + timedelta(seconds=5),
        until=moved.launched + timedelta(seconds=95),
    )


def _dead_entries(fleet: HostFleet, random: Random) -> NetworkFaults:
    return NetworkFaults(entries={b.name: _no_answers(random) for b in fleet.brokers})


def _no_answers(random: Random) -> tuple[NeighbourRow, ...]:
    numbers = random.sample(range(2, 250), 40)
    states = ("FAILED", "FAILED", "FAILED", "INCOMPLETE")
    return tuple(NeighbourRow(address=f"10.4.14.{n}", mac=None, state=random.choice(states), probes=3) for n in numbers)


def _duplicate(fleet: HostFleet, random: Random) -> NetworkFaults:
    """Two live hosts claim one address: brokers hold the one's MAC or the other's."""
    first, second = _claimants(fleet)
    brokers = fleet.brokers[1::2]
    return NetworkFaults(
        mac_entries={(b.name, first.address): second.mac for b in brokers},
        failing={(first.name, b.name): Failure.SYN_LOST for b in brokers},
        since=fleet.log_start + timedelta(seconds=random.randint(60, 120)),
    )


def _claimants(fleet: HostFleet) -> tuple[Node, Node]:
    ordinary = [host for host in fleet.hosts if host not in fleet.reused]
    return ordinary[3], ordinary[5]


def _duplicate_seen(folder: Path, fleet: HostFleet, faults: NetworkFaults, random: Random) -> None:
    first, second = _claimants(fleet)
    path = folder / "hosts" / second.name / "ip_addr.txt"
    text = path.read_text(encoding="utf-8")
    extra = f"    inet {first.address}/20 scope global secondary eth0\n       valid_lft forever preferred_lft forever\n"
    before, mark, after = text.partition(f"    inet6 {second.address6}")
    path.write_text(before + extra + mark + after, encoding="utf-8")
    output(folder / "brokers" / fleet.brokers[0].name, "arping", _arping(fleet.brokers[0], (first, second), random))
    for broker in fleet.brokers:
        lines = _arpwatch(fleet, (broker, first, second), faults=faults, random=random)
        log_file(folder / "brokers" / broker.name / "syslog", lines)


def _arping(broker: Node, claimants: tuple[Node, Node], random: Random) -> list[str]:
    address = claimants[0].address
    replies = [
        f"Unicast reply from {address} [{c.mac.upper()}]  {random.uniform(0.5, 0.9):.3f}ms\n"
        for _ in range(3)
        for c in claimants
    ]
    return [
        f"ARPING {address} from {broker.address} eth0\n",
        *replies,
        "Sent 3 probes (1 broadcast(s))\n",
        "Received 6 response(s)\n",
    ]


def _arpwatch(fleet: HostFleet, nodes: tuple[Node, Node, Node], *, faults: NetworkFaults, random: Random) -> list[str]:
    broker, first, second = nodes
    moment, macs, lines = faults.since or fleet.log_start, (first.mac, second.mac), []
    while moment < fleet.log_end:
        lines.append(
            f"{moment:%b %d %H:%M:%S} {broker.name} arpwatch: flip flop {first.address} {macs[0]} ({macs[1]}) eth0\n"
        )
        moment, macs = moment + timedelta(seconds=random.uniform(20, 90)), macs[::-1]
    return lines


def _vlans(fleet: HostFleet, random: Random) -> NetworkFaults:
    """Two tenants on two VLANs use the same addresses."""
    macs = {(n, vlan): mac_address(random) for n in range(5, 13) for vlan in (120, 130)}
    rows = tuple(
        NeighbourRow(address=f"10.9.0.{n}", mac=mac, state="REACHABLE", device=f"bond0.{vlan}")
        for (n, vlan), mac in macs.items()
    )
    return NetworkFaults(entries=dict.fromkeys((b.name for b in fleet.brokers), rows))


def _tenants(folder: Path, fleet: HostFleet, faults: NetworkFaults, random: Random) -> None:
    for entry in next(iter(faults.entries.values())):
        tenant = replace(fleet.hosts[0], address=entry.address, mac=entry.mac or "", address6="fd00:9::5")
        name = f"tenant-{entry.device.rpartition('.')[2]}-{entry.address.rpartition('.')[2]}"
        output(folder / "hosts" / name, "ip_addr", [ip_addr(tenant, lease=random.randint(900, 3000))])


def _natted(fleet: HostFleet) -> tuple[Node, ...]:
    return tuple(
        replace(
            host,
            name=f"branch-{n}",
            mac=f"06{host.mac[2:]}",
            address=f"192.168.7.{20 + n}",
            address6=f"fd00:7::{20 + n:x}",
        )
        for n, host in enumerate(fleet.hosts[:12])
    )


def _nat_faults(fleet: HostFleet, random: Random) -> NetworkFaults:
    gateway = NeighbourRow(address="10.4.0.12", mac=mac_address(random), state="REACHABLE")
    failing = {(host.name, b.name): Failure.SYN_LOST for host in _natted(fleet)[:4] for b in fleet.brokers[:2]}
    entries = {b.name: (gateway,) for b in fleet.brokers}
    return NetworkFaults(
        entries=entries, failing=failing, guests={gateway.address: 8}, since=fleet.looks[0] - timedelta(minutes=3)
    )


def _branch(folder: Path, fleet: HostFleet, faults: NetworkFaults, random: Random) -> None:
    """Clients behind the gateway, whose table of translations is full."""
    hosts = _natted(fleet)
    small = replace(fleet, hosts=hosts, log_bytes=20_000)
    for host in hosts:
        where = folder / "hosts" / host.name
        output(where, "ip_addr", [ip_addr(host)])
        rows = [_branch_socket(host, b, faults=faults, random=random) for b in fleet.brokers]
        output(where, "ss_tano", print_sockets(rows, timers=True), moment=fleet.looks[-1])
        log_file(where / "app.log", client_log(small, host, faults=faults, random=random, family=4))
    gateway = next(iter(faults.entries.values()))[0]
    nat = replace(hosts[0], address=gateway.address, mac=gateway.mac or "", address6="fd00:4::c")
    output(folder / "hosts" / "nat-1", "ip_addr", [ip_addr(nat)])
    log_file(folder / "hosts" / "nat-1" / "kern.log", _full(fleet, faults, random))


def _branch_socket(host: Node, broker: Node, *, faults: NetworkFaults, random: Random) -> SocketRow:
    lost = (host.name, broker.name) in faults.failing
    return SocketRow(
        state="SYN-SENT" if lost else "ESTAB",
        local=(host.address, str(random.randint(32_768, 60_999))),
        peer=(broker.address, "9092"),
        queues=(0, int(lost)),
        timer=f"timer:(on,{random.randint(1, 6)}.{random.randrange(1000):03d}ms,3)" if lost else "",
    )


def _full(fleet: HostFleet, faults: NetworkFaults, random: Random) -> list[str]:
    moment, uptime, lines = faults.since or fleet.log_start, 912_345.0, []
    while moment < fleet.log_end:
        text = "nf_conntrack: nf_conntrack: table full, dropping packet"
        lines.append(f"{moment:%b %d %H:%M:%S} nat-1 kernel: [{uptime:.6f}] {text}\n")
        step = random.uniform(2, 20)
        moment, uptime = moment + timedelta(seconds=step), uptime + step
    return lines


def innocent() -> tuple[DiagnosisCase, ...]:
    return (*_healthy(), *_differing(), *_moved())


def _healthy() -> tuple[DiagnosisCase, ...]:
    return (
        networks_case(
            "healthy",
            Plan(faults=nothing, parts=PARTS | {"inventory", "host_tables"}),
            verdict=ABSENT,
            form="everything",
            why="Every entry holds its owner's MAC and no connection attempt hangs.",
        ),
        networks_case(
            "healthy-ipv6",
            Plan(faults=nothing, family=6, table="ip_s_neigh"),
            verdict=ABSENT,
            form="ip -6 -s neigh, ss, ip addr",
            why="Every entry holds its owner's MAC and no connection attempt hangs.",
        ),
        networks_case(
            "reuse-without-staleness",
            Plan(faults=nothing, parts=INVENTORY, reuse=timedelta(minutes=4), more_looks=2, table="ip_s_neigh"),
            verdict=ABSENT,
            form="ip -s neigh and ss before and after, describe-instances",
            why="Instances took over addresses of terminated ones, and every broker held the new MAC at the next look.",
        ),
        networks_case(
            "failed-entries",
            Plan(faults=_dead_entries),
            verdict=ABSENT,
            form="ip neigh, ss, ip addr",
            why="FAILED and INCOMPLETE entries are of addresses that nobody has and nobody needs.",
        ),
    )


def _differing() -> tuple[DiagnosisCase, ...]:
    return (
        networks_case(
            "two-interfaces-one-subnet",
            Plan(faults=_two_interfaces),
            verdict=ABSENT,
            form="ip neigh, ss, ip addr",
            why="Hosts with two interfaces answer ARP with either MAC; both are in the host's `ip addr` and both work.",
        ),
        networks_case(
            "proxy-arp",
            Plan(faults=_proxy_arp),
            verdict=ABSENT,
            form="ip neigh, ss, ip addr",
            why="The router's MAC stands for many addresses because it answers for them, and all connections work.",
        ),
        networks_case(
            "virtual-router-macs",
            Plan(faults=_virtual_macs),
            verdict=ABSENT,
            form="ip neigh with VRRP, HSRP and docker0, ss, ip addr",
            why="MACs of VRRP, HSRP and containers are no instance's, and all connections work.",
        ),
        networks_case(
            "azure-one-mac-for-all",
            Plan(faults=_azure, table="arp_an"),
            verdict=ABSENT,
            form="arp -an, ss, ip addr",
            why="Azure's network answers ARP with 12:34:56:78:9a:bc for every address, and all connections work.",
        ),
        networks_case(
            "one-address-on-two-vlans",
            Plan(faults=_vlans, extra=_tenants),
            verdict=ABSENT,
            form="ip neigh with bond0.120 and bond0.130, ip addr",
            why="Each VLAN has its own host with that address, and each entry holds its own VLAN's MAC.",
        ),
    )


def _moved() -> tuple[DiagnosisCase, ...]:
    return (
        networks_case(
            "failover-by-gratuitous-arp",
            Plan(faults=_failover, parts=INVENTORY, reuse=timedelta(minutes=4)),
            verdict=ABSENT,
            form="ip neigh and ss before and after a move, describe-instances",
            why="Set-up timeouts ended ninety seconds after the address moved; the tables read after it are right.",
        ),
        networks_case(
            "duplicate-address",
            Plan(faults=_duplicate, extra=_duplicate_seen),
            verdict=None,
            form="ip neigh, ss, ip addr, arping, arpwatch",
            why="Two live hosts claim one address; the MAC that brokers hold is a living host's, not a dead one's.",
        ),
        networks_case(
            "clients-behind-nat",
            Plan(faults=_nat_faults, extra=_branch),
            verdict=ABSENT,
            form="ip neigh, ss, ip addr, kern.log of the gateway",
            why="The gateway drops new connections because its table is full; brokers hold its MAC, as they must.",
        ),
    )
