"""The folder of one run for temporary files: captured data lies there, so no other user may open it.

The folder is removed at the end of the run. That of a run that was killed is removed by the next run of the same user.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.interrupt import defer_interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator


SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - folders of one run each, made by mkdtemp


def memory_folder() -> Path:
    """Return the folder whose files stay in memory, or that of temporary files where there is none."""
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


@contextmanager
def run_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder of mode 0700 in `parent`, by default where the user's temporary files are."""
    parent = parent or Path(tempfile.gettempdir())
    prefix = f"{_prefix()}{os.getpid()}-"
    with defer_interrupts():
        _remove_stale_folders(parent)
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
    try:
        yield Path(folder.name)
    finally:
        with defer_interrupts():
            folder.cleanup()


def _prefix() -> str:
    return f"leadsman-{os.getuid()}-"


def stale_folders(parent: Path) -> Iterator[Path]:
    """Yield the folders of our processes that were killed."""
    for folder in parent.glob(f"{_prefix()}*-*"):
        pid = owner_pid(folder)
        if pid is not None and not Path("/proc", str(pid)).exists():
            yield folder


def owner_pid(folder: Path) -> int | None:
    """Return the process id that made such a folder; None where its name is another one."""
    pid = folder.name.removeprefix(_prefix()).partition("-")[0]
    return int(pid) if pid.isdecimal() and pid.isascii() else None


def _remove_stale_folders(parent: Path) -> None:
    for folder in stale_folders(parent):
        with suppress(OSError):
            shutil.rmtree(folder)
