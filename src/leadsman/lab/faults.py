"""Faults, each a context manager: made on entering, undone on leaving, also when the experiment fails in between."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.fabric import DEVICE
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.cluster import Broker
    from leadsman.lab.fabric import Fabric, Ways
    from leadsman.lab.network import Forwarder, Path
    from leadsman.lab.process import Program

SEEN_WITHIN = timedelta(seconds=10)
"""The kernel stops a process when it next runs: at once, or as soon as a busy machine schedules it."""


@contextmanager
def frozen(program: Program) -> Iterator[Program]:
    """Stop a program's every thread, as a serverless platform does between invocations; let it run on afterwards."""
    program.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: program.frozen, within=SEEN_WITHIN, what=f"{program.name} to freeze", error=LabError)
        yield program
    finally:
        program.send_signal(signal.SIGCONT)


@contextmanager
def path(forwarder: Forwarder, kind: Path) -> Iterator[Forwarder]:
    """Make a forwarder keep the broker's closes to itself; afterwards it hands them on as before."""
    before, forwarder.path = forwarder.path, kind
    try:
        yield forwarder
    finally:
        forwarder.path = before


@contextmanager
def network(fabric: Fabric, ways: Ways) -> Iterator[Fabric]:
    """Make a network behave otherwise; afterwards as before."""
    before = fabric.ways
    fabric.change(ways)
    try:
        yield fabric
    finally:
        fabric.change(before)


@contextmanager
def deaf(fabric: Fabric, name: str, *, to: str, port: int) -> Iterator[None]:
    """Make an instance drop what comes from an address to a port, as a host's firewall does.

    A policy rule does it, before the packet reaches TCP: packet filters are not in every kernel, this is.
    """
    way = fabric.instances[name].place.way
    match = f"iif {DEVICE} from {to} ipproto tcp dport {port}"
    _ip(fabric, way, "rule add pref 5 table local", f"rule add pref 1 {match} blackhole", "rule delete pref 0")
    try:
        yield
    finally:
        _ip(fabric, way, "rule add pref 0 table local", "rule delete pref 1", "rule delete pref 5")


@contextmanager
def detour(fabric: Fabric, name: str, *, to: str, through: str) -> Iterator[None]:
    """Make an instance send what is for an address through another instance, as an asymmetric route does."""
    way = fabric.instances[name].place.way
    _ip(fabric, way, f"route add {to} via {through} dev {DEVICE}")
    try:
        yield
    finally:
        _ip(fabric, way, f"route delete {to}")


def _ip(fabric: Fabric, way: str, *commands: str) -> None:
    fabric.run(way, ["ip", "-batch", "-"], text="".join(f"{command}\n" for command in commands))


@contextmanager
def down(broker: Broker, *, by: signal.Signals = signal.SIGTERM) -> Iterator[Broker]:
    """Stop a broker (SIGTERM: in order; SIGKILL: at once); start it again afterwards.

    Not after a Ctrl-C: then the whole cluster is about to go, and a start would only keep the person waiting.
    """
    broker.stop(by=by)
    try:
        yield broker
    except Exception:
        broker.start()
        raise
    broker.start()
