"""Faults, each a context manager: injected on entering, undone on leaving, also when the experiment fails."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.network.fabric import DEVICE
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.brokers.cluster import Broker
    from leadsman.lab.network.fabric import Fabric, NetworkBehaviour
    from leadsman.lab.network.forwarder import Forwarder, PathBehaviour
    from leadsman.lab.processes.program import Program

FROZEN_TIMEOUT = timedelta(seconds=10)
"""The kernel stops a process when it next runs: at once, or as soon as a busy machine schedules it."""


@contextmanager
def frozen(program: Program) -> Iterator[Program]:
    """Stop a program's every thread, as a serverless platform does between invocations; let it run on afterwards."""
    program.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: program.is_frozen, timeout=FROZEN_TIMEOUT, what=f"{program.name} to freeze", error=LabError)
        yield program
    finally:
        program.send_signal(signal.SIGCONT)


@contextmanager
def path(forwarder: Forwarder, behaviour: PathBehaviour) -> Iterator[Forwarder]:
    """Make a forwarder keep back the broker's closes; afterwards it forwards them as before."""
    before, forwarder.path = forwarder.path, behaviour
    try:
        yield forwarder
    finally:
        forwarder.path = before


@contextmanager
def network(fabric: Fabric, behaviour: NetworkBehaviour) -> Iterator[Fabric]:
    """Change a network's behaviour; afterwards restore it."""
    before = fabric.behaviour
    fabric.change(behaviour)
    try:
        yield fabric
    finally:
        fabric.change(before)


@contextmanager
def firewalled(fabric: Fabric, name: str, *, to: str, port: int) -> Iterator[None]:
    """Make an instance drop packets from an address to a port, as a host's firewall does.

    A routing policy rule drops the packet before it reaches TCP. Not every kernel has packet filters; all have this.
    """
    netns_entry = fabric.instances[name].namespace.netns_entry
    match = f"iif {DEVICE} from {to} ipproto tcp dport {port}"
    _ip(fabric, netns_entry, "rule add pref 5 table local", f"rule add pref 1 {match} blackhole", "rule delete pref 0")
    try:
        yield
    finally:
        _ip(fabric, netns_entry, "rule add pref 0 table local", "rule delete pref 1", "rule delete pref 5")


@contextmanager
def rerouted(fabric: Fabric, name: str, *, to: str, through: str) -> Iterator[None]:
    """Make an instance send packets for an address through another instance, as an asymmetric route does."""
    netns_entry = fabric.instances[name].namespace.netns_entry
    _ip(fabric, netns_entry, f"route add {to} via {through} dev {DEVICE}")
    try:
        yield
    finally:
        _ip(fabric, netns_entry, f"route delete {to}")


def _ip(fabric: Fabric, netns_entry: str, *commands: str) -> None:
    fabric.run(netns_entry, ["ip", "-batch", "-"], text="".join(f"{command}\n" for command in commands))


@contextmanager
def down(broker: Broker, *, by: signal.Signals = signal.SIGTERM) -> Iterator[Broker]:
    """Stop a broker (SIGTERM: controlled shutdown; SIGKILL: at once); start it again afterwards.

    Not after a Ctrl-C: then the whole cluster is about to stop, and a start would only delay that.
    """
    broker.stop(by=by)
    try:
        yield broker
    except Exception:
        broker.start()
        raise
    broker.start()
