"""Class-data-sharing archives: the parsed classes of one class path, with which a JVM of that class path starts sooner.

An archive is kept for each Java and class path. A JVM writes it when it ends, under a temporary name; its size is kept
in a file beside it, because a truncated archive crashes a JVM.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.java.jars import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

DUMP_TIMEOUT = timedelta(minutes=5)
"""Writing an archive took 6 s on two idle cores and 70 s on two busy ones."""

UNUSED_AFTER = timedelta(days=30)


def archive_path(build: str, class_path: str) -> Path:
    """Return the path of the archive for a class path and a Java, which `java_build` identifies."""
    name = hashlib.sha256((build + class_path).encode()).hexdigest()[:24]
    return cache_folder() / "cds" / f"{name}.jsa"


def is_archive_complete(archive: Path) -> bool:
    """Say whether the archive is complete, by the size in the file beside it. A truncated one crashes the JVM."""
    try:
        return bool(json.loads(archive.with_suffix(".json").read_text())["bytes"] == archive.stat().st_size)
    except (OSError, ValueError, KeyError):
        return False


def read_option(archive: Path) -> str:
    """Return the JVM's option to start with the archive."""
    return f"-XX:SharedArchiveFile={archive}"


def write_option(archive: Path) -> str:
    """Return the JVM's option to write the archive when it ends; `publish` then gives it its name."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    return f"-XX:ArchiveClassesAtExit={_temporary_path(archive)}"


def publish(archive: Path, code: int) -> None:
    """Publish what a JVM that ended with this code has written: one rename, after its size is in a file beside it."""
    part = _temporary_path(archive)
    if code == 0 and part.exists():
        archive.with_suffix(".json").write_text(json.dumps({"bytes": part.stat().st_size}))
        part.replace(archive)
        remove_unused_archives(archive.parent, now=time.time())
    part.unlink(missing_ok=True)


def _temporary_path(archive: Path) -> Path:
    return archive.with_name(f".{archive.name}.{os.getpid()}")


def remove_unused_archives(folder: Path, *, now: float) -> None:
    """Remove archives that no JVM has read for UNUSED_AFTER: each upgrade and checkout writes 130 MB of its own."""
    for archive in folder.glob("*.jsa"):
        with suppress(OSError):  # another process may remove it, too
            state = archive.stat()
            if now - max(state.st_atime, state.st_mtime) > UNUSED_AFTER.total_seconds():
                archive.unlink()
                archive.with_suffix(".json").unlink(missing_ok=True)
