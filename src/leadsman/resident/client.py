"""Hands a command to the user's daemon, where one runs: its words, its folder, its environment and its terminal.

Only the standard library is loaded: this is what makes the second diagnosis of a small capture take a second.
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

from leadsman.errors import LeadsmanError
from leadsman.resident.place import address, addresses

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = ("diagnose", "changes")
"""What needs Spark and nothing else of the machine."""

OWN = ("--master", "--remote", "--spark-conf", "--executors", "--table", "--help", "-h", "-")
"""With these a command needs a session of its own, or none."""

SWITCH = "LEADSMAN_DAEMON"
ACCEPTED = b"+"
SOON = 0.3
"""Seconds until a daemon that is free has answered. One that is busy with another command takes longer."""


def handed_over(words: Sequence[str]) -> int | None:
    """Return the exit code of a command that the daemon ran; None where this process has to run it."""
    if not words or words[0] not in COMMANDS or os.environ.get(SWITCH) == "off":
        return None
    if not addresses() or _needs_own(words):
        return None
    try:
        connection = connected(address())
    except (OSError, LeadsmanError):
        return None
    with connection:
        return _asked(connection, words)


def connected(place: Path) -> socket.socket:
    """Return a connection to the daemon at a socket. Raises OSError where none listens that is ours and free."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(SOON)
        connection.connect(str(place))
        _greet(connection)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection


def _greet(connection: socket.socket) -> None:
    if peer_of(connection) != os.getuid() or connection.recv(1) != ACCEPTED:
        raise ConnectionRefusedError


def peer_of(connection: socket.socket) -> int:
    """Return the user at the other end, as the kernel says."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", told)[1])


def _asked(connection: socket.socket, words: Sequence[str]) -> int | None:
    request = {"words": list(words), "folder": str(Path.cwd()), "environment": dict(os.environ)}
    try:
        socket.send_fds(connection, [b"f"], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        answer = _answer(connection)
    except KeyboardInterrupt:
        connection.sendall(b"interrupt\n")
        answer = _answer(connection)
    except OSError:
        return None
    code: int | None = answer.get("code")
    return code


def _answer(connection: socket.socket) -> dict[str, Any]:
    """Return what the daemon says at the end. Raises SystemExit where it is gone without a word."""
    with connection.makefile("rb") as stream:
        line = stream.readline()
    if not line:
        sys.stderr.write("leadsman: the daemon ended while it ran this command. Run it again; it works without.\n")
        raise SystemExit(2)
    told: dict[str, Any] = json.loads(line)
    return told


def _needs_own(words: Sequence[str]) -> bool:
    return any(word.partition("=")[0] in OWN or _is_of_this_process(word) for word in words[1:])


def _is_of_this_process(word: str) -> bool:
    """Whether a word is a pipe, which another process cannot open, or can read only once."""
    if word.startswith(("/dev/fd/", "/proc/self/", "/dev/stdin")):
        return True
    try:
        mode = Path(word).stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
