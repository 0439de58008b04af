"""Reads one split of a stream, and merges the states of all its splits: the events are those of the whole stream.

Most events depend on their record alone and come from its split. An event that depends on lines of other splits is
left open in a `SplitState`, and follows when the states are merged in the order of the lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from leadsman.pipeline.idle_gaps.block_spans import is_in_one_direction
from leadsman.pipeline.idle_gaps.event_rows import activity_of
from leadsman.pipeline.idle_gaps.writers import SubjectActivity, TimeRange
from leadsman.pipeline.read.blocks import blocks
from leadsman.pipeline.read.hit_lines import without_known_signatures
from leadsman.pipeline.read.log_lines import FileReading
from leadsman.pipeline.read.records import EventExtractor
from leadsman.pipeline.read.splits import is_plain_lines, lines_before, record_start_above
from leadsman.pipeline.read.stream import file_read_event, not_understood_event, read_to_end, sample
from leadsman.telemetry.format import RecognisedFormat, no_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    import pyarrow as pa

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.read.splits import Split, SplitStream
    from leadsman.pipeline.scope.streams import File, Stream


@dataclass(slots=True)
class FileSummary:
    """What FILE_READ says of a file: bytes, lines, whether any line had a time, the first and the last time."""

    bytes: int = 0
    line: int = 0
    timed: bool = False
    times: TimeRange = field(default_factory=TimeRange)
    in_order: bool = True

    def merge(self, later: FileSummary) -> None:
        """Add what was read of the file below."""
        self.bytes += later.bytes
        self.line += later.line
        self.timed = self.timed or later.timed
        self.times.note(later.times.first, later.times.last)


@dataclass(slots=True)
class SplitState:
    """What one split leaves to be merged. `problem` is the reason where it is not read to its end.

    `names` are those of its format, `zoned` is whether its times name their zone.
    """

    file: File
    names: tuple[str, ...]
    zoned: bool
    subject: SubjectActivity
    extractor: EventExtractor
    summary: FileSummary = field(default_factory=FileSummary)
    problem: str | None = None


def read_split(split: Split, zone: tzinfo) -> Iterator[EventRow | pa.RecordBatch | SplitState]:
    """Yield the events that depend on this split alone, and last its state."""
    form, _ = sample(split.file, zone)
    name, file = split.stream.name, split.file
    if not isinstance(form, RecognisedFormat) or not is_plain_lines(form):
        yield _state_of_changed_file(split)
        return
    extractor = EventExtractor(split.capture, is_partial=split.number > 0)
    subjects = {name: SubjectActivity(name)}
    record_above = record_start_above(file.path, split.begin, form.time_at, name) if split.begin else None
    reading = FileReading(
        file.name, form, name=name, extractor=extractor, subjects=subjects, line=split.line, record_above=record_above
    )
    if split.begin:
        reading.look_above(lines_before(file.path, split.begin))
    problem = yield from read_to_end(reading, blocks(file.path, split.begin, split.end))
    extractor.messages.clear()  # only a cache
    subjects[name].mask_texts()
    summary = FileSummary(reading.bytes, reading.line - split.line, reading.timed, reading.times)
    yield SplitState(file, form.names, form.zoned, subjects[name], extractor, summary, problem)


def _state_of_changed_file(split: Split) -> SplitState:
    """Return the state of a split whose file is not what it was when it was split."""
    empty = SubjectActivity(split.stream.name), EventExtractor(split.capture)
    return SplitState(split.file, (), True, *empty, problem="was changed while it was read")


def remaining_events(whole: SplitStream, states: Sequence[SplitState]) -> Iterator[EventRow | pa.RecordBatch]:
    """Yield the events that depend on several splits of a stream. The states come in the order of their lines."""
    stream = whole.stream
    merged = MergedStream(stream)
    for file, refused in whole.files:
        if refused is not None:
            yield not_understood_event(stream.capture, file, refused)
        else:
            yield from merged.add_file(file, [state for state in states if state.file == file])
    yield from merged.extractor.unknown_errors()
    yield from activity_of([merged.subject], capture=stream.capture, file=stream.files[0].name)


class MergedStream:
    """A stream whose splits are merged one after another."""

    def __init__(self, stream: Stream) -> None:
        self.subject = SubjectActivity(stream.name)
        self.extractor = EventExtractor(stream.capture)
        self._stream = stream

    def add_file(self, file: File, states: Sequence[SplitState]) -> Iterator[EventRow]:
        """Merge the splits of one file, and yield the events that they left open."""
        summary = FileSummary()
        forwards, backwards = self.subject.forwards, self.subject.backwards
        for state in states:
            yield from merge_extractors(self.extractor, state.extractor)
            self.subject.merge(state.subject)
            summary.merge(state.summary)
        summary.in_order = is_in_one_direction(self.subject.forwards - forwards, self.subject.backwards - backwards)
        form = RecognisedFormat(states[0].names, no_time, states[0].zoned)
        yield file_read_event(file, form, summary, stream=self._stream, extractor=self.extractor)
        problems = dict.fromkeys(state.problem for state in states if state.problem is not None)
        yield from (not_understood_event(self._stream.capture, file, problem) for problem in problems)


def merge_extractors(earlier: EventExtractor, later: EventExtractor) -> list[EventRow]:
    """Merge the state of the following lines into `earlier`, and return the events that they left open."""
    known_once = frozenset(earlier.reported_once)
    replay = replace(later, is_partial=False, reported_once=earlier.reported_once, messages={})  # shares all but these
    rows = [row for setting, value, row in later.first_settings if earlier.settings.get(setting) != value]
    for record_start, hits, file in later.open_records:
        left = [each for hit in hits if (each := without_known_signatures(hit, known_once)) is not None]
        rows += replay.extract(record_start, left, file)
    earlier.reported_once |= later.reported_once
    earlier.settings |= later.settings
    earlier.sources |= later.sources
    earlier.shows |= later.shows
    earlier.errors.merge(later.errors)
    return rows
