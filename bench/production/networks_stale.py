"""Cases in which brokers hold a dead instance's MAC, and those in which the telemetry does not suffice to know it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from bench.production.case import PRESENT, UNKNOWN, DiagnosisCase
from bench.production.networks_faults import PARTS, Failure, NeighbourRow, NetworkFaults, Plan
from bench.production.networks_fleet import mac_address
from bench.production.networks_writer import log_file, writer

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from bench.production.networks_fleet import HostFleet

MODE = "stale_neighbour"


def networks_case(
    name: str, plan: Plan, *, verdict: str | None, form: str, why: str, conditions: tuple[str, ...] = ()
) -> DiagnosisCase:
    """`verdict` None only says that the mode must not be PRESENT."""
    return DiagnosisCase(
        name=f"networks/{name}",
        family="networks",
        form=form,
        why=why,
        expected={MODE: verdict} if verdict else {},
        write=writer(plan),
        conditions=conditions,
    )


def two_stale(fleet: HostFleet, random: Random) -> NetworkFaults:
    """Two brokers hold the dead predecessor's MAC for one new instance."""
    newcomer = fleet.reused[0]
    brokers = random.sample(fleet.brokers, 2)
    dead = fleet.dead_for(newcomer)
    return NetworkFaults(
        mac_entries={(broker.name, newcomer.address): dead.mac for broker in brokers},
        failing={(newcomer.name, broker.name): Failure.SYN_ACK_LOST for broker in brokers},
        since=newcomer.launched + timedelta(seconds=25),
    )


def _two_permanent(fleet: HostFleet, random: Random) -> NetworkFaults:
    faults = two_stale(fleet, random)
    return replace(faults, states=dict.fromkeys(faults.mac_entries, "PERMANENT"))


def _recovered(fleet: HostFleet, random: Random) -> NetworkFaults:
    return replace(two_stale(fleet, random), until=fleet.looks[-1] - timedelta(minutes=2))


def _cured_before_tables(fleet: HostFleet, random: Random) -> NetworkFaults:
    """The logs are of the time before; when anybody looked, the tables were right."""
    faults = two_stale(fleet, random)
    return replace(faults, until=fleet.log_end - timedelta(minutes=6))


def _flush(folder: Path, fleet: HostFleet, faults: NetworkFaults, random: Random) -> None:
    """An operator flushed the tables; only the brokers' auth.log says so."""
    for broker in fleet.brokers:
        moment = (faults.until or fleet.log_end) + timedelta(seconds=random.randint(-9, 0))
        sudo = "ops : TTY=pts/0 ; PWD=/home/ops ; USER=root ; COMMAND=/usr/sbin/ip neigh flush dev eth0"
        line = f"{moment:%b %d %H:%M:%S} {broker.name} sudo:      {sudo}\n"
        log_file(folder / "brokers" / broker.name / "auth.log", [line])


def _harmless(fleet: HostFleet, random: Random) -> NetworkFaults:
    faults = two_stale(fleet, random)
    return replace(faults, failing={}, unused=frozenset(faults.failing))


def _harmless_and_firewall(fleet: HostFleet, random: Random) -> NetworkFaults:
    """Brokers hold a dead MAC for a host that they never talk to; the firewall drops another host's SYNs."""
    faults = _harmless(fleet, random)
    other = next(host for host in fleet.hosts[4:] if host not in fleet.reused)
    return replace(faults, failing={(other.name, name): Failure.SYN_LOST for name, _ in faults.mac_entries})


def _amid_innocent(fleet: HostFleet, random: Random) -> NetworkFaults:
    """The stale pair among hosts with two interfaces, virtual router addresses and dead entries."""
    faults = two_stale(fleet, random)
    others = [host for host in fleet.hosts[2:900] if host not in fleet.reused]
    dual = random.sample(others, max(2, len(others) // 50))
    seconds = {host.name: mac_address(random) for host in dual}
    flux = {(broker.name, host.address): seconds[host.name] for broker in fleet.brokers[::2] for host in dual}
    return replace(
        faults,
        mac_entries=dict(faults.mac_entries) | flux,
        second_macs=seconds,
        entries={broker.name: (*_virtual(), *_failed(random)) for broker in fleet.brokers},
    )


def _virtual() -> tuple[NeighbourRow, ...]:
    return (
        NeighbourRow(address="10.4.0.2", mac="00:00:5e:00:01:21", state="REACHABLE"),
        NeighbourRow(address="10.4.0.3", mac="00:00:0c:07:ac:0a", state="STALE"),
    )


def _failed(random: Random) -> tuple[NeighbourRow, ...]:
    return tuple(
        NeighbourRow(address=f"10.4.14.{n}", mac=None, state="FAILED", probes=3)
        for n in random.sample(range(2, 250), 5)
    )


def _clients_hold_old_broker(fleet: HostFleet, random: Random) -> NetworkFaults:
    """A broker's machine was replaced under its address; some clients hold the MAC of the former machine."""
    broker, former = fleet.brokers[-1], mac_address(random)
    hosts = random.sample([host for host in fleet.hosts if host not in fleet.reused], 3)
    return NetworkFaults(
        host_mac_entries={(host.name, broker.name): former for host in hosts},
        failing={(host.name, broker.name): Failure.SYN_LOST for host in hosts},
        since=fleet.log_start + timedelta(minutes=1),
    )


CLIENTS_ONLY = frozenset({"client_logs"})
NO_TABLES = (PARTS | {"inventory"}) - {"tables"}
INVENTORY = (PARTS | {"inventory"}) - {"addresses"}
JUST_BROKERS = frozenset({"tables", "broker_sockets", "broker_logs", "sysctl", "nstat"})
HOST_LOOKS = frozenset({"client_logs", "host_sockets"})


def proven() -> tuple[DiagnosisCase, ...]:
    return (
        networks_case(
            "stale-inventory",
            Plan(faults=two_stale, parts=INVENTORY),
            verdict=PRESENT,
            form="ip neigh, ss, two describe-instances, client logs",
            why=(
                "Two brokers hold the MAC of an instance that the older inventory lists and the newer lists as "
                "terminated; the new owner's SYNs end in SYN-RECV on just these two."
            ),
        ),
        networks_case(
            "stale-ip-addr",
            Plan(faults=two_stale, table="ip_s_neigh", dated=True),
            verdict=PRESENT,
            form="date -u, ip -s neigh, ss, ip addr",
            why=(
                "The new host's own `ip addr` names a MAC that two brokers do not hold, nobody has the MAC that they "
                "hold, and connections of just these pairs stay in SYN-SENT and SYN-RECV."
            ),
        ),
        networks_case(
            "stale-br-link-arp",
            Plan(faults=two_stale, table="arp_an", addresses="ip_br"),
            verdict=PRESENT,
            form="arp -an, ss, ip -br link and ip -br addr",
            why=(
                "The new host's `ip -br link` names a MAC that two brokers' `arp -an` do not hold, and connections of "
                "just these pairs hang half open."
            ),
        ),
        networks_case(
            "stale-json",
            Plan(faults=two_stale, table="ip_j_neigh", parts=INVENTORY),
            verdict=PRESENT,
            form="ip -j neigh, ss, describe-instances",
            why=(
                "Two brokers hold the MAC of a terminated instance for the address that a new one has, and its "
                "connections to just these two hang half open."
            ),
        ),
        networks_case(
            "stale-captures",
            Plan(faults=two_stale, parts=(PARTS | {"captures"}) - {"addresses"}),
            verdict=PRESENT,
            form="ip neigh, ss, tcpdump on both sides",
            why=(
                "Packets arrive from the new MAC and two brokers send SYN-ACKs to the MAC of their tables, which is "
                "another; the client's capture shows none of them arriving."
            ),
        ),
        networks_case(
            "stale-ipv6",
            Plan(faults=two_stale, family=6),
            verdict=PRESENT,
            form="ip -6 neigh, ss, ip addr",
            why=(
                "Two brokers' IPv6 neighbour tables hold another MAC than the new host's own, and its connections to "
                "just these two hang half open."
            ),
        ),
        networks_case(
            "stale-by-other-brokers-over-time",
            Plan(
                faults=two_stale,
                parts=JUST_BROKERS,
                reuse=timedelta(minutes=4),
                more_looks=3,
                table="ip_s_neigh",
                bare=frozenset({"hosts"}),
            ),
            verdict=PRESENT,
            form="ip -s neigh and ss of brokers, twice",
            why=(
                "All brokers held the old MAC at the first look; at the second all but two hold a new one that works, "
                "and the two that kept the old one have the address in SYN-RECV."
            ),
        ),
        networks_case(
            "stale-permanent",
            Plan(faults=_two_permanent, parts=INVENTORY),
            verdict=PRESENT,
            form="ip neigh, ss, describe-instances",
            why=(
                "Two brokers hold a static entry with the terminated instance's MAC, which nothing can age out, and "
                "the new instance's connections to just these two hang half open."
            ),
        ),
        networks_case(
            "stale-then-mended",
            Plan(faults=_recovered, parts=INVENTORY),
            verdict=PRESENT,
            form="ip neigh and ss before and after the cure, describe-instances",
            why=(
                "The first looks show the terminated instance's MAC on two brokers and the half-open connections; the "
                "last look shows the right MAC and the connections established."
            ),
        ),
        networks_case(
            "clients-hold-replaced-broker",
            Plan(faults=_clients_hold_old_broker, parts=PARTS | {"host_tables", "captures"}),
            verdict=PRESENT,
            form="ip neigh of brokers and clients, ss, ip addr, tcpdump",
            why=(
                "Three clients' tables hold another MAC for a broker than its own `ip addr` has; "
                "their SYNs never reach it, and every host with the right MAC is connected."
            ),
        ),
        networks_case(
            "stale-amid-innocent",
            Plan(faults=_amid_innocent),
            verdict=PRESENT,
            form="ip neigh, ss, ip addr",
            why=(
                "One host's MAC differs on two brokers and just these connections hang; the other differing MACs are "
                "second interfaces and virtual routers, all of which work."
            ),
        ),
    )


def unproven() -> tuple[DiagnosisCase, ...]:
    return (
        networks_case(
            "symptom-without-tables",
            Plan(faults=two_stale, parts=NO_TABLES),
            verdict=UNKNOWN,
            form="ss, inventory, ip addr, client logs",
            why="The half-open connections fit a stale neighbour, and nobody collected a neighbour table.",
        ),
        networks_case(
            "tables-alone-differ",
            Plan(faults=two_stale, parts=frozenset({"tables", "sysctl"}), more_looks=8, bare=frozenset({"hosts"})),
            verdict=UNKNOWN,
            form="ip neigh of brokers",
            why=(
                "Brokers hold different MACs for one address; nothing says which is right, nor whether a connection "
                "fails."
            ),
        ),
        networks_case(
            "tables-and-sockets-no-identity",
            Plan(faults=two_stale, parts=JUST_BROKERS, more_looks=3, bare=frozenset({"hosts"})),
            verdict=UNKNOWN,
            form="ip neigh and ss of brokers, one MAC each",
            why=(
                "Brokers with one MAC have connections and two with another have SYN-RECV; whose the other MAC is "
                "nothing says: a dead instance's, a second interface's or a second host's."
            ),
        ),
        networks_case(
            "client-logs-only",
            Plan(faults=two_stale, parts=CLIENTS_ONLY, bare=frozenset({"brokers"})),
            verdict=UNKNOWN,
            form="client logs",
            why=(
                "Connection set-up times out for one host at two brokers; nothing of the network was collected that "
                "could tell why."
            ),
        ),
        networks_case(
            "client-logs-and-client-sockets",
            Plan(faults=two_stale, parts=HOST_LOOKS, bare=frozenset({"brokers"})),
            verdict=UNKNOWN,
            form="client logs and ss of clients",
            why="SYN-SENT to two brokers fits a stale neighbour, a firewall and more; no broker was looked at.",
        ),
        networks_case(
            "tables-an-hour-before",
            Plan(
                faults=two_stale,
                parts=frozenset({"tables", "inventory", "client_logs", "broker_logs"}),
                reuse=timedelta(minutes=75),
                logs="after",
            ),
            verdict=UNKNOWN,
            form="ip neigh an hour before the logs, describe-instances after",
            why=(
                "When the tables were read the old instance still ran and its MAC was right; what they held when the "
                "new one could not connect nobody saw."
            ),
        ),
        networks_case(
            "tables-after-the-cure",
            Plan(faults=_cured_before_tables, parts=INVENTORY, logs="before", extra=_flush),
            verdict=UNKNOWN,
            form="client logs, then ip neigh and ss after a flush",
            why=(
                "Set-up timeouts ended before anybody read the tables, which are right by then; what they held "
                "meanwhile nobody saw."
            ),
        ),
        networks_case(
            "stale-entry-never-used",
            Plan(faults=_harmless, parts=INVENTORY),
            verdict=None,
            form="ip neigh, ss, describe-instances",
            why=(
                "Two brokers hold a terminated instance's MAC for a host that never talks to them; no connection fails."
            ),
        ),
        networks_case(
            "stale-entry-never-used-and-firewall",
            Plan(faults=_harmless_and_firewall, parts=INVENTORY | {"captures"}),
            verdict=None,
            form="ip neigh, ss, describe-instances, tcpdump",
            why=(
                "The host whose connections fail has the right MAC everywhere, and its SYNs reach no broker; "
                "the entry that is stale is of another host, which nobody misses."
            ),
        ),
    )
