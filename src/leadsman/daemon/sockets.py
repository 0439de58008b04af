"""The sockets of a user's daemons, in a folder that only this user can enter: one for each version of the code."""

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


def socket_folder() -> Path:
    """Return the folder of the sockets. Raises LeadsmanError where it does not exist, or other users can enter it."""
    folder = _socket_folder_path()
    try:
        status = folder.lstat()
    except OSError as error:
        raise LeadsmanError(f"No daemon was ever started: {folder} does not exist.") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise LeadsmanError(
            f"Other users can enter {folder}, so no daemon is used. Remove the folder, or chmod 700 it."
        )
    return folder


def create_socket_folder() -> Path:
    """Return the folder of the sockets, and create it where it does not exist."""
    if not _socket_folder_path().exists():
        _socket_folder_path().mkdir(mode=0o700, parents=True)
    return socket_folder()


def _socket_folder_path() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime, "leadsman") if runtime else Path(tempfile.gettempdir(), f"leadsman-daemon-{os.getuid()}")


def socket_path() -> Path:
    """Return the socket of a daemon that runs this code: another version could give other results."""
    return socket_folder() / f"{code_fingerprint()}.sock"


def socket_paths() -> list[Path]:
    """Return the sockets of all daemons of this user."""
    with suppress(LeadsmanError):
        return sorted(socket_folder().glob("*.sock"))
    return []


def code_fingerprint() -> str:
    """Return a hash of this code and its Python: of the names, sizes and times of the files."""
    digest = hashlib.sha256(f"{sys.executable} {sys.version}".encode())
    for path, size, changed in sorted(_files(str(PACKAGE))):
        digest.update(f"{path} {size} {changed}\n".encode())
    return digest.hexdigest()[:16]


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(folder):
        if entry.is_dir() and entry.name not in ("recorded", "__pycache__"):
            yield from _files(entry.path)
        elif entry.name.endswith((".py", ".json")):
            status = entry.stat()
            yield entry.path, status.st_size, status.st_mtime_ns
