"""Runs node_exporter in the network of each host of an experiment, and makes all that runs there scrapable from here.

A host of the lab is a network namespace. node_exporter reads from it what a namespace has of its own: its connections,
its counters and its neighbour entries. gc_thresh1 is one for the whole kernel, and only the first namespace shows it:
one node_exporter runs there, and its value becomes a series of each host.
"""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.interrupt import defer_interrupts
from leadsman.lab.alerts.prometheus import READY_TIMEOUT, answers, start_program
from leadsman.lab.alerts.targets import AGENT_PORT, BROKERS, HOSTS, SERVICES, Target
from leadsman.lab.processes.ports import ADDRESS, free_ports
from leadsman.lab.processes.program import SOURCES, Program
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from leadsman.lab.network.fabric import Fabric, NetworkInstance
    from leadsman.lab.run.run_context import RunContext

PROGRAM = "prometheus-node-exporter"
NODE_PORT = 9100
"""node_exporter's usual port, the same in every namespace."""

KERNEL = "kernel"
"""The job of the exporter in the first namespace."""

THRESHOLD = "net.ipv4.neigh.default.gc_thresh1"

SYN_ACK_RETRIES = "net.ipv4.tcp_synack_retries=2"
"""A connection then stays in SYN_RECV for 7 s, which stand for the 63 s of the default 5."""

NOT_HOSTS = frozenset({"tools"})
"""Instances of the network that are the lab's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The metrics agent of the broker or worker on a host: its job, and its port there."""

    job: str
    port: int


def agents_of(context: RunContext) -> dict[str, Agent]:
    """Return the agent on each host that has one, by the host's name."""
    nodes = {f"broker-{node.id}": (BROKERS, node.metrics_port) for node in context.cluster.nodes}
    workers = {worker.name: (SERVICES, worker.metrics_port) for worker in context.workers.values()}
    return {name: Agent(job=job, port=port) for name, (job, port) in {**nodes, **workers}.items() if port is not None}


@contextmanager
def host_exporters(fabric: Fabric | None, agents: Mapping[str, Agent], folder: Path) -> Iterator[list[Target]]:
    """Return the targets of the hosts that run now, and of the agents on them; the exporters run inside."""
    if fabric is None:
        yield []
        return
    hosts = [each for name, each in fabric.instances.items() if name not in NOT_HOSTS]
    with ExitStack() as stack:
        stack.enter_context(_kernel_exporter(folder, port := free_ports(1)[0]))
        targets = [_kernel_target(port, host) for host in hosts]
        for host in hosts:
            fabric.run(host.namespace.netns_entry, ["sysctl", "-qw", SYN_ACK_RETRIES])
            stack.enter_context(_node_exporter(folder, host))
            targets += _relayed(stack, folder, host, _exporters(host, agents))
        for address in dict.fromkeys(each.address for each in targets):
            metrics = partial(answers, f"http://{address}/metrics")
            wait_for(metrics, timeout=READY_TIMEOUT, what=f"metrics at {address}", error=LabError)
        yield targets


def _kernel_exporter(folder: Path, port: int) -> Program:
    options = ["--collector.disable-defaults", "--collector.sysctl", f"--collector.sysctl.include={THRESHOLD}"]
    return start_program(folder, [PROGRAM, f"--web.listen-address={ADDRESS}:{port}", *options], name=KERNEL)


def _kernel_target(port: int, host: NetworkInstance) -> Target:
    instance = f"{host.name}:{NODE_PORT}"
    return Target(job=KERNEL, address=f"{ADDRESS}:{port}", instance=instance, series_job=HOSTS, series="node_sysctl_.*")


def _node_exporter(folder: Path, host: NetworkInstance) -> Program:
    command = [PROGRAM, f"--web.listen-address={ADDRESS}:{NODE_PORT}", "--collector.tcpstat"]
    return start_program(folder, command, name=f"node-{host.name}", netns_entry=host.namespace.netns_entry)


def _exporters(host: NetworkInstance, agents: Mapping[str, Agent]) -> list[tuple[str, str, int]]:
    """Return what listens on a host: job, instance and port."""
    node = (HOSTS, f"{host.name}:{NODE_PORT}", NODE_PORT)
    agent = agents.get(host.name)
    return [node] if agent is None else [node, (agent.job, f"{host.name}:{AGENT_PORT}", agent.port)]


def _relayed(
    stack: ExitStack, folder: Path, host: NetworkInstance, exporters: Sequence[tuple[str, str, int]]
) -> list[Target]:
    """Carry connections of this machine to exporters on a host; return where to connect to."""
    with ExitStack() as own:
        sockets = [own.enter_context(socket.create_server((ADDRESS, 0))) for _ in exporters]
        pairs = [f"{sock.fileno()}:{port}" for sock, (_, _, port) in zip(sockets, exporters, strict=True)]
        with defer_interrupts():
            relay = stack.enter_context(
                Program.start(
                    f"relay of {host.name}",
                    [sys.executable, "-m", "leadsman.lab.programs.relay", *pairs],
                    folder=folder,
                    errors=folder / f"relay-{host.name}.log",
                    environment={"PYTHONPATH": str(SOURCES)},
                    netns_entry=host.namespace.netns_entry,
                    inherited=[sock.fileno() for sock in sockets],
                )
            )
        ports = [sock.getsockname()[1] for sock in sockets]
    if not relay.output.readline():
        raise LabError(f"{relay.name} ended at once:\n{(folder / f'relay-{host.name}.log').read_text()[-1500:]}")
    return [
        Target(job=job, address=f"{ADDRESS}:{port}", instance=instance)
        for port, (job, instance, _) in zip(ports, exporters, strict=True)
    ]
