"""A TCP forwarder that can lose what a network loses: the FIN of the other end.

    client --- forwarder --- broker

OPEN forwards a broker's FIN, as a good network does, and nothing is harmed. HALF_OPEN keeps the FIN back: the client
takes its connection for open until its next bytes are answered by a reset, as after a cut by NAT, firewall or a
frozen machine. SILENT answers nothing at all: the client waits until its own timeout.

With `idle_timeout` the path forgets connections, as a NAT does: one that was idle for so long is cut in the manner of
`path`, and neither the broker nor the client is notified.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from datetime import timedelta

BLOCK = 65_536
"""Bytes copied at once. A larger block is no faster on loopback."""

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER on with zero seconds: close() sends RST instead of FIN."""


class PathBehaviour(StrEnum):
    """How the forwarder treats a connection that the broker has closed."""

    OPEN = "open"
    HALF_OPEN = "half_open"
    SILENT = "silent"


@dataclass(slots=True)
class ForwarderCounts:
    """Counts of the forwarder's connections, for tests and for the record."""

    connections: int = 0
    closed_by_broker: int = 0
    reset: int = 0
    swallowed: int = 0


@dataclass(slots=True)
class Forwarder:
    """Listens on a free port of 127.0.0.1 from the moment it exists; forwards to `target` from when that is set.

    The port comes first because a broker needs its advertised listeners before it starts.
    """

    path: PathBehaviour = PathBehaviour.OPEN
    target: tuple[str, int] | None = None
    idle_timeout: timedelta | None = None
    counts: ForwarderCounts = field(default_factory=ForwarderCounts)
    _listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0), backlog=100))
    _sockets: set[socket.socket] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    @property
    def port(self) -> int:
        """The port for clients."""
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name=f"forwarder-{self.port}", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            sockets = list(self._sockets)
        for sock in (self._listener, *sockets):
            _close(sock)

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed: the end
            while True:
                client, _ = self._listener.accept()
                self._join(client)

    def _join(self, client: socket.socket) -> None:
        try:
            assert self.target is not None
            broker = socket.create_connection(self.target, timeout=10)
        except (OSError, AssertionError):
            _reset(client)  # as if nothing listened here
            return
        connection = _Connection(self, client, broker)
        for sock in (client, broker):
            sock.settimeout(None)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self.counts.connections += 1
            self._sockets |= {client, broker}
            closed = self._closed
        if closed:  # while the connection to the broker was opened
            self.close_connection(client, broker)
            return
        for pump in (connection.to_broker, connection.to_client):
            threading.Thread(target=pump, daemon=True).start()

    def close_connection(self, *sockets: socket.socket) -> None:
        """Close both ends of a connection and drop them."""
        for sock in sockets:
            _close(sock)
        with self._lock:
            self._sockets -= set(sockets)


@dataclass(slots=True)
class _Connection:
    forwarder: Forwarder
    client: socket.socket
    broker: socket.socket
    cut: PathBehaviour | None = None
    """Set once the broker has closed and the client has not received the FIN."""
    client_closed: bool = False
    """Set once the client has closed: a close of the broker's side is then the forwarder's own."""
    last_used: float = field(default_factory=time.monotonic)
    """When bytes were last forwarded in either direction."""

    def expire_if_idle(self) -> None:
        """Cut the connection if it was idle for too long. Called when the next bytes come, as in a NAT."""
        limit, now = self.forwarder.idle_timeout, time.monotonic()
        if limit is not None and self.cut is None and now - self.last_used >= limit.total_seconds():
            self.cut = self.forwarder.path
        self.last_used = now

    def to_broker(self) -> None:
        with suppress(OSError):
            while block := self.client.recv(BLOCK):
                self.expire_if_idle()
                if self.cut is PathBehaviour.HALF_OPEN:
                    self.forwarder.counts.reset += 1
                    self.forwarder.close_connection(self.broker)
                    _reset(self.client)
                    return
                if self.cut is PathBehaviour.SILENT:
                    self.forwarder.counts.swallowed += len(block)
                    continue
                self.broker.sendall(block)
        self.client_closed = True
        self.forwarder.close_connection(self.client, self.broker)

    def to_client(self) -> None:
        with suppress(OSError):
            while block := self.broker.recv(BLOCK):
                self.expire_if_idle()
                if self.cut is None:
                    self.client.sendall(block)
        if self.client_closed:
            return
        self.forwarder.counts.closed_by_broker += 1
        if self.forwarder.path is PathBehaviour.OPEN:
            with suppress(OSError):
                self.client.shutdown(socket.SHUT_WR)
        else:
            self.cut = self.forwarder.path


def _reset(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    sock.close()


def _close(sock: socket.socket) -> None:
    """Shut down first: close() alone leaves a thread in recv(), and the kernel sends no FIN while it is there."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
