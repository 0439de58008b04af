"""Reads plain lines of several writers in batches: what `interleaved` reads, without an object for each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.record_batch import (
    MAX_BATCH_CHARACTERS,
    NO_TIME,
    RECORDS_A_BATCH,
    LogRecordBatch,
    Writers,
    text_spans,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.line_records.interleaved import Prefix
    from leadsman.telemetry.timestamps.parsers import TimestampParser

    RecordStart = tuple[int, bytes]
    """The writer of a record, and its first line."""


def reader(prefix: Prefix, time_at: TimestampParser) -> Callable[[Iterable[bytes]], Iterator[LogRecordBatch]]:
    """Read what `interleaved.reader` reads. Lines before an error are yielded before it is raised."""

    def batches(blocks: Iterable[bytes]) -> Iterator[LogRecordBatch]:
        batcher = LineBatcher(prefix, time_at)
        try:
            for number, line in _nonblank_lines(blocks):
                batcher.read(number, line)
                if batcher.is_full:
                    yield batcher.take()
        except Exception:
            if batcher.texts:
                yield batcher.take()
            raise
        if batcher.texts:
            yield batcher.take()

    return batches


def _nonblank_lines(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers."""
    for first, data in text_lines.complete_lines(blocks):
        for number, line in enumerate(data.split(b"\n"), first):
            if line and not line.isspace():
                yield number, line


class LineBatcher:
    """Collects the lines of one file until they fill a batch, and remembers the last record of each writer."""

    def __init__(self, prefix: Prefix, time_at: TimestampParser) -> None:
        self.texts: list[bytes] = []
        self._match = prefix.pattern.match
        self._is_stripped = prefix.is_stripped
        self._time_at = time_at
        self._writer_table = Writers()
        self._numbers: dict[bytes | None, int] = {}
        self._last: RecordStart | None = None
        self._last_records: dict[int, RecordStart] = {}  # by writer
        self._clear()

    @property
    def is_full(self) -> bool:
        """Whether the lines are enough for a batch."""
        return len(self.texts) >= RECORDS_A_BATCH or self._size >= MAX_BATCH_CHARACTERS

    def read(self, number: int, line: bytes) -> None:
        """Add a line. One without a time continues the last record of its writer, or the line above."""
        match = self._match(line)
        name = match["id"] if match else None
        start = match.end() if match and self._is_stripped else 0
        at = self._time_at(line, start, len(line))
        text = line[start:] if start else line
        record = None if at is not None else self._last if not name else self._last_records.get(self._number(name))
        if record is None:
            writer = self._number(name)
            if len(self._last_records) >= text_lines.MAX_WRITERS:
                self._last_records.clear()
            self._last_records[writer] = self._last = writer, text
        else:
            writer, first_line = record
            self._record_starts[len(self.texts)] = text_lines.decode_line(first_line)[: text_lines.MAX_RECORD_START]
        self._writers.append(writer)
        self._times.append(NO_TIME if at is None else at)
        self._lines.append(number)
        self.texts.append(text)
        if start:
            self._quotes[len(self.texts) - 1] = line
        self._size += len(text)

    def take(self) -> LogRecordBatch:
        """Return the lines as a batch, and begin the next one."""
        count = len(self.texts)
        starts_record = np.ones(count, np.bool_)
        starts_record[list(self._record_starts)] = False
        texts = _as_utf_8(self.texts)
        begin, end = text_spans(texts)
        batch = LogRecordBatch(
            writers=self._writer_table,
            writer=np.array(self._writers, np.int64),
            at=np.array(self._times, np.int64),
            starts_record=starts_record,
            line=np.array(self._lines, np.int64),
            text=b"\n".join(texts),
            begin=begin,
            end=end,
            quote=_quote_reader(texts, self._quotes) if self._quotes else None,
            record_starts={row: first_line for row, first_line in self._record_starts.items() if first_line},
        )
        self._clear()
        return batch

    def _number(self, name: bytes | None) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._writer_table.number(
                None if name is None else text_lines.decode_line(name)
            )
        return number

    def _clear(self) -> None:
        self.texts = []
        self._writers: list[int] = []
        self._times: list[int] = []
        self._lines: list[int] = []
        self._record_starts: dict[int, str] = {}
        self._quotes: dict[int, bytes] = {}
        self._size = 0


def _as_utf_8(texts: Sequence[bytes]) -> Sequence[bytes]:
    """Return the texts as UTF-8, whatever their bytes were."""
    return [text if text.isascii() else text_lines.decode_line(text).encode() for text in texts]


def _quote_reader(texts: Sequence[bytes], quotes: dict[int, bytes]) -> Callable[[int], str]:
    return lambda record: text_lines.decode_line(quotes.get(record, texts[record]))
