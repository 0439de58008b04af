"""A process with all that it started, and signals to them: any of them may end in the meantime."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable


def descendants(pid: int) -> list[psutil.Process]:
    """Return what the process `pid` started, and what those started; nothing where it has ended."""
    with suppress(psutil.NoSuchProcess):
        return list(psutil.Process(pid).children(recursive=True))
    return []


def signal_all(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to those that have not ended; psutil sends none to a process id that was reused."""
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(number)


def kill_family(pid: int) -> None:
    """Kill a process and its descendants, so that none of them cleans up. The caller waits for its own child."""
    with suppress(psutil.NoSuchProcess):
        signal_all([*descendants(pid), psutil.Process(pid)], signal.SIGKILL)
