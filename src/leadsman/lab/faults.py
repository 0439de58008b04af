"""Faults, each a context manager: made on entering, undone on leaving, also when the experiment fails in between."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.cluster import Broker
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
