"""Becomes another program that the kernel kills when its parent dies: even a killed lab leaves nothing running.

A launcher of its own, because the same call between fork and exec would run Python in a copy of a threaded process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h. The signal comes when the *thread* that started this program ends: start from one that lasts."""


def main(parent: int, command: list[str]) -> None:
    """Replace this process by `command`, unless `parent` has died already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(1)
    os.execv(command[0], command)  # noqa: S606 (no shell, on purpose)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
