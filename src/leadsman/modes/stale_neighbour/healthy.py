"""The cured host: its kernel deletes a neighbour entry that was unused for a minute."""

from __future__ import annotations

from pathlib import Path

SETTINGS = {
    "net.core.somaxconn": "4096",
    "net.ipv4.tcp_max_syn_backlog": "8192",
    "net.ipv4.neigh.default.gc_thresh1": "0",
}
"""gc_thresh1=0: the kernel deletes unused entries (gc_stale_time, 60 s), even if the table has few entries."""


def prepare(folder: Path = Path("/etc/sysctl.d")) -> Path:
    """Write the kernel settings that the host applies at its start."""
    file = folder / "60-kafka.conf"
    file.write_text("".join(f"{name} = {value}\n" for name, value in SETTINGS.items()), encoding="ascii")
    return file
