"""Reads a stream whose files grow, piece by piece: the events are those of reading the whole stream once.

What was read stays read: each piece yields the events that no further line can change. What further lines can change
(the last record, counts of errors, silences) is a summary, which can be made after any piece and replaces the one
before. The state between two pieces can be pickled.

Only logs are read so, and each compressed one once. Streams with other files (documents, outputs of programs,
interleaved logs) are read as a whole again when they have changed.
"""

from __future__ import annotations

import os
import pickle
from contextlib import closing
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leadsman.pipeline.idle_gaps.bisection import next_timed_line
from leadsman.pipeline.idle_gaps.block_spans import is_in_one_direction
from leadsman.pipeline.idle_gaps.event_rows import activity_of
from leadsman.pipeline.read.blocks import BLOCK_BYTES, DecompressionError, blocks, is_plain
from leadsman.pipeline.read.log_lines import FileReading
from leadsman.pipeline.read.records import EventExtractor
from leadsman.pipeline.read.splits import is_plain_lines
from leadsman.pipeline.read.stream import file_read_event, not_understood_event
from leadsman.telemetry.format import NotText, RecognisedFormat, no_time
from leadsman.telemetry.recognise import recognise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime, tzinfo

    import pyarrow as pa

    from leadsman.pipeline.events import EventRow
    from leadsman.pipeline.idle_gaps.writers import SubjectActivity
    from leadsman.pipeline.scope.streams import File, Stream

MAX_PIECE_BYTES = 64 * BLOCK_BYTES
"""Bytes of a file that are read at once, 16 MiB: the memory of a task must not depend on how fast a file grows."""


class NotGrowing(Exception):
    """The stream cannot be read piece by piece: it must be read as a whole, from the beginning of its files."""


@dataclass(frozen=True, slots=True)
class FileRange:
    """A file as far as it is to be read: up to `file.bytes`, of which the last `half_line_bytes` may be half a line.

    `key` stays the same when the file is renamed, and is another one where a new file has the old name.
    """

    file: File
    key: str
    half_line_bytes: int = 0

    @property
    def end(self) -> int:
        """The offset behind the last whole line."""
        return self.file.bytes - self.half_line_bytes


class HalfLine(NamedTuple):
    """What stands behind the last newline of the current file, and the format of the file."""

    text: bytes
    form: RecognisedFormat


@dataclass(slots=True)
class GrowingFile:
    """One file of the stream, as far as it was read: `end` is the offset behind the last byte.

    `first_times` is a digest of the times on the lines of the first block: a format that is recognised anew, by more
    lines, must read the same times there. `names` are those of the format, `zoned` is whether its times name a zone.
    `steps` are the steps down and up (`SubjectActivity`) of the stream's subjects in the files before this one.
    """

    file: File
    key: str
    reading: FileReading
    names: tuple[str, ...]
    zoned: bool
    end: int = 0
    first_times: bytes = b""
    steps: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class GrowingStream:
    """The state of one stream between two pieces. `version` is the number of the piece with which it began.

    `version` keeps its name, which is in the states that earlier watches pickled. `half_line` is no part of the state:
    until the rest of it comes, it is in the summary alone.
    """

    stream: Stream
    version: int
    extractor: EventExtractor
    subjects: dict[str, SubjectActivity] = field(default_factory=dict)
    finished: dict[str, EventRow] = field(default_factory=dict)
    """By the key of each file that was read to its end: the event that says how much was read of it."""
    ends: dict[str, int] = field(default_factory=dict)
    """By the key of each file that was read to its end: the offset of this end."""
    current: GrowingFile | None = None
    half_line: HalfLine | None = None

    @classmethod
    def begin(cls, stream: Stream, version: int) -> GrowingStream:
        """Return the state of a stream of which nothing was read yet."""
        return cls(stream, version, EventExtractor(stream.capture))

    def read(self, files: Sequence[FileRange], zone: tzinfo) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of what was appended since the piece before.

        `files` are in the order in which they were written. Raises NotGrowing where the stream is not a plain log to
        which lines were appended.
        """
        self.half_line = None
        unread = self._unread(files)
        self.stream = replace(self.stream, files=tuple(each.file for each in files))
        for each in unread:
            yield from self._continue(each, zone)

    def summary(self) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield what further lines can change, as it is after the last piece."""
        ended: GrowingStream = pickle.loads(pickle.dumps(self))  # noqa: S301 - a quarter of `deepcopy`'s cost
        if ended.current is not None:
            if self.half_line:
                ended.current.reading.use_format(self.half_line.form)
                yield from ended.current.reading.read_lines(self.half_line.text)
            yield from ended.current.reading.close_lines()
            ended.finish()
        yield from ended.finished.values()
        empty = [file for file in self.stream.files if not file.bytes]
        yield from (not_understood_event(self.stream.capture, file, "empty") for file in empty)
        yield from ended.extractor.unknown_errors()
        yield from activity_of(ended.subjects.values(), capture=self.stream.capture, file=self.stream.files[0].name)

    def finish(self) -> None:
        """End the current file, and keep the event that says how much of it was read."""
        current = self.current
        if current is None:
            return
        reading = current.reading
        reading.in_order = is_in_one_direction(
            *(now - then for now, then in zip(self._steps(), current.steps, strict=True))
        )
        form = RecognisedFormat(current.names, no_time, current.zoned)
        row = file_read_event(current.file, form, reading, stream=self.stream, extractor=self.extractor)
        self.finished[current.key] = row
        self.ends[current.key] = current.end
        self.current = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without what is recognised anew from the files."""
        if self.current is not None:
            self.current.reading.forget_format()
            self.current.reading.mask_texts()
        for subject in self.subjects.values():
            subject.mask_texts()
        return {name: getattr(self, name) for name in self.__slots__ if name != "half_line"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state."""
        self.half_line = None
        for name, value in state.items():
            setattr(self, name, value)

    def _unread(self, files: Sequence[FileRange]) -> list[FileRange]:
        """Return the current file and those after it. Files that were read to their ends may be gone."""
        left = [each for each in files if each.key not in self.finished]
        if left != list(files[len(files) - len(left) :]):
            raise NotGrowing  # a file came to light that is older than what was read
        if self.current is not None and self.current.key in {each.key for each in left[1:]}:
            raise NotGrowing
        if any(
            each.file.bytes > self.ends.get(each.key, each.file.bytes) for each in files if is_plain(each.file.path)
        ):
            raise NotGrowing  # a program wrote to a log that was rotated, after another one was begun
        return left

    def _continue(self, file_range: FileRange, zone: tzinfo) -> Iterator[EventRow | pa.RecordBatch]:
        """Read the unread bytes of one file."""
        file = file_range.file
        if self.current is not None and self.current.key != file_range.key:
            yield from self._finish_half_line(self.current)
            yield from self.current.reading.close_lines()
            self.finish()
        if self.current is None and not file.bytes:
            return
        if not is_plain(file.path):
            yield from self._read_archive(file_range, zone)
            return
        with Path(file.path).open("rb", buffering=0) as raw:
            head = os.pread(raw.fileno(), min(BLOCK_BYTES, file.bytes), 0)
            form = _plain_form(file, head, zone)
            if self.current is None:
                self.current = self._open(file_range, form)
            self._check_format(self.current, form, head)
            current = self.current
            current.file = file
            while current.end < file_range.end and (data := _piece(raw.fileno(), current.end, file_range.end)):
                yield from current.reading.read_lines(data)
                current.end += len(data)
            current.first_times = line_times(head[: current.end], form)
            if text := os.pread(raw.fileno(), file_range.half_line_bytes, file_range.end):
                self.half_line = HalfLine(text, form)

    def _finish_half_line(self, current: GrowingFile) -> Iterator[EventRow | pa.RecordBatch]:
        """Read what stands behind the last newline of a file that is followed by another one: no rest will come."""
        if self.half_line:
            yield from current.reading.read_lines(self.half_line.text)
            current.end += len(self.half_line.text)
            self.half_line = None

    def _read_archive(self, file_range: FileRange, zone: tzinfo) -> Iterator[EventRow | pa.RecordBatch]:
        """Read a compressed file from where it was read before it was compressed, to its end: nothing will follow."""
        try:
            with closing(blocks(file_range.file.path)) as opened:
                content = (block.data[: block.end] for block in opened)
                head = b""
                while len(head) < BLOCK_BYTES and (data := next(content, b"")):
                    head += data
                if not head:
                    raise NotGrowing
                form = plain_form(head[: head.rfind(b"\n") + 1] or head, zone, file_range.file.changed)
                if self.current is None:
                    self.current = self._open(file_range, form)
                current = self.current
                self._check_format(current, form, head[:BLOCK_BYTES])
                current.file = file_range.file
                skipped = current.end
                for data in chain((head,), content):
                    if rest := data[skipped:]:
                        yield from current.reading.read_lines(rest)
                        current.end += len(rest)
                    skipped = max(0, skipped - len(data))
        except (DecompressionError, OSError) as error:
            raise NotGrowing from error
        yield from current.reading.close_lines()
        self.finish()

    def read_pieces(
        self, file_range: FileRange, form: RecognisedFormat, pieces: Iterable[bytes]
    ) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of further lines of a log that is in no file. `form` reads the same times on lines above."""
        self.stream = replace(self.stream, files=(file_range.file,))
        if self.current is None:
            self.current = self._open(file_range, form)
        current = self.current
        current.file, current.names, current.zoned = file_range.file, form.names, form.zoned
        current.reading.use_format(form)
        for data in pieces:
            yield from current.reading.read_lines(data)
            current.end += len(data)

    def _open(self, file_range: FileRange, form: RecognisedFormat) -> GrowingFile:
        name = self.stream.name
        reading = FileReading(file_range.file.name, form, name=name, extractor=self.extractor, subjects=self.subjects)
        return GrowingFile(file_range.file, file_range.key, reading, form.names, form.zoned, steps=self._steps())

    def _check_format(self, current: GrowingFile, form: RecognisedFormat, head: bytes) -> None:
        """Read on with the format that is recognised now; raise NotGrowing where lines above were read otherwise."""
        if current.end and line_times(head[: current.end], form) != current.first_times:
            raise NotGrowing
        current.names, current.zoned = form.names, form.zoned
        current.reading.use_format(form)

    def _steps(self) -> tuple[int, int]:
        subjects = self.subjects.values()
        return sum(each.forwards for each in subjects), sum(each.backwards for each in subjects)


def _plain_form(file: File, head: bytes, zone: tzinfo) -> RecognisedFormat:
    """Return the format of a file that is a plain log; raise NotGrowing where it is none."""
    return plain_form(head[: head.rfind(b"\n") + 1] or head, zone, file.changed)


def plain_form(head: bytes, zone: tzinfo, latest: datetime) -> RecognisedFormat:
    """Return the format of a plain log that begins with these whole lines; raise NotGrowing where it is none."""
    try:
        form = recognise(head, zone=zone, latest=latest)
    except Exception as error:  # a corrupt file: the whole reading says what is wrong with it
        raise NotGrowing from error
    if (
        isinstance(form, NotText)
        or not is_plain_lines(form)
        or next_timed_line(head, 0, len(head), form.time_at) is None
    ):
        raise NotGrowing  # without times, the lines of one block are one record
    return form


def line_times(head: bytes, form: RecognisedFormat) -> bytes:
    """Return a digest of the times that a format reads on the lines of the first block."""
    digest = blake2b(digest_size=16)
    start = 0
    while start < len(head):
        end = head.find(b"\n", start)
        end = len(head) if end < 0 else end
        digest.update(str(form.time_at(head, start, end)).encode())
        start = end + 1
    return digest.digest()


def _piece(descriptor: int, begin: int, end: int) -> bytes:
    """Return whole lines from `begin` on, one block at most where the lines are no longer than that."""
    size = BLOCK_BYTES
    while True:
        data = os.pread(descriptor, min(size, end - begin), begin)
        if begin + len(data) >= end:
            return data
        newline = data.rfind(b"\n")
        if newline >= 0 or size >= MAX_PIECE_BYTES or len(data) < size:
            return data[: newline + 1] or data
        size *= 2
