"""Sends a command to the user's daemon, if one runs: its arguments, folder, environment and standard streams.

Only the standard library is loaded: so the second diagnosis of a small capture takes one second.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.daemon.sockets import socket_path, socket_paths
from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Sequence

DAEMON_COMMANDS = ("diagnose", "changes")
"""Commands that need Spark and no other resource of the machine."""

OWN_SESSION_OPTIONS = ("--master", "--remote", "--spark-conf", "--executors", "--table", "--help", "-h", "-")
"""With one of these options a command needs its own session, or none."""

DISABLE_VARIABLE = "LEADSMAN_DAEMON"
ACCEPTED_BYTE = b"+"
DAEMON_ANSWER_SECONDS = 0.3
"""An idle daemon responds within this time. A daemon that runs another command takes longer."""


def run_in_daemon(arguments: Sequence[str]) -> int | None:
    """Run a command in the daemon and return its exit code; None where this process must run the command."""
    if not arguments or arguments[0] not in DAEMON_COMMANDS or os.environ.get(DISABLE_VARIABLE) == "off":
        return None
    if not socket_paths() or _needs_own_session(arguments):
        return None
    try:
        connection = connect(socket_path())
    except (OSError, LeadsmanError):
        return None
    with connection:
        return _send_command(connection, arguments)


def connect(socket_file: Path) -> socket.socket:
    """Return a connection to the daemon at a socket. Raises OSError where no idle daemon of this user listens."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(DAEMON_ANSWER_SECONDS)
        connection.connect(str(socket_file))
        _check_peer(connection)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_peer(connection: socket.socket) -> None:
    if peer_uid(connection) != os.getuid() or connection.recv(1) != ACCEPTED_BYTE:
        raise ConnectionRefusedError


def peer_uid(connection: socket.socket) -> int:
    """Return the user id of the process at the other end, from the kernel."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])


def _send_command(connection: socket.socket, arguments: Sequence[str]) -> int | None:
    request = {"arguments": list(arguments), "folder": str(Path.cwd()), "environment": dict(os.environ)}
    try:
        socket.send_fds(connection, [b"f"], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        response = _read_response(connection)
    except KeyboardInterrupt:
        connection.sendall(b"interrupt\n")
        response = _read_response(connection)
    except OSError:
        return None
    code: int | None = response.get("code")
    return code


def _read_response(connection: socket.socket) -> dict[str, Any]:
    """Return the daemon's response. Raises SystemExit where the daemon ended without one."""
    with connection.makefile("rb") as stream:
        line = stream.readline()
    if not line:
        sys.stderr.write("leadsman: the daemon ended during this command. Run the command again: it needs no daemon.\n")
        raise SystemExit(2)
    response: dict[str, Any] = json.loads(line)
    return response


def _needs_own_session(arguments: Sequence[str]) -> bool:
    return any(each.partition("=")[0] in OWN_SESSION_OPTIONS or _is_pipe(each) for each in arguments[1:])


def _is_pipe(path: str) -> bool:
    """Whether an argument is a pipe: another process cannot open a pipe, or can read it only once."""
    if path.startswith(("/dev/fd/", "/proc/self/", "/dev/stdin")):
        return True
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
