"""Reads a file that is made of sections: each is recognised and read for itself, and what failed is told."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from leadsman.pipeline.activity import Times
from leadsman.pipeline.blocks import Block
from leadsman.pipeline.events import Row
from leadsman.pipeline.gaps import next_mark
from leadsman.pipeline.lines import FileReading
from leadsman.pipeline.outputs import OutputReading
from leadsman.pipeline.record import Listener, quote
from leadsman.sections import Part, exit_line, parts
from leadsman.telemetry.format import Format, NotText
from leadsman.telemetry.reading import About
from leadsman.vocabulary import FILE_NOT_UNDERSTOOD, ITEM_MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from leadsman.pipeline.activity import Subject
    from leadsman.pipeline.streams import File

BROKER = "broker"
APPLICATION = "application"

TOLD_BY = 64 << 10
"""Bytes by which a section is recognised, where it has so many: a block of the file can end behind its first remark."""


class PartsReading:
    """The reading of all sections of one file."""

    def __init__(
        self,
        file: File,
        recognise: Callable[[bytes], Format | NotText],
        *,
        listener: Listener,
        subjects: dict[str, Subject],
    ) -> None:
        self.bytes = 0
        self.line = 0
        self.timed = False
        self.times = Times()
        self.formats: list[str] = []
        self._file = file
        self._recognise = recognise
        self._listener = listener
        self._subjects = subjects

    def all(self, opened: Iterable[Block]) -> Iterator[Row | pa.RecordBatch]:
        """Yield the events of every section, and one for each that failed."""
        for part in parts(self._counted(opened)):
            seen = _LastLine(part)
            yield from self._part(part, seen)
            for _ in seen.body:  # what the reader left over
                pass
            if part.exit:
                yield self._missing(part, seen)

    def _part(self, part: Part, seen: _LastLine) -> Iterator[Row | pa.RecordBatch]:
        first = _beginning(seen.body)
        form = self._recognise(first)
        whole = chain([first], seen.body)
        if isinstance(form, NotText):
            if first.strip():
                yield self._row(part, FILE_NOT_UNDERSTOOD, part.line, form.why)
            return
        self.formats += [name for name in form.names if name not in self.formats]
        listener = Listener(self._listener.capture)
        reading = self._reading(part, form, first, listener)
        yield from reading.all(Block(data, len(data)) for data in whole)
        if not part.exit:  # why a command failed is told by what is missing, and is no error of the system's
            yield from listener.unknown_errors()
        self.times.note(_ms(part), reading.times.first, reading.times.last)
        self._listener.sources.update(_visible(listener.sources, timed=reading.timed))
        self._listener.shows.update(listener.shows)

    def _reading(self, part: Part, form: Format, first: bytes, listener: Listener) -> FileReading | OutputReading:
        at = _ms(part)
        if form.output is not None:
            about = About(
                file=self._file.name,
                path=self._file.path,
                at=at,
                subject=part.section.subject,
                command=part.section.command,
            )
            return OutputReading(self._file, form.output, listener=listener, about=about, line=part.line - 1)
        logged = next_mark(first, 0, len(first), form.time_at) is not None
        return FileReading(
            self._file.name,
            form,
            name=part.section.file if logged else part.section.subject,
            listener=listener,
            subjects=self._subjects,
            line=part.line - 1,
            at=at,
        )

    def _missing(self, part: Part, seen: _LastLine) -> Row:
        text = seen.text.decode("utf-8", "replace") or exit_line(part.exit or 0).rstrip("\n")
        return self._row(part, ITEM_MISSING, seen.line, quote(text))

    def _row(self, part: Part, name: str, line: int, text: str) -> Row:
        section = part.section
        labels = {"command": section.command, "what": section.file, "exit": str(part.exit)}
        return Row(
            self._listener.capture,
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

    def __init__(self, part: Part) -> None:
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
    while size < TOLD_BY and (piece := next(body, None)) is not None:
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _visible(sources: set[str], *, timed: bool) -> set[str]:
    """Return the sources whose own symptoms a section could show; see `listing.visible_sources`, for whole files."""
    if BROKER in sources:
        return {BROKER}
    return sources or ({APPLICATION} if timed else set())


def _ms(part: Part) -> int:
    return round(part.section.at.timestamp() * 1000)
