"""What the forwarder loses, and what it does not."""

from __future__ import annotations

import socket
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.lab import faults
from leadsman.lab.network.forwarder import Forwarder, PathBehaviour
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

SOON = timedelta(seconds=10)
SILENCE_SECONDS = 0.5


@pytest.fixture
def broker() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SOON.total_seconds())
        yield listener


@pytest.fixture
def forwarder(broker: socket.socket) -> Iterator[Forwarder]:
    with Forwarder(target=broker.getsockname()) as running:
        yield running


def connected(forwarder: Forwarder, broker: socket.socket) -> tuple[socket.socket, socket.socket]:
    client = socket.create_connection(("127.0.0.1", forwarder.port), timeout=SOON.total_seconds())
    accepted, _ = broker.accept()
    accepted.settimeout(SOON.total_seconds())
    return client, accepted


def closed_by_broker(forwarder: Forwarder, broker: socket.socket) -> socket.socket:
    client, accepted = connected(forwarder, broker)
    before = forwarder.counts.closed_by_broker
    accepted.close()
    wait_for(lambda: forwarder.counts.closed_by_broker > before, timeout=SOON, what="the broker's close")
    return client


def test_bytes_go_both_ways(forwarder: Forwarder, broker: socket.socket) -> None:
    client, accepted = connected(forwarder, broker)

    client.sendall(b"ahoy")
    accepted.sendall(b"aye")

    assert accepted.recv(10) == b"ahoy"
    assert client.recv(10) == b"aye"


def test_an_open_path_hands_the_close_on(forwarder: Forwarder, broker: socket.socket) -> None:
    client = closed_by_broker(forwarder, broker)

    assert client.recv(10) == b""


def test_on_a_half_open_path_the_next_bytes_meet_a_reset(forwarder: Forwarder, broker: socket.socket) -> None:
    with faults.path(forwarder, PathBehaviour.HALF_OPEN):
        client = closed_by_broker(forwarder, broker)
        client.settimeout(SILENCE_SECONDS)
        with pytest.raises(TimeoutError):
            client.recv(10)

        client.sendall(b"ahoy")
        client.settimeout(SOON.total_seconds())

        with pytest.raises(ConnectionResetError):
            client.recv(10)
    assert forwarder.counts.reset == 1


def test_on_a_silent_path_the_next_bytes_meet_nothing(forwarder: Forwarder, broker: socket.socket) -> None:
    with faults.path(forwarder, PathBehaviour.SILENT):
        client = closed_by_broker(forwarder, broker)

        client.sendall(b"ahoy")
        client.settimeout(SILENCE_SECONDS)

        with pytest.raises(TimeoutError):
            client.recv(10)
    wait_for(lambda: forwarder.counts.swallowed == len(b"ahoy"), timeout=SOON, what="the bytes to be swallowed")


def test_the_fault_is_undone(forwarder: Forwarder, broker: socket.socket) -> None:
    with faults.path(forwarder, PathBehaviour.HALF_OPEN):
        pass

    client = closed_by_broker(forwarder, broker)

    assert client.recv(10) == b""


@pytest.mark.parametrize("kind", list(PathBehaviour))
def test_a_client_that_closes_first_is_believed(
    forwarder: Forwarder, broker: socket.socket, kind: PathBehaviour
) -> None:
    with faults.path(forwarder, kind):
        client, accepted = connected(forwarder, broker)

        client.close()

        assert accepted.recv(10) == b""
    assert forwarder.counts.closed_by_broker == 0


def test_where_nothing_listens_the_client_is_reset() -> None:
    with Forwarder(target=("127.0.0.1", 1)) as forwarder:
        address = ("127.0.0.1", forwarder.port)

        with pytest.raises(ConnectionResetError):  # by connect already, where the reset is quicker
            socket.create_connection(address, timeout=SOON.total_seconds()).recv(10)


def test_leaving_closes_every_connection(broker: socket.socket) -> None:
    with Forwarder(target=broker.getsockname()) as forwarder:
        client, _accepted = connected(forwarder, broker)

    assert client.recv(10) == b""


def test_a_path_that_forgets_by_itself_swallows_what_comes_after_a_quiet_time(broker: socket.socket) -> None:
    limit = timedelta(seconds=SILENCE_SECONDS)
    with Forwarder(target=broker.getsockname(), path=PathBehaviour.SILENT, idle_timeout=limit) as forwarder:
        client, accepted = connected(forwarder, broker)
        client.sendall(b"ahoy")
        before = accepted.recv(10)
        threading.Event().wait(2 * SILENCE_SECONDS)  # reason: the quiet time is the experiment
        client.sendall(b"again")
        wait_for(lambda: forwarder.counts.swallowed == len(b"again"), timeout=SOON, what="the bytes to be swallowed")
        accepted.settimeout(SILENCE_SECONDS)

        with pytest.raises(TimeoutError):
            accepted.recv(10)
        closed = forwarder.counts.closed_by_broker

    assert before == b"ahoy"
    assert closed == 0
