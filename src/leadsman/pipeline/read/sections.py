"""Reads a file that is made of sections: each is recognised and read by itself, and failed commands are reported."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from leadsman.pipeline.events import EventRow
from leadsman.pipeline.idle_gaps.bisection import next_timed_line
from leadsman.pipeline.idle_gaps.writers import TimeRange
from leadsman.pipeline.read.blocks import Block
from leadsman.pipeline.read.log_lines import FileReading
from leadsman.pipeline.read.program_outputs import OutputReading
from leadsman.pipeline.read.records import EventExtractor, quote_beginning
from leadsman.sections import SectionBody, exit_line, read_sections
from leadsman.telemetry.format import NotText, RecognisedFormat
from leadsman.telemetry.outputs.parser import OutputContext
from leadsman.vocabulary import FILE_NOT_UNDERSTOOD, ITEM_NOT_COLLECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from leadsman.pipeline.idle_gaps.writers import SubjectActivity
    from leadsman.pipeline.read.program_outputs import GatheredFacts
    from leadsman.pipeline.scope.streams import File

BROKER = "broker"
APPLICATION = "application"

RECOGNITION_BYTES = 64 << 10
"""Bytes by which a section is recognised, where it is so long: of the first block of the file a section may have only a
comment."""

NO_SUCH_TIME = "the line that begins this section names a time that does not exist: the section was skipped"


class SectionedReading:
    """The reading of all sections of one file."""

    def __init__(
        self,
        file: File,
        recognise: Callable[[bytes], RecognisedFormat | NotText],
        *,
        extractor: EventExtractor,
        subjects: dict[str, SubjectActivity],
        facts: GatheredFacts,
    ) -> None:
        self.bytes = 0
        self.line = 0
        self.timed = False
        self.times = TimeRange()
        self.formats: list[str] = []
        self._file = file
        self._recognise = recognise
        self._extractor = extractor
        self._subjects = subjects
        self._facts = facts

    def all(self, opened: Iterable[Block]) -> Iterator[EventRow | pa.RecordBatch]:
        """Yield the events of every section, and one for each that failed."""
        for part in read_sections(self._counted(opened)):
            last_line = _LastLine(part)
            if part.section.at is None:
                yield self._row(part, FILE_NOT_UNDERSTOOD, part.line - 1, NO_SUCH_TIME)
                continue
            yield from self._read_section(part, last_line)
            for _ in last_line.body:  # what the reader left over
                pass
            if part.exit:
                yield self._not_collected_row(part, last_line)

    def _read_section(self, part: SectionBody, last_line: _LastLine) -> Iterator[EventRow | pa.RecordBatch]:
        first = _beginning(last_line.body)
        form = self._recognise(first)
        whole = chain([first], last_line.body)
        if isinstance(form, NotText):
            if first.strip():
                yield self._row(part, FILE_NOT_UNDERSTOOD, part.line, form.why)
            return
        self.formats += [name for name in form.names if name not in self.formats]
        extractor = EventExtractor(self._extractor.capture)
        reading = self._reading(part, form, first, extractor)
        yield from reading.all(Block(data, len(data)) for data in whole)
        if not part.exit:  # the reason of a failed command is in ITEM_NOT_COLLECTED, and is no error of the system
            yield from extractor.unknown_errors()
        self.times.note(_ms(part), reading.times.first, reading.times.last)
        self._extractor.sources.update(_visible(extractor.sources, timed=reading.timed))
        self._extractor.shows.update(extractor.shows)

    def _reading(
        self, part: SectionBody, form: RecognisedFormat, first: bytes, extractor: EventExtractor
    ) -> FileReading | OutputReading:
        at = _ms(part)
        if form.output_source is not None:
            output_context = OutputContext(
                file=self._file.name,
                path=self._file.path,
                at=at,
                subject=part.section.subject,
                command=part.section.command,
            )
            source, line = form.output_source, part.line - 1
            return OutputReading(
                self._file, source, extractor=extractor, facts=self._facts, about=output_context, line=line
            )
        logged = next_timed_line(first, 0, len(first), form.time_at) is not None
        return FileReading(
            self._file.name,
            form,
            name=part.section.file if logged else part.section.subject,
            extractor=extractor,
            subjects=self._subjects,
            line=part.line - 1,
            at=at,
        )

    def _not_collected_row(self, part: SectionBody, last_line: _LastLine) -> EventRow:
        text = last_line.text.decode("utf-8", "replace") or exit_line(part.exit or 0).rstrip("\n")
        return self._row(part, ITEM_NOT_COLLECTED, last_line.line, quote_beginning(text))

    def _row(self, part: SectionBody, name: str, line: int, text: str) -> EventRow:
        section = part.section
        labels = {"command": section.command, "what": section.file, "exit": str(part.exit)}
        return EventRow(
            self._extractor.capture,
            _ms(part),
            section.subject,
            None,
            name,
            self._file.name,
            line,
            text,
            None,
            labels,
        )

    def _counted(self, opened: Iterable[Block]) -> Iterator[bytes]:
        data = b"\n"
        for block in opened:
            data = block.data[: block.end]
            self.bytes += len(data)
            self.line += data.count(b"\n")
            yield data
        self.line += not data.endswith(b"\n")


class _LastLine:
    """A section's body as it passes: the last line in it that is not blank, which says why where a command failed."""

    def __init__(self, part: SectionBody) -> None:
        self.text = b""
        self.line = part.line
        self._passed = 0
        self._first = part.line
        self.body = self._watched(part.body)

    def _watched(self, body: Iterator[bytes]) -> Iterator[bytes]:
        for piece in body:
            bare = piece.rstrip()
            if bare:
                start = bare.rfind(b"\n") + 1
                self.text = bare[start:]
                self.line = self._first + self._passed + bare.count(b"\n", 0, start)
            self._passed += piece.count(b"\n")
            yield piece


def _beginning(body: Iterator[bytes]) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while size < RECOGNITION_BYTES and (piece := next(body, None)) is not None:
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _visible(sources: set[str], *, timed: bool) -> set[str]:
    """Return the sources whose own symptoms a section could show; see `listing.visible_sources`, for whole files."""
    if BROKER in sources:
        return {BROKER}
    return sources or ({APPLICATION} if timed else set())


def _ms(part: SectionBody) -> int | None:
    return None if part.section.at is None else round(part.section.at.timestamp() * 1000)
