"""Counts CPU time, in one way for all benchmarks: user and system time in seconds, of processes that ended too."""

from __future__ import annotations

import resource
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    import psutil


def process_tree(root: psutil.Process | None = None) -> list[psutil.Process]:
    """Return a process, this one by default, and all that it started and that run; none where it has ended."""
    import psutil  # only where a tree is looked at: a benchmark of memory counts what its own process loads

    root = root or psutil.Process()
    with suppress(psutil.Error):
        return [root, *root.children(recursive=True)]
    return []


def cpu_seconds(root: psutil.Process | None = None, *, left_out: Collection[int] = ()) -> float:
    """Return the CPU seconds of a process, this one by default, and all that it started, to 10 ms.

    Processes that ended count with the one that waited for them; `left_out` are the ids of processes that run and do
    not count.
    """
    import psutil

    total = 0.0
    for process in process_tree(root):
        with suppress(psutil.Error):
            times = process.cpu_times()
            if process.pid not in left_out:
                total += times.user + times.system + times.children_user + times.children_system
    return total


def own_cpu_seconds() -> float:
    """Return the CPU seconds of this process alone, to the nanosecond."""
    return time.process_time()


def ended_children_cpu_seconds() -> float:
    """Return the CPU seconds of the children of this process that ended, to the microsecond."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
