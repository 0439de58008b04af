"""Puts records that come by columns into order of time, as many together as `documents` does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.batch import NO_TIME, RECORDS_A_BATCH, Batch, Writers, spans_of
from leadsman.telemetry.format import Record
from leadsman.telemetry.formats import documents
from leadsman.telemetry.formats.heads import Heads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

BATCH_BYTES = 1 << 20
"""Of texts that are handed out together: of hundreds of writers each should have several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Records of one block, all with times. Their texts stand in `text`, what is quoted of them in `raw`."""

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

    def with_texts(self, texts: list[bytes], raws: list[bytes]) -> Chunk:
        """Return the same records with other texts and quotes."""
        (begin, end), (raw_begin, raw_end) = spans_of(texts), spans_of(raws)
        text, raw = b"\n".join(texts), b"\n".join(raws)
        return replace(self, text=text, begin=begin, end=end, raw=raw, raw_begin=raw_begin, raw_end=raw_end)

    def part(self, since: int, until: int | None = None) -> Chunk:
        """Return some of the records."""
        rows = slice(since, until)
        text, begin, end = _narrowed(self.text, self.begin[rows], self.end[rows])
        raw, raw_begin, raw_end = _narrowed(self.raw, self.raw_begin[rows], self.raw_end[rows])
        return Chunk(
            at=self.at[rows], writer=self.writer[rows], line=self.line[rows],
            text=text, begin=begin, end=end, raw=raw, raw_begin=raw_begin, raw_end=raw_end,
        )  # fmt: skip

    def characters(self) -> Numbers:
        """Return how many characters each record's text and quote have."""
        return _lengths(self.text, self.begin, self.end) + _lengths(self.raw, self.raw_begin, self.raw_end)


def _narrowed(text: bytes, begin: Numbers, end: Numbers) -> tuple[bytes, Numbers, Numbers]:
    """Return the part of a text that these spans take, and the spans in it."""
    first, last = (int(begin[0]), int(end[-1])) if len(begin) else (0, 0)
    return text[first:last], begin - first, end - first


def _cut(text: bytes, begin: Numbers, end: Numbers) -> list[bytes]:
    return [text[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True)]


def _lengths(text: bytes, begin: Numbers, end: Numbers) -> Numbers:
    if text.isascii():
        return end - begin
    goes_on = (np.frombuffer(text, np.uint8) & 0xC0) == 0x80  # noqa: PLR2004 - UTF-8: bytes that begin no character
    counted = np.concatenate(([0], np.cumsum(goes_on)))
    lengths: Numbers = end - begin - (counted[end] - counted[begin])
    return lengths


class Windows:
    """What waits until it is known to be in order of time, and whose records went before."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._open: list[Chunk] = []
        self._size = 0
        self._closed: list[list[Chunk]] = []
        self._heads = Heads(writers)

    def add(self, chunk: Chunk) -> None:
        """Take in the records of a block; windows end where they end for `documents.windows`."""
        sizes = np.cumsum(chunk.characters())
        begun, done = 0, 0
        while (end := int(np.searchsorted(sizes, done + documents.WINDOW - self._size, side="right"))) < len(chunk):
            self._open.append(chunk.part(begun, end + 1))
            self._closed.append(self._open)
            self._open, self._size = [], 0
            begun, done = end + 1, int(sizes[end])
        if begun < len(chunk):
            self._open.append(chunk.part(begun) if begun else chunk)
        self._size += int(sizes[-1]) - done

    def whole(self) -> Iterator[Batch]:
        """Yield the windows that are full."""
        closed, self._closed = self._closed, []
        for chunks in closed:
            yield from self._batches(chunks)

    def last(self) -> Iterator[Batch]:
        """Yield the last window."""
        yield from self._batches(self._open)

    def waiting(self) -> Iterable[Record]:
        """Return the records of the last window, in the order of the document."""
        for chunk in self._open:
            columns = zip(chunk.line.tolist(), chunk.at.tolist(), chunk.writer.tolist(), strict=True)
            for (line, at, writer), text, raw in zip(columns, chunk.texts(), chunk.raws(), strict=True):
                yield Record(line, at, self._writers.names[writer], text.decode(), raw.decode())

    def heads(self) -> dict[str | None, str]:
        """Return the writers of whom a record was handed out. Which one is known to those that read batches."""
        return self._heads.known()

    def _batches(self, chunks: list[Chunk]) -> Iterator[Batch]:
        if not chunks:
            return
        at = np.concatenate([chunk.at for chunk in chunks])
        if (np.diff(at) < 0).any():
            chunks = list(_in_order(chunks, np.argsort(at, kind="stable")))
        for together in _together(chunks):
            yield self._batch(_joined(together))

    def _batch(self, chunk: Chunk) -> Batch:
        begins = self._heads.begins(chunk.writer, chunk.text, chunk.begin, end=chunk.end)
        raw, raw_begin, raw_end = chunk.raw, chunk.raw_begin, chunk.raw_end
        return Batch(
            writers=self._writers,
            writer=chunk.writer,
            at=np.where(begins, chunk.at, NO_TIME),
            begins=begins,
            line=chunk.line,
            text=chunk.text,
            begin=chunk.begin,
            end=chunk.end,
            quote=lambda record: raw[raw_begin[record] : raw_end[record]].decode(),
        )


def _together(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Yield as many chunks at a time as make a batch."""
    kept: list[Chunk] = []
    size = 0
    for chunk in chunks:
        kept.append(chunk)
        size += len(chunk.text)
        if size >= BATCH_BYTES:
            yield kept
            kept, size = [], 0
    if kept:
        yield kept


def _joined(chunks: list[Chunk]) -> Chunk:
    """Return the records of some chunks as those of one."""
    if len(chunks) == 1:
        return chunks[0]
    at, writer, line = (np.concatenate([getattr(each, name) for each in chunks]) for name in ("at", "writer", "line"))
    below = np.cumsum([0, *(len(each.text) + 1 for each in chunks)]).tolist()
    raw_below = np.cumsum([0, *(len(each.raw) + 1 for each in chunks)]).tolist()
    return Chunk(
        at=at,
        writer=writer,
        line=line,
        text=b"\n".join([each.text for each in chunks]),
        begin=np.concatenate([each.begin + start for each, start in zip(chunks, below, strict=False)]),
        end=np.concatenate([each.end + start for each, start in zip(chunks, below, strict=False)]),
        raw=b"\n".join([each.raw for each in chunks]),
        raw_begin=np.concatenate([each.raw_begin + start for each, start in zip(chunks, raw_below, strict=False)]),
        raw_end=np.concatenate([each.raw_end + start for each, start in zip(chunks, raw_below, strict=False)]),
    )


def _in_order(chunks: list[Chunk], order: Numbers) -> Iterator[Chunk]:
    """Yield the records of some chunks in another order."""
    at, writer, line = (
        np.concatenate([getattr(chunk, name) for chunk in chunks])[order] for name in ("at", "writer", "line")
    )
    texts = [text for chunk in chunks for text in chunk.texts()]
    raws = [raw for chunk in chunks for raw in chunk.raws()]
    empty = np.zeros(0, np.int64)
    for since in range(0, len(order), RECORDS_A_BATCH):
        part = slice(since, since + RECORDS_A_BATCH)
        places = order[part].tolist()
        bare = Chunk(
            at=at[part], writer=writer[part], line=line[part],
            text=b"", begin=empty, end=empty, raw=b"", raw_begin=empty, raw_end=empty,
        )  # fmt: skip
        yield bare.with_texts([texts[place] for place in places], [raws[place] for place in places])
