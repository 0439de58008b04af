"""The kernel's neighbour table: its size and its thresholds, which are one for all namespaces of a machine.

So two experiments never change them at once, and whoever changes them puts them back, also after a crash: the old value
stands in the lock file until it is restored.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.fabric import DEVICE
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.fabric import Fabric

THRESHOLD = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh1")
OF_IPV6 = Path("/proc/sys/net/ipv6/neigh/default/gc_thresh1")
"""Below so many entries nothing is ever collected. It is there in the first network namespace only."""

STATISTICS = Path("/proc/net/stat/arp_cache")
LOCKS = Path("/run/lock")
LOCK = "leadsman-neighbours.lock"

FREE_WITHIN = timedelta(minutes=15)
"""An experiment on the neighbour table takes two minutes; several may wait for one another."""


def threshold(of: Path = THRESHOLD) -> int | None:
    """Return gc_thresh1; None where it cannot be seen, as in a container."""
    with suppress(OSError, ValueError):
        return int(of.read_text(encoding="ascii"))
    return None


def entries() -> int | None:
    """Return how many neighbours the kernel knows over all namespaces; None where it cannot be seen."""
    with suppress(OSError, ValueError, IndexError):
        return int(STATISTICS.read_text(encoding="ascii").splitlines()[1].split()[0], 16)
    return None


def writable() -> bool:
    """Whether the threshold can be changed: by root, outside of containers."""
    return os.access(THRESHOLD, os.W_OK)


@contextmanager
def collecting_from(wanted: int | None) -> Iterator[None]:
    """Have entries collected from so many on (None: as it is), and hold everybody else off; afterwards as before."""
    with _locked(exclusive=wanted is not None) as lock:
        if wanted is None:
            yield
            return
        before = threshold()
        if before is None or not writable():
            raise LabError(f"{THRESHOLD} cannot be written: that takes root, outside of a container.")
        os.pwrite(lock, b"%d\n" % before, 0)
        try:
            THRESHOLD.write_text(str(wanted), encoding="ascii")
            yield
        finally:
            _restore(lock)


ROOM = 40
"""Entries that an experiment makes itself, and then some."""

FILLERS = "10.20.5"
"""Addresses of entries that only fill the table."""


@contextmanager
def remembering(fabric: Fabric, *, room: int = ROOM) -> Iterator[None]:  # noqa: ARG001 - as `forgetting`, so that a play can take either
    """Have the kernel collect nothing, as it does with few neighbours and its default threshold.

    `room` is how many entries the experiment makes itself.
    """
    limit, known = threshold(), entries()
    crowded = limit is not None and known is not None and known + room > limit
    if crowded and not writable():
        raise LabError(
            f"This kernel knows {known} neighbours and collects from {limit} on, so it would forget the dead one. "
            "Try again when it knows fewer, or as root."
        )
    with collecting_from((known or 0) + 10 * room if crowded else None):
        yield


@contextmanager
def forgetting(fabric: Fabric) -> Iterator[None]:
    """Have the kernel collect unused entries: by gc_thresh1=0, or, whoever may not write that, by filling the table."""
    if writable():
        with collecting_from(0):
            yield
        return
    with collecting_from(None):
        missing = (threshold() or 128) + ROOM - (entries() or 0)
        filler = fabric.launch("filler", f"{FILLERS}.254", "02:5a:10:00:05:fe")
        lines = [
            f"neighbour add {FILLERS}.{n} lladdr 02:00:00:00:01:01 dev {DEVICE} nud permanent\n" for n in range(missing)
        ]
        fabric.run(filler.place.way, ["ip", "-batch", "-"], text="".join(lines))
        yield


@contextmanager
def _locked(*, exclusive: bool) -> Iterator[int]:
    """Hold the lock: together with others who change nothing, or alone."""
    folder = LOCKS if os.access(LOCKS, os.W_OK) else Path("/tmp")  # noqa: S108 - one place for all users, as locks need
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        _take(lock, fcntl.LOCK_EX if exclusive or _unrestored(lock) else fcntl.LOCK_SH)
        _restore(lock)
        yield lock
    finally:
        os.close(lock)


def _take(lock: int, kind: int) -> None:
    def taken() -> bool:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    wait_for(taken, within=FREE_WITHIN, what="another experiment on this kernel's neighbour table", error=LabError)


def _unrestored(lock: int) -> bytes:
    """Return the threshold that somebody who did not live to restore it found."""
    return os.pread(lock, 20, 0).strip()


def _restore(lock: int) -> None:
    before = _unrestored(lock)
    if before.isdigit() and writable():
        THRESHOLD.write_text(before.decode(), encoding="ascii")
        os.ftruncate(lock, 0)
