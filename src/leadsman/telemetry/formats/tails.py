"""`aws logs tail`: lines of many writers in one file, each with its time and its writer before the text.

Lines whose time is written as the first one's, and whose writer is known, are read block by block as arrays. All others
(stack traces, other zones, other prefixes) are read one by one, as `interleaved` reads them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.batch import NO_TIME, Batch, Writers, spans_of, window
from leadsman.telemetry.formats import streams
from leadsman.telemetry.formats.streams import MOST_SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from leadsman.telemetry.formats.interleaved import Prefix
    from leadsman.telemetry.formats.lines import Timing
    from leadsman.telemetry.formats.stamps import Stamp

    Numbers = NDArray[np.int64]

PREFIX = "aws logs tail"
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3,9}(?:Z|[+-]\d\d:\d\d) ")
COMPLETE = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3,9}(?:Z|[+-]\d\d:\d\d)\"")
"""A time in quotation marks."""
HOUR = 11
"""Bytes of a date; then come hour, minute, second, a point or comma, and at least three digits."""
LAST_HOUR, LAST_MINUTE, LAST_SECOND = 23, 59, 60
WORTH_MS = np.array([36_000_000, 3_600_000, 0, 600_000, 60_000, 0, 10_000, 1000, 0, 100, 10, 1])
"""What each digit of `02:10:28.180` is worth. A zone is written behind it, so no hour of a day is another's."""
MOST_DATES = 10_000
MOST_LENGTHS = 8
"""Lengths of writers' names that are tried on a block at once."""

BLOCK_BYTES = 2 << 20
"""Of lines that are taken apart together: of hundreds of writers each should have several."""

PADDING = bytes(256)
"""Behind a block: what is looked for at fixed places of its last line ends there."""

ZERO, NINE, BLANK, NEWLINE = 48, 57, 32, 10
NOBODY, SKIPPED = -1, -2


def reader(prefix: Prefix, timing: Timing) -> Callable[[Iterable[bytes]], Iterator[Batch]]:
    """Read what `interleaved.reader` reads, many lines at once."""

    def batches(blocks: Iterable[bytes]) -> Iterator[Batch]:
        tail = Tail(prefix, timing)
        for number, data in streams.whole_lines(streams.gathered(blocks, BLOCK_BYTES)):
            batch = tail.batch(number, data)
            if len(batch.at):
                yield batch

    return batches


class Stamps:
    """Reads times that are written as `written` is: of the same length, with the same marks and the same zone."""

    @staticmethod
    def can_read(written: bytes) -> bool:
        """Say whether it reads such times: with a zone and what stands behind it, so that no date is another's."""
        return COMPLETE.fullmatch(written) is not None

    def __init__(self, written: bytes, stamp: Stamp) -> None:
        self.width = len(written)
        self._stamp = stamp
        self._dates: dict[bytes, int] = {}
        template = np.frombuffer(written, np.uint8)
        zone = max(written.rfind(mark) for mark in (b"Z", b"+", b"-"))
        digit = (template >= ZERO) & (template <= NINE) & (np.arange(self.width) < zone)
        self._low = np.where(digit, ZERO, template).astype(np.uint8)
        self._room = np.where(digit, NINE - ZERO, 0).astype(np.uint8)

    def read(self, data: bytes, padded: NDArray[np.uint8], starts: Numbers) -> Numbers:
        """Return the times of the lines that begin at these places, NO_TIME for those written otherwise."""
        held = window(padded, self.width)[starts]
        digits = held - self._low
        hour, minute, second = (digits[:, place] * 10 + digits[:, place + 1] for place in (HOUR, HOUR + 3, HOUR + 6))
        fits = (digits <= self._room).all(axis=1) & (hour <= LAST_HOUR) & (minute <= LAST_MINUTE)
        there = np.flatnonzero(fits & (second <= LAST_SECOND))
        at = np.full(len(starts), NO_TIME)
        if not len(there):
            return at
        within = digits[there, HOUR : HOUR + len(WORTH_MS)] @ WORTH_MS
        dates = np.ascontiguousarray(held[there, :HOUR]).view(f"S{HOUR}").ravel()
        changes = np.flatnonzero(np.concatenate(([True], dates[1:] != dates[:-1])))
        first = zip(dates[changes].tolist(), starts[there[changes]].tolist(), within[changes].tolist(), strict=True)
        begun = [self._date(data, *each) for each in first]
        known = np.repeat(begun, np.diff(np.append(changes, len(there))))
        at[there] = np.where(known == NO_TIME, NO_TIME, known + within)
        return at

    def _date(self, data: bytes, date: bytes, start: int, within: int) -> int:
        """Return when a date began, given a line of it: `within` is how far into the day that was written."""
        known = self._dates.get(date)
        if known is None:
            at = self._stamp(data, start, start + self.width)
            if len(self._dates) >= MOST_DATES:
                self._dates.clear()
            known = self._dates[date] = NO_TIME if at is None else at - within
        return known


class Tail:
    """One file, as far as it has been read: its writers, and whose the line before was."""

    def __init__(self, prefix: Prefix, timing: Timing) -> None:
        self._pattern = prefix.pattern
        self._timing = timing
        self._stamps: Stamps | None = None
        self._writers = Writers()
        self._known: dict[bytes, int] = {}  # by name: the writer's number
        self._lengths: list[int] = []
        self._last = NOBODY  # the writer of the last line that began a record
        self._headed: set[int] = set()  # writers whose next line without a time goes on with an earlier one

    def batch(self, number: int, data: bytes) -> Batch:
        """Return the lines of a block, of which the first is the file's `number`-th."""
        padded = np.frombuffer(data + PADDING, np.uint8)
        ends = np.append(np.flatnonzero(padded[: len(data)] == NEWLINE), len(data))
        starts = np.concatenate(([0], ends[:-1] + 1))
        at, writer = self._at_once(data, padded, starts, ends=ends)
        self._one_by_one(data, np.stack((starts, ends)), at, writer=writer)
        kept = np.flatnonzero(writer != SKIPPED)
        at, writer, starts, ends = at[kept], writer[kept], starts[kept], ends[kept]
        begins = self._attributed(at, writer)
        text, begin, end = _as_text(data, starts, ends)
        return Batch(
            writers=self._writers,
            writer=writer,
            at=at,
            begins=begins,
            line=kept + number,
            text=text,
            begin=begin,
            end=end,
        )

    def _at_once(
        self, data: bytes, padded: NDArray[np.uint8], starts: Numbers, *, ends: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return times and writers of all lines that are written in the usual way; of others NOBODY."""
        writer = np.full(len(starts), NOBODY)
        if self._stamps is None and (found := TIME.match(data)):
            self._stamps = Stamps(found[0], self._timing.first)
        if self._stamps is None:
            return np.full(len(starts), NO_TIME), writer
        at = self._stamps.read(data, padded, starts)
        names = starts + self._stamps.width
        self._measure(data, names[at != NO_TIME])
        for length in self._lengths:
            stop = names + length
            fits = np.flatnonzero((at != NO_TIME) & (writer == NOBODY) & (stop < ends))
            fits = fits[padded[stop[fits]] == BLANK]
            found_names = [data[begin : begin + length] for begin in names[fits].tolist()]
            numbers = list(map(self._known.get, found_names))
            if None in numbers:
                numbers = [self._number(name) for name in found_names]
            writer[fits] = numbers
        at[writer == NOBODY] = NO_TIME
        return at, writer

    def _measure(self, data: bytes, names: Numbers) -> None:
        """Learn how long the names are that stand first in this block."""
        for begin in names[:MOST_LENGTHS].tolist():
            length = data.find(b" ", begin) - begin
            if length > 0 and length not in self._lengths and len(self._lengths) < MOST_LENGTHS:
                self._lengths = sorted([*self._lengths, length])

    def _number(self, name: bytes) -> int:
        """Return a writer's number; NOBODY where the pattern does not know the name for one."""
        number = self._known.get(name)
        if number is None:
            found = self._pattern.match(b"2000-01-01T00:00:00.000Z " + name + b" ")
            is_one = found is not None and found["id"] == name
            number = self._writers.number(streams.decoded(name)) if is_one else NOBODY
            if len(self._known) < MOST_SUBJECTS:
                self._known[name] = number
        return number

    def _one_by_one(self, data: bytes, lines: Numbers, at: Numbers, *, writer: Numbers) -> None:
        """Read the other lines; and any line as long as one of another shape has changed what is tried first."""
        tries_first = self._timing.tries_first
        behind = 0
        for odd in [*np.flatnonzero(writer == NOBODY).tolist(), len(at)]:
            while behind < odd and not tries_first():
                at[behind], writer[behind] = self._read(data, *lines[:, behind].tolist())
                behind += 1
            if odd < len(at):
                at[odd], writer[odd] = self._read(data, *lines[:, odd].tolist())
            behind = odd + 1

    def _read(self, data: bytes, start: int, end: int) -> tuple[int, int]:
        line = data[start:end]
        if not line.strip():
            return NO_TIME, SKIPPED
        found = self._pattern.match(line)
        moment = self._timing.time_at(line, 0, len(line))
        writer = self._writers.number(streams.decoded(found["id"])) if found else NOBODY
        return (NO_TIME if moment is None else moment), writer

    def _attributed(self, at: Numbers, writer: Numbers) -> NDArray[np.bool_]:
        """Give lines that name nobody to the writer before; return which lines begin a record."""
        begins: NDArray[np.bool_] = at != NO_TIME
        if not len(at):
            return begins
        names_nobody = writer == NOBODY
        if (
            (~begins & ~names_nobody).any()
            or len(self._writers.names) >= MOST_SUBJECTS
            or (self._last == NOBODY and not begins[0])
        ):
            self._begin_singly(begins, writer)
        else:
            self._headed.update(np.unique(writer[begins & ~names_nobody]).tolist())
            if (begins & names_nobody).any():
                writer[begins & names_nobody] = nobody = self._writers.number(None)
                self._headed.add(nobody)
        heads = np.maximum.accumulate(np.where(begins, np.arange(len(at)), NOBODY))
        of_head = np.where(heads == NOBODY, self._last, writer[heads])
        writer[:] = np.where(writer == NOBODY, of_head, writer)
        self._last = int(of_head[-1])
        return begins

    def _begin_singly(self, begins: NDArray[np.bool_], writer: Numbers) -> None:
        """Find out line by line which begin a record, as `interleaved.reader` does."""
        last = self._last
        for place, (timed, number) in enumerate(zip(begins.tolist(), writer.tolist(), strict=True)):
            has_head = last != NOBODY if number == NOBODY else number in self._headed
            if not timed and has_head:
                continue
            begins[place] = True
            writer[place] = last = self._writers.number(None) if number == NOBODY else number
            if len(self._headed) >= MOST_SUBJECTS:
                self._headed.clear()
            self._headed.add(last)


def _as_text(data: bytes, starts: Numbers, ends: Numbers) -> tuple[bytes, Numbers, Numbers]:
    """Return the lines as UTF-8, whatever they are, and where each is."""
    if data.isascii():
        return data, starts, ends
    try:
        data.decode()
    except UnicodeDecodeError:
        lines = zip(starts.tolist(), ends.tolist(), strict=True)
        texts = [data[start:end].decode("utf-8", "replace").encode() for start, end in lines]
        return b"\n".join(texts), *spans_of(texts)
    return data, starts, ends
