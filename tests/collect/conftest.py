"""Probes that are ordinary commands of any Unix host."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from leadsman.collect.capture_folder import CaptureFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[[Callable[[socket.socket], None]], str]

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> CaptureFolder:
    """An open capture of a host that is called broker-1, whose clock stands at noon."""
    opened = CaptureFolder(path=tmp_path / "capture", subject="broker-1", ran="leadsman collect test", now=lambda: NOON)
    opened.open()
    return opened


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server that hands each connection to a function; return its address."""
    with ExitStack() as stack:

        def start(answer: Callable[[socket.socket], None]) -> str:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            threading.Thread(target=_accept, args=(server, answer), daemon=True).start()
            return f"127.0.0.1:{server.getsockname()[1]}"

        yield start


def _accept(server: socket.socket, answer: Callable[[socket.socket], None]) -> None:
    with suppress(OSError):
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_answer, args=(connection, answer), daemon=True).start()


def _answer(connection: socket.socket, answer: Callable[[socket.socket], None]) -> None:
    with connection, suppress(OSError):
        answer(connection)
