"""Executes another program that the kernel kills when its parent dies: even a killed lab leaves nothing running.

A launcher of its own, because the same call between fork and exec would run Python in a copy of a threaded process.
It also enters a network namespace first, because a namespace belongs to the calling thread:

here       stay in this network
PID        enter the network namespace (and the user namespace) of that process
new        enter a new network namespace; without root, within a new user namespace that has root
new@PID    enter a new network namespace, within the user namespace of that process
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


def main(parent: int, netns_entry: str, command: list[str]) -> None:
    """Replace this process by `command`, unless `parent` has died already."""
    enter_network(netns_entry)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # last: a change of user namespace may clear it
    if os.getppid() != parent:
        raise SystemExit(1)
    os.execv(command[0], command)  # noqa: S606 - no shell, on purpose


def enter_network(netns_entry: str) -> None:
    """Enter the network that `netns_entry` names."""
    kind, _, process = netns_entry.rpartition("@")
    if netns_entry == "new":
        _unshare()
    elif kind:
        _join(process, "user")
        _raise_on_error(LIBC.unshare(CLONE_NEWNET))
    elif netns_entry != "here":
        _join(process, "user", "net")


def _unshare() -> None:
    user, group = os.geteuid(), os.getegid()
    if LIBC.unshare(CLONE_NEWNET) == 0:
        return
    _raise_on_error(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNET))
    for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{file}", "w", encoding="ascii") as id_map:  # noqa: PTH123 - no more imports here
            id_map.write(text)


def _join(process: str, *kinds: str) -> None:
    """Join namespaces of a process; opened first, because after the first change the others may be out of reach."""
    namespaces = [(kind, os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY)) for kind in kinds]
    for kind, namespace in namespaces:
        own = os.stat(f"/proc/self/ns/{kind}").st_ino  # noqa: PTH116 - the same
        if os.fstat(namespace).st_ino != own:
            _raise_on_error(LIBC.setns(namespace, 0))
        with suppress(OSError):
            os.close(namespace)


def _raise_on_error(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
