"""Plain lines of several writers, many at once: what `interleaved` reads, without an object for each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.batch import LARGEST_BATCH, NO_TIME, RECORDS_A_BATCH, Batch, Writers, spans_of
from leadsman.telemetry.formats import streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.formats.interleaved import Prefix
    from leadsman.telemetry.formats.stamps import Stamp

    Begun = tuple[int, bytes]
    """A record's writer, and its first line."""


def reader(prefix: Prefix, time_at: Stamp) -> Callable[[Iterable[bytes]], Iterator[Batch]]:
    """Read what `interleaved.reader` reads. What came before an error is handed out."""

    def batches(blocks: Iterable[bytes]) -> Iterator[Batch]:
        lines = Lines(prefix, time_at)
        try:
            for number, line in _filled(blocks):
                lines.read(number, line)
                if lines.are_many:
                    yield lines.taken()
        except Exception:
            if lines.texts:
                yield lines.taken()
            raise
        if lines.texts:
            yield lines.taken()

    return batches


def _filled(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    for first, data in streams.whole_lines(blocks):
        for number, line in enumerate(data.split(b"\n"), first):
            if line and not line.isspace():
                yield number, line


class Lines:
    """The lines of one file, gathered until they are a batch; and who began which record last."""

    def __init__(self, prefix: Prefix, time_at: Stamp) -> None:
        self.texts: list[bytes] = []
        self._match = prefix.pattern.match
        self._cut = prefix.cut
        self._time_at = time_at
        self._known = Writers()
        self._numbers: dict[bytes | None, int] = {}
        self._last: Begun | None = None
        self._begun: dict[int, Begun] = {}  # by writer: its last record
        self._forget()

    @property
    def are_many(self) -> bool:
        """Whether it is time to hand them out."""
        return len(self.texts) >= RECORDS_A_BATCH or self._size >= LARGEST_BATCH

    def read(self, number: int, line: bytes) -> None:
        """Take a line in. One without a time belongs to its writer's last record, or to the one above it."""
        found = self._match(line)
        name = found["id"] if found else None
        start = found.end() if found and self._cut else 0
        at = self._time_at(line, start, len(line))
        text = line[start:] if start else line
        header = None if at is not None else self._last if not name else self._begun.get(self._number(name))
        if header is None:
            writer = self._number(name)
            if len(self._begun) >= streams.MOST_SUBJECTS:
                self._begun.clear()
            self._begun[writer] = self._last = writer, text
        else:
            writer, head = header
            self._heads[len(self.texts)] = streams.decoded(head)[: streams.LONGEST_HEAD]
        self._writers.append(writer)
        self._times.append(NO_TIME if at is None else at)
        self._lines.append(number)
        self.texts.append(text)
        if start:
            self._quotes[len(self.texts) - 1] = line
        self._size += len(text)

    def taken(self) -> Batch:
        """Return the lines as a batch, and begin the next one."""
        count = len(self.texts)
        begins = np.ones(count, np.bool_)
        begins[list(self._heads)] = False
        texts = _encodable(self.texts)
        begin, end = spans_of(texts)
        batch = Batch(
            writers=self._known,
            writer=np.array(self._writers, np.int64),
            at=np.array(self._times, np.int64),
            begins=begins,
            line=np.array(self._lines, np.int64),
            text=b"\n".join(texts),
            begin=begin,
            end=end,
            quote=_quoted(texts, self._quotes) if self._quotes else None,
            heads={place: head for place, head in self._heads.items() if head},
        )
        self._forget()
        return batch

    def _number(self, name: bytes | None) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._known.number(None if name is None else streams.decoded(name))
        return number

    def _forget(self) -> None:
        self.texts = []
        self._writers: list[int] = []
        self._times: list[int] = []
        self._lines: list[int] = []
        self._heads: dict[int, str] = {}
        self._quotes: dict[int, bytes] = {}
        self._size = 0


def _encodable(texts: Sequence[bytes]) -> Sequence[bytes]:
    """Return the texts as UTF-8, whatever bytes they were."""
    return [text if text.isascii() else streams.decoded(text).encode() for text in texts]


def _quoted(texts: Sequence[bytes], quotes: dict[int, bytes]) -> Callable[[int], str]:
    return lambda record: streams.decoded(quotes.get(record, texts[record]))
