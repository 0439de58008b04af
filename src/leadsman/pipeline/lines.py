"""Reads one file of log lines from its bytes to its events: the only place where raw lines are touched.

The scanner finds signatures in whole blocks; times, fields and line numbers are worked out only around what it found
and at the edges of quiet gaps. Formats that cannot be read so (several writers in one file, records cut into pieces,
one large document) hand out their records one by one instead, and the rest is the same.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.pipeline.activity import Edge, Subject, Times
from leadsman.pipeline.alike import Alike, tells_by_itself
from leadsman.pipeline.columns import ColumnReading
from leadsman.pipeline.gaps import Mark, OutOfOrder, gaps_between, next_mark, previous_mark, run_one_way
from leadsman.pipeline.record import QUOTE_LENGTH, Head, Hit, Listener
from leadsman.pipeline.scanner import scanner
from leadsman.telemetry.batch import NO_TIME
from leadsman.telemetry.source import LONGEST_MATCH

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from leadsman.pipeline.blocks import Block
    from leadsman.pipeline.events import Row
    from leadsman.telemetry.format import Format, TimeAt

LINES_LOOKED_BACK = 400
"""How far above a hit its record's first line is looked for: deeper than stack traces are."""

NEARBY = 4096
"""Bytes in which a line with a time is looked for: a dump or a trace may stand there."""

LINES_LOOKED_AT = 4
"""Lines of a block by whose times it is seen whether they run one way, besides those of lines with hits."""

LEAST_STEPS_ASIDE = 3
"""Two logs behind one another in one file step back once."""

MOST_STEPS_ASIDE = 0.05
"""Of the steps over a silence, the share that may lead the other way: two processes that share a file, a clock put
right. Of lines in no order every second one does."""

LONG_LINE = 16_384
"""Characters. On a longer line a signature is tried only around the first thing that was found."""

MANY_HITS = 40
"""Lines with hits in one block, above which listing all newlines (50 microseconds) costs less than counting on."""

HITS_A_RECORD = 1000
"""Lines with hits that are held until their record ends: more than any stack trace or dump has."""

NEWLINE = 10


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
        self.times = Times()
        self._places = [
            0,
            0,
        ]  # steps down and up the file from one record to the next: a document's come sorted by time
        self.in_order = True  # oldest first or newest first; known at the end
        self._file = file
        self._form = form
        self._name = name
        self._listener = listener
        self._subjects = subjects
        self._head = Head(at, "", name)
        self._open_head, self._open = self._head, list[Hit]()  # the last record with hits
        self._alike = Alike(file, listener)

    def all(self, opened: Iterable[Block]) -> Iterator[Row | pa.RecordBatch]:
        """Read the file in the way of its format."""
        before = self._steps()
        read = self._batches if self._form.batches else self._records if self._form.records else self._lines
        yield from read(opened)
        silences = (now - then for now, then in zip(self._steps(), before, strict=True))
        self.in_order = _one_way(*silences) and _one_way(*self._places)

    def _steps(self) -> tuple[int, int]:
        """Return how many silences the lines so far stepped over, forwards and backwards."""
        subjects = self._subjects.values()
        return sum(each.forwards for each in subjects), sum(each.backwards for each in subjects)

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
        waiting: dict[str, tuple[Head, list[Hit]]] = {}
        lines: dict[str, int] = {}
        for record in self._form.records(self._counted(opened)):
            subject = self._subject(record.subject or self._name)
            subject.lines += 1
            if record.at is not None:
                self.timed = True
                self.times.note(record.at)
                if record.line != lines.get(subject.name, record.line):
                    self._places[record.line < lines[subject.name]] += 1
                lines[subject.name] = record.line
                subject.wrote(Edge(record.at, record.line, record.quote, self._file))
            found = {index for _, index in scan(record.text.encode())}
            if record.head is None and subject.name in waiting:
                yield from self._listener.hear(*waiting.pop(subject.name), self._file)
            if found:
                at = record.at if record.at is not None else subject.last_at
                head = Head(at, record.first_line, subject.name)
                hit = Hit(record.line, record.text, record.quote, 0, tuple(sorted(found)))
                waiting.setdefault(subject.name, (head, []))[1].append(hit)
        for head, hits in waiting.values():
            yield from self._listener.hear(head, hits, self._file)

    def _batches(self, opened: Iterable[Block]) -> Iterator[Row | pa.RecordBatch]:
        """Read what `_records` reads, many records at once."""
        assert self._form.batches is not None
        reading = ColumnReading(
            self._file,
            lambda name: self._subject(name or self._name),
            listener=self._listener,
            times=self.times,
            places=self._places,
        )
        try:
            for batch in self._form.batches(self._counted(opened)):
                self.timed = self.timed or bool((batch.at != NO_TIME).any())
                yield from reading.read(batch)
        except Exception:
            yield from reading.put_by()  # of a file that breaks off, what came before it
            raise
        yield from reading.rest()

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
        for spot, before, after in zip(spots, lines, [*spots, NOWHERE][1:], strict=True):
            if spot.at is not None and after.at is not None and tells_by_itself(spot.signatures):
                text = data[spot.start : spot.end].decode("utf-8", "replace").rstrip("\r")
                if len(text) <= QUOTE_LENGTH:
                    if self._open:
                        yield from self._heard()
                    line = self.line + 1 + before
                    self._alike.put(spot.signatures, spot.at, line, text=text, subject=self._name, quote=text)
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

    def _silences(self, data: bytes, newlines: NDArray[np.bool_], subject: Subject, spots: Sequence[Spot]) -> None:
        """Note the block's first and last line, and every long silence between two of its lines.

        The times of lines with hits are known: two of them close together have no silence between them.
        """
        time_at = self._form.time_at
        first, last = next_mark(data, 0, len(data), time_at), previous_mark(data, len(data), time_at)
        if first is None or last is None:
            return
        self.timed = True
        known = [*_samples(data, time_at), *_marks(spots)] if len(spots) < LINES_LOOKED_AT else _marks(spots)
        try:
            spans = list(_spans(data, [first, *sorted(known), last], time_at, floor_ms=subject.floor_ms))
        except OutOfOrder:
            self._every_line(data, newlines, subject)
        else:
            for left, right in spans:
                self.times.note(left.at, right.at)
                subject.wrote_between(self._edge(data, left, newlines), self._edge(data, right, newlines))
        self._head = Head(last.at, data[last.start : last.end].decode("utf-8", "replace"), subject.name)

    def _every_line(self, data: bytes, newlines: NDArray[np.bool_], subject: Subject) -> None:
        """Note the time of each line of a block whose times run back and forth."""
        start = 0
        for line, newline in enumerate([*np.flatnonzero(newlines).tolist(), len(data)], self.line + 1):
            at = self._form.time_at(data, start, newline)
            if at is not None:
                self.times.note(at)
                subject.wrote(Edge(at, line, data[start:newline].decode("utf-8", "replace").rstrip("\r"), self._file))
            start = newline + 1

    def _edge(self, data: bytes, mark: Mark, newlines: NDArray[np.bool_]) -> Edge:
        line = self.line + int(np.count_nonzero(newlines[: mark.start])) + 1
        return Edge(mark.at, line, data[mark.start : mark.end].decode("utf-8", "replace").rstrip("\r"), self._file)


def _one_way(forwards: int, backwards: int) -> bool:
    """Whether so many steps lead one way, but for the few that clocks and threads explain."""
    aside = min(forwards, backwards)
    return aside < LEAST_STEPS_ASIDE or aside <= MOST_STEPS_ASIDE * (forwards + backwards)


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


def _marks(spots: Iterable[Spot]) -> list[Mark]:
    """Return the lines with hits whose times are known."""
    return [Mark(spot.start, spot.end, spot.at) for spot in spots if spot.at is not None]


def _samples(data: bytes, time_at: TimeAt) -> Iterator[Mark]:
    """Yield a few lines from all over a block."""
    for part in range(1, LINES_LOOKED_AT + 1):
        start = data.find(b"\n", len(data) * part // (LINES_LOOKED_AT + 1)) + 1
        limit = data.find(b"\n", start + NEARBY)
        mark = next_mark(data, start, limit if limit >= 0 else len(data), time_at) if start else None
        if mark is not None:
            yield mark


def _spans(data: bytes, known: Sequence[Mark], time_at: TimeAt, *, floor_ms: int) -> Iterator[tuple[Mark, Mark]]:
    """Yield the parts of a block in which there is no silence, given lines in its order. Raises OutOfOrder."""
    if not run_one_way([mark.at for mark in known]):
        raise OutOfOrder
    begun = known[0]
    for left, right in gaps_between(data, pairwise(known), time_at, floor_ms=floor_ms):
        yield begun, left
        begun = right
    yield begun, known[-1]


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
