"""Reads one file of log lines from its bytes to its events: the only place where raw lines are touched.

The scanner finds signatures in whole blocks; times, fields and line numbers are worked out only around what it found
and at the edges of quiet gaps. Formats that cannot be read so (several writers in one file, records cut into pieces,
one large document) hand out their records one by one instead, and the rest is the same.
"""

from __future__ import annotations

from itertools import accumulate, chain, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.pipeline.alike import Alike, by_themselves
from leadsman.pipeline.gaps import Gap, LongestGaps, Mark, gaps_between, next_mark, previous_mark
from leadsman.pipeline.record import QUOTE_LENGTH, Head, Hit, Listener
from leadsman.pipeline.scanner import scanner
from leadsman.telemetry.source import LONGEST_MATCH

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from leadsman.pipeline.blocks import Block
    from leadsman.pipeline.events import Row
    from leadsman.telemetry.format import Format, Record, TimeAt

LINES_LOOKED_BACK = 400
"""How far above a hit its record's first line is looked for: deeper than stack traces are."""

RECORDS_LOOKED_AHEAD = 200
"""Records by which it is seen whether a file runs forwards or backwards in time."""

LONG_LINE = 16_384
"""Characters. On a longer line a signature is tried only around the first thing that was found."""

MANY_HITS = 40
"""Lines with hits in one block, above which listing all newlines (50 microseconds) costs less than counting on."""

HITS_A_RECORD = 1000
"""Lines with hits that are held until their record ends: more than any stack trace or dump has."""

NEWLINE = 10


class Subject:
    """One writer's lines so far: when it began, when it last wrote, and its longest silences."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines = 0
        self.first: int | None = None
        self.until: int | None = None
        self.last: tuple[int, int, str, str] | None = None  # at, line, text, file
        self.gaps = LongestGaps()

    def wrote(self, at: int, line: int, text: str, file: str, *, falling: bool = False) -> None:
        """Note a line with a time; keep the silence between it and the last one if it was long.

        `falling`: the file runs from the newest line to the oldest.
        """
        this = (at, line, text, file)
        if self.last is not None:
            before, after = (this, self.last) if falling else (self.last, this)
            if after[0] - before[0] >= self.gaps.floor_ms:
                self.gaps.add(
                    Gap(
                        (after[0] - before[0]) / 1000,
                        after[0],
                        after[1],
                        after[2][:QUOTE_LENGTH],
                        after[3],
                        before[1],
                        before[2][:QUOTE_LENGTH],
                        before[3],
                    ),
                )  # fmt: skip - the line after, then the line before
        self.passed(*this)

    def passed(self, at: int, line: int, text: str, file: str) -> None:
        """Note a line with a time that no long silence lies before."""
        self.first = at if self.first is None else min(self.first, at)
        self.until = at if self.until is None else max(self.until, at)
        self.last = (at, line, text, file)


class FileReading:
    """The reading of one file: which line it has come to, and which record that line belongs to.

    `name` is that of the file's writer. Of a section, `line` lines of the file lie above it, and `at` is when it was
    had: its lines may carry no times of their own.
    """

    def __init__(
        self,
        file: str,
        form: Format,
        *,
        name: str,
        listener: Listener,
        subjects: dict[str, Subject],
        line: int = 0,
        at: int | None = None,
    ) -> None:
        self.bytes = 0
        self.line = line  # lines that lie behind
        self.timed = False  # whether any line had a time
        self._file = file
        self._form = form
        self._name = name
        self._listener = listener
        self._subjects = subjects
        self._head = Head(at, "", name)
        self._open_head, self._open = self._head, list[Hit]()  # the last record with hits
        self._alike = Alike(file, name, listener)

    def all(self, opened: Iterable[Block]) -> Iterator[Row | pa.RecordBatch]:
        """Read the file in the way of its format."""
        return self._records(opened) if self._form.records else self._lines(opened)

    def _lines(self, opened: Iterable[Block]) -> Iterator[Row | pa.RecordBatch]:
        """Read whole blocks: from hit to hit, and from gap to gap."""
        _, scan = scanner()
        subject = self._subject(self._name)
        partial = False
        for block in opened:
            data = block.data if block.end == len(block.data) else block.data[: block.end]
            newlines = np.frombuffer(data, np.uint8) == NEWLINE
            spots = list(_spots(data, scan(data), self._listener.heard_out, self._form.time_at))
            yield from self._hits(data, spots, newlines)
            self._silences(data, newlines, subject, spots)
            count = int(np.count_nonzero(newlines))
            partial = data[-1] != NEWLINE
            self.line += count
            self.bytes += len(data)
            subject.lines += count
        yield from self._heard()
        yield from self._alike.told()
        self.line += partial
        subject.lines += partial

    def _records(self, opened: Iterable[Block]) -> Iterator[Row]:
        """Read record by record, as the format hands them out. Hits wait until their writer begins its next record."""
        _, scan = scanner()
        assert self._form.records is not None
        coming = self._form.records(self._counted(opened))
        first = list(islice(coming, RECORDS_LOOKED_AHEAD))
        falling = _falling(first)
        waiting: dict[str, tuple[Head, list[Hit]]] = {}
        for record in chain(first, coming):
            subject = self._subject(record.subject or self._name)
            subject.lines += 1
            if record.at is not None:
                self.timed = True
                subject.wrote(record.at, record.line, record.quote, self._file, falling=falling)
            found = {index for _, index in scan(record.text.encode())}
            if record.head is None and subject.name in waiting:
                yield from self._listener.hear(*waiting.pop(subject.name), self._file)
            if found:
                at = record.at if record.at is not None else subject.last and subject.last[0]
                head = Head(at, record.first_line, subject.name)
                hit = Hit(record.line, record.text, record.quote, 0, tuple(sorted(found)))
                waiting.setdefault(subject.name, (head, []))[1].append(hit)
        for head, hits in waiting.values():
            yield from self._listener.hear(head, hits, self._file)

    def _counted(self, opened: Iterable[Block]) -> Iterator[bytes]:
        for block in opened:
            data = block.data[: block.end]
            self.bytes += len(data)
            self.line += data.count(b"\n") + (not data.endswith(b"\n"))
            yield data

    def _subject(self, name: str) -> Subject:
        subject = self._subjects.get(name)
        if subject is None:
            subject = self._subjects[name] = Subject(name)
        return subject

    def _hits(self, data: bytes, spots: Sequence[Spot], newlines: NDArray[np.bool_]) -> Iterator[Row | pa.RecordBatch]:
        """Group the lines with hits by record, and turn each record into events."""
        lines = _lines_before([spot.start for spot in spots], newlines)
        goes_on = bool(self._open) and self._open_head == self._head and self._head.at is not None
        begun, last = -1 if goes_on else -2, -1
        alike = by_themselves()
        for spot, before, after in zip(spots, lines, [*spots, NOWHERE][1:], strict=True):
            if spot.at is not None and after.at is not None and spot.signatures in alike:
                text = data[spot.start : spot.end].decode("utf-8", "replace").rstrip("\r")
                if len(text) <= QUOTE_LENGTH:
                    if self._open:
                        yield from self._heard()
                    self._alike.put(spot.signatures[0], spot.at, self.line + 1 + before, text)
                    begun, last = -2, spot.start
                    continue
            hit = _hit(data, spot, self.line + 1 + before)
            now, head = self._head_of(data, spot, hit, last=last, known=(begun, self._open_head))
            if now != begun:
                yield from self._heard()
                begun, self._open_head = now, head
            last = spot.start
            self._open.append(hit)
        if len(self._open) > HITS_A_RECORD:
            yield from self._heard()
        if self._alike.are_many:
            yield from self._alike.told()

    def _heard(self) -> Iterable[Row]:
        """Return the events of the record that is open, and close it. A block's last record may go on in the next."""
        if not self._open:
            return ()
        told = self._listener.hear(self._open_head, self._open, self._file)
        self._open = []
        return told

    def _head_of(self, data: bytes, spot: Spot, hit: Hit, *, last: int, known: tuple[int, Head]) -> tuple[int, Head]:
        """Return where the record begins that the line at `spot` belongs to, looking upwards from it, and its head.

        `hit` is what was found on that line. The record of the line at `last` is `known`: there the search ends.
        """
        if spot.at is not None:
            return spot.start, Head(spot.at, hit.raw, self._name)
        time_at, start = self._form.time_at, spot.start
        for _ in range(LINES_LOOKED_BACK):
            if start == 0:
                break
            end = start - 1
            start = data.rfind(b"\n", 0, end) + 1
            if start == last:
                return known
            at = time_at(data, start, end)
            if at is not None:
                return start, Head(at, data[start:end].decode("utf-8", "replace"), self._name)
        return -1, self._head

    def _silences(self, data: bytes, newlines: NDArray[np.bool_], subject: Subject, spots: Iterable[Spot]) -> None:
        """Note the block's first and last line, and every long silence between two of its lines.

        The times of lines with hits are known: two of them close together have no silence between them.
        """
        time_at = self._form.time_at
        first, last = next_mark(data, 0, len(data), time_at), previous_mark(data, len(data), time_at)
        if first is None or last is None:
            return
        self.timed = True
        subject.wrote(*self._where(data, first, newlines))
        floor_ms = subject.gaps.floor_ms
        stretches = _stretches(first, spots, last, floor_ms=floor_ms)
        for left, right in gaps_between(data, stretches, time_at, floor_ms=floor_ms):
            subject.passed(*self._where(data, left, newlines))
            subject.wrote(*self._where(data, right, newlines))
        subject.passed(*self._where(data, last, newlines))
        self._head = Head(last.at, data[last.start : last.end].decode("utf-8", "replace"), subject.name)

    def _where(self, data: bytes, mark: Mark, newlines: NDArray[np.bool_]) -> tuple[int, int, str, str]:
        """Return time, line number, text and file of a line."""
        line = self.line + int(np.count_nonzero(newlines[: mark.start])) + 1
        return mark.at, line, data[mark.start : mark.end].decode("utf-8", "replace").rstrip("\r"), self._file


class Spot(NamedTuple):
    """A line on which signatures were found: from `start` to `end` of its block, the first match ending at `near`.

    `at` is the line's own time (ms since 1970), if it has one.
    """

    start: int
    end: int
    near: int
    signatures: tuple[int, ...]
    at: int | None


NOWHERE = Spot(0, 0, 0, (), None)


def _spots(data: bytes, found: list[tuple[int, int]], heard_out: Container[int], time_at: TimeAt) -> Iterator[Spot]:
    """Group by line what was found, which comes in the order in which the matches end."""
    start, end, near = 0, -1, 0
    there: tuple[int, ...] = ()
    for place, index in found:
        if index in heard_out:
            continue
        if place <= end:
            if index not in there:
                there = tuple(sorted((*there, index)))
            continue
        if there:
            yield Spot(start, end, near, there, time_at(data, start, end))
        start, end = data.rfind(b"\n", 0, place - 1) + 1, data.find(b"\n", place - 1)
        end = len(data) if end < 0 else end
        near, there = place, (index,)
    if there:
        yield Spot(start, end, near, there, time_at(data, start, end))


def _stretches(first: Mark, known: Iterable[Spot], last: Mark, *, floor_ms: int) -> Iterator[tuple[Mark, Mark]]:
    """Yield the stretches from `first` to `last`, between lines of known times, that are long enough for a silence."""
    start, end, before = first
    for spot in known:
        at = spot.at
        if at is None:
            continue
        if at - before >= floor_ms:
            yield Mark(start, end, before), Mark(spot.start, spot.end, at)
        start, end, before = spot.start, spot.end, at
    if last.at - before >= floor_ms:
        yield Mark(start, end, before), last


def _hit(data: bytes, spot: Spot, line: int) -> Hit:
    """Return what was found on a line, which is the file's `line`-th."""
    text = data[spot.start : spot.end].decode("utf-8", "replace").rstrip("\r")
    near = spot.near - spot.start
    window = text if len(text) <= LONG_LINE else text[max(0, near - LONGEST_MATCH) : near + LONGEST_MATCH]
    return Hit(line, window, text, near, spot.signatures)


def _lines_before(starts: list[int], newlines: NDArray[np.bool_]) -> list[int]:
    """Return how many lines end before each of these places. Few are counted one by one, many looked up at once."""
    if len(starts) > MANY_HITS:
        return [int(count) for count in np.searchsorted(np.flatnonzero(newlines), starts)]
    counts = [np.count_nonzero(newlines[since:start]) for since, start in pairwise([0, *starts])]
    return list(accumulate(map(int, counts)))


def _falling(records: Sequence[Record]) -> bool:
    """Say whether records come newest first, as many exports do: most steps of one writer lead back in time."""
    balance, last = 0, dict[str | None, int]()
    for record in records:
        if record.at is not None:
            before = last.get(record.subject, record.at)
            balance += (record.at > before) - (record.at < before)
            last[record.subject] = record.at
    return balance < 0
