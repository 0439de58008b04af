"""Splits JSON records of one layout by columns: same keys in the same order, same blanks, numbers of one length.

The offsets of unescaped quotation marks, a fixed number per record, form a table. A record has the layout of the first
one where its keys are at the same marks, and the text between its strings is the same except for digits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.telemetry.json_records.escapes import BACKSLASH, escape_positions
from leadsman.telemetry.record_batch import sliding_window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Numbers = NDArray[np.int64]

QUOTE, ZERO, ONE = 34, 48, 49
NUMBER = re.compile(rb"\d+")


class UnsupportedLayout(ValueError):
    """Records of this layout are not read by columns."""


class FixedText:
    """Text between two strings that every record has: the same bytes, except for digits."""

    def __init__(self, text: bytes) -> None:
        self.width = len(text)
        low, room = np.frombuffer(text, np.uint8).copy(), np.zeros(len(text), np.uint8)
        for number in NUMBER.finditer(text):
            low[number.start() : number.end()], room[number.start() : number.end()] = ZERO, 9
            if len(number[0]) > 1:  # JSON has no number with a zero before it
                low[number.start()], room[number.start()] = ONE, 8
        self._low, self._room = low, room

    def at(self, data: Bytes, offsets: Numbers) -> NDArray[np.bool_]:
        """Return at which offsets this text stands. Each offset must be `width` bytes or more before the end."""
        texts = sliding_window(data, self.width)[offsets]
        fits: NDArray[np.bool_] = np.logical_and.reduce((texts - self._low) <= self._room, axis=1)
        return fits


class QuoteTable(NamedTuple):
    """Records of a block: for each the offsets of its quotation marks, and where it begins and ends."""

    quotes: Numbers
    begin: Numbers
    end: Numbers


class RecordLayout:
    """The layout of a record: its strings, and the text between them.

    `columns` holds for each member the column of the first quotation mark of its key; that of its value is two further.
    """

    def __init__(self, raw: bytes, strings: list[str | None], columns: dict[str, int], *, between: bytes) -> None:
        """Learn the layout of the record `raw`; `between` are the bytes up to the next one.

        `strings` are those that every record has, None in place of the others.
        """
        self.columns = columns
        self._between = FixedText(between)
        self._keys = [
            (2 * index, FixedText(f'"{key}"'.encode("utf-8", "replace")))
            for index, key in enumerate(strings)
            if key is not None
        ]
        count = 2 * len(strings)
        marks = quote_positions(np.frombuffer(raw, np.uint8))
        if len(marks) != count:
            raise UnsupportedLayout("nested")
        self.count = count
        self._lead = FixedText(raw[: marks[0]])
        self._trail = FixedText(raw[marks[-1] + 1 :])
        inner = [raw[marks[k] + 1 : marks[k + 1]] for k in range(1, count - 1, 2)]
        self._inner = [(column, FixedText(text)) for column, text in zip(range(1, count - 1, 2), inner, strict=True)]

    def quote_table(self, data: bytes, start: int) -> QuoteTable:
        """Return the records of this layout that stand one after another in a block, the first at `start`."""
        array = np.frombuffer(data, np.uint8)
        marks = quote_positions(array[start:]) + start
        count = len(marks) // self.count
        table = marks[: count * self.count].reshape(count, self.count)
        begin = table[:, 0] - self._lead.width
        end = table[:, -1] + 1 + self._trail.width
        count = int(np.searchsorted(end, len(data), side="right"))
        table, begin, end = table[:count], begin[:count], end[:count]
        if not count or begin[0] != start:
            return QuoteTable(table[:0], begin[:0], end[:0])
        fits = self._fits(array, table, begin, end=end)
        if not fits.all():
            count = int(np.argmin(fits))
        return QuoteTable(table[:count], begin[:count], end[:count])

    def _fits(self, data: Bytes, table: Numbers, begin: Numbers, *, end: Numbers) -> NDArray[np.bool_]:
        """Return which records have this layout. Behind the first one that has not, the result means nothing."""
        fits = self._lead.at(data, begin)
        fits[1:] &= (begin[1:] - end[:-1]) == self._between.width
        for column, key in self._keys:
            fits = fits & ((table[:, column + 1] - table[:, column] + 1) == key.width)
        for column, fixed in self._inner:
            fits = fits & ((table[:, column + 1] - table[:, column] - 1) == fixed.width)
        if not fits.all():
            count = int(np.argmin(fits))
            table, begin, end = table[:count], begin[:count], end[:count]
        checked = fits[: len(table)]
        for column, key in self._keys:
            checked &= key.at(data, table[:, column])
        for column, fixed in self._inner:
            checked &= fixed.at(data, table[:, column] + 1)
        checked &= self._trail.at(data, table[:, -1] + 1)
        checked[1:] &= self._between.at(data, end[:-1])
        return fits


def quote_positions(data: Bytes) -> Numbers:
    """Return the offsets of the quotation marks that begin or end a string."""
    marks = np.flatnonzero(data == QUOTE)
    escaped = marks[data[np.maximum(marks - 1, 0)] == BACKSLASH]
    return np.setdiff1d(marks, escape_positions(data) + 1, assume_unique=True) if len(escaped) else marks
