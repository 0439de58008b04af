"""Sorts records in columns by time, in the same windows as `documents` does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.json_records import documents
from leadsman.telemetry.line_records.record_starts import RecordStarts
from leadsman.telemetry.record import Record
from leadsman.telemetry.record_batch import NO_TIME, RECORDS_A_BATCH, LogRecordBatch, Writers, text_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

BATCH_BYTES = 1 << 20
"""Bytes of texts in one batch: among hundreds of writers, each should have several records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordColumns:
    """Records of one block, all with times. Their texts stand in `text`, their quotes in `raw`."""

    at: Numbers
    writer: Numbers
    line: Numbers
    text: bytes
    begin: Numbers
    end: Numbers
    raw: bytes
    raw_begin: Numbers
    raw_end: Numbers

    def __len__(self) -> int:
        return len(self.at)

    def texts(self) -> list[bytes]:
        """Return the text of each record."""
        return _cut(self.text, self.begin, self.end)

    def raws(self) -> list[bytes]:
        """Return the quote of each record."""
        return _cut(self.raw, self.raw_begin, self.raw_end)

    def with_texts(self, texts: list[bytes], raws: list[bytes]) -> RecordColumns:
        """Return the same records with other texts and quotes."""
        (begin, end), (raw_begin, raw_end) = text_spans(texts), text_spans(raws)
        text, raw = b"\n".join(texts), b"\n".join(raws)
        return replace(self, text=text, begin=begin, end=end, raw=raw, raw_begin=raw_begin, raw_end=raw_end)

    def part(self, since: int, until: int | None = None) -> RecordColumns:
        """Return the records from row `since` up to row `until`."""
        rows = slice(since, until)
        text, begin, end = _narrow(self.text, self.begin[rows], self.end[rows])
        raw, raw_begin, raw_end = _narrow(self.raw, self.raw_begin[rows], self.raw_end[rows])
        return RecordColumns(
            at=self.at[rows], writer=self.writer[rows], line=self.line[rows],
            text=text, begin=begin, end=end, raw=raw, raw_begin=raw_begin, raw_end=raw_end,
        )  # fmt: skip

    def characters(self) -> Numbers:
        """Return the number of characters in text and quote of each record."""
        return _lengths(self.text, self.begin, self.end) + _lengths(self.raw, self.raw_begin, self.raw_end)


def _narrow(text: bytes, begin: Numbers, end: Numbers) -> tuple[bytes, Numbers, Numbers]:
    """Return the part of a text that these spans cover, and the spans in that part."""
    first, last = (int(begin[0]), int(end[-1])) if len(begin) else (0, 0)
    return text[first:last], begin - first, end - first


def _cut(text: bytes, begin: Numbers, end: Numbers) -> list[bytes]:
    return [text[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True)]


def _lengths(text: bytes, begin: Numbers, end: Numbers) -> Numbers:
    if text.isascii():
        return end - begin
    continuation = (np.frombuffer(text, np.uint8) & 0xC0) == 0x80  # noqa: PLR2004 - bytes of UTF-8 that begin no character
    counts = np.concatenate(([0], np.cumsum(continuation)))
    lengths: Numbers = end - begin - (counts[end] - counts[begin])
    return lengths


class TimeWindows:
    """Records that wait until their window is full, and the writers that have a record already."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._open: list[RecordColumns] = []
        self._size = 0
        self._closed: list[list[RecordColumns]] = []
        self._record_starts = RecordStarts(writers)

    def add(self, chunk: RecordColumns) -> None:
        """Add the records of a block. A window ends where it ends for `documents.time_windows`."""
        sizes = np.cumsum(chunk.characters())
        first, done = 0, 0
        while (end := int(np.searchsorted(sizes, done + documents.WINDOW_CHARACTERS - self._size, side="right"))) < len(
            chunk
        ):
            self._open.append(chunk.part(first, end + 1))
            self._closed.append(self._open)
            self._open, self._size = [], 0
            first, done = end + 1, int(sizes[end])
        if first < len(chunk):
            self._open.append(chunk.part(first) if first else chunk)
        self._size += int(sizes[-1]) - done

    def full_windows(self) -> Iterator[LogRecordBatch]:
        """Yield the windows that are full."""
        closed, self._closed = self._closed, []
        for chunks in closed:
            yield from self._batches(chunks)

    def last_window(self) -> Iterator[LogRecordBatch]:
        """Yield the last window."""
        yield from self._batches(self._open)

    def pending_records(self) -> Iterable[Record]:
        """Yield the records of the last window, in the order of the document."""
        for chunk in self._open:
            columns = zip(chunk.line.tolist(), chunk.at.tolist(), chunk.writer.tolist(), strict=True)
            for (line, at, writer), text, raw in zip(columns, chunk.texts(), chunk.raws(), strict=True):
                yield Record(line, at, self._writers.names[writer], text.decode(), raw.decode())

    def writers_with_record(self) -> dict[str | None, str]:
        """Return the writers of which a record was yielded, each with an unknown first line."""
        return self._record_starts.writers_with_record()

    def _batches(self, chunks: list[RecordColumns]) -> Iterator[LogRecordBatch]:
        if not chunks:
            return
        at = np.concatenate([chunk.at for chunk in chunks])
        if (np.diff(at) < 0).any():
            chunks = list(_reordered(chunks, np.argsort(at, kind="stable")))
        for together in _by_batch_size(chunks):
            yield self._batch(_concatenate(together))

    def _batch(self, chunk: RecordColumns) -> LogRecordBatch:
        starts_record = self._record_starts.mark_starts(chunk.writer, chunk.text, chunk.begin, end=chunk.end)
        raw, raw_begin, raw_end = chunk.raw, chunk.raw_begin, chunk.raw_end
        return LogRecordBatch(
            writers=self._writers,
            writer=chunk.writer,
            at=np.where(starts_record, chunk.at, NO_TIME),
            starts_record=starts_record,
            line=chunk.line,
            text=chunk.text,
            begin=chunk.begin,
            end=chunk.end,
            quote=lambda record: raw[raw_begin[record] : raw_end[record]].decode(),
        )


def _by_batch_size(chunks: Iterable[RecordColumns]) -> Iterator[list[RecordColumns]]:
    """Yield as many chunks at a time as fill a batch."""
    pending: list[RecordColumns] = []
    size = 0
    for chunk in chunks:
        pending.append(chunk)
        size += len(chunk.text)
        if size >= BATCH_BYTES:
            yield pending
            pending, size = [], 0
    if pending:
        yield pending


def _concatenate(chunks: list[RecordColumns]) -> RecordColumns:
    """Return the records of several chunks as one chunk."""
    if len(chunks) == 1:
        return chunks[0]
    at, writer, line = (np.concatenate([getattr(each, name) for each in chunks]) for name in ("at", "writer", "line"))
    offsets = np.cumsum([0, *(len(each.text) + 1 for each in chunks)]).tolist()
    raw_offsets = np.cumsum([0, *(len(each.raw) + 1 for each in chunks)]).tolist()
    return RecordColumns(
        at=at,
        writer=writer,
        line=line,
        text=b"\n".join([each.text for each in chunks]),
        begin=np.concatenate([each.begin + start for each, start in zip(chunks, offsets, strict=False)]),
        end=np.concatenate([each.end + start for each, start in zip(chunks, offsets, strict=False)]),
        raw=b"\n".join([each.raw for each in chunks]),
        raw_begin=np.concatenate([each.raw_begin + start for each, start in zip(chunks, raw_offsets, strict=False)]),
        raw_end=np.concatenate([each.raw_end + start for each, start in zip(chunks, raw_offsets, strict=False)]),
    )


def _reordered(chunks: list[RecordColumns], order: Numbers) -> Iterator[RecordColumns]:
    """Yield the records of several chunks in another order."""
    at, writer, line = (
        np.concatenate([getattr(chunk, name) for chunk in chunks])[order] for name in ("at", "writer", "line")
    )
    texts = [text for chunk in chunks for text in chunk.texts()]
    raws = [raw for chunk in chunks for raw in chunk.raws()]
    empty = np.zeros(0, np.int64)
    for since in range(0, len(order), RECORDS_A_BATCH):
        part = slice(since, since + RECORDS_A_BATCH)
        rows = order[part].tolist()
        bare = RecordColumns(
            at=at[part], writer=writer[part], line=line[part],
            text=b"", begin=empty, end=empty, raw=b"", raw_begin=empty, raw_end=empty,
        )  # fmt: skip
        yield bare.with_texts([texts[row] for row in rows], [raws[row] for row in rows])
