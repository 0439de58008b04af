"""How a recognised file is read: where the time of a line stands, and who wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.telemetry.record import Record
    from leadsman.telemetry.record_batch import LogRecordBatch
    from leadsman.telemetry.source import Source
    from leadsman.telemetry.timestamps.line_times import LineTimes


class TimeAt(Protocol):
    """Reads the time of the line at block[start:end]. None: the line continues the one before it."""

    def __call__(self, block: bytes, start: int, end: int, /) -> int | None:
        """Return milliseconds since 1970 UTC. Called for single lines, not all: about 1 microsecond each."""


def no_time(_block: bytes, _start: int, _end: int, /) -> int | None:
    """Return None for every line: for documents, and for outputs that have no times."""
    return None


@dataclass(frozen=True, slots=True)
class NotText:
    """A file in which there are no lines to read. `why` is for the report."""

    why: str


@dataclass(frozen=True, slots=True)
class RecognisedFormat:
    """How to read one file.

    Most files are lines, and the reader goes from signature hit to signature hit: it needs `time_at` only, and uses
    `line_times` where it needs the times of many lines.
    Where lines of several writers interleave, where a record is cut into several lines, or where the whole file is one
    document, `records` is set instead: it takes the file's decompressed blocks (each ending at a newline, except the
    last) and yields every record: in file order where it streams, in order of time where the file is one document.
    Exports are often newest first, so times may run backwards. `zoned` is False when times carry no zone and the
    reader's default was assumed. `names` are all formats seen in the sample, for the report.
    `batches` yields the same records in the same order, many at a time; where it is set, the reader uses it.
    `output_source` is set instead where the file is the output of a program that has a parser; `recognise_section`
    where the file is made of sections (`leadsman.sections`): it recognises each section by its first block.
    """

    names: tuple[str, ...]
    time_at: TimeAt
    zoned: bool
    records: Callable[[Iterable[bytes]], Iterator[Record]] | None = None
    batches: Callable[[Iterable[bytes]], Iterator[LogRecordBatch]] | None = None
    output_source: Source | None = None
    recognise_section: Callable[[bytes], RecognisedFormat | NotText] | None = None
    line_times: LineTimes | None = None
