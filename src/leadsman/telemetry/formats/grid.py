"""Takes JSON records of one shape apart by columns: same keys in the same order, same blanks, numbers of one length.

The quotation marks that are no escapes, so many a record, are a grid. Where the keys stand where they stand in the
first record, and all between the strings is what it is there but for digits, a record is JSON and of that shape.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leadsman.telemetry.batch import window
from leadsman.telemetry.formats.escapes import BACKSLASH, escapes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Numbers = NDArray[np.int64]

QUOTE, ZERO, ONE = 34, 48, 49
NUMBER = re.compile(rb"\d+")


class NoGrid(ValueError):
    """Records of this shape are not taken apart by columns."""


class Fixed:
    """What stands between two strings of each record: the same bytes but for digits."""

    def __init__(self, text: bytes) -> None:
        self.width = len(text)
        low, room = np.frombuffer(text, np.uint8).copy(), np.zeros(len(text), np.uint8)
        for number in NUMBER.finditer(text):
            low[number.start() : number.end()], room[number.start() : number.end()] = ZERO, 9
            if len(number[0]) > 1:  # JSON has no number with a zero before it
                low[number.start()], room[number.start()] = ONE, 8
        self._low, self._room = low, room

    def at(self, data: Bytes, places: Numbers) -> NDArray[np.bool_]:
        """Say at which places it stands. Those must lie so far from the end."""
        held = window(data, self.width)[places]
        fits: NDArray[np.bool_] = np.logical_and.reduce((held - self._low) <= self._room, axis=1)
        return fits


class Grid(NamedTuple):
    """Records of a block: of each the places of its quotation marks, and where it begins and ends."""

    quotes: Numbers
    begin: Numbers
    end: Numbers


class Shape:
    """The shape of a record: its members, and all that stands between their strings.

    `columns` gives for each member the column of its key's first quotation mark; that of a text's own is two further.
    """

    def __init__(self, raw: bytes, value: dict[str, Any], between: bytes) -> None:
        """Learn the shape of the record `raw`; `between` are the bytes up to the next one."""
        self._between = Fixed(between)
        self.columns: dict[str, int] = {}
        self._keys: list[tuple[int, Fixed]] = []
        count = 0
        for key, member in value.items():
            self.columns[key] = count
            self._keys.append((count, Fixed(f'"{key}"'.encode())))
            count += 4 if isinstance(member, str) else 2
        places = quotes(np.frombuffer(raw, np.uint8))
        if len(places) != count or any(not key.isalpha() for key in value):
            raise NoGrid("nested, or other keys")
        self._count = count
        self._lead = Fixed(raw[: places[0]])
        self._trail = Fixed(raw[places[-1] + 1 :])
        inner = [raw[places[k] + 1 : places[k + 1]] for k in range(1, count - 1, 2)]
        self._inner = [(column, Fixed(text)) for column, text in zip(range(1, count - 1, 2), inner, strict=True)]

    def grid(self, data: bytes, start: int) -> Grid:
        """Return the records of this shape that stand one after another in a block, the first at `start`."""
        held = np.frombuffer(data, np.uint8)
        places = quotes(held[start:]) + start
        count = len(places) // self._count
        table = places[: count * self._count].reshape(count, self._count)
        begin = table[:, 0] - self._lead.width
        end = table[:, -1] + 1 + self._trail.width
        count = int(np.searchsorted(end, len(data), side="right"))
        table, begin, end = table[:count], begin[:count], end[:count]
        if not count or begin[0] != start:
            return Grid(table[:0], begin[:0], end[:0])
        good = self._good(held, table, begin, end=end)
        if not good.all():
            count = int(np.argmin(good))
        return Grid(table[:count], begin[:count], end[:count])

    def _good(self, data: Bytes, table: Numbers, begin: Numbers, *, end: Numbers) -> NDArray[np.bool_]:
        """Say which records are of this shape. What follows one that is not is none either, whatever is said of it."""
        good = self._lead.at(data, begin)
        good[1:] &= (begin[1:] - end[:-1]) == self._between.width
        for column, key in self._keys:
            good = good & ((table[:, column + 1] - table[:, column] + 1) == key.width)
        for column, fixed in self._inner:
            good = good & ((table[:, column + 1] - table[:, column] - 1) == fixed.width)
        if not good.all():
            count = int(np.argmin(good))
            table, begin, end = table[:count], begin[:count], end[:count]
        sure = good[: len(table)]
        for column, key in self._keys:
            sure &= key.at(data, table[:, column])
        for column, fixed in self._inner:
            sure &= fixed.at(data, table[:, column] + 1)
        sure &= self._trail.at(data, table[:, -1] + 1)
        sure[1:] &= self._between.at(data, end[:-1])
        return good


def quotes(data: Bytes) -> Numbers:
    """Return the places of the quotation marks that begin or end a string."""
    found = np.flatnonzero(data == QUOTE)
    escaped = found[data[np.maximum(found - 1, 0)] == BACKSLASH]
    return np.setdiff1d(found, escapes(data) + 1, assume_unique=True) if len(escaped) else found
