"""Reads the times of many lines at once, where all are written alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.record_batch import NO_TIME, sliding_window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.telemetry.timestamps.parsers import TimestampParser

    Numbers = NDArray[np.int64]

QUOTED_TIME = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3,9}(?:Z|[+-]\d\d:\d\d)\"")
"""A time in quotation marks."""
ZONE = re.compile(rb"(?:Z|[+-]\d\d:\d\d)[\" ]?\Z")
HOUR_OFFSET = 11
"""Bytes of the date. Hour, minute, second, a point or comma, and at least three digits follow it."""
LAST_HOUR, LAST_MINUTE, LAST_SECOND = 23, 59, 60
MAX_DATES = 10_000

PADDING = bytes(256)
"""Bytes behind a block, so that fixed offsets of its last line stay inside the array."""

DIGITS = frozenset(b"0123456789")
ZERO = 48
BYTES_A_WORD = 8
LEAST_BYTES = HOUR_OFFSET + len("00:00:00.000")
MORE_THAN_NINE, MORE_THAN_NONE, ANY_BYTE = 0x80 - 10, 0x80 - 1, 0xFF
"""What, added to a byte, reaches its highest bit where the byte is more than 9, or more than 0."""
LOW_BITS, HIGH_BITS = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
BITS = [np.uint64(8 * index) for index in range(BYTES_A_WORD)]
LAST_BYTE, DATE_IN_SECOND_WORD = np.uint64(0xFF), np.uint64(0xFFFFFF)
TEN, SIXTY = np.uint64(10), np.uint64(60)


class TimestampColumn:
    """Reads times that are written like `example`: with the same length, the same marks and the same zone.

    Each time names its zone, or the zone of `parse` has no summer time: so no hour occurs twice in a day.
    """

    @staticmethod
    def can_read(example: bytes) -> bool:
        """Whether times like this one can be read: in quotation marks and with a zone, so that no hour occurs twice."""
        return QUOTED_TIME.fullmatch(example) is not None

    def __init__(self, example: bytes, parse: TimestampParser) -> None:
        self.width = len(example)
        self._parse = parse
        self._dates: dict[bytes, int] = {}
        match = ZONE.search(example)
        zone = match.start() if match else self.width
        is_digit = [byte in DIGITS and index < zone for index, byte in enumerate(example)]
        words = -(-max(self.width, LEAST_BYTES) // BYTES_A_WORD)
        columns = (
            (ZERO if digit else byte for digit, byte in zip(is_digit, example, strict=True)),
            (MORE_THAN_NINE if digit else MORE_THAN_NONE for digit in is_digit),
            (ANY_BYTE for _ in example),
        )
        masks = (np.frombuffer(bytes(column).ljust(words * BYTES_A_WORD, b"\0"), "<u8") for column in columns)
        self._masks = tuple(zip(*masks, strict=True))

    def read(self, data: bytes, padded: NDArray[np.uint8], starts: Numbers) -> Numbers:
        """Return the times at these offsets, NO_TIME for those written otherwise.

        Eight bytes are one number: a byte of `digits` is what a digit counts, and 0 where a mark stands.
        """
        width = len(self._masks) * BYTES_A_WORD
        words = np.ascontiguousarray(sliding_window(padded, width)[starts].view("<u8").T)
        wrong = np.zeros(len(starts), np.uint64)
        digits = []
        for word, (zeros, carries, used) in zip(words, self._masks, strict=True):
            of_word = (word ^ zeros) & used
            wrong |= of_word | ((of_word & LOW_BITS) + carries)
            digits.append(of_word)
        clock = (digits[1] >> BITS[3]) | (digits[2] << BITS[5])
        pairs = clock * TEN + (clock >> BITS[1])
        hour, minute, second = ((pairs >> BITS[index]) & LAST_BYTE for index in (0, 3, 6))
        fits = (hour <= LAST_HOUR) & (minute <= LAST_MINUTE) & (second <= LAST_SECOND) & (wrong & HIGH_BITS == 0)
        at = np.full(len(starts), NO_TIME)
        rows = np.flatnonzero(fits)
        if not len(rows):
            return at
        tenths, hundredths, thousandths = ((digits[2] >> BITS[index]) & LAST_BYTE for index in (4, 5, 6))
        seconds = (hour * SIXTY + minute) * SIXTY + second
        time_of_day = (((seconds * TEN + tenths) * TEN + hundredths) * TEN + thousandths).astype(np.int64)
        if len(rows) < len(starts):
            words, starts, time_of_day = words[:, rows], starts[rows], time_of_day[rows]
        changed = (np.diff(words[0]) | (np.diff(words[1] & DATE_IN_SECOND_WORD))) != 0
        changes = np.concatenate(([0], np.flatnonzero(changed) + 1))
        first = zip(starts[changes].tolist(), time_of_day[changes].tolist(), strict=True)
        midnights = [self._midnight(data, *each) for each in first]
        midnight = np.repeat(midnights, np.diff(np.append(changes, len(rows))))
        at[rows] = np.where(midnight == NO_TIME, NO_TIME, midnight + time_of_day)
        return at

    def _midnight(self, data: bytes, start: int, time_of_day: int) -> int:
        """Return when a date began, given the offset and the time of day of one of its times."""
        date = data[start : start + HOUR_OFFSET]
        midnight = self._dates.get(date)
        if midnight is None:
            at = self._parse(data[start : start + self.width], 0, self.width)
            if len(self._dates) >= MAX_DATES:
                self._dates.clear()
            midnight = self._dates[date] = NO_TIME if at is None else at - time_of_day
        return midnight
