"""Writes one folder a broker and a host, with the telemetry that a plan hands over."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from bench.production.networks_captures import capture
from bench.production.networks_faults import Failure
from bench.production.networks_fleet import make_fleet
from bench.production.networks_hosts import ip_addr, ip_br_addr, ip_br_link, sysctl
from bench.production.networks_inventory import write_inventory
from bench.production.networks_logs import broker_log, client_log
from bench.production.networks_sockets import broker_sockets, host_sockets, print_counters, print_sockets
from bench.production.networks_tables import broker_entries, host_entries, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from pathlib import Path
    from random import Random

    from bench.production.networks_faults import NetworkFaults, Plan
    from bench.production.networks_fleet import HostFleet, Node


_HOUR = timedelta(hours=1)


def writer(plan: Plan) -> Callable[[Path, Random, int], None]:
    def write(folder: Path, random: Random, size: int) -> None:
        fleet = make_fleet(random, size, reuse=plan.reuse, logs=plan.logs, more_looks=plan.more_looks)
        faults = plan.faults(fleet, random)
        _write(folder, fleet, plan=plan, faults=faults, random=random)

    return write


def _write(folder: Path, fleet: HostFleet, *, plan: Plan, faults: NetworkFaults, random: Random) -> None:
    if "brokers" not in plan.bare:
        for broker in fleet.brokers:
            _write_broker(folder / "brokers" / broker.name, fleet, broker, plan=plan, faults=faults, random=random)
    if "hosts" not in plan.bare:
        for host in fleet.hosts:
            _write_host(folder / "hosts" / host.name, fleet, host, plan=plan, faults=faults, random=random)
    if "inventory" in plan.parts:
        oldest = min(host.launched for host in fleet.reused)
        write_inventory(folder / "inventory", fleet, before=min(oldest, fleet.looks[0]) - _HOUR, now=fleet.log_end)
    if plan.extra:
        plan.extra(folder, fleet, faults, random)


def output(
    folder: Path, command: str, lines: Iterable[str], *, moment: datetime | None = None, dated: bool = False
) -> None:
    """Writes a command's output; its time stands in the name, or if `dated` before the output, as of `date -u`."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix = "" if dated or moment is None else f"-{moment:%Y-%m-%dT%H-%M-%SZ}"
    with (folder / f"{command}{suffix}.txt").open("a", encoding="utf-8") as file:
        if dated and moment:
            file.write(f"{moment:%a %b %e %H:%M:%S UTC %Y}\n")
        file.writelines(lines)


def log_file(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(lines)


def _write_broker(
    folder: Path, fleet: HostFleet, broker: Node, *, plan: Plan, faults: NetworkFaults, random: Random
) -> None:
    _write_identity(folder, broker, plan=plan, second_mac=None)
    for moment in fleet.looks:
        _write_look(folder, fleet, broker, moment=moment, plan=plan, faults=faults, random=random)
    if "sysctl" in plan.parts:
        output(folder, "sysctl", sysctl(len(fleet.hosts), **faults.sysctl))
    if "nstat" in plan.parts:
        output(folder, "nstat_az", print_counters(random, **_counters(faults, broker, random)), moment=fleet.looks[-1])
    if "captures" in plan.parts:
        output(folder, "tcpdump_port_9092", capture(fleet, broker, faults=faults, random=random))
    if "broker_logs" in plan.parts:
        log_file(folder / "server.log", broker_log(fleet, broker, faults=faults, random=random))


def _write_look(
    folder: Path, fleet: HostFleet, broker: Node, *, moment: datetime, plan: Plan, faults: NetworkFaults, random: Random
) -> None:
    if "tables" in plan.parts:
        entries = broker_entries(fleet, broker, moment=moment, faults=faults, random=random, family=plan.family)
        output(folder, plan.table, print_table(entries, plan.table), moment=moment, dated=plan.dated)
    if "broker_sockets" in plan.parts:
        rows = list(broker_sockets(fleet, broker, moment=moment, faults=faults, random=random, family=plan.family))
        output(folder, "ss_tan", print_sockets(rows), moment=moment, dated=plan.dated)


def _counters(faults: NetworkFaults, broker: Node, random: Random) -> dict[str, int]:
    failing = {name for _, name in faults.failing}
    counters = {name: n + broker.number * 131 for name, n in faults.counters.items() if broker.name in failing}
    if Failure.BACKLOG in {f for (_, name), f in faults.failing.items() if name == broker.name}:
        counters["TcpExtListenOverflows"] = random.randint(40_000, 90_000)
        counters["TcpExtListenDrops"] = random.randint(90_001, 99_000)
    return counters


def _write_identity(folder: Path, node: Node, *, plan: Plan, second_mac: str | None) -> None:
    if "addresses" not in plan.parts:
        return
    if plan.addresses == "ip_addr":
        output(folder, "ip_addr", [ip_addr(node, second_mac=second_mac, lease=1800 + node.number)])
    else:
        output(folder, "ip_br_addr", [ip_br_addr(node)])
        output(folder, "ip_br_link", [ip_br_link(node)])


def _write_host(
    folder: Path, fleet: HostFleet, host: Node, *, plan: Plan, faults: NetworkFaults, random: Random
) -> None:
    _write_identity(folder, host, plan=plan, second_mac=faults.second_macs.get(host.name))
    moments = [moment for moment in {fleet.looks[0], fleet.looks[-1]} if host.launched <= moment]
    for moment in sorted(moments):
        if "host_sockets" in plan.parts:
            rows = list(host_sockets(fleet, host, moment=moment, faults=faults, random=random, family=plan.family))
            output(folder, "ss_tano", print_sockets(rows, timers=True), moment=moment, dated=plan.dated)
    if "host_tables" in plan.parts:
        entries = host_entries(fleet, host, faults=faults, family=plan.family, random=random)
        output(folder, "ip_neigh", print_table(entries, "ip_neigh"), moment=fleet.looks[-1], dated=plan.dated)
    if "captures" in plan.parts and any(name == host.name for name, _ in faults.failing):
        output(folder, "tcpdump_port_9092", capture(fleet, host, faults=faults, random=random))
    if "client_logs" in plan.parts:
        log_file(folder / "app.log", client_log(fleet, host, faults=faults, random=random, family=plan.family))
