"""Copies standard input and pipes to private files: several processes read an input, and more than once."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import CaptureError, LeadsmanError, UsageError
from leadsman.pipeline.scope.streams import File
from leadsman.run_folder import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

STANDARD_INPUT = "-"
PROCESS_FILES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
PIECE_BYTES = 1 << 20


@contextmanager
def spool_pipes(paths: Sequence[str]) -> Iterator[Mapping[str, File]]:
    """Yield a file with the content of each path that is a pipe or standard input. The files are deleted at the end.

    Raises UsageError where one is a terminal, CaptureError where one is empty.
    """
    pipes = [path for path in dict.fromkeys(paths) if is_pipe(path)]
    if not pipes:
        yield {}
        return
    with run_folder() as folder:
        yield {path: _file(path, folder / str(number)) for number, path in enumerate(pipes)}


def is_pipe(path: str) -> bool:
    """Say whether a path can be read only once: a pipe, or standard input."""
    if path == STANDARD_INPUT:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or (path.startswith(PROCESS_FILES) and not stat.S_ISREG(mode))


def _file(path: str, target: Path) -> File:
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        size = _copy(path, name, target)
    except OSError as error:
        raise LeadsmanError(
            f"{_capitalize(name)} cannot be copied to {target.parent.parent}: {error.strerror}. Set TMPDIR to "
            "another folder."
        ) from error
    if not size:
        raise CaptureError(f"Nothing to read: {name} is empty. Check the output of the command before the pipe.")
    return File(str(target), name, size, datetime.now(UTC))


def _copy(path: str, name: str, target: Path) -> int:
    with open(0 if path == STANDARD_INPUT else path, "rb", closefd=path != STANDARD_INPUT) as pipe:
        if os.isatty(pipe.fileno()):
            raise UsageError(
                f"{_capitalize(name)} is a terminal. Pipe logs into it: kubectl logs POD | leadsman diagnose -"
            )
        with target.open("wb") as file:
            shutil.copyfileobj(pipe, file, PIECE_BYTES)
            return file.tell()


def _capitalize(name: str) -> str:
    return name[:1].upper() + name[1:]
