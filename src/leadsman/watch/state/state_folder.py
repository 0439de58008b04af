"""The folder of a watch's state: made where it is not there, and locked by one watch at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leadsman.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK = "lock"
"""The file that a running watch has locked; it holds the watch's process id."""

FOLDERS = ("checkpoint", "events", "positions", "sources")
"""Folders of a state, as far as another program could have a file of that name."""

WITHOUT_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP)
"""Errors of file systems that know no locks."""


@contextmanager
def locked_state(folder: Path, mode: int) -> Iterator[None]:
    """Make the folder with these permissions, and lock it until the end of the block, or of this process.

    Raises StateError where the folder cannot be written, is no state, or is locked by another watch.
    """
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(f"The folder of the state, {folder}, cannot be written: {error.strerror}.") from error
    try:
        _lock(descriptor, folder)
        if strange := [name for name in FOLDERS if (folder / name).exists() and not (folder / name).is_dir()]:
            raise StateError(
                f"{folder} is no state of a watch: {strange[0]} in it is a file. Give another --to folder."
            )
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        pid = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        holder = f"another watch (process {pid})" if pid else "another watch"
        raise StateError(
            f"The state in {folder} is in use by {holder}. Stop it, or give another --to folder."
        ) from error
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise StateError(f"The folder of the state, {folder}, cannot be locked: {error.strerror}.") from error
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        raise StateError(f"The folder of the state, {folder}, cannot be written: {error.strerror}.") from error
