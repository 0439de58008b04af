"""A TCP server that is not Kafka, and its clients: further connections of a host that a stale neighbour cuts off.

serve PORT...         answer every line, on each of these ports
keep ADDRESS PORT     keep one connection open, and send a line on it five times a second
connect ADDRESS PORT  try to connect, again and again
fill ADDRESS PORT     open connections until the accept queue is full, and keep them open
"""

from __future__ import annotations

import selectors
import socket
import sys
import time
from collections.abc import Callable  # noqa: TC003 - needed at run time

EVERY_SECONDS = 0.2
"""Often enough to confirm a neighbour before the kernel probes it (delay_first_probe_time, 1 s at least)."""

CONNECT_TIMEOUT_SECONDS = 3.0


def serve(*ports: str) -> None:
    """Answer until killed."""
    ready = selectors.DefaultSelector()
    for port in ports:
        ready.register(
            socket.create_server(("", int(port)), family=socket.AF_INET6, dualstack_ipv6=True, backlog=50),
            selectors.EVENT_READ,
            "listener",
        )
    report("serving")
    while True:
        for key, _ in ready.select():
            assert isinstance(key.fileobj, socket.socket)
            if key.data == "listener":
                ready.register(key.fileobj.accept()[0], selectors.EVENT_READ, "connection")
            elif not _answer(key.fileobj):
                ready.unregister(key.fileobj)


def _answer(sock: socket.socket) -> bool:
    try:
        line = sock.recv(100)
        sock.sendall(line)
    except OSError:
        line = b""
    if not line:
        sock.close()
    return bool(line)


def keep(address: str, port: str) -> None:
    """Make progress on one connection until killed."""
    with socket.create_connection((address, int(port)), timeout=10) as sock:
        while True:
            sock.sendall(b"still here\n")
            sock.recv(100)
            report("echoed")
            time.sleep(EVERY_SECONDS)  # reason: this is the traffic


def connect(address: str, port: str) -> None:
    """Try to connect until killed."""
    while True:
        try:
            with socket.create_connection((address, int(port)), timeout=CONNECT_TIMEOUT_SECONDS):
                report("connected")
        except OSError as error:
            report(f"failed: {error}")
        time.sleep(EVERY_SECONDS)  # reason: the pause between two tries


def fill(address: str, port: str) -> None:
    """Fill a listener's accept queue: a frozen program accepts no connection."""
    connections = []
    while True:
        try:
            connections.append(socket.create_connection((address, int(port)), timeout=1))
        except TimeoutError:
            break
    report(f"keeping {len(connections)}")
    sys.stdin.read()


def report(line: str) -> None:
    """Report to the lab."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {"serve": serve, "keep": keep, "connect": connect, "fill": fill}
    commands[sys.argv[1]](*sys.argv[2:])
