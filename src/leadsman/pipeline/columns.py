"""Turns batches of records into events and activity: what `FileReading` does record by record, for many at once.

Times, silences and the order of lines are worked out writer by writer on arrays; only records on which signatures were
found, and the edges of silences, become Python objects.
"""

from __future__ import annotations

import heapq
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.pipeline.activity import Edge
from leadsman.pipeline.alike import Alike, tells_by_itself
from leadsman.pipeline.record import QUOTE_LENGTH, Head, Hit
from leadsman.pipeline.scanner import once_scanner
from leadsman.telemetry.batch import NO_TIME
from leadsman.telemetry.formats.streams import LONGEST_HEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from leadsman.pipeline.activity import Subject, Times
    from leadsman.pipeline.events import Row
    from leadsman.pipeline.record import Listener
    from leadsman.telemetry.batch import Batch

    Numbers = NDArray[np.int64]
    Found = tuple[int, tuple[int, ...]]

NOBODY = -1

MOST_SIGNATURES = 1 << 20
"""More than there are: by it a record and a signature are one number."""


class Groups(NamedTuple):
    """Some records sorted by a key, those of one key in their order. `first` is where each key's begin.

    `records` are their places in the batch, `keys` their keys.
    """

    records: Numbers
    keys: Numbers
    first: Numbers

    def those(self, chosen: NDArray[np.bool_]) -> Groups:
        """Return the same of the chosen ones alone, given for all records of the batch."""
        kept = chosen[self.records]
        return _groups(self.records[kept], self.keys[kept])

    def last_until(self, records: Numbers, keys: Numbers) -> Numbers:
        """Return for each record the last one of the key beside it that is not after it; NOBODY where there is none."""
        place = self._place(records, keys) - 1
        there = (place >= 0) & (self._at(self.keys, place) == keys)
        return np.where(there, self._at(self.records, place), NOBODY)

    def next_after(self, records: Numbers, keys: Numbers) -> Numbers:
        """Return for each record the first one of the key beside it that is after it; NOBODY where there is none."""
        place = self._place(records, keys)
        there = (place < len(self.keys)) & (self._at(self.keys, place) == keys)
        return np.where(there, self._at(self.records, place), NOBODY)

    def _place(self, records: Numbers, keys: Numbers) -> Numbers:
        most = 1 + max(self.records.max(initial=0), records.max(initial=0))
        found: Numbers = np.searchsorted(self.keys * most + self.records, keys * most + records, side="right")
        return found

    @staticmethod
    def _at(column: Numbers, place: Numbers) -> Numbers:
        return column[np.clip(place, 0, len(column) - 1)] if len(column) else np.full(len(place), NOBODY)


def _groups(records: Numbers, keys: Numbers) -> Groups:
    return Groups(records, keys, np.flatnonzero(np.diff(keys, prepend=NOBODY)))


def _grouped(keys: Numbers) -> Groups:
    small = keys.astype(np.int16) if len(keys) and keys.max() < np.iinfo(np.int16).max else keys  # sorted by digits
    records = np.argsort(small, kind="stable")
    return _groups(records, keys[records])


class ColumnReading:
    """The records of one file, batch by batch.

    `places` counts the steps down and up the file from one record of a writer to its next, as `FileReading` does.
    """

    def __init__(
        self,
        file: str,
        subject: Callable[[str | None], Subject],
        *,
        listener: Listener,
        times: Times,
        places: list[int],
    ) -> None:
        self._file = file
        self._subject_named = subject
        self._listener = listener
        self._times = times
        self._places = places
        self._scan = once_scanner()
        self._alike = Alike(file, listener)
        self._subjects: list[Subject] = []
        self._numbers: dict[str, int] = {}
        self._of_writer = np.zeros(0, np.int64)  # writer -> number of its subject
        self._last_line: dict[int, int] = {}
        self._heads: dict[int, str] = {}  # by writer: the first line of its last record
        self._waiting: dict[int, tuple[Head, list[Hit]]] = {}

    def read(self, batch: Batch) -> Iterator[Row | pa.RecordBatch]:
        """Note the activity in a batch, and yield the events of the records that end in it."""
        self._meet(batch)
        subject = self._of_writer[batch.writer]
        groups = _grouped(subject)
        for number, count in zip(*np.unique(groups.keys, return_counts=True), strict=True):
            self._subjects[number].lines += int(count)
        timed = groups.those(batch.at != NO_TIME)
        before = {number: self._subjects[number].last_at for number in groups.keys[groups.first].tolist()}
        if len(timed.records):
            self._note(batch, timed)
        yield from self._events(batch, subject, groups, timed=timed, before=before)
        self._keep_heads(batch)
        if self._alike.are_many:
            yield from self._alike.told()

    def put_by(self) -> Iterator[Row | pa.RecordBatch]:
        """Yield the events that wait only to be many."""
        yield from self._alike.told()

    def rest(self) -> Iterator[Row | pa.RecordBatch]:
        """Yield the events of the records that nothing came after."""
        yield from self.put_by()
        for head, hits in self._waiting.values():
            yield from self._listener.hear(head, hits, self._file)

    def _meet(self, batch: Batch) -> None:
        """Give numbers to the subjects of writers that are new."""
        names = batch.writers.names
        unmet = len(names) - len(self._of_writer)
        if unmet:
            self._of_writer = np.append(self._of_writer, np.full(unmet, NOBODY))
        new = batch.writer[self._of_writer[batch.writer] == NOBODY]
        if not len(new):
            return
        writers, first = np.unique(new, return_index=True)
        for writer in writers[np.argsort(first)].tolist():
            subject = self._subject_named(names[writer])
            if subject.name not in self._numbers:
                self._numbers[subject.name] = len(self._subjects)
                self._subjects.append(subject)
            self._of_writer[writer] = self._numbers[subject.name]

    def _note(self, batch: Batch, timed: Groups) -> None:
        """Note the times of a batch, how its writers step through the file, and their silences."""
        at, line = batch.at[timed.records], batch.line[timed.records]
        self._times.note(int(at.min()), int(at.max()))
        whose = timed.keys[timed.first].tolist()
        steps = np.diff(line, prepend=line[0])
        steps[timed.first] = [
            now - self._last_line.get(number, now)
            for number, now in zip(whose, line[timed.first].tolist(), strict=True)
        ]
        self._places[0] += int(np.count_nonzero(steps > 0))
        self._places[1] += int(np.count_nonzero(steps < 0))
        ends = np.append(timed.first[1:], len(line)) - 1
        self._last_line.update(zip(whose, line[ends].tolist(), strict=True))
        self._silences(batch, timed, at)

    def _silences(self, batch: Batch, timed: Groups, at: Numbers) -> None:
        """Hand each writer the runs of its records in which times rise and no silence is long enough."""
        whose = timed.keys[timed.first]
        floors = [self._subjects[number].floor_ms for number in whose.tolist()]
        floor = np.repeat(floors, np.diff(np.append(timed.first, len(at))))
        steps = np.diff(at, prepend=at[0])
        breaks = (steps >= floor) | (steps < 0)
        breaks[timed.first] = True
        begins = np.flatnonzero(breaks)
        ends = np.append(begins[1:], len(at)) - 1
        records, lines = timed.records, batch.line
        runs = zip(
            timed.keys[begins].tolist(),
            *(
                column.tolist()
                for place in (records[begins], records[ends])
                for column in (place, batch.at[place], lines[place])
            ),
            strict=True,
        )
        quote, file = batch.quote_of, self._file
        for number, first, first_at, first_line, last, last_at, last_line in runs:
            begun = ended = Edge(first_at, first_line, quote(first)[:QUOTE_LENGTH], file)
            if last != first:
                ended = Edge(last_at, last_line, quote(last)[:QUOTE_LENGTH], file)
            self._subjects[number].wrote_rising(begun, ended)

    def _events(
        self, batch: Batch, subject: Numbers, groups: Groups, *, timed: Groups, before: dict[int, int | None]
    ) -> Iterator[Row]:
        """Yield the events of records that end here: each is told when its subject begins the next one."""
        found = self._found(batch)
        if not found and not self._waiting:
            return
        begun = groups.those(batch.begins)
        waiting = np.array(list(self._waiting), np.int64)
        closing = [
            (after, number)
            for after, number in zip(begun.next_after(waiting * 0 - 1, waiting).tolist(), self._waiting, strict=True)
            if after != NOBODY
        ]
        heapq.heapify(closing)
        records = np.fromiter(map(itemgetter(0), found), np.int64, len(found))
        numbers = subject[records]
        after = begun.next_after(records, numbers)
        apart = self._put_apart(batch, found, records, numbers=numbers, after=after)
        columns = (after, timed.last_until(records, numbers), numbers, batch.line[records])
        left = np.flatnonzero(~apart)
        rows = zip(left.tolist(), *(column[left].tolist() for column in columns), strict=True)
        heard_out = self._listener.heard_out
        for place, ends, dated, number, line in rows:
            record, signatures = found[place]
            if heard_out.issuperset(signatures):
                continue
            while closing and closing[0][0] <= record:
                yield from self._hear(heapq.heappop(closing)[1])
            if number not in self._waiting:
                at = before[number] if dated == NOBODY else int(batch.at[dated])
                self._waiting[number] = Head(at, self._head(batch, record), self._subjects[number].name), []
                if ends != NOBODY:
                    heapq.heappush(closing, (ends, number))
            hit = Hit(line, *batch.text_and_quote(record), 0, signatures)
            self._waiting[number][1].append(hit)
        while closing:
            yield from self._hear(heapq.heappop(closing)[1])

    def _put_apart(
        self, batch: Batch, found: list[Found], records: Numbers, *, numbers: Numbers, after: Numbers
    ) -> NDArray[np.bool_]:
        """Put by the records of which one signature tells all, and return which of those with hits they are.

        They begin and end in this batch, and no record that continues them has a hit.
        """
        hits = _grouped(numbers)
        following = np.full(len(found), NOBODY)
        following[hits.records[:-1]] = np.where(hits.keys[1:] == hits.keys[:-1], records[hits.records[1:]], NOBODY)
        alone = batch.begins[records] & (batch.at[records] != NO_TIME) & (after != NOBODY)
        alone &= (following == NOBODY) | (following >= after)
        alone &= np.fromiter((tells_by_itself(signatures) for _, signatures in found), np.bool_, len(found))
        apart = np.zeros(len(found), np.bool_)
        places = np.flatnonzero(alone)
        there = records[places]
        columns = (places, numbers[places], batch.at[there], batch.line[there], batch.begin[there], batch.end[there])
        for place, number, at, line, begin, end in zip(*(column.tolist() for column in columns), strict=True):
            record, signatures = found[place]
            text = batch.text[begin:end].decode("utf-8", "replace")
            quote = text if batch.quote is None else batch.quote(record)
            if max(len(text), len(quote)) <= QUOTE_LENGTH:
                apart[place] = True
                self._alike.put(signatures, at, line, text=text, subject=self._subjects[number].name, quote=quote)
        return apart

    def _hear(self, number: int) -> list[Row]:
        return self._listener.hear(*self._waiting.pop(number), self._file)

    def _found(self, batch: Batch) -> list[Found]:
        """Return each record with the signatures that were found on it, but for those that are told already."""
        heard_out = self._listener.heard_out
        found = [each for each in self._scan.block(batch.text, heard_out) if each[1] not in heard_out]
        if not found:
            return []
        ends, which = np.array(found, np.int64).T
        records = np.searchsorted(batch.begin, ends - 1, side="right") - 1
        pairs = np.unique(records * MOST_SIGNATURES + which)
        records, which = np.divmod(pairs, MOST_SIGNATURES)
        first = np.flatnonzero(np.diff(records, prepend=NOBODY))
        every = which.tolist()
        spans = zip(records[first].tolist(), first.tolist(), [*first[1:].tolist(), len(every)], strict=True)
        told = [(record, tuple(every[since:until])) for record, since, until in spans]
        if not self._scan.spanning.isdisjoint(every):
            return [
                (record, each) for record, signatures in told if (each := self._by_itself(batch, record, signatures))
            ]
        return told

    def _by_itself(self, batch: Batch, record: int, signatures: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of the signatures that match the record without the newline before it."""
        if self._scan.spanning.isdisjoint(signatures):
            return signatures
        there = self._scan.record(batch.text[batch.begin[record] : batch.end[record]])
        return tuple(index for index in signatures if index in there)

    def _head(self, batch: Batch, record: int) -> str:
        """Return the first line of the record that this one belongs to: its own where it begins one."""
        if batch.begins[record]:
            return batch.first_line(record)
        if record in batch.heads:
            return batch.heads[record]
        writer = batch.writer[record]
        own = np.flatnonzero(batch.begins[:record] & (batch.writer[:record] == writer))
        return self._shortened(batch, int(own[-1])) if len(own) else self._heads.get(int(writer), "")

    def _shortened(self, batch: Batch, record: int) -> str:
        """Return a record's first line as those that continue it know it: whole where signatures were found on it."""
        line = batch.first_line(record)
        if len(line) <= LONGEST_HEAD:
            return line
        whole = self._scan.record(batch.text[batch.begin[record] : batch.end[record]])
        return line if whole else line[:LONGEST_HEAD]

    def _keep_heads(self, batch: Batch) -> None:
        begun = np.flatnonzero(batch.begins)
        writers, last = np.unique(batch.writer[begun][::-1], return_index=True)
        for writer, place in zip(writers.tolist(), last.tolist(), strict=True):
            self._heads[writer] = self._shortened(batch, int(begun[len(begun) - 1 - place]))
