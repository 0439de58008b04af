"""Becomes another program that the kernel kills when its parent dies: even a killed lab leaves nothing running.

A launcher of its own, because the same call between fork and exec would run Python in a copy of a threaded process.
It also changes networks on the way, since that is a matter of the calling thread:

here       stay
PID        into the network namespace (and the user namespace) of that process
new        into a new network namespace; whoever is not root gets a user namespace in which he is
new@PID    into a new network namespace, within the user namespace of that process
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h. The signal comes when the *thread* that started this program ends: start from one that lasts."""

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
"""From linux/sched.h."""

LIBC = ctypes.CDLL(None, use_errno=True)


def main(parent: int, place: str, command: list[str]) -> None:
    """Replace this process by `command`, unless `parent` has died already."""
    change_to(place)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # last: a change of user namespace may clear it
    if os.getppid() != parent:
        raise SystemExit(1)
    os.execv(command[0], command)  # noqa: S606 (no shell, on purpose)


def change_to(place: str) -> None:
    """Change this process's network."""
    kind, _, process = place.rpartition("@")
    if place == "new":
        _unshare()
    elif kind:
        _join(process, "user")
        _checked(LIBC.unshare(CLONE_NEWNET))
    elif place != "here":
        _join(process, "user", "net")


def _unshare() -> None:
    user, group = os.geteuid(), os.getegid()
    if LIBC.unshare(CLONE_NEWNET) == 0:
        return
    _checked(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET))
    for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{file}", "w", encoding="ascii") as opened:  # noqa: PTH123 (no more imports here)
            opened.write(text)


def _join(process: str, *kinds: str) -> None:
    """Join namespaces of a process; opened first, because after the first change the others may be out of reach."""
    opened = [(kind, os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY)) for kind in kinds]
    for kind, namespace in opened:
        own = os.stat(f"/proc/self/ns/{kind}").st_ino  # noqa: PTH116 (the same)
        if os.fstat(namespace).st_ino != own:
            _checked(LIBC.setns(namespace, 0))
        with suppress(OSError):
            os.close(namespace)


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
