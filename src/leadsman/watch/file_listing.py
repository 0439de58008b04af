"""Lists the watched files, and how far each can be read: to the end of its last whole line."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import CaptureError
from leadsman.pipeline.read.blocks import is_plain
from leadsman.pipeline.request import list_captures
from leadsman.watch.file_identity import FoundFile, edges, identified
from leadsman.watch.positions import FilePosition, StreamPosition
from leadsman.watch.unchanged_copies import copies_among

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from leadsman.pipeline.scope.streams import File
    from leadsman.watch.positions import Positions

MAX_TRIGGER_BYTES = 64 << 20
"""Bytes that one trigger reads: two seconds of work on two cores. What is left follows in the next one."""

LINE_TIMEOUT_SECONDS = 5.0
"""Half a line is read when its file did not change for so long. It may be whole: a program that ended wrote no newline
behind its last line. Or a program writes blocks of 8 KB, as Python does into a file, and the rest follows."""

LOOKBACK_BYTES = 1 << 16
"""The last newline is looked for in so many bytes before the end first; most lines are shorter."""

LISTED_AGAIN_AFTER_SECONDS = 10.0
"""Files are listed so often although nothing changed: a copy counts as one when it has been unchanged for a minute, and
a folder can become readable. To list and identify 10,000 files takes half a second, to look at them 0.04 s."""

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


FileLook = tuple[str, int, int, int]
"""What the file system says of a file: its path, inode, size and modification time (ns)."""


@dataclass(slots=True)
class LastListing:
    """What a listing saw, and which streams it found. `at` is the clock's time (s)."""

    looks: Sequence[FileLook] = ()
    streams: Sequence[StreamPosition] = ()
    at: float = 0.0

    def holds(self, looks: Sequence[FileLook], positions: Positions) -> bool:
        """Whether nothing changed since, so that a listing after these positions would find nothing to read."""
        return (
            not self.is_old()
            and looks == self.looks
            and all(positions.get(each.key) is each for each in self.streams)
            and all(file.read_to == file.size for each in self.streams for file in each.files)
        )

    def is_old(self) -> bool:
        """Whether time alone can have changed something since."""
        return time.monotonic() - self.at >= LISTED_AGAIN_AFTER_SECONDS


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The files below some paths, as they grow, are renamed, and come and go; none in the folders `without`."""

    paths: Sequence[str]
    max_bytes: int = MAX_TRIGGER_BYTES
    without: Sequence[str] = ()
    _last: LastListing = field(default_factory=LastListing, compare=False, repr=False)

    def positions(self, earlier: Positions, query_offset: int) -> Positions:
        """Return how far each stream can be read in a query offset, after `earlier`. Streams never vanish."""
        looks = list(_looks(self.paths, self.without))
        if self._last.holds(looks, earlier):
            return dict(earlier)
        unchanged = set() if self._last.is_old() else {path for path, *_ in {*looks} & {*self._last.looks}}
        positions = self._listed_positions(earlier, query_offset, unchanged)
        self._last.looks = looks
        self._last.at = self._last.at if unchanged else time.monotonic()
        self._last.streams = [each for each in positions.values() if isinstance(each, StreamPosition)]
        return positions

    def _listed_positions(self, earlier: Positions, query_offset: int, unchanged: AbstractSet[str]) -> Positions:
        """Return the positions of a query offset. Of streams with `unchanged` files alone those of before are taken."""
        positions = dict(earlier)
        listed = list(self._listed(earlier, query_offset, unchanged))
        copies = copies_among(listed)
        for each in listed:
            previous = earlier.get(each.key)
            assert previous is None or isinstance(previous, StreamPosition)
            copy_of = copies.get(each.key, "") or _remembered_copy(each, previous)
            now = each if each.copy_of == copy_of else replace(each, copy_of=copy_of)
            if previous is None or not now.is_as_far_as(previous):
                positions[now.key] = now
        return positions

    def _listed(self, earlier: Positions, query_offset: int, unchanged: AbstractSet[str]) -> Iterator[StreamPosition]:
        """Yield the streams that are there now."""
        budget = Budget(self.max_bytes)
        for capture, name, files in _streams(self.paths, self.without):
            previous = earlier.get((capture, name))
            known = previous.files if isinstance(previous, StreamPosition) else ()
            if isinstance(previous, StreamPosition) and _is_read(previous, files, unchanged):
                yield previous
                continue
            found = (_position(each, query_offset, budget) for each in identified(files, known))
            if ends := [each for each in found if each is not None]:
                yield StreamPosition(capture, name, tuple(ends), query_offset)


def _is_read(previous: StreamPosition, files: Sequence[File], unchanged: AbstractSet[str]) -> bool:
    """Whether a stream has the files of before, all of them read to their ends, and none of them changed since."""
    is_same = [each.path for each in files] == [each.path for each in previous.files]
    return is_same and all(each.path in unchanged and each.read_to == each.size for each in previous.files)


def _looks(paths: Sequence[str], without: Sequence[str]) -> Iterator[FileLook]:
    """Yield what the file system says of all that is below the paths, but in the folders `without`."""
    folders = [str(Path(path).absolute()) for path in paths]
    left_out = {str(Path(path).absolute()) for path in without}
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        yield _look(entry.path, entry.stat(follow_symlinks=False))
                    elif entry.path not in left_out:
                        folders.append(entry.path)
        except NotADirectoryError:
            yield _look(folder, os.stat(folder))  # noqa: PTH116 - a path that somebody names, perhaps a link
        except OSError:
            yield folder, 0, 0, 0


def _look(path: str, status: os.stat_result) -> FileLook:
    return path, status.st_ino, status.st_size, status.st_mtime_ns


def _remembered_copy(now: StreamPosition, previous: StreamPosition | None) -> str:
    """Return what an unchanged file was a copy of. Its original may have grown on since, or be gone."""
    if previous is None or now is previous:
        return now.copy_of
    return previous.copy_of if now.is_as_far_as(replace(previous, copy_of="")) else ""


def _streams(paths: Sequence[str], without: Sequence[str]) -> Iterator[tuple[str, str, Sequence[File]]]:
    for path in dict.fromkeys(paths):
        try:
            captures = list_captures(path, without)
        except CaptureError:
            continue  # it is not there yet, or not now
        for capture, found in captures.items():
            yield from ((capture, stream.name, stream.files) for stream in found.streams)


def _position(found: FoundFile, query_offset: int, budget: Budget) -> FilePosition | None:
    """Return how far a file can be read; None where it vanished."""
    path, previous = found.file.path, found.previous
    key, begin = (previous.key, previous.end) if previous else (f"{found.identity}:{query_offset}", 0)
    try:
        end, half_line = _readable_end(path, begin, found, budget)
        is_same = previous is not None and (previous.end, previous.half_line) == (end, half_line)
        if previous and is_same and previous.changed_us == found.changed_us:
            content = previous.edges
        else:
            content = edges(path, end + half_line) if (previous and previous.edges) or is_plain(path) else ""
    except OSError:
        return None
    name, size = found.file.name, found.status.st_size
    return FilePosition(path, name, key, end, size, found.changed_us, found.identity, content, half_line)


def _readable_end(path: str, begin: int, found: FoundFile, budget: Budget) -> tuple[int, int]:
    """Return the offset behind the last whole line, and how many bytes of half a line are read behind it."""
    status, previous = found.status, found.previous
    if status.st_size == begin:
        return begin, 0
    if not is_plain(path):
        return status.st_size, 0
    if previous and previous.half_line and found.is_untouched:
        return previous.end, previous.half_line
    limit = begin + budget.take(status.st_size - begin)
    end = line_end(path, begin, limit)
    is_unchanged = limit == status.st_size and time.time() - status.st_mtime > LINE_TIMEOUT_SECONDS
    return end, limit - end if is_unchanged else 0


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
