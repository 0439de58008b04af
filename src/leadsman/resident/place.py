"""Where a user's daemon listens: a socket in a folder that nobody else can enter, one for each state of our code."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parent.parent


def folder() -> Path:
    """Return the folder of the sockets. Raises LeadsmanError where there is none, or somebody else may enter it."""
    place = _place()
    try:
        found = place.lstat()
    except OSError as error:
        raise LeadsmanError(f"No daemon of yours was ever started: there is no {place}.") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise LeadsmanError(f"{place} is not a folder of yours alone: no daemon is used. Remove it, or chmod 700 it.")
    return place


def made_folder() -> Path:
    """Return the folder of the sockets, made where it is not there."""
    if not _place().exists():
        _place().mkdir(mode=0o700, parents=True)
    return folder()


def _place() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime, "leadsman") if runtime else Path(tempfile.gettempdir(), f"leadsman-daemon-{os.getuid()}")


def address() -> Path:
    """Return the socket of a daemon that runs just this code: another version's answers would be another's."""
    return folder() / f"{fingerprint()}.sock"


def addresses() -> list[Path]:
    """Return the sockets of all daemons of this user."""
    with suppress(LeadsmanError):
        return sorted(folder().glob("*.sock"))
    return []


def fingerprint() -> str:
    """Return what tells this code, and the Python that runs it, from any other: names, sizes and times of its files."""
    told = hashlib.sha256(f"{sys.executable} {sys.version}".encode())
    for path, size, changed in sorted(_files(str(PACKAGE))):
        told.update(f"{path} {size} {changed}\n".encode())
    return told.hexdigest()[:16]


def _files(place: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(place):
        if entry.is_dir() and entry.name not in ("recorded", "__pycache__"):
            yield from _files(entry.path)
        elif entry.name.endswith((".py", ".json")):
            found = entry.stat()
            yield entry.path, found.st_size, found.st_mtime_ns
