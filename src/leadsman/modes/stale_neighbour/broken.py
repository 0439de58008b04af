"""A program with `stale_neighbour`: it tunes a broker's host for many connections and keeps all neighbour entries."""

from __future__ import annotations

from pathlib import Path

SETTINGS = {
    "net.core.somaxconn": "4096",
    "net.ipv4.tcp_max_syn_backlog": "8192",
    "net.ipv4.neigh.default.gc_thresh1": "128",
}
"""gc_thresh1 is the kernel's default: with fewer than 128 entries the kernel deletes none, even of dead instances."""


def prepare(folder: Path = Path("/etc/sysctl.d")) -> Path:
    """Write the kernel settings that the host applies at its start."""
    file = folder / "60-kafka.conf"
    file.write_text("".join(f"{name} = {value}\n" for name, value in SETTINGS.items()), encoding="ascii")
    return file
