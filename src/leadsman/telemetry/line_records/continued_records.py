"""Assigns lines without a time to the records that they continue, where the lines of several writers alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.line_records.prefix_columns import NO_WRITER
from leadsman.telemetry.line_records.text_lines import MAX_RECORD_START

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.telemetry.record_batch import Writers

    Numbers = NDArray[np.int64]
    Marks = NDArray[np.bool_]

MAX_CHARACTER_BYTES = 4
KEPT_BYTES = MAX_RECORD_START * MAX_CHARACTER_BYTES
NO_ROW = -1


class LineTexts(NamedTuple):
    """The lines `text[begin[i]:end[i]]`."""

    text: bytes
    begin: Numbers
    end: Numbers

    def start_of(self, row: int) -> bytes:
        """Return as much of a line as is kept."""
        begin = self.begin.item(row)
        return self.text[begin : min(self.end.item(row), begin + KEPT_BYTES)]


class ContinuedRecords:
    """The last record of each writer of one file, by its first line, as `interleaved.reader` remembers them."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._first_lines: dict[int, bytes] = {}  # by writer
        self._last = NO_WRITER  # the writer of the last record

    def assign(self, starts: Marks, writer: Numbers, lines: LineTexts) -> dict[int, str]:
        """Set which lines start a record, and the writers of those that name none; return what the others continue.

        At first, `starts` is set for lines with a time, and `writer` is NO_WRITER where a line names none. Returned are
        the first lines of the continued records, by row, unless they are empty.
        """
        if len(self._writers.names) + 1 < text_lines.MAX_WRITERS:
            self._mark_starts(starts, writer)
            continued = self._continued(starts, writer, lines)
            self._keep_first_lines(starts, writer, lines)
        else:
            continued = self._assign_singly(starts, writer, lines)
        decoded = {line: text_lines.decode_line(line)[:MAX_RECORD_START] for line in set(continued.values())}
        return {row: decoded[line] for row, line in continued.items() if line}

    def _mark_starts(self, starts: Marks, writer: Numbers) -> None:
        """Decide for all lines which start a record. No writer is forgotten."""
        unnamed = writer == NO_WRITER
        if self._last == NO_WRITER:
            starts[:1] = True
        if not (starts | unnamed).all():
            numbers, first = np.unique(writer, return_index=True)
            known = np.fromiter(map(self._first_lines.__contains__, numbers.tolist()), np.bool_, len(numbers))
            starts[first[~known & (numbers != NO_WRITER)]] = True
        if (starts & unnamed).any():
            writer[starts & unnamed] = self._writers.number(None)
        rows = np.maximum.accumulate(np.where(starts, np.arange(len(starts)), NO_ROW))
        last = np.where(rows == NO_ROW, self._last, writer[rows])
        writer[:] = np.where(writer == NO_WRITER, last, writer)
        self._last = int(last[-1])

    def _continued(self, starts: Marks, writer: Numbers, lines: LineTexts) -> dict[int, bytes]:
        """Return by row the first lines of the records that are continued."""
        rows = np.flatnonzero(~starts)
        if not len(rows):
            return {}
        order = np.argsort(writer, kind="stable")
        of_writer, places = writer[order], np.arange(len(order))
        start_places = np.maximum.accumulate(np.where(starts[order], places, NO_ROW))
        begun_here = start_places >= np.searchsorted(of_writer, of_writer)
        above = np.empty(len(order), np.int64)
        above[order] = np.where(begun_here, order[start_places], NO_ROW)
        first_lines = {row: lines.start_of(row) for row in set(above[rows].tolist()) if row != NO_ROW}
        columns = (rows.tolist(), above[rows].tolist(), writer[rows].tolist())
        return {
            row: self._first_lines[number] if start == NO_ROW else first_lines[start]
            for row, start, number in zip(*columns, strict=True)
        }

    def _keep_first_lines(self, starts: Marks, writer: Numbers, lines: LineTexts) -> None:
        rows = np.flatnonzero(starts)[::-1]
        numbers, last = np.unique(writer[rows], return_index=True)
        kept = zip(numbers.tolist(), map(lines.start_of, rows[last].tolist()), strict=True)
        self._first_lines.update(kept)

    def _assign_singly(self, starts: Marks, writer: Numbers, lines: LineTexts) -> dict[int, bytes]:
        """Decide line by line, as `interleaved.reader` does: among so many writers, old ones are forgotten."""
        continued = {}
        for row, (is_timed, number) in enumerate(zip(starts.tolist(), writer.tolist(), strict=True)):
            record = self._last if number == NO_WRITER else number
            if not is_timed and record in self._first_lines:
                continued[row] = self._first_lines[record]
                writer[row] = record
                continue
            starts[row] = True
            writer[row] = self._last = self._writers.number(None) if number == NO_WRITER else number
            if len(self._first_lines) >= text_lines.MAX_WRITERS:
                self._first_lines.clear()
            self._first_lines[self._last] = lines.start_of(row)
        return continued
