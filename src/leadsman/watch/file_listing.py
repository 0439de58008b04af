"""Lists the watched files, and how far each can be read: to the end of its last whole line."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import CaptureError
from leadsman.pipeline.read.blocks import is_plain
from leadsman.pipeline.request import list_captures
from leadsman.watch.positions import FilePosition, StreamPosition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leadsman.pipeline.scope.streams import File
    from leadsman.watch.positions import Positions

MAX_TRIGGER_BYTES = 64 << 20
"""Bytes that one trigger reads: two seconds of work on two cores. What is left follows in the next one."""

LINE_TIMEOUT_SECONDS = 5.0
"""A file that did not change for so long ends with its last byte: the program wrote no newline behind its last line."""

LOOKBACK_BYTES = 1 << 16
"""Bytes above the end in which the last newline is looked for first; most lines are shorter."""

LONGEST_LINE_BYTES = 16 << 20
"""A longer line is read in pieces."""


@dataclass(slots=True)
class Budget:
    """The bytes that are left of one trigger."""

    bytes: int

    def take(self, size: int) -> int:
        """Return how many of the bytes can be read in this trigger."""
        taken = min(size, self.bytes)
        self.bytes -= taken
        return taken


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The files below some paths, as they grow, are renamed, and come and go."""

    paths: Sequence[str]
    max_bytes: int = MAX_TRIGGER_BYTES

    def positions(self, earlier: Positions, number: int) -> Positions:
        """Return how far each stream can be read in the offset `number`, after `earlier`. Streams never vanish."""
        budget = Budget(self.max_bytes)
        positions = dict(earlier)
        for capture, name, files in _streams(self.paths):
            before = earlier.get((capture, name))
            assert before is None or isinstance(before, StreamPosition)
            known = {each.key: each for each in before.files} if before else {}
            ends = [each for file in files if (each := _position(file, known, budget)) is not None]
            now = StreamPosition(capture, name, tuple(ends), number)
            if ends and (before is None or not now.is_as_far_as(before)):
                positions[now.key] = now
        return positions


def _streams(paths: Sequence[str]) -> Iterator[tuple[str, str, Sequence[File]]]:
    for path in dict.fromkeys(paths):
        try:
            captures = list_captures(path)
        except CaptureError:
            continue  # it is not there yet, or not now
        for capture, found in captures.items():
            yield from ((capture, stream.name, stream.files) for stream in found.streams)


def _position(file: File, known: Mapping[str, FilePosition], budget: Budget) -> FilePosition | None:
    """Return how far a file can be read; None where it vanished."""
    try:
        status = Path(file.path).stat()
        identity = f"{status.st_dev}:{status.st_ino}"
        key, before = _identify(identity, status.st_size, known)
        end = _readable_end(file.path, before, status, budget)
    except OSError:
        return None
    return FilePosition(file.path, file.name, key, end, status.st_size, status.st_mtime_ns // 1000)


def _identify(identity: str, size: int, known: Mapping[str, FilePosition]) -> tuple[str, int]:
    """Return the key of a file and how far it was read. A file that was truncated in place is a new one."""
    generation = 0
    while (each := known.get(f"{identity}:{generation}")) is not None:
        if size >= each.end:
            return each.key, each.end
        generation += 1
    return f"{identity}:{generation}", 0


def _readable_end(path: str, before: int, status: os.stat_result, budget: Budget) -> int:
    if status.st_size == before:
        return before
    if not is_plain(path):
        return status.st_size
    limit = before + budget.take(status.st_size - before)
    is_complete = limit == status.st_size and time.time() - status.st_mtime > LINE_TIMEOUT_SECONDS
    return limit if is_complete else line_end(path, before, limit)


def line_end(path: str, begin: int, limit: int) -> int:
    """Return the offset behind the last newline between two offsets; `begin` where there is none."""
    with Path(path).open("rb", buffering=0) as raw:
        size = LOOKBACK_BYTES
        while True:
            since = max(begin, limit - size)
            newline = os.pread(raw.fileno(), limit - since, since).rfind(b"\n")
            if newline >= 0:
                return since + newline + 1
            if since == begin:
                return limit if limit - begin >= LONGEST_LINE_BYTES else begin
            size *= 8


def whole(position: FilePosition) -> FilePosition:
    """Return the position at the end of the file."""
    return replace(position, end=position.size)
