"""The kernel's neighbour table: its size and its thresholds, which are one for all namespaces of a machine.

So two experiments never change them at once, and each experiment restores them, also after a crash: the lock file
holds the old value until it is restored.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab.network.fabric import DEVICE
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.lab.network.fabric import Fabric

THRESHOLD = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh1")
THRESHOLD_IPV6 = Path("/proc/sys/net/ipv6/neigh/default/gc_thresh1")
"""Below so many entries the kernel collects none. Only the first network namespace has this setting."""

STATISTICS = Path("/proc/net/stat/arp_cache")
LOCKS = Path("/run/lock")
LOCK = "leadsman-neighbours.lock"

FREE_TIMEOUT = timedelta(minutes=15)
"""An experiment on the neighbour table takes two minutes; several may wait for one another."""


def read_threshold(file: Path = THRESHOLD) -> int | None:
    """Return gc_thresh1; None where it cannot be read, as in a container."""
    with suppress(OSError, ValueError):
        return int(file.read_text(encoding="ascii"))
    return None


def count_entries() -> int | None:
    """Return how many neighbours the kernel has over all namespaces; None where that cannot be read."""
    with suppress(OSError, ValueError, IndexError):
        return int(STATISTICS.read_text(encoding="ascii").splitlines()[1].split()[0], 16)
    return None


def is_writable() -> bool:
    """Whether the threshold can be changed: by root, outside of containers."""
    return os.access(THRESHOLD, os.W_OK)


@contextmanager
def gc_threshold(value: int | None) -> Iterator[None]:
    """Set gc_thresh1 (None: leave it) and lock out other experiments; afterwards restore it."""
    with _lock_acquired(exclusive=value is not None) as lock:
        if value is None:
            yield
            return
        before = read_threshold()
        if before is None or not is_writable():
            raise LabError(f"{THRESHOLD} cannot be written: that takes root, outside of a container.")
        os.pwrite(lock, b"%d\n" % before, 0)
        try:
            THRESHOLD.write_text(str(value), encoding="ascii")
            yield
        finally:
            _restore(lock)


ROOM = 40
"""Entries that an experiment makes itself, with some to spare."""

FILLERS = "10.20.5"
"""Addresses of entries that only fill the table."""


@contextmanager
def gc_disabled(fabric: Fabric, *, room: int = ROOM) -> Iterator[None]:  # noqa: ARG001 - as `gc_enabled`, so that a variant can take either
    """Make the kernel collect no neighbours, as it does with few of them and its default threshold.

    `room` is how many entries the experiment makes itself.
    """
    limit, count = read_threshold(), count_entries()
    crowded = limit is not None and count is not None and count + room > limit
    if crowded and not is_writable():
        raise LabError(
            f"This kernel has {count} neighbours and collects from {limit} on (gc_thresh1): the dead one would go. "
            "Try again when it has fewer, or as root."
        )
    with gc_threshold((count or 0) + 10 * room if crowded else None):
        yield


@contextmanager
def gc_enabled(fabric: Fabric) -> Iterator[None]:
    """Make the kernel collect unused entries: by gc_thresh1=0, or, without root, by filling the table."""
    if is_writable():
        with gc_threshold(0):
            yield
        return
    with gc_threshold(None):
        missing = (read_threshold() or 128) + ROOM - (count_entries() or 0)
        filler = fabric.launch("filler", f"{FILLERS}.254", "02:5a:10:00:05:fe")
        lines = [
            f"neighbour add {FILLERS}.{n} lladdr 02:00:00:00:01:01 dev {DEVICE} nud permanent\n" for n in range(missing)
        ]
        fabric.run(filler.namespace.netns_entry, ["ip", "-batch", "-"], text="".join(lines))
        yield


@contextmanager
def _lock_acquired(*, exclusive: bool) -> Iterator[int]:
    """Acquire the lock: shared with experiments that change nothing, or exclusively."""
    folder = LOCKS if os.access(LOCKS, os.W_OK) else Path("/tmp")  # noqa: S108 - one place for all users, as locks need
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        _acquire(lock, fcntl.LOCK_EX if exclusive or _unrestored(lock) else fcntl.LOCK_SH)
        _restore(lock)
        yield lock
    finally:
        os.close(lock)


def _acquire(lock: int, mode: int) -> None:
    def acquired() -> bool:
        try:
            fcntl.flock(lock, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    wait_for(acquired, timeout=FREE_TIMEOUT, what="another experiment on this kernel's neighbour table", error=LabError)


def _unrestored(lock: int) -> bytes:
    """Return the original threshold that a killed run left to restore; empty if none did."""
    return os.pread(lock, 20, 0).strip()


def _restore(lock: int) -> None:
    before = _unrestored(lock)
    if before.isdigit() and is_writable():
        THRESHOLD.write_text(before.decode(), encoding="ascii")
        os.ftruncate(lock, 0)
