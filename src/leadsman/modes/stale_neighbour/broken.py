"""Suffers `stale_neighbour`: a broker's host, tuned for many connections, that never forgets whom it once talked to."""

from __future__ import annotations

from pathlib import Path

SETTINGS = {
    "net.core.somaxconn": "4096",
    "net.ipv4.tcp_max_syn_backlog": "8192",
    "net.ipv4.neigh.default.gc_thresh1": "128",
}
"""gc_thresh1 is the kernel's default: of fewer than 128 neighbours none is ever collected, however long it is dead."""


def prepare(folder: Path = Path("/etc/sysctl.d")) -> Path:
    """Write what the host's kernel is to be told at its start."""
    file = folder / "60-kafka.conf"
    file.write_text("".join(f"{name} = {value}\n" for name, value in SETTINGS.items()), encoding="ascii")
    return file
