"""A service that is not Kafka, and its client: the other thing on a host that a stale neighbour cuts off.

serve PORT...         answer every line, on each of these ports
keep ADDRESS PORT     hold one connection, and say a line on it five times a second
knock ADDRESS PORT    try to connect, again and again
crowd ADDRESS PORT    open connections until no more are taken, and hold them
"""

from __future__ import annotations

import selectors
import socket
import sys
import time
from collections.abc import Callable  # noqa: TC003 - it is asked for at run time

EVERY_SECONDS = 0.2
"""Often enough to confirm a neighbour before the kernel asks the network (delay_first_probe_time, 1 s at least)."""

TRY_SECONDS = 3.0


def serve(*ports: str) -> None:
    """Answer until killed."""
    ready = selectors.DefaultSelector()
    for port in ports:
        ready.register(
            socket.create_server(("", int(port)), family=socket.AF_INET6, dualstack_ipv6=True, backlog=50),
            selectors.EVENT_READ,
            "listener",
        )
    say("serving")
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
            say("heard")
            time.sleep(EVERY_SECONDS)  # reason: this is the traffic


def knock(address: str, port: str) -> None:
    """Try to connect until killed."""
    while True:
        try:
            with socket.create_connection((address, int(port)), timeout=TRY_SECONDS):
                say("connected")
        except OSError as error:
            say(f"failed: {error}")
        time.sleep(EVERY_SECONDS)  # reason: the pause between two tries


def crowd(address: str, port: str) -> None:
    """Fill a listener's queue: a frozen program takes no connection out of it."""
    held = []
    while True:
        try:
            held.append(socket.create_connection((address, int(port)), timeout=1))
        except TimeoutError:
            break
    say(f"holding {len(held)}")
    sys.stdin.read()


def say(what: str) -> None:
    """Tell the lab."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    calls: dict[str, Callable[..., None]] = {"serve": serve, "keep": keep, "knock": knock, "crowd": crowd}
    calls[sys.argv[1]](*sys.argv[2:])
