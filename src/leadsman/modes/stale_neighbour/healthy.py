"""The same host, cured: its kernel forgets a neighbour that it has not used for a minute."""

from __future__ import annotations

from pathlib import Path

SETTINGS = {
    "net.core.somaxconn": "4096",
    "net.ipv4.tcp_max_syn_backlog": "8192",
    "net.ipv4.neigh.default.gc_thresh1": "0",
}
"""gc_thresh1=0: however few neighbours there are, those that are not used are collected (gc_stale_time, 60 s)."""


def prepare(folder: Path = Path("/etc/sysctl.d")) -> Path:
    """Write what the host's kernel is to be told at its start."""
    file = folder / "60-kafka.conf"
    file.write_text("".join(f"{name} = {value}\n" for name, value in SETTINGS.items()), encoding="ascii")
    return file
