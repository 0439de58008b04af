"""The daemon: one running Spark session, and one command at a time for the user who started it.

A command runs here as in its own process: with the client's arguments, folder, environment and standard streams. A
command that needs another session is refused. After an interrupted command the daemon restarts: the state that an
interrupted call leaves behind is unknown.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from leadsman.daemon.client import ACCEPTED_BYTE, peer_uid
from leadsman.daemon.sockets import socket_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

STOP = "stop"
STATUS = "status"
KEPT_ENVIRONMENT = ("PYSPARK_", "SPARK_", "JAVA_HOME")
"""Prefixes of the environment variables of the daemon that stay: its session was started with them."""

REQUEST_SECONDS = 5
STANDARD_STREAMS = 3
"""Standard input, output and error: a client sends its own."""


class NeedsOwnProcess(BaseException):
    """A command needs another session than the daemon's. This is no error: the client runs the command itself."""


IS_DAEMON = False


def serve(run: Callable[[Sequence[str]], int], is_usable: Callable[[], bool], *, idle_seconds: float) -> bool:
    """Run commands until a stop request, or until `idle_seconds` pass without a request. Return whether to restart.

    `run` runs a command line and returns its exit code. Where the session is no longer usable, as after the kill of its
    JVM, the client runs its command itself, and the daemon restarts.
    """
    global IS_DAEMON  # noqa: PLW0603 - `session` reads it; a process is one daemon at most
    IS_DAEMON = True
    socket_file = socket_path()
    with _listen(socket_file) as listener:
        listener.settimeout(idle_seconds)
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                return False
            restart: bool | None = None
            with connection, suppress(OSError, ValueError):
                restart = _answer(connection, run, is_usable, idle_seconds)
            if restart is not None:
                return restart


def _answer(
    connection: socket.socket,
    run: Callable[[Sequence[str]], int],
    is_usable: Callable[[], bool],
    idle_seconds: float,
) -> bool | None:
    """Answer a request. Return whether to restart the daemon where it is to end, None where it goes on."""
    if peer_uid(connection) != os.getuid():
        return None
    request, files = _read_request(connection)
    if request.get("do") == STATUS:
        _respond(connection, {"pid": os.getpid(), "idle_seconds": idle_seconds})
    elif request.get("do") == STOP:
        _respond(connection, {"pid": os.getpid()})
        return False
    elif len(files) == STANDARD_STREAMS:
        if not is_usable():
            for file in files:
                os.close(file)
            _respond(connection, {"code": None})
            return True
        if _run_for_client(run, connection, request, files):
            return True
    return None


@contextmanager
def _listen(socket_file: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        socket_file.unlink(missing_ok=True)
        listener.bind(str(socket_file))
        socket_file.chmod(0o600)
        listener.listen(4)
        try:
            yield listener
        finally:
            socket_file.unlink(missing_ok=True)


def _read_request(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    connection.settimeout(REQUEST_SECONDS)
    connection.sendall(ACCEPTED_BYTE)
    kind, files, _, _ = socket.recv_fds(connection, 1, STANDARD_STREAMS)
    line = b""
    while kind and not line.endswith(b"\n"):
        part = connection.recv(1 << 16)
        if not part:
            break
        line += part
    connection.settimeout(None)
    request: dict[str, Any] = json.loads(line)
    return request, files


def _respond(connection: socket.socket, response: Mapping[str, Any]) -> None:
    connection.sendall(json.dumps(response).encode() + b"\n")


def _run_for_client(
    run: Callable[[Sequence[str]], int], connection: socket.socket, request: Mapping[str, Any], files: Sequence[int]
) -> bool:
    """Run a command for the client; return whether the command was interrupted."""
    interrupted = threading.Event()
    ended = threading.Event()
    code: int | None
    with _client_environment(request, files):
        threading.Thread(target=_interrupt_with_client, args=(connection, interrupted, ended), daemon=True).start()
        try:
            code = run(request["arguments"])
        except NeedsOwnProcess:
            code = None
        finally:
            ended.set()
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
    with suppress(OSError):
        _respond(connection, {"code": code})
    return interrupted.is_set()


def _interrupt_with_client(connection: socket.socket, interrupted: threading.Event, ended: threading.Event) -> None:
    """Interrupt the command when its client is interrupted or has ended."""
    with suppress(OSError):
        connection.recv(1 << 10)
    if not ended.is_set():
        interrupted.set()
        os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def _client_environment(request: Mapping[str, Any], files: Sequence[int]) -> Iterator[None]:
    own = [os.dup(number) for number in (0, 1, 2)]
    environment = dict(os.environ)
    handler = signal.getsignal(signal.SIGINT)
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        session_variables = {name: value for name, value in environment.items() if name.startswith(KEPT_ENVIRONMENT)}
        os.environ.clear()
        os.environ.update({**request["environment"], **session_variables})
        os.chdir(request["folder"])
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for number, file in enumerate(own):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir("/")
