"""Files and folders that are written beside the old ones and take their place when they are complete.

A reader sees the old content or the new one. A full disk or an interrupt leaves the old one.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NO_SPACE = os.strerror(errno.ENOSPC)


@contextmanager
def replaced_file(path: Path, *, errors: str = "strict") -> Iterator[TextIO]:
    """Open a new file that replaces `path` at the end of the block. LeadsmanError where it cannot be written."""
    fresh = _beside(path)
    with _reported(path), _removed_on_error(fresh):
        with fresh.open("w", encoding="utf-8", errors=errors) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Yield a path beside `path`; the folder that the block makes there replaces `path` at the end."""
    fresh, old = _beside(path), path.with_name(f".{path.name}.{os.getpid()}.old")
    with _reported(path), _removed_on_error(fresh):
        yield fresh
        if not fresh.exists():
            return  # the executors of a cluster wrote to their own machines
        with suppress(FileNotFoundError):
            path.replace(old)
        fresh.replace(path)
        _remove(old)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def _removed_on_error(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _remove(path)
        raise


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not isinstance(error, OSError) and NO_SPACE not in str(error):  # Spark's writers raise their own errors
            raise
        reason = (error.strerror if isinstance(error, OSError) else None) or NO_SPACE
        kept = "What was there before is unchanged. " if path.exists() else ""
        raise LeadsmanError(
            f"Cannot write {path}: {reason}. {kept}Make room there, or choose another folder with --out."
        ) from error


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
