"""How much memory a task may still take, by what the kernel says of its machine and its container."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

MACHINE = Path("/proc/meminfo")
AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""The limit of this process's container, and what it has taken: control groups of version 2, of version 1."""


def available_bytes() -> int | None:
    """Return the bytes that can be had without swapping; None where nothing tells."""
    known: list[int] = []
    with suppress(OSError):
        if found := AVAILABLE.search(MACHINE.read_text(encoding="ascii")):
            known.append(int(found[1]) * 1024)
    for limit, taken in GROUPS:
        with suppress(OSError, ValueError):  # `max`: no limit
            known.append(int(Path(limit).read_text(encoding="ascii")) - int(Path(taken).read_text(encoding="ascii")))
    return min(known, default=None)
