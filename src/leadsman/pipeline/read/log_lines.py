"""Reads one file of log lines from its bytes to its events: whole blocks, from hit to hit and from gap to gap.

The scanner finds signatures in whole blocks; times, fields and line numbers are worked out only around what it found
and at the edges of idle gaps. Formats that cannot be read so (several writers in one file, records cut into pieces,
one large document) hand out their records one by one instead, and the rest is the same.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from leadsman.pipeline.idle_gaps.bisection import OutOfOrder, TimedLine, next_timed_line, previous_timed_line
from leadsman.pipeline.idle_gaps.block_lines import block_lines, spans_of_lines
from leadsman.pipeline.idle_gaps.block_spans import LINES_LOOKED_AT, is_in_one_direction, sample_lines, spans_of
from leadsman.pipeline.idle_gaps.spans import SpanEnd
from leadsman.pipeline.idle_gaps.writers import SubjectActivity, TimeRange
from leadsman.pipeline.read.batched_matches import BatchedMatches, is_self_contained
from leadsman.pipeline.read.error_runs import ErrorRun, is_unknown_error
from leadsman.pipeline.read.hidden_lines import HiddenLines
from leadsman.pipeline.read.hit_lines import (
    NO_HIT_LINE,
    HitLine,
    hit_lines_among,
    hit_lines_of,
    hit_of,
    lines_before,
    timed_hit_lines,
)
from leadsman.pipeline.read.record_batches import RecordBatchReading
from leadsman.pipeline.read.records import QUOTE_LENGTH, EventExtractor, Hit, RecordStart, without_secrets
from leadsman.pipeline.read.scanner import scan_with_marks, scanner
from leadsman.telemetry.format import RecognisedFormat, no_time
from leadsman.telemetry.log_line import MAX_MESSAGE
from leadsman.telemetry.record_batch import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.idle_gaps.block_lines import BlockLines
    from leadsman.pipeline.read.blocks import Block

LINES_LOOKED_BACK = 400
"""How far above a hit its record's first line is looked for: deeper than stack traces are."""

HITS_A_RECORD = 1000
"""Lines with hits that are held until their record ends: more than any stack trace or dump has."""

MANY_SUBJECTS = 100
"""Subjects of a stream whose spans are held as they are: up to 400 of each, 28 MB. Those of others are compressed."""

MANY_SPANS, MANY_MATCHES = 40, 160
"""Spans between idle gaps, and matches, in one block above which it costs less to read the times of all its lines."""

NEWLINE = 10


class FileReading:
    """The reading of one file: which line it has come to, and which record that line belongs to.

    `name` is that of the file's writer. Of a section, `line` lines of the file lie above it, and `at` is when it was
    collected: its lines may carry no times of their own. Of a range of the file, `record_above` is the last line above
    that has a time.
    """

    def __init__(
        self,
        file: str,
        form: RecognisedFormat,
        *,
        name: str,
        extractor: EventExtractor,
        subjects: dict[str, SubjectActivity],
        line: int = 0,
        at: int | None = None,
        record_above: RecordStart | None = None,
    ) -> None:
        self.bytes = 0
        self.line = line  # lines that lie behind
        self.timed = False  # whether any line had a time
        self.times = TimeRange()
        self._line_steps = [0, 0]  # steps down and up the file, record to record: a document's are sorted by time
        self.in_order = True  # oldest first or newest first; known at the end
        self._file = file
        self._form = form
        self._name = name
        self._extractor = extractor
        self._subjects = subjects
        self._ends_within_line = False
        self._hidden_lines = HiddenLines()
        self._head = record_above or RecordStart(at, "", name)  # states that a watch has pickled have this name
        self._open_start, self._open = self._head, list[Hit]()  # the last record with hits
        self._batched_matches = BatchedMatches(file, extractor)
        self._error_run = ErrorRun(file, name, extractor)

    def use_format(self, form: RecognisedFormat) -> None:
        """Read further lines with this format."""
        self._form = form

    def forget_format(self) -> None:
        """Drop the format, which cannot be pickled, until it is recognised anew."""
        self._form = RecognisedFormat((), no_time, zoned=True)

    def mask_texts(self) -> None:
        """Mask the secrets in the lines that are kept, before they leave the process in a state."""
        self._head, _ = without_secrets(self._head, ())
        self._open_start, self._open = without_secrets(self._open_start, self._open)
        self._batched_matches.mask_texts()
        self._hidden_lines.mask_texts()

    def look_above(self, data: bytes) -> None:
        """Look at the lines above those that are read: a secret that goes on in these can begin there."""
        self._hidden_lines.mask(data)

    def all(self, opened: Iterable[Block]) -> Iterator[EventRow | pa.RecordBatch]:
        """Read the file in the way of its format."""
        before = self._steps()
        read = self._batches if self._form.batches else self._records if self._form.records else self._lines
        yield from read(opened)
        steps = (now - then for now, then in zip(self._steps(), before, strict=True))
        self.in_order = is_in_one_direction(*steps) and is_in_one_direction(*self._line_steps)

    def _steps(self) -> tuple[int, int]:
        """Return how many idle gaps the lines so far stepped over, forwards and backwards."""
        subjects = self._subjects.values()
        return sum(each.forwards for each in subjects), sum(each.backwards for each in subjects)

    def _lines(self, opened: Iterable[Block]) -> Iterator[EventRow | pa.RecordBatch]:
        """Read whole blocks: from hit to hit, and from gap to gap."""
        for block in opened:
            yield from self.read_lines(block.data if block.end == len(block.data) else block.data[: block.end])
        yield from self.close_lines()

    def read_lines(self, data: bytes) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of further lines of a plain log. The record that the last of them belongs to stays open."""
        subject = self._subject(self._name)
        self.bytes += len(data)
        found, marks = scan_with_marks()(data)
        masked = self._hidden_lines.mask(data, marks)
        if masked is not data:
            data, found = masked, scanner()[1](masked)
        newlines = np.frombuffer(data, np.uint8) == NEWLINE
        lines = block_lines(data, newlines, self._form) if len(found) > MANY_MATCHES else None
        hit_lines = self._hit_lines(data, found, lines)
        yield from self._group_hits(data, hit_lines, newlines)
        self._note_idle_gaps(data, newlines, subject, hit_lines=hit_lines, lines=lines)
        count = int(np.count_nonzero(newlines))
        self._ends_within_line = data[-1] != NEWLINE
        self.line += count
        subject.lines += count

    def close_lines(self) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of the last record of a plain log, and of lines that were kept to be read together."""
        yield from self._close_record()
        yield from self._batched_matches.flush()
        self.line += self._ends_within_line
        self._subject(self._name).lines += self._ends_within_line

    def _records(self, opened: Iterable[Block]) -> Iterator[EventRow]:
        """Read record by record, as the format hands them out. Hits wait until their writer begins its next record."""
        _, scan = scanner()
        assert self._form.records is not None
        waiting: dict[str, tuple[RecordStart, list[Hit]]] = {}
        lines: dict[str, int] = {}
        for record in self._form.records(self._counted(opened)):
            subject = self._subject(record.subject or self._name)
            subject.lines += 1
            if record.at is not None:
                self.timed = True
                self.times.note(record.at)
                if record.line != lines.get(subject.name, record.line):
                    self._line_steps[record.line < lines[subject.name]] += 1
                lines[subject.name] = record.line
                subject.note_line(SpanEnd(record.at, record.line, record.quote, self._file))
            found = {index for _, index in scan(record.text.encode())}
            if record.record_start is None and subject.name in waiting:
                yield from self._extractor.extract(*waiting.pop(subject.name), self._file)
            if found:
                at = record.at if record.at is not None else subject.last_at
                record_start = RecordStart(at, record.first_line, subject.name)
                hit = Hit(record.line, record.text, record.quote, 0, tuple(sorted(found)))
                waiting.setdefault(subject.name, (record_start, []))[1].append(hit)
        for record_start, hits in waiting.values():
            yield from self._extractor.extract(record_start, hits, self._file)

    def _batches(self, opened: Iterable[Block]) -> Iterator[EventRow | pa.RecordBatch]:
        """Read what `_records` reads, many records at once."""
        assert self._form.batches is not None
        reading = RecordBatchReading(
            self._file,
            lambda name: self._subject(name or self._name),
            extractor=self._extractor,
            times=self.times,
            line_steps=self._line_steps,
        )
        try:
            for batch in self._form.batches(self._counted(opened)):
                self.timed = self.timed or bool((batch.at != NO_TIME).any())
                yield from reading.read(batch)
        except Exception:
            yield from reading.flush()  # the events before the place where a file breaks off
            raise
        yield from reading.close()

    def _counted(self, opened: Iterable[Block]) -> Iterator[bytes]:
        for block in opened:
            data = block.data[: block.end]
            self.bytes += len(data)
            self.line += data.count(b"\n") + (not data.endswith(b"\n"))
            yield self._hidden_lines.mask(data)

    def _subject(self, name: str) -> SubjectActivity:
        subject = self._subjects.get(name)
        if subject is None:
            subject = self._subjects[name] = SubjectActivity(name, packs=len(self._subjects) >= MANY_SUBJECTS)
        return subject

    def _hit_lines(self, data: bytes, found: list[tuple[int, int]], lines: BlockLines | None) -> Sequence[HitLine]:
        known, time_at = self._extractor.reported_once, self._form.time_at
        if lines is None:
            return list(hit_lines_of(data, found, known, time_at))
        return hit_lines_among(data, found, known, time_at, lines=lines)

    def _group_hits(
        self, data: bytes, hit_lines: Sequence[HitLine], newlines: NDArray[np.bool_]
    ) -> Iterator[EventRow | pa.RecordBatch]:
        """Group the lines with hits by record, and turn each record into events."""
        lines = lines_before([hit_line.start for hit_line in hit_lines], newlines)
        goes_on = bool(self._open) and self._open_start == self._head and self._head.at is not None
        begun, last = -1 if goes_on else -2, -1
        reported_once = self._extractor.reported_once
        for hit_line, before, after in zip(hit_lines, lines, [*hit_lines, NO_HIT_LINE][1:], strict=True):
            if reported_once.issuperset(hit_line.signatures):  # by a line of this block
                continue
            if hit_line.at is not None and after.at is not None and (text := _text_by_itself(data, hit_line)):
                if self._open:
                    yield from self._close_record()
                self._keep(hit_line.signatures, hit_line.at, self.line + 1 + before, text)
                begun, last = -2, hit_line.start
                continue
            hit = hit_of(data, hit_line, self.line + 1 + before)
            now, record_start = self._record_start_of(data, hit_line, hit, last=last, known=(begun, self._open_start))
            if now != begun:
                yield from self._close_record()
                begun, self._open_start = now, record_start
            last = hit_line.start
            self._open.append(hit)
        self._error_run.close()
        if len(self._open) > HITS_A_RECORD:
            yield from self._close_record()
        if self._batched_matches.is_full:
            yield from self._batched_matches.flush()

    def _keep(self, signatures: tuple[int, ...], at: int, line: int, text: str) -> None:
        """Keep a line that is a record by itself until more such lines are read together."""
        if is_unknown_error(signatures):
            self._error_run.add(at, line, text, signatures)
        else:
            self._batched_matches.add(signatures, at, line, text=text, subject=self._name, quote=text)

    def _close_record(self) -> Iterable[EventRow]:
        """Return the events of the record that is open, and close it. A block's last record may go on in the next."""
        self._error_run.close()
        if not self._open:
            return ()
        events = self._extractor.extract(self._open_start, self._open, self._file)
        self._open = []
        return events

    def _record_start_of(
        self, data: bytes, hit_line: HitLine, hit: Hit, *, last: int, known: tuple[int, RecordStart]
    ) -> tuple[int, RecordStart]:
        """Return where the record of the line at `hit_line` begins, looking upwards from it, and its start.

        `hit` is what was found on that line. The record of the line at `last` is `known`: there the search ends.
        """
        if hit_line.at is not None:
            return hit_line.start, RecordStart(hit_line.at, hit.raw, self._name)
        time_at, start = self._form.time_at, hit_line.start
        for _ in range(LINES_LOOKED_BACK):
            if start == 0:
                break
            end = start - 1
            start = data.rfind(b"\n", 0, end) + 1
            if start == last:
                return known
            at = time_at(data, start, end)
            if at is not None:
                return start, RecordStart(at, data[start:end].decode("utf-8", "replace"), self._name)
        return -1, self._head

    def _note_idle_gaps(
        self,
        data: bytes,
        newlines: NDArray[np.bool_],
        subject: SubjectActivity,
        *,
        hit_lines: Sequence[HitLine],
        lines: BlockLines | None,
    ) -> None:
        """Note the block's first and last line, and every long idle gap between two of its lines.

        The times of lines with hits are known: two of them close together have no idle gap between them. In a block
        with many idle gaps, the times of all lines are read at once.
        """
        time_at = self._form.time_at
        first, last = next_timed_line(data, 0, len(data), time_at), previous_timed_line(data, len(data), time_at)
        if first is None or last is None:
            return
        self.timed = True
        self._head = RecordStart(last.at, data[last.start : last.end].decode("utf-8", "replace"), subject.name)
        if lines is not None and self._note_spans_of_lines(data, lines, subject, (first, last)):
            return
        known = timed_hit_lines(hit_lines)
        known = [*sample_lines(data, time_at), *known] if len(known) < LINES_LOOKED_AT else known
        spans: list[tuple[TimedLine, TimedLine]] = []
        try:
            for span in spans_of(data, [first, *sorted(known), last], time_at, floor_ms=subject.floor_ms):
                spans.append(span)
                if len(spans) == MANY_SPANS and lines is None:
                    lines = block_lines(data, newlines, self._form)
                    if lines is not None and self._note_spans_of_lines(data, lines, subject, (first, last)):
                        return
        except OutOfOrder:
            self._note_every_line(data, newlines, subject)
            return
        for left, right in spans:
            self.times.note(left.at, right.at)
            subject.note_adjacent_lines(self._span_end(data, left, newlines), self._span_end(data, right, newlines))

    def _note_spans_of_lines(
        self, data: bytes, lines: BlockLines, subject: SubjectActivity, outermost: tuple[TimedLine, TimedLine]
    ) -> bool:
        """Note the spans of a block given all its lines. False where that cannot be done."""
        spans = spans_of_lines(data, lines, outermost, time_at=self._form.time_at, floor_ms=subject.floor_ms)
        if spans is None:
            return False
        self.times.note(*(each.at for each in outermost))
        note = subject.note_rising_lines if spans.is_rising else subject.note_adjacent_lines
        for begin, end in zip(spans.begins, spans.ends, strict=True):
            begun = self._line_end(data, lines, begin)
            note(begun, begun if begin == end else self._line_end(data, lines, end))
        return True

    def _line_end(self, data: bytes, lines: BlockLines, row: int) -> SpanEnd:
        text = data[lines.starts[row] : lines.ends[row]].decode("utf-8", "replace").rstrip("\r")
        return SpanEnd(int(lines.at[row]), self.line + row + 1, text, self._file)

    def _note_every_line(self, data: bytes, newlines: NDArray[np.bool_], subject: SubjectActivity) -> None:
        """Note the time of each line of a block whose times run back and forth."""
        start = 0
        for line, newline in enumerate([*np.flatnonzero(newlines).tolist(), len(data)], self.line + 1):
            at = self._form.time_at(data, start, newline)
            if at is not None:
                self.times.note(at)
                subject.note_line(
                    SpanEnd(at, line, data[start:newline].decode("utf-8", "replace").rstrip("\r"), self._file)
                )
            start = newline + 1

    def _span_end(self, data: bytes, mark: TimedLine, newlines: NDArray[np.bool_]) -> SpanEnd:
        line = self.line + int(np.count_nonzero(newlines[: mark.start])) + 1
        return SpanEnd(mark.at, line, data[mark.start : mark.end].decode("utf-8", "replace").rstrip("\r"), self._file)


def _text_by_itself(data: bytes, hit_line: HitLine) -> str | None:
    """Return the text of a line with hits that can be read together with others; None where it is read by itself."""
    longest = _longest(hit_line.signatures)
    if not longest:
        return None
    text = data[hit_line.start : hit_line.end].decode("utf-8", "replace").rstrip("\r")
    return text if len(text) <= longest else None


@cache
def _longest(signatures: tuple[int, ...]) -> int:
    """Return how many characters a line with these matches can have that is read together with others; 0: none."""
    return MAX_MESSAGE if is_unknown_error(signatures) else QUOTE_LENGTH if is_self_contained(signatures) else 0
