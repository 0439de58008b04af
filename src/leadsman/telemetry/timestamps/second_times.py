"""Reads the times of all lines of a block at once, where lines begin with a date without a year, to the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.record_batch import NO_TIME, sliding_window
from leadsman.telemetry.timestamps.line_times import ZONE_BEGINS
from leadsman.telemetry.timestamps.timestamp_column import PADDING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps
    from leadsman.telemetry.timestamps.parsers import TimestampParser

    Numbers = NDArray[np.int64]

FORM = b"Mon 00 00:00:00 "
WORD = np.dtype("<u8")
MAX_TIMES = 10_000


class SecondTimes:
    """The times of one file's lines, block by block. Few lines begin a new second, and only their dates are parsed.

    All lines whose times were read at once begin as `form`, but for their months and digits.
    """

    def __init__(self, timestamps: LineTimestamps) -> None:
        self.form = FORM
        self._timestamps = timestamps
        self._times: dict[bytes, int] = {}  # by date, as it is written

    def read(self, data: bytes, starts: Numbers) -> Numbers | None:
        """Return the times (ms since 1970) of the lines at these offsets, NO_TIME where a line is to be read singly.

        None where the lines are not written in such a way.
        """
        tried = self._timestamps.tried_format()
        if tried is None or tried.second is None:
            return None
        padded = np.frombuffer(data + PADDING, np.uint8)
        words = sliding_window(padded, len(FORM))[starts].view(WORD)
        begins_second = np.ones(len(starts), np.bool_)
        begins_second[1:] = (words[1:] != words[:-1]).any(axis=1)
        dates = (data[start : start + len(FORM)] for start in starts[begins_second].tolist())
        parse, is_second = self._timestamps.tried_first(), tried.second.fullmatch
        times = [self._time_of(date, parse) if is_second(date) else NO_TIME for date in dates]
        at: Numbers = np.array(times, np.int64)[np.cumsum(begins_second) - 1]
        at[np.isin(padded[starts + len(FORM)], ZONE_BEGINS)] = NO_TIME
        return at

    def _time_of(self, date: bytes, parse: TimestampParser) -> int:
        """Return the time of a date."""
        if date not in self._times:
            if len(self._times) >= MAX_TIMES:
                self._times.clear()
            at = parse(date, 0, len(date))
            self._times[date] = NO_TIME if at is None else at
        return self._times[date]
