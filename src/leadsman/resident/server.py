"""The daemon: one warm Spark session, and one command at a time for the user who started it.

A command runs here as it would in a process of its own: with the client's words, folder, environment and terminal. One
that needs another session is sent back. After one that was interrupted the daemon begins anew: nobody knows what a
broken-off call left behind.
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

from leadsman.resident.client import ACCEPTED, peer_of
from leadsman.resident.place import address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

STOP = "stop"
STATUS = "status"
KEPT = ("PYSPARK_", "SPARK_", "JAVA_HOME")
"""Of the environment, what the session here was started with."""

REQUEST_SECONDS = 5
STANDARD = 3
"""Input, output and errors: a client hands over its own."""


class NotHere(BaseException):
    """A command needs a session other than the daemon's. No error: it is run where it was called."""


IS_DAEMON = False


def serve(run: Callable[[Sequence[str]], int], *, idle_seconds: float) -> bool:
    """Answer until told to stop or until nobody has asked for so long. Return whether to begin anew.

    `run` runs a command line and returns its exit code.
    """
    global IS_DAEMON  # noqa: PLW0603 - `session` asks; there is one daemon a process
    IS_DAEMON = True
    place = address()
    with _listening(place) as listener:
        listener.settimeout(idle_seconds)
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                return False
            with connection, suppress(OSError, ValueError):
                if peer_of(connection) != os.getuid():
                    continue
                asked, files = _request(connection)
                if asked.get("do") == STATUS:
                    _say(connection, {"pid": os.getpid(), "idle_seconds": idle_seconds})
                elif asked.get("do") == STOP:
                    _say(connection, {"pid": os.getpid()})
                    return False
                elif len(files) == STANDARD and _ran(run, connection, asked, files):
                    return True


@contextmanager
def _listening(place: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        place.unlink(missing_ok=True)
        listener.bind(str(place))
        place.chmod(0o600)
        listener.listen(4)
        try:
            yield listener
        finally:
            place.unlink(missing_ok=True)


def _request(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    connection.settimeout(REQUEST_SECONDS)
    connection.sendall(ACCEPTED)
    kind, files, _, _ = socket.recv_fds(connection, 1, STANDARD)
    line = b""
    while kind and not line.endswith(b"\n"):
        part = connection.recv(1 << 16)
        if not part:
            break
        line += part
    connection.settimeout(None)
    asked: dict[str, Any] = json.loads(line)
    return asked, files


def _say(connection: socket.socket, answer: Mapping[str, Any]) -> None:
    connection.sendall(json.dumps(answer).encode() + b"\n")


def _ran(
    run: Callable[[Sequence[str]], int], connection: socket.socket, asked: Mapping[str, Any], files: Sequence[int]
) -> bool:
    """Run a command for the client; return whether it was interrupted."""
    interrupted = threading.Event()
    ended = threading.Event()
    code: int | None
    with _as_the_client(asked, files):
        threading.Thread(target=_watch, args=(connection, interrupted, ended), daemon=True).start()
        try:
            code = run(asked["words"])
        except NotHere:
            code = None
        finally:
            ended.set()
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
    with suppress(OSError):
        _say(connection, {"code": code})
    return interrupted.is_set()


def _watch(connection: socket.socket, interrupted: threading.Event, ended: threading.Event) -> None:
    """Interrupt the command when its client is, or is gone."""
    with suppress(OSError):
        connection.recv(1 << 10)
    if not ended.is_set():
        interrupted.set()
        os.kill(os.getpid(), signal.SIGINT)


@contextmanager
def _as_the_client(asked: Mapping[str, Any], files: Sequence[int]) -> Iterator[None]:
    own = [os.dup(number) for number in (0, 1, 2)]
    environment = dict(os.environ)
    handler = signal.getsignal(signal.SIGINT)
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        kept = {name: value for name, value in environment.items() if name.startswith(KEPT)}
        os.environ.clear()
        os.environ.update({**asked["environment"], **kept})
        os.chdir(asked["folder"])
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for number, file in enumerate(own):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir("/")
