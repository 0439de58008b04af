"""Reads the times of all lines of a block, where lines of several writers alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.telemetry.record_batch import NO_TIME, sliding_window
from leadsman.telemetry.timestamps.line_times import LineTimes
from leadsman.telemetry.timestamps.second_times import SecondTimes
from leadsman.telemetry.timestamps.timestamp_format import BEGINNING_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from leadsman.telemetry.line_records.prefix_columns import SplitBlock
    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps
    from leadsman.telemetry.timestamps.parsers import TimestampParser

    Numbers = NDArray[np.int64]

MAX_FORMS = 3
"""Forms of ISO dates that are read as arrays: a file may have times with and without milliseconds."""

MAX_BEGINNINGS = 10_000
BYTES_A_WORD = 8
BEGINNING = np.uint64((1 << 8 * BEGINNING_BYTES) - 1)
"""The first bytes of a word."""


class TimeForm(NamedTuple):
    """Lines that begin alike up to the end of their times, but for digits and names of months."""

    form: bytes
    rows: Numbers


class BlockTimes:
    """The times of one file's lines, block by block, as `LineTimestamps.time_at` reads them line by line."""

    def __init__(self, timestamps: LineTimestamps) -> None:
        self._timestamps = timestamps
        self._columns: list[LineTimes | SecondTimes] = [LineTimes(timestamps) for _ in range(MAX_FORMS)]
        self._columns.append(SecondTimes(timestamps))
        self._ruled_out: dict[int, bool] = {}  # by beginning: whether such a line has no time
        self._ruled_out_before: TimestampParser | None = None  # if the line before had this format

    def read(self, block: SplitBlock, begins: Numbers) -> tuple[Numbers, list[TimeForm], list[int]]:
        """Return the times of lines whose texts begin at these offsets, the forms in them, and which lines are blank.

        A line without a time has NO_TIME.
        """
        usual = self._timestamps.tried_first()
        at, forms = self._read_forms(block, begins)
        left = np.flatnonzero(at == NO_TIME)
        others = left[~self._are_ruled_out(block, begins[left], usual)]
        blank = self._read_others(block, begins, at, rows=self._rows_of_others(others, len(at), usual))
        return at, forms, blank

    def read_singly(self, block: SplitBlock, begins: Numbers) -> tuple[Numbers, list[TimeForm], list[int]]:
        """Return the same, without any form."""
        at = np.full(len(begins), NO_TIME)
        return at, [], self._read_others(block, begins, at, rows=iter(range(len(begins))))

    def _read_forms(self, block: SplitBlock, begins: Numbers) -> tuple[Numbers, list[TimeForm]]:
        """Read the times that are written like those of other lines."""
        at, forms = np.full(len(begins), NO_TIME), list[TimeForm]()
        left = np.flatnonzero(begins < block.ends)
        for column in self._columns:
            read = column.read(block.data, begins[left]) if len(left) else None
            if read is not None:
                at[left] = read
                forms.append(TimeForm(column.form, left[read != NO_TIME]))
                left = left[read == NO_TIME]
        return at, forms

    def _are_ruled_out(self, block: SplitBlock, begins: Numbers, usual: TimestampParser) -> NDArray[np.bool_]:
        """Return which of the texts at these offsets have no time, because no format of the file begins as they do."""
        if usual is not self._ruled_out_before or len(self._ruled_out) > MAX_BEGINNINGS:
            self._ruled_out, self._ruled_out_before = {}, usual
        words = sliding_window(block.padded, BYTES_A_WORD)[begins].view("<u8").ravel() & BEGINNING
        beginnings, which = np.unique(words, return_inverse=True)
        ruled_out = np.fromiter(map(self._is_ruled_out, beginnings.tolist()), np.bool_, len(beginnings))
        return ruled_out[which] & (begins + BEGINNING_BYTES <= len(block.data))

    def _is_ruled_out(self, word: int) -> bool:
        if word not in self._ruled_out:
            beginning = word.to_bytes(BEGINNING_BYTES, "little").partition(b"\n")[0]
            self._ruled_out[word] = self._timestamps.rules_out(beginning)
        return self._ruled_out[word]

    def _read_others(self, block: SplitBlock, begins: Numbers, at: Numbers, *, rows: Iterator[int]) -> list[int]:
        """Read the other lines one by one. Return which of them are blank."""
        blank = []
        for row in rows:
            start, end = block.starts.item(row), block.ends.item(row)
            line = block.data[start:end]
            if not line or line.isspace():
                blank.append(row)
            else:
                moment = self._timestamps.time_at(line, begins.item(row) - start, end - start)
                at[row] = NO_TIME if moment is None else moment
        return blank

    def _rows_of_others(self, others: Numbers, count: int, usual: TimestampParser) -> Iterator[int]:
        """Yield other lines among `count`; after one in another format all lines until the usual one is back."""
        tried_first = self._timestamps.tried_first
        next_row = 0
        for row in [*others.tolist(), count]:
            while next_row < row and tried_first() is not usual:
                yield next_row
                next_row += 1
            if row < count:
                yield row
            next_row = row + 1
