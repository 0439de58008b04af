"""What is known of a JSON line by where its quotation marks stand: learnt from one line, and true of all of its shape.

A line's strings are put in the place of marks, and the line is read as any other: so it shows which string is the
message, which ones name the writer, and which the level, whatever the keys are.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.batch import NO_TIME, window
from leadsman.telemetry.formats import jsonlines, jsons
from leadsman.telemetry.formats.grid import Fixed, NoGrid, quotes
from leadsman.telemetry.formats.tails import Stamps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.telemetry.formats.lines import Timing

    Numbers = NDArray[np.int64]
    Bytes = NDArray[np.uint8]

PADDING = bytes(4096)
"""Behind a block: what is looked for at fixed places of its last line ends there."""

MOST_BETWEEN = 2048
"""Bytes between two strings, and of a key, of lines that are read by columns."""

MOST_QUOTES = 400
"""Quotation marks of such a line."""

ZERO = 48
MILLISECONDS, MICROSECONDS = 13, 16
POWERS = 10.0 ** np.arange(MICROSECONDS - 1, -1, -1)
"""Exact: below 2 ** 53."""

INDENTED = (b"\\t", b"   ")
"""What `jsons.stamp` takes for a line that continues another, behind these beginnings."""
LOGGED = (b'{"log":"', b'{"log": "')


class LineShape:
    """The shape of the line `raw`: how many quotation marks, which texts between them, and what its strings are.

    Strings are numbered as they come, keys among them. Raises NoGrid where a line like this one is read singly.
    """

    def __init__(self, raw: bytes, path: str, timing: Timing) -> None:
        places = quotes(np.frombuffer(raw, np.uint8)).tolist()
        self.count = len(places)
        record = jsons.as_record(raw)
        if record is None or raw[:1] != b"{" or self.count % 2 or not 0 < self.count <= MOST_QUOTES:
            raise NoGrid("no JSON object")
        strings = list(zip(places[::2], places[1::2], strict=True))
        between = [raw[: places[0]], *(raw[last + 1 : first] for (_, last), (first, _) in pairwise(strings))]
        between.append(raw[places[-1] + 1 :])
        is_key = [text.lstrip(b" \t\r")[:1] == b":" for text in between[1:]]
        keys = [raw[first : last + 1] for first, last in strings]
        if max(map(len, (*between, *(key for key, named in zip(keys, is_key, strict=True) if named)))) > MOST_BETWEEN:
            raise NoGrid("too long")
        self._between = [Fixed(text) for text in between]
        self._keys = [(place, Fixed(key)) for place, key in enumerate(keys) if is_key[place]]
        marks = {place: f"\x02{place}\x03" for place in range(len(strings)) if not is_key[place]}
        self._find_members(_marked(between, keys, marks), marks, path)
        self._find_time(raw, places, timing)
        logged = next((text for text in LOGGED if raw.startswith(text)), None)
        self._may_be_indented = logged is not None and self.message == 1

    def _find_members(self, marked: bytes, marks: dict[int, str], path: str) -> None:
        """Find out which strings are the message, the writer's name and the level."""
        record = jsons.flat(json.loads(marked))
        numbers = {mark: place for place, mark in marks.items()}
        text, texts = jsonlines.text_of(record)
        level, subject = jsons.text_at(record, jsons.LEVEL_KEYS), jsonlines.subject_of(record, path)
        names = subject.split("/") if subject else []
        if len(texts) != 1 or texts[0] not in numbers or any(name not in numbers for name in names):
            raise NoGrid("its message is no string of it, or several are")
        if (level is not None and level not in numbers) or jsons.text_at(record, jsons.STACK_KEYS) == texts[0]:
            raise NoGrid("its level is no string of it, or its message is a trace")
        assert text.endswith(texts[0])
        self.message = numbers[texts[0]]
        self.level = None if level is None else numbers[level]
        self.subjects = tuple(numbers[name] for name in names)

    def _find_time(self, raw: bytes, places: list[int], timing: Timing) -> None:
        """Find out where the time stands: so far behind which quotation mark."""
        found = next((at + len(key) for key in timing.json_keys if (at := raw.find(key)) >= 0), None)
        self.is_timed = found is not None
        if found is None:
            return
        self._mark = int(np.searchsorted(places, found)) - 1
        self._behind = found - places[self._mark]
        end = next((place for place in places if place >= found), len(raw))
        written = raw[found : end + 1]
        digits = written[:-1]
        self._width, self._stamps = 0, None
        if digits.isdigit() and len(digits) in (MILLISECONDS, MICROSECONDS) and written[-1:] == b'"':
            self._width = len(digits)
        elif Stamps.can_read(written):
            self._stamps = Stamps(written, timing.json)
        self._read = timing.json

    def knows(self, raw: bytes) -> bool:
        """Say whether a line is of this shape."""
        held = np.frombuffer(raw + PADDING, np.uint8)
        places = quotes(held[: len(raw)])
        if len(places) != self.count:
            return False
        return bool(self.fits(held, places[None, :], np.zeros(1, np.int64), ends=np.array([len(raw)]))[0])

    def fits(self, data: Bytes, table: Numbers, starts: Numbers, *, ends: Numbers) -> NDArray[np.bool_]:
        """Say which lines are of this shape, by the places of their quotation marks."""
        begin = np.column_stack((starts, table[:, 1::2] + 1))
        end = np.column_stack((table[:, ::2], ends))
        widths = np.array([fixed.width for fixed in self._between])
        good: NDArray[np.bool_] = ((end - begin) == widths).all(axis=1)
        for place, key in self._keys:
            good &= (table[:, 2 * place + 1] - table[:, 2 * place] + 1) == key.width
        left = np.flatnonzero(good)
        for place, fixed in enumerate(self._between):
            left = left[fixed.at(data, begin[left, place])]
        for place, key in self._keys:
            left = left[key.at(data, table[left, 2 * place])]
        good[:] = False
        good[left] = True
        return good

    def times(self, block: bytes, data: Bytes, table: Numbers) -> Numbers:
        """Return the time of each line; NO_TIME where it has none, or one that is read otherwise."""
        if not self.is_timed:
            return np.full(len(table), NO_TIME)
        starts = table[:, self._mark] + self._behind
        if self._stamps is not None:
            return self._stamps.read(block, data, starts)
        if self._width:
            return _since_1970(data, starts, self._width)
        ends = np.append(table[1:, 0], len(block)).tolist()
        read = (self._read(block, start, end) for start, end in zip(starts.tolist(), ends, strict=True))
        return np.fromiter((NO_TIME if at is None else at for at in read), np.int64, len(table))

    def is_indented(self, data: Bytes, begin: Numbers) -> NDArray[np.bool_]:
        """Say which messages, beginning there, continue a line before."""
        indented = np.zeros(len(begin), np.bool_)
        if self._may_be_indented:
            for text in INDENTED:
                indented |= (window(data, len(text))[begin] == np.frombuffer(text, np.uint8)).all(axis=1)
        return indented


class Members:
    """Where the strings of lines begin and end that mean something."""

    def __init__(self, shape: LineShape, table: Numbers) -> None:
        self.message = _span(table, shape.message)
        self.level = None if shape.level is None else _span(table, shape.level)
        self.subjects = [_span(table, place) for place in shape.subjects]
        every = [self.message, *self.subjects, *([self.level] if self.level else [])]
        self.are_there: NDArray[np.bool_] = np.logical_and.reduce([end > begin for begin, end in every])


def _span(table: Numbers, place: int) -> tuple[Numbers, Numbers]:
    return table[:, 2 * place] + 1, table[:, 2 * place + 1]


def _marked(between: list[bytes], keys: list[bytes], marks: dict[int, str]) -> bytes:
    """Return a line with marks in place of its strings."""
    parts = [between[0]]
    for place, (key, text) in enumerate(zip(keys, between[1:], strict=True)):
        parts += [json.dumps(marks[place]).encode() if place in marks else key, text]
    return b"".join(parts)


def _since_1970(data: Bytes, starts: Numbers, width: int) -> Numbers:
    """Return the times that are written in so many digits, in front of a quotation mark."""
    digits = window(data, width)[starts] - np.uint8(ZERO)
    number = digits @ POWERS[-width:]
    at = (number if width == MILLISECONDS else number * 0.001).astype(np.int64)  # as `stamps.epoch` does
    return np.where((digits > 9).any(axis=1), NO_TIME, at)  # noqa: PLR2004 - digits
