"""Turns batches of records into events and activity: what `FileReading` does record by record, for many at once.

Times, idle gaps and the order of lines are worked out writer by writer on arrays; only records on which signatures were
found, and the edges of idle gaps, become Python objects.
"""

from __future__ import annotations

import heapq
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.pipeline.idle_gaps.spans import SpanEnd
from leadsman.pipeline.read.batched_matches import BatchedMatches, is_self_contained
from leadsman.pipeline.read.records import MAX_TOKEN, QUOTE_LENGTH, Hit, RecordStart
from leadsman.pipeline.read.scanner import once_scanner
from leadsman.telemetry.line_records.text_lines import MAX_RECORD_START
from leadsman.telemetry.record_batch import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.idle_gaps.writers import SubjectActivity, TimeRange
    from leadsman.pipeline.read.records import EventExtractor
    from leadsman.telemetry.record_batch import LogRecordBatch

    Numbers = NDArray[np.int64]
    Found = tuple[int, tuple[int, ...]]

NONE = -1

MAX_SIGNATURES = 1 << 20
"""More signatures than there are: record * MAX_SIGNATURES + signature is one number for a pair of both."""


class GroupedRecords(NamedTuple):
    """Some records sorted by a key, those of one key in their order. `first` is where each key's begin.

    `records` are their places in the batch, `keys` their keys.
    """

    records: Numbers
    keys: Numbers
    first: Numbers

    def select(self, chosen: NDArray[np.bool_]) -> GroupedRecords:
        """Return the groups of the chosen records alone. `chosen` has an item for each record of the batch."""
        kept = chosen[self.records]
        return _groups(self.records[kept], self.keys[kept])

    def last_until(self, records: Numbers, keys: Numbers) -> Numbers:
        """Return for each record the last record of its key that is not after it; NONE where there is none."""
        index = self._index(records, keys) - 1
        there = (index >= 0) & (self._at(self.keys, index) == keys)
        return np.where(there, self._at(self.records, index), NONE)

    def next_after(self, records: Numbers, keys: Numbers) -> Numbers:
        """Return for each record the first record of its key that is after it; NONE where there is none."""
        index = self._index(records, keys)
        there = (index < len(self.keys)) & (self._at(self.keys, index) == keys)
        return np.where(there, self._at(self.records, index), NONE)

    def _index(self, records: Numbers, keys: Numbers) -> Numbers:
        most = 1 + max(self.records.max(initial=0), records.max(initial=0))
        found: Numbers = np.searchsorted(self.keys * most + self.records, keys * most + records, side="right")
        return found

    @staticmethod
    def _at(column: Numbers, index: Numbers) -> Numbers:
        return column[np.clip(index, 0, len(column) - 1)] if len(column) else np.full(len(index), NONE)


def _groups(records: Numbers, keys: Numbers) -> GroupedRecords:
    return GroupedRecords(records, keys, np.flatnonzero(np.diff(keys, prepend=NONE)))


def _grouped(keys: Numbers) -> GroupedRecords:
    small = keys.astype(np.int16) if len(keys) and keys.max() < np.iinfo(np.int16).max else keys  # sorted by digits
    records = np.argsort(small, kind="stable")
    return _groups(records, keys[records])


class RecordBatchReading:
    """The records of one file, batch by batch.

    `line_steps` counts the steps down and up the file from one record of a writer to its next, as `FileReading` does.
    """

    def __init__(
        self,
        file: str,
        subject: Callable[[str | None], SubjectActivity],
        *,
        extractor: EventExtractor,
        times: TimeRange,
        line_steps: list[int],
    ) -> None:
        self._file = file
        self._subject_named = subject
        self._extractor = extractor
        self._times = times
        self._line_steps = line_steps
        self._scan = once_scanner()
        self._batched_matches = BatchedMatches(file, extractor)
        self._subjects: list[SubjectActivity] = []
        self._numbers: dict[str, int] = {}  # name of a subject -> its place in `_subjects`
        self._of_writer = np.zeros(0, np.int64)  # writer -> number of its subject
        self._last_line: dict[int, int] = {}
        self._first_lines: dict[int, str] = {}  # by writer: the first line of its last record
        self._waiting: dict[int, tuple[RecordStart, list[Hit]]] = {}  # by subject: its last record and the hits in it

    def read(self, batch: LogRecordBatch) -> Iterator[EventRow | pa.RecordBatch]:
        """Note the activity in a batch, and yield the events of the records that end in it."""
        self._number_new_writers(batch)
        subject = self._of_writer[batch.writer]
        groups = _grouped(subject)
        for number, count in zip(*np.unique(groups.keys, return_counts=True), strict=True):
            self._subjects[number].lines += int(count)
        timed = groups.select(batch.at != NO_TIME)
        last_times = {number: self._subjects[number].last_at for number in groups.keys[groups.first].tolist()}
        if len(timed.records):
            self._note_activity(batch, timed)
        yield from self._events(batch, subject, groups, timed=timed, last_times=last_times)
        self._keep_first_lines(batch)
        if self._batched_matches.is_full:
            yield from self._batched_matches.flush()

    def flush(self) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of the buffer, in which lines wait until many can become events at once."""
        yield from self._batched_matches.flush()

    def close(self) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of the records that nothing came after."""
        yield from self.flush()
        for record_start, hits in self._waiting.values():
            yield from self._extractor.extract(record_start, hits, self._file)

    def _number_new_writers(self, batch: LogRecordBatch) -> None:
        """Give numbers to the subjects of writers that are new."""
        names = batch.writers.names
        unknown = len(names) - len(self._of_writer)
        if unknown:
            self._of_writer = np.append(self._of_writer, np.full(unknown, NONE))
        new = batch.writer[self._of_writer[batch.writer] == NONE]
        if not len(new):
            return
        writers, first = np.unique(new, return_index=True)
        for writer in writers[np.argsort(first)].tolist():
            subject = self._subject_named(names[writer])
            if subject.name not in self._numbers:
                self._numbers[subject.name] = len(self._subjects)
                self._subjects.append(subject)
            self._of_writer[writer] = self._numbers[subject.name]

    def _note_activity(self, batch: LogRecordBatch, timed: GroupedRecords) -> None:
        """Note the times of a batch, how its writers step through the file, and their idle gaps."""
        at, line = batch.at[timed.records], batch.line[timed.records]
        self._times.note(int(at.min()), int(at.max()))
        subject_numbers = timed.keys[timed.first].tolist()
        steps = np.diff(line, prepend=line[0])
        steps[timed.first] = [
            now - self._last_line.get(number, now)
            for number, now in zip(subject_numbers, line[timed.first].tolist(), strict=True)
        ]
        self._line_steps[0] += int(np.count_nonzero(steps > 0))
        self._line_steps[1] += int(np.count_nonzero(steps < 0))
        ends = np.append(timed.first[1:], len(line)) - 1
        self._last_line.update(zip(subject_numbers, line[ends].tolist(), strict=True))
        self._note_idle_gaps(batch, timed, at)

    def _note_idle_gaps(self, batch: LogRecordBatch, timed: GroupedRecords, at: Numbers) -> None:
        """Note each subject's runs of records in which times rise and no silence is long enough for an idle gap."""
        subject_numbers = timed.keys[timed.first]
        floors = [self._subjects[number].floor_ms for number in subject_numbers.tolist()]
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
                for index in (records[begins], records[ends])
                for column in (index, batch.at[index], lines[index])
            ),
            strict=True,
        )
        quote, file = batch.quote_of, self._file
        for number, first, first_at, first_line, last, last_at, last_line in runs:
            begun = ended = SpanEnd(first_at, first_line, quote(first)[: QUOTE_LENGTH + MAX_TOKEN], file)
            if last != first:
                ended = SpanEnd(last_at, last_line, quote(last)[: QUOTE_LENGTH + MAX_TOKEN], file)
            self._subjects[number].note_rising_lines(begun, ended)

    def _events(
        self,
        batch: LogRecordBatch,
        subject: Numbers,
        groups: GroupedRecords,
        *,
        timed: GroupedRecords,
        last_times: dict[int, int | None],
    ) -> Iterator[EventRow]:
        """Yield the events of records that end here: a record ends when its subject begins the next one."""
        found = self._found(batch)
        if not found and not self._waiting:
            return
        begun = groups.select(batch.starts_record)
        waiting = np.array(list(self._waiting), np.int64)
        closing = [
            (after, number)
            for after, number in zip(begun.next_after(waiting * 0 - 1, waiting).tolist(), self._waiting, strict=True)
            if after != NONE
        ]
        heapq.heapify(closing)
        records = np.fromiter(map(itemgetter(0), found), np.int64, len(found))
        numbers = subject[records]
        after = begun.next_after(records, numbers)
        batched = self._batch_self_contained(batch, found, records, numbers=numbers, after=after)
        columns = (after, timed.last_until(records, numbers), numbers, batch.line[records])
        left = np.flatnonzero(~batched)
        rows = zip(left.tolist(), *(column[left].tolist() for column in columns), strict=True)
        reported_once = self._extractor.reported_once
        for index, ends, dated, number, line in rows:
            record, signatures = found[index]
            if reported_once.issuperset(signatures):
                continue
            while closing and closing[0][0] <= record:
                yield from self._extract(heapq.heappop(closing)[1])
            if number not in self._waiting:
                at = last_times[number] if dated == NONE else int(batch.at[dated])
                self._waiting[number] = (
                    RecordStart(at, self._record_first_line(batch, record), self._subjects[number].name),
                    [],
                )
                if ends != NONE:
                    heapq.heappush(closing, (ends, number))
            hit = Hit(line, *batch.text_and_quote(record), 0, signatures)
            self._waiting[number][1].append(hit)
        while closing:
            yield from self._extract(heapq.heappop(closing)[1])

    def _batch_self_contained(
        self, batch: LogRecordBatch, found: list[Found], records: Numbers, *, numbers: Numbers, after: Numbers
    ) -> NDArray[np.bool_]:
        """Buffer the records whose events depend on no other line. Return which items of `found` these are.

        They begin and end in this batch, and no record that continues them has a hit.
        """
        hits = _grouped(numbers)
        following = np.full(len(found), NONE)
        following[hits.records[:-1]] = np.where(hits.keys[1:] == hits.keys[:-1], records[hits.records[1:]], NONE)
        alone = batch.starts_record[records] & (batch.at[records] != NO_TIME) & (after != NONE)
        alone &= (following == NONE) | (following >= after)
        alone &= np.fromiter((is_self_contained(signatures) for _, signatures in found), np.bool_, len(found))
        batched = np.zeros(len(found), np.bool_)
        indices = np.flatnonzero(alone)
        there = records[indices]
        columns = (indices, numbers[indices], batch.at[there], batch.line[there], batch.begin[there], batch.end[there])
        for index, number, at, line, begin, end in zip(*(column.tolist() for column in columns), strict=True):
            record, signatures = found[index]
            text = batch.text[begin:end].decode("utf-8", "replace")
            quote = text if batch.quote is None else batch.quote(record)
            if max(len(text), len(quote)) <= QUOTE_LENGTH:
                batched[index] = True
                self._batched_matches.add(
                    signatures, at, line, text=text, subject=self._subjects[number].name, quote=quote
                )
        return batched

    def _extract(self, number: int) -> list[EventRow]:
        return self._extractor.extract(*self._waiting.pop(number), self._file)

    def _found(self, batch: LogRecordBatch) -> list[Found]:
        """Return each record with its signatures, without those that are reported once per stream and were reported."""
        reported_once = self._extractor.reported_once
        found = [each for each in self._scan.block(batch.text, reported_once) if each[1] not in reported_once]
        if not found:
            return []
        ends, which = np.array(found, np.int64).T
        records = np.searchsorted(batch.begin, ends - 1, side="right") - 1
        pairs = np.unique(records * MAX_SIGNATURES + which)
        records, which = np.divmod(pairs, MAX_SIGNATURES)
        first = np.flatnonzero(np.diff(records, prepend=NONE))
        every = which.tolist()
        spans = zip(records[first].tolist(), first.tolist(), [*first[1:].tolist(), len(every)], strict=True)
        hits_of_record = [(record, tuple(every[since:until])) for record, since, until in spans]
        if not self._scan.spanning.isdisjoint(every):
            return [
                (record, each)
                for record, signatures in hits_of_record
                if (each := self._signatures_of_record(batch, record, signatures))
            ]
        return hits_of_record

    def _signatures_of_record(self, batch: LogRecordBatch, record: int, signatures: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of the signatures that match the record without the newline before it."""
        if self._scan.spanning.isdisjoint(signatures):
            return signatures
        there = self._scan.record(batch.text[batch.begin[record] : batch.end[record]])
        return tuple(index for index in signatures if index in there)

    def _record_first_line(self, batch: LogRecordBatch, record: int) -> str:
        """Return the first line of the record that this one belongs to: its own where it begins one."""
        if batch.starts_record[record]:
            return batch.first_line(record)
        if record in batch.record_starts:
            return batch.record_starts[record]
        writer = batch.writer[record]
        own = np.flatnonzero(batch.starts_record[:record] & (batch.writer[:record] == writer))
        return self._short_first_line(batch, int(own[-1])) if len(own) else self._first_lines.get(int(writer), "")

    def _short_first_line(self, batch: LogRecordBatch, record: int) -> str:
        """Return the first line of a record for events of lines below: cut, unless the record has a signature."""
        line = batch.first_line(record)
        if len(line) <= MAX_RECORD_START:
            return line
        whole = self._scan.record(batch.text[batch.begin[record] : batch.end[record]])
        return line if whole else line[:MAX_RECORD_START]

    def _keep_first_lines(self, batch: LogRecordBatch) -> None:
        begun = np.flatnonzero(batch.starts_record)
        writers, last = np.unique(batch.writer[begun][::-1], return_index=True)
        for writer, index in zip(writers.tolist(), last.tolist(), strict=True):
            self._first_lines[writer] = self._short_first_line(batch, int(begun[len(begun) - 1 - index]))
