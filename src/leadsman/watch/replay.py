"""Replays captures: their files grow as they grew then, so many times faster, or as fast as they can be read."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.pipeline.idle_gaps.bisection import next_timed_line
from leadsman.pipeline.read.blocks import BLOCK_BYTES, is_plain
from leadsman.pipeline.read.splits import is_plain_lines
from leadsman.pipeline.read.stream import sample
from leadsman.telemetry.format import RecognisedFormat
from leadsman.watch.file_listing import MAX_TRIGGER_BYTES, Budget, line_end
from leadsman.watch.positions import FilePosition, StreamPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import tzinfo

    from leadsman.pipeline.scope.streams import File, Stream
    from leadsman.telemetry.format import TimeAt
    from leadsman.watch.positions import Positions

MICROS = 1_000_000


@dataclass(slots=True)
class ReplayListing:
    """The files of captures, revealed line by line: by the times of the lines where `speed` is set."""

    streams: Sequence[Stream]
    zone: tzinfo = UTC
    speed: float | None = None
    max_bytes: int = MAX_TRIGGER_BYTES
    clock: Callable[[], float] = time.monotonic
    _files: dict[str, ReplayedFile] = field(default_factory=dict)
    _began: float | None = None

    def positions(self, earlier: Positions, query_offset: int) -> Positions:
        """Return how far each stream is revealed in a query offset."""
        until = self._until_ms()
        budget = Budget(self.max_bytes)
        positions = dict(earlier)
        for stream in self.streams:
            previous = earlier.get((stream.capture, stream.name))
            assert previous is None or isinstance(previous, StreamPosition)
            ends = {each.path: each.end for each in previous.files} if previous else {}
            files = tuple(
                position
                for file in stream.files
                if (position := self._reveal(file, ends.get(file.path), until, budget)) is not None
            )
            now = StreamPosition(stream.capture, stream.name, files, query_offset)
            if files and (previous is None or not now.is_as_far_as(previous)):
                positions[now.key] = now
        return positions

    def is_at_end(self, positions: Positions) -> bool:
        """Whether every file is revealed to its end."""
        ends = {
            each.path: each.end
            for stream in positions.values()
            if isinstance(stream, StreamPosition)
            for each in stream.files
        }
        return all(ends.get(file.path) == file.bytes for stream in self.streams for file in stream.files)

    def _until_ms(self) -> int | None:
        """Return the time that the replay has come to (ms since 1970); None where it has no speed."""
        if self.speed is None:
            return None
        if self._began is None:
            self._began = self.clock()
        firsts = [at for file in self._every_file() if (at := self._of(file).first_ms) is not None]
        return round(min(firsts, default=0) + (self.clock() - self._began) * self.speed * 1000)

    def _reveal(self, file: File, begin: int | None, until: int | None, budget: Budget) -> FilePosition | None:
        replayed = self._of(file)
        if until is not None and begin is None and replayed.first_ms is not None and replayed.first_ms > until:
            return None
        limit = file.bytes if until is None else replayed.end_at(until)
        end = replayed.end_within(begin or 0, limit, budget)
        return FilePosition(file.path, file.name, file.path, end, file.bytes, round(file.changed.timestamp() * MICROS))

    def _of(self, file: File) -> ReplayedFile:
        if file.path not in self._files:
            self._files[file.path] = ReplayedFile.open(file, self.zone)
        return self._files[file.path]

    def _every_file(self) -> Iterable[File]:
        return (file for stream in self.streams for file in stream.files)


@dataclass(frozen=True, slots=True)
class ReplayedFile:
    """A file of a replay. `time_at` is None where the file is revealed as a whole: it is no plain log."""

    file: File
    first_ms: int | None
    time_at: TimeAt | None

    @classmethod
    def open(cls, file: File, zone: tzinfo) -> ReplayedFile:
        """Look into a file."""
        form, first = sample(file, zone)
        grows = isinstance(form, RecognisedFormat) and is_plain_lines(form) and is_plain(file.path)
        return cls(file, first, form.time_at if grows and isinstance(form, RecognisedFormat) else None)

    def end_at(self, until_ms: int) -> int:
        """Return the offset of the first line of a later time. Where times run back and forth, of one such line."""
        if self.time_at is None or self.first_ms is None:
            return self.file.bytes
        low, high = 0, self.file.bytes  # every line below `low` is written by then, none from `high` on
        with Path(self.file.path).open("rb", buffering=0) as raw:
            while high - low > BLOCK_BYTES // 4:
                middle = (low + high) // 2
                data = os.pread(raw.fileno(), BLOCK_BYTES, middle)
                start = data.find(b"\n") + 1
                mark = next_timed_line(data, start, len(data), self.time_at) if start else None
                if mark is None or mark.at > until_ms or middle + mark.start >= high:
                    high = middle
                else:
                    low = middle + mark.start
            return self._first_line_after(raw.fileno(), low, until_ms)

    def _first_line_after(self, descriptor: int, low: int, until_ms: int) -> int:
        assert self.time_at is not None
        data = os.pread(descriptor, 2 * BLOCK_BYTES, low)
        start = 0
        while start < len(data):
            mark = next_timed_line(data, start, len(data), self.time_at)
            if mark is None:
                return low + len(data)
            if mark.at > until_ms:
                return low + mark.start
            start = mark.end + 1
        return low + len(data)

    def end_within(self, begin: int, limit: int, budget: Budget) -> int:
        """Return how far the file is revealed now, at most to `limit`."""
        if self.time_at is None:
            return self.file.bytes
        target = begin + budget.take(max(0, limit - begin))
        return target if target == self.file.bytes else line_end(self.file.path, begin, target)
