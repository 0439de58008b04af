"""Reads `aws logs tail` in batches: lines of many log streams, each with its time and its stream before the text.

Lines whose time is written like the first one's, and whose writer is known, are read block by block as arrays. All
other lines (stack traces, other zones, other prefixes) are read one by one, as `interleaved` reads them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.line_records.interleaved_columns import whole_lines
from leadsman.telemetry.line_records.prefix_columns import split_block
from leadsman.telemetry.line_records.text_lines import MAX_WRITERS
from leadsman.telemetry.record_batch import NO_TIME, LogRecordBatch, Writers
from leadsman.telemetry.timestamps.timestamp_column import TimestampColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from leadsman.telemetry.line_records.interleaved import Prefix
    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps

    Numbers = NDArray[np.int64]

TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3,9}(?:Z|[+-]\d\d:\d\d) ")
MAX_NAME_LENGTHS = 8
"""Lengths of writers' names that are tried on a whole block."""

BLOCK_BYTES = 2 << 20
"""Bytes of lines that are read together: among hundreds of writers, each should have several lines."""

BLANK = 32
UNKNOWN_WRITER, SKIPPED = -1, -2


def reader(prefix: Prefix, timestamps: LineTimestamps) -> Callable[[Iterable[bytes]], Iterator[LogRecordBatch]]:
    """Read what `interleaved.reader` reads, in batches."""

    def batches(blocks: Iterable[bytes]) -> Iterator[LogRecordBatch]:
        tail_reader = TailReader(prefix, timestamps)
        for number, data in text_lines.complete_lines(text_lines.coalesce_blocks(blocks, BLOCK_BYTES)):
            batch = tail_reader.batch(number, data)
            if len(batch.at):
                yield batch

    return batches


class TailReader:
    """One file, as far as it has been read: its writers, and the writer of the line before."""

    def __init__(self, prefix: Prefix, timestamps: LineTimestamps) -> None:
        self._pattern = prefix.pattern
        self._timestamps = timestamps
        self._timestamp_column: TimestampColumn | None = None
        self._writers = Writers()
        self._writer_numbers: dict[bytes, int] = {}  # by name
        self._lengths: list[int] = []
        self._last = UNKNOWN_WRITER  # the writer of the last line that started a record
        self._with_record: set[int] = set()  # writers whose next line without a time continues their last record

    def batch(self, number: int, data: bytes) -> LogRecordBatch:
        """Return the lines of a block; `number` is that of its first line."""
        _, padded, starts, ends = split_block(data)
        at, writer = self._read_columns(data, padded, starts, ends=ends)
        self._read_others(data, np.stack((starts, ends)), at, writer=writer)
        rows = np.flatnonzero(writer != SKIPPED)
        at, writer, starts, ends = at[rows], writer[rows], starts[rows], ends[rows]
        starts_record = self._mark_starts(at, writer)
        text, begin, end = whole_lines(data, starts, ends)
        return LogRecordBatch(
            writers=self._writers,
            writer=writer,
            at=at,
            starts_record=starts_record,
            line=rows + number,
            text=text,
            begin=begin,
            end=end,
        )

    def _read_columns(
        self, data: bytes, padded: NDArray[np.uint8], starts: Numbers, *, ends: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return times and writers of all lines that are written in the usual way; of others UNKNOWN_WRITER."""
        writer = np.full(len(starts), UNKNOWN_WRITER)
        if self._timestamp_column is None and (match := TIME.match(data)):
            self._timestamp_column = TimestampColumn(match[0], self._timestamps.first)
        if self._timestamp_column is None:
            return np.full(len(starts), NO_TIME), writer
        at = self._timestamp_column.read(data, padded, starts)
        names = starts + self._timestamp_column.width
        self._learn_name_lengths(data, names[at != NO_TIME])
        for length in self._lengths:
            stop = names + length
            fits = np.flatnonzero((at != NO_TIME) & (writer == UNKNOWN_WRITER) & (stop < ends))
            fits = fits[padded[stop[fits]] == BLANK]
            candidate_names = [data[begin : begin + length] for begin in names[fits].tolist()]
            numbers = list(map(self._writer_numbers.get, candidate_names))
            if None in numbers:
                numbers = [self._number(name) for name in candidate_names]
            writer[fits] = numbers
        at[writer == UNKNOWN_WRITER] = NO_TIME
        return at, writer

    def _learn_name_lengths(self, data: bytes, names: Numbers) -> None:
        """Note the lengths of the first names in this block."""
        for begin in names[:MAX_NAME_LENGTHS].tolist():
            length = data.find(b" ", begin) - begin
            if length > 0 and length not in self._lengths and len(self._lengths) < MAX_NAME_LENGTHS:
                self._lengths = sorted([*self._lengths, length])

    def _number(self, name: bytes) -> int:
        """Return the number of a writer; UNKNOWN_WRITER where the pattern does not match the name."""
        number = self._writer_numbers.get(name)
        if number is None:
            match = self._pattern.match(b"2000-01-01T00:00:00.000Z " + name + b" ")
            is_writer = match is not None and match["id"] == name
            number = self._writers.number(text_lines.decode_line(name)) if is_writer else UNKNOWN_WRITER
            if len(self._writer_numbers) < MAX_WRITERS:
                self._writer_numbers[name] = number
        return number

    def _read_others(self, data: bytes, lines: Numbers, at: Numbers, *, writer: Numbers) -> None:
        """Read the other lines; and after one in another timestamp format, all lines until the first format is back."""
        tries_first = self._timestamps.tries_first
        next_row = 0
        for row in [*np.flatnonzero(writer == UNKNOWN_WRITER).tolist(), len(at)]:
            while next_row < row and not tries_first():
                at[next_row], writer[next_row] = self._read(data, *lines[:, next_row].tolist())
                next_row += 1
            if row < len(at):
                at[row], writer[row] = self._read(data, *lines[:, row].tolist())
            next_row = row + 1

    def _read(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        line = data[start:end]
        if not line.strip():
            return NO_TIME, SKIPPED
        match = self._pattern.match(line)
        moment = self._timestamps.time_at(line, 0, len(line))
        writer = self._writers.number(text_lines.decode_line(match["id"])) if match else UNKNOWN_WRITER
        return (NO_TIME if moment is None else moment), writer

    def _mark_starts(self, at: Numbers, writer: Numbers) -> NDArray[np.bool_]:
        """Assign lines without a writer to the writer before; return which lines start a record."""
        starts: NDArray[np.bool_] = at != NO_TIME
        if not len(at):
            return starts
        unnamed = writer == UNKNOWN_WRITER
        if (
            (~starts & ~unnamed).any()
            or len(self._writers.names) >= MAX_WRITERS
            or (self._last == UNKNOWN_WRITER and not starts[0])
        ):
            self._mark_starts_singly(starts, writer)
        else:
            self._with_record.update(np.unique(writer[starts & ~unnamed]).tolist())
            if (starts & unnamed).any():
                writer[starts & unnamed] = unnamed_writer = self._writers.number(None)
                self._with_record.add(unnamed_writer)
        start_rows = np.maximum.accumulate(np.where(starts, np.arange(len(at)), UNKNOWN_WRITER))
        start_writer = np.where(start_rows == UNKNOWN_WRITER, self._last, writer[start_rows])
        writer[:] = np.where(writer == UNKNOWN_WRITER, start_writer, writer)
        self._last = int(start_writer[-1])
        return starts

    def _mark_starts_singly(self, starts: NDArray[np.bool_], writer: Numbers) -> None:
        """Decide line by line which lines start a record, as `interleaved.reader` does."""
        last = self._last
        for row, (timed, number) in enumerate(zip(starts.tolist(), writer.tolist(), strict=True)):
            has_record = last != UNKNOWN_WRITER if number == UNKNOWN_WRITER else number in self._with_record
            if not timed and has_record:
                continue
            starts[row] = True
            writer[row] = last = self._writers.number(None) if number == UNKNOWN_WRITER else number
            if len(self._with_record) >= MAX_WRITERS:
                self._with_record.clear()
            self._with_record.add(last)
