"""What a file format is to the reader: where a line's time stands, and who wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.telemetry.batch import Batch
    from leadsman.telemetry.source import Source


class TimeAt(Protocol):
    """Finds the time of the line at block[start:end]. None: the line continues the one before it."""

    def __call__(self, block: bytes, start: int, end: int, /) -> int | None:
        """Return milliseconds since 1970 UTC. Called for single lines, not all: about 1 microsecond each."""


def no_time(_block: bytes, _start: int, _end: int, /) -> int | None:
    """Find no time, on whatever line: of a document, and of outputs that have none."""
    return None


@dataclass(frozen=True, slots=True)
class Record:
    """One log record out of a format that is not simply one line a record.

    `text` is the decoded message, on which signatures are tried: lines parted by newlines, with the level before it
    where the format keeps them apart. `quote` stands literally in the file on line `line` (1-based, decoded as UTF-8
    with replacements); `at` is in milliseconds since 1970 UTC. `head` is set where the record continues an earlier one
    of its subject (a stack frame, a line of a dump): it is the first line of that one, and `at` is None, because the
    time is that one's.
    """

    line: int
    at: int | None
    subject: str | None
    text: str
    quote: str
    head: str | None = None

    @property
    def first_line(self) -> str:
        """What `Signature.read` wants to know: the first line of the whole record."""
        return self.text.split("\n", 1)[0] if self.head is None else self.head


@dataclass(frozen=True, slots=True)
class NotText:
    """A file in which there are no lines to read. `why` is for the report."""

    why: str


@dataclass(frozen=True, slots=True)
class Format:
    """How to read one file.

    Most files are lines, and the reader goes from signature hit to signature hit: it needs `time_at` only.
    Where lines of several writers interleave, where a record is cut into several lines, or where the whole file is one
    document, `records` is set instead: it takes the file's decompressed blocks (each ending at a newline, except the
    last) and yields every record: in file order where it streams, in order of time where the file is one document.
    Exports are often newest first, so times may run backwards. `zoned` is False when times carry no zone and the
    reader's default was assumed. `names` are all formats seen in the sample, for the report.
    `batches` yields the same records in the same order many at once, and is read instead where it is set.
    `output` is set instead where the file is the output of a program that has a reading; `recognise_part` where the
    file is made of sections (`leadsman.sections`): it recognises each by its first block.
    """

    names: tuple[str, ...]
    time_at: TimeAt
    zoned: bool
    records: Callable[[Iterable[bytes]], Iterator[Record]] | None = None
    batches: Callable[[Iterable[bytes]], Iterator[Batch]] | None = None
    output: Source | None = None
    recognise_part: Callable[[bytes], Format | NotText] | None = None
