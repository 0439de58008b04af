"""Recordings of several modes in one folder, as if of one cluster."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leadsman.catalogue import Mode

CLUSTER_OF_THE_LAB = re.compile(rb"bGFi[\w-]{18}")


def broken_recording(mode: Mode) -> Path:
    """Return the mode's first broken recording."""
    return next(path for path in mode.recordings() if path.name.startswith("broken"))


def merge_recordings(modes: Iterable[Mode], folder: Path) -> None:
    """Write a broken recording of each mode into the folder."""
    for mode in modes:
        shutil.copytree(broken_recording(mode), folder / mode.name, ignore=shutil.ignore_patterns("manifest.json"))
    for file in filter(Path.is_file, folder.rglob("*")):
        file.write_bytes(CLUSTER_OF_THE_LAB.sub(b"bGFi" + 18 * b"A", file.read_bytes()))
