"""Ports on this machine that are free."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from leadsman.errors import LabError
from leadsman.lab.processes.program import LOOPBACK

LOWEST_PORT = 20_000
"""Ports are taken between here and the range from which the kernel numbers outgoing connections: a client that keeps
connecting to a stopped broker's port in that range sooner or later connects to itself."""

ADDRESS = LOOPBACK


def free_ports(count: int) -> list[int]:
    """Return ports on which no program listens now. All stay bound during the search, so no port comes twice."""
    lowest_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    candidates = random.sample(range(LOWEST_PORT, max(lowest_outgoing, LOWEST_PORT + 5000)), 50 * count)
    ports: list[int] = []
    with ExitStack() as bound_sockets:
        for port in candidates:
            sock = bound_sockets.enter_context(closing(socket.socket()))
            with suppress(OSError):
                sock.bind((ADDRESS, port))
                ports.append(port)
            if len(ports) == count:
                return ports
    raise LabError(f"No {count} free ports on {ADDRESS} between {LOWEST_PORT} and {lowest_outgoing}.")
