"""The memory that is available to a task, by the kernel's figures for its machine and its container."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

MACHINE = Path("/proc/meminfo")
AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""Files with the memory limit and usage of this process's container: of cgroup v2, of cgroup v1."""


def available_bytes() -> int | None:
    """Return the bytes that are available without swapping; None where neither the kernel nor a cgroup has a figure."""
    known: list[int] = []
    with suppress(OSError):
        if match := AVAILABLE.search(MACHINE.read_text(encoding="ascii")):
            known.append(int(match[1]) * 1024)
    for limit, usage in CGROUPS:
        with suppress(OSError, ValueError):  # `max` means no limit
            known.append(int(Path(limit).read_text(encoding="ascii")) - int(Path(usage).read_text(encoding="ascii")))
    return min(known, default=None)
