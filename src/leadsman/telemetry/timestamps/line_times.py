"""Reads the times of all lines of a block at once, where an ISO date stands at the same place of nearly every line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.record_batch import NO_TIME
from leadsman.telemetry.timestamps.line_timestamps import AS_ZERO
from leadsman.telemetry.timestamps.parsers import iso_parser
from leadsman.telemetry.timestamps.timestamp_column import PADDING, TimestampColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps
    from leadsman.telemetry.timestamps.timestamp_format import IsoPlace

    Numbers = NDArray[np.int64]

DATE = rb"\d{4}([-/.])\d\d\1\d\d[T _]\d\d:\d\d:\d\d"
FRACTION = rb"[.,]\d{3}(?:\d{3}){0,2}"
ZONED_TIME = re.compile(DATE + rb"(?:" + FRACTION + rb")?(?:Z|[+-]\d\d:\d\d )")
TIME = re.compile(DATE + rb"(?:" + FRACTION + rb"(?=[^\dZ+UG-])|(?=[^\d.,Z+UG-]))[\x20-\x7e]")
"""A time that names no zone, and the byte behind it: a blank, a bracket, a colon."""
LINES_TRIED = 8
"""Lines of a block of which one should carry its time in the usual way."""

BLANK, TAB, Z = b" \tZ"
ZONE_BEGINS = np.frombuffer(b"+-UGZ", np.uint8)
MAX_OTHERS = 0.5
"""Share of a block's lines that may be written otherwise, before another line is taken as the example."""


class LineTimes:
    """The times of one file's lines, block by block.

    All lines whose times were read at once begin as `form` up to the end of their times, if digits are written as 0.
    """

    def __init__(self, timestamps: LineTimestamps) -> None:
        self.form = b""
        self._timestamps = timestamps
        self._column: TimestampColumn | None = None
        self._place: IsoPlace | None = None
        self._first_byte = self._last_byte = 0  # of the line that is the example, of its time
        self._is_zoned = False

    @property
    def are_likely(self) -> bool:
        """Whether the line before had an ISO date at a place that is known."""
        return self._timestamps.iso_place() is not None

    def read(self, data: bytes, starts: Numbers) -> Numbers | None:
        """Return the times (ms since 1970) of the lines at these offsets, NO_TIME where a line is to be read singly.

        None where the lines of this file, or of this block, are not written in such a way.
        """
        place = self._timestamps.iso_place()
        if place is None:
            return None
        if (self._column is None or place != self._place) and not self._learn(data, starts, place):
            return None
        assert self._column is not None
        padded = np.frombuffer(data + PADDING, np.uint8)
        times = starts + place.bytes_before
        at = self._column.read(data, padded, times)
        at[self._is_odd(padded, starts, times + self._column.width)] = NO_TIME
        if np.count_nonzero(at == NO_TIME) > MAX_OTHERS * len(at):
            self._column = None
        return at

    def _learn(self, data: bytes, starts: Numbers, place: IsoPlace) -> bool:
        """Take the first usual line as the example of how all lines are written."""
        zone = self._timestamps.zone
        has_no_summer_time = zone.utcoffset(None) is not None
        for start in starts[:LINES_TRIED].tolist():
            begin = start + place.bytes_before
            match = ZONED_TIME.match(data, begin) or (TIME.match(data, begin) if has_no_summer_time else None)
            if match is not None:
                self._column, self._place = TimestampColumn(match[0], iso_parser(zone)), place
                self.form = data[start : match.end()].translate(AS_ZERO)
                self._first_byte, self._last_byte = data[start], match[0][-1]
                self._is_zoned = match.re is ZONED_TIME
                return True
        return False

    def _is_odd(self, padded: NDArray[np.uint8], starts: Numbers, behind: Numbers) -> NDArray[np.bool_]:
        """Say which lines have something before the time or `behind` it that gives the time another meaning."""
        assert self._place is not None
        odd = np.zeros(len(starts), np.bool_)
        if self._place.bytes_before:
            odd |= padded[starts] != self._first_byte
        if self._last_byte == Z:
            odd |= (padded[behind] == BLANK) & _is_blank(padded[behind + 1])
        elif self._is_zoned:
            odd |= _is_blank(padded[behind])
        elif self._last_byte == BLANK:
            odd |= np.isin(padded[behind], ZONE_BEGINS)
        if self._place.indented_after is not None:
            odd |= _is_blank(padded[behind + self._place.indented_after - (self._last_byte == BLANK)])
        return odd


def _is_blank(column: NDArray[np.uint8]) -> NDArray[np.bool_]:
    is_blank: NDArray[np.bool_] = (column == BLANK) | (column == TAB)
    return is_blank
