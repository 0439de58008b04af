"""Where large files of log lines are split by byte ranges, so that several tasks read one file.

A split begins at a block of the file (`blocks.py`) whose first line has a time: no record crosses its border, and it
is read block by block as it would be in the whole file. Its lines are counted before, here: at gigabytes a second.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leadsman.pipeline.idle_gaps.bisection import previous_timed_line
from leadsman.pipeline.read import blocks
from leadsman.pipeline.read.log_lines import LINES_LOOKED_BACK
from leadsman.pipeline.read.records import RecordStart
from leadsman.pipeline.read.scanner import scanner
from leadsman.pipeline.read.stream import in_order
from leadsman.pipeline.scope.streams import task_count
from leadsman.telemetry.source import once_signatures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from leadsman.pipeline.scope.streams import File, Stream
    from leadsman.telemetry.format import RecognisedFormat, TimeAt

SPLIT_FROM_BYTES = 96 << 20
"""Splitting costs 0.5 s of CPU time (tasks, a shuffle): what it saves on two cores at about this size."""

MIN_SPLIT_BYTES = 16 << 20
"""The smallest split: opening one takes some 10 ms."""

SPLIT_BYTES = 64 << 20
"""The size of a split where there are enough for all cores: starting its task takes 0.1 s."""

MAX_FILES = 1000
"""Files of a stream that is split: the driver looks into each, for some milliseconds."""

LOOKBACK_BYTES = 1 << 20
"""Bytes above a border in which the last line with a time is looked for: far more than a record has."""

COUNT_BYTES = 1 << 18

NEWLINE = 10


@dataclass(frozen=True, slots=True)
class Split:
    """A range of a file: the blocks from `begin` to `end`, or to the file's end. `line` lines stand above it.

    `number` counts the splits of the stream, over all of its files.
    """

    stream: Stream
    number: int
    file: File
    begin: int
    end: int | None
    line: int

    @property
    def capture(self) -> str:
        """The capture that it is of."""
        return self.stream.capture

    @property
    def name(self) -> str:
        """The stream's name, and which split of it this is."""
        return f"{self.stream.name}:{self.number:06d}"

    @property
    def bytes(self) -> int:
        """Bytes on disk, as far as they were there when it was planned."""
        return max(0, (self.file.bytes if self.end is None else self.end) - self.begin)


@dataclass(frozen=True, slots=True)
class SplitStream:
    """A stream that is read by splits. `files` are in the order of reading, each with why it is not read."""

    stream: Stream
    files: tuple[tuple[File, str | None], ...]
    splits: tuple[Split, ...]


def split_streams(
    streams: Sequence[Stream], zone: tzinfo, *, cores: int, min_bytes: int = SPLIT_FROM_BYTES
) -> list[SplitStream]:
    """Return the streams that are to be split: those that would keep one core busy when the others are done."""
    total = sum(stream.bytes for stream in streams)
    large = [stream for stream in streams if stream.bytes >= min_bytes and stream.bytes * cores > total]
    if cores == 1 or not large:
        return []
    for_each_task = max(SPLIT_BYTES, total // task_count(streams, cores))
    bytes_each = max(min(MIN_SPLIT_BYTES, min_bytes), min(for_each_task, total // cores))
    split = [split_stream(stream, zone, bytes_each) for stream in large if len(stream.files) <= MAX_FILES]
    return [each for each in split if each is not None]


def split_stream(stream: Stream, zone: tzinfo, bytes_each: int) -> SplitStream | None:
    """Return the splits of a stream, about `bytes_each` large; None where it must be read as a whole."""
    splits: list[Split] = []
    files: list[tuple[File, str | None]] = []
    for file, form in in_order(stream.files, zone):
        if form is None or isinstance(form, str):
            files.append((file, form))
            continue
        if not is_plain_lines(form):
            return None
        begins = _begins(file, form.time_at, bytes_each)
        ends = [*begins[1:], None]
        for begin, end, line in zip(begins, ends, lines_above(file.path, begins), strict=True):
            splits.append(Split(stream, len(splits), file, begin, end, line))
        files.append((file, None))
    return SplitStream(stream, tuple(files), tuple(splits)) if len(splits) > 1 else None


def is_plain_lines(form: RecognisedFormat) -> bool:
    """Whether a file is read line by line, and a line depends only on the lines of its record."""
    return not (form.records or form.batches or form.output_source or form.recognise_section)


def record_start_above(path: str, begin: int, time_at: TimeAt, name: str) -> RecordStart | None:
    """Return the last line with a time above an offset at which a line begins."""
    above = lines_before(path, begin)
    mark = previous_timed_line(above, len(above), time_at)
    return None if mark is None else RecordStart(mark.at, above[mark.start : mark.end].decode("utf-8", "replace"), name)


def lines_before(path: str, begin: int) -> bytes:
    """Return the lines above an offset at which a line begins, LOOKBACK_BYTES of them at most."""
    since = max(0, begin - LOOKBACK_BYTES)
    with Path(path).open("rb", buffering=0) as raw:
        data = os.pread(raw.fileno(), begin - since, since)
    return data if since == 0 else data[data.find(b"\n") + 1 :]


def lines_above(path: str, begins: Sequence[int]) -> list[int]:
    """Return how many lines end above each of these offsets, the first of which is 0."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # NumPy counts without the interpreter's lock
        counts = pool.map(lambda span: _newlines(path, *span), pairwise(begins))
        return list(accumulate(counts, initial=0))


def _newlines(path: str, begin: int, end: int) -> int:
    count = 0
    with Path(path).open("rb", buffering=0) as raw:
        for offset in range(begin, end, COUNT_BYTES):
            data = os.pread(raw.fileno(), min(COUNT_BYTES, end - offset), offset)
            count += int(np.count_nonzero(np.frombuffer(data, np.uint8) == NEWLINE))
    return count


def _begins(file: File, time_at: TimeAt, bytes_each: int) -> list[int]:
    """Return where the splits of a file begin; one alone where it is compressed, or has no lines to begin at."""
    begins = [0]
    if file.bytes <= bytes_each or not blocks.is_plain(file.path):
        return begins
    for target in range(bytes_each, file.bytes, bytes_each):
        limit = min(target + bytes_each // 2, file.bytes - bytes_each // 2)  # the rest is not worth a split
        if target < limit and (begin := _begin(file, target, limit, time_at)) is not None and begin > begins[-1]:
            begins.append(begin)
    return begins


def _begin(file: File, target: int, limit: int, time_at: TimeAt) -> int | None:
    """Return the first block's offset from `target` on at which a split can begin."""
    size = blocks.BLOCK_BYTES
    with Path(file.path).open("rb", buffering=0) as raw:
        for boundary in range(-(-target // size) * size, limit, size):
            begin = blocks.block_begin(raw.fileno(), boundary)
            if begin is not None and _is_border(file.path, begin, time_at):
                return begin
    return None


def _is_border(path: str, begin: int, time_at: TimeAt) -> bool:
    """Whether a record begins here, and nothing found in this block is taken for a part of one above.

    That would be where it stands more than LINES_LOOKED_BACK lines below a line with a time, the first in its block.
    """
    block = next(blocks.blocks(path, begin), None)
    if block is None or record_start_above(path, begin, time_at, "") is None:
        return False
    data = block.data[: block.end]
    found = (offset for offset, index in scanner()[1](data) if index not in once_signatures())
    times = list(_times(data, next(found, len(data)), time_at))
    timed = [index for index, at in enumerate(times) if at is not None]
    return timed[:1] == [0] and all(
        after - before <= LINES_LOOKED_BACK for before, after in pairwise([*timed, len(times)])
    )


def _times(data: bytes, limit: int, time_at: TimeAt) -> Iterator[int | None]:
    """Yield the times of the lines that begin before `limit`."""
    start = 0
    while start < limit:
        newline = data.find(b"\n", start)
        newline = len(data) if newline < 0 else newline
        yield time_at(data, start, newline)
        start = newline + 1
