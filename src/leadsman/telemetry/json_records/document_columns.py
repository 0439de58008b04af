"""Reads documents of `aws logs` in columns, block by block: the records that `documents.reader` reads.

From the first record that has another layout than the first one, and from the end of their array, the document is read
by `documents`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.telemetry.json_records import documents, json_fields
from leadsman.telemetry.json_records.document_parser import (
    SPACE,
    BrokenDocument,
    DocumentParser,
    Element,
    decode_blocks,
    is_cut,
)
from leadsman.telemetry.json_records.escapes import BACKSLASH, UndecodableEscape, unescape
from leadsman.telemetry.json_records.quote_columns import QuoteTable, RecordLayout, UnsupportedLayout
from leadsman.telemetry.json_records.time_windows import RecordColumns, TimeWindows
from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.record_batch import Writers, iter_batches, sliding_window, strip_newlines
from leadsman.telemetry.timestamps.parsers import iso_or_epoch_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import tzinfo

    from numpy.typing import NDArray

    from leadsman.telemetry.record import Record
    from leadsman.telemetry.record_batch import LogRecordBatch
    from leadsman.telemetry.timestamps.parsers import TimestampParser

    Numbers = NDArray[np.int64]

KEYS = frozenset({"timestamp", "message", "ingestionTime", "eventId", "logStreamName"})
"""Members of records that are read in columns. Records with other members are read by `documents`."""

MAX_UNREAD = 8 << 20
"""Bytes without a complete record, after which `documents` reads on."""

EPOCH_MS_DIGITS = 13
"""Digits of a time in milliseconds, from 2001 to 2286."""

NEWLINE, ZERO, BASE = 10, 48, 10
AFTER_A_STRING = np.isin(np.arange(256), list(b" \t\r\n:,}]"))
"""Bytes that can follow a quotation mark that ends a string."""
BETWEEN_STRINGS = np.isin(np.arange(256), list(b' \t\r\n:,{}[]"-0123456789tfnNI'))
"""Bytes that can follow those: blanks, marks, and the first characters of numbers, true, false and null."""
COMPARED_BYTES = 8
"""Bytes by which messages are compared with other strings of a record. Shorter messages are read by `documents`."""


def reader(zone: tzinfo) -> Callable[[Iterable[bytes]], Iterator[LogRecordBatch]]:
    """Read what `documents.reader` reads, in batches."""

    def batches(blocks: Iterable[bytes]) -> Iterator[LogRecordBatch]:
        yield from DocumentReader(iso_or_epoch_parser(zone)).batches(decode_blocks(blocks))

    return batches


def is_zoned(head: bytes, zone: tzinfo, other: tzinfo) -> bool:
    """Whether the times in a document that begins so are the same with either default zone."""
    text = "".join(decode_blocks([head]))
    layout = _document_layout(text)
    if layout is not None:  # times of its layout count from 1970 UTC, and need no check
        rest = text[len(layout.header) :].encode()
        ends = _quote_table(layout.record, rest, 0).end
        text = layout.header + rest[ends[-1] if len(ends) else 0 :].decode()
    return not documents.has_written_times(text) or documents.same_times(head, zone, other)


class DocumentLayout(NamedTuple):
    """The layout of a document, learnt from its first two records. `header` is the text before them."""

    header: str
    record: RecordLayout
    writer: str | None


@dataclass(slots=True)
class Position:
    """How far a document has been read: `data` is the text from here on, `line` the line on which it begins."""

    data: bytes
    line: int

    @property
    def next_record(self) -> int:
        """The offset at which the next record begins."""
        return len(self.data) - len(self.data.lstrip(b" \t\r\n\v\f,"))

    @property
    def is_incomplete(self) -> bool:
        """Whether the end of the next record is not read yet. Only then does `DocumentParser` read on as well."""
        unread = self.data[self.next_record :]
        if not unread:
            return True
        if unread[:1] != b"{" or len(unread) > MAX_UNREAD:
            return False
        text = unread.decode()
        try:
            documents.DECODER.raw_decode(text)
        except json.JSONDecodeError as error:
            return is_cut(error, text)
        except (RecursionError, ValueError):
            return False
        return False

    def read_more(self, pieces: Iterator[str]) -> bool:
        """Read on, as much as `DocumentParser` does: at least as much again as there is of the next record."""
        missing = max(1, len(self.data[self.next_record :].decode()))
        parts = [self.data]
        while missing > 0 and (piece := next(pieces, None)) is not None:
            parts.append(piece.encode())
            missing -= len(piece)
        self.data = b"".join(parts)
        return len(parts) > 1


class DocumentReader:
    """Reads one document, in columns as far as possible, then record by record."""

    def __init__(self, read: TimestampParser) -> None:
        self._read = read
        self._writers = Writers()
        self._windows = TimeWindows(self._writers)
        self._names: dict[bytes, int] = {}

    def batches(self, pieces: Iterator[str]) -> Iterator[LogRecordBatch]:
        """Yield the records of the document."""
        text = next(pieces, "")
        layout = _document_layout(text)
        if layout is None:
            yield from self._by_records("", text, pieces, skipped=0)
            return
        header = layout.header
        position = Position(text[len(header) :].encode(), 1 + header.count("\n"))
        has_more = True
        while has_more:
            goes_on = self._read_block(position, layout)
            yield from self._windows.full_windows()  # before reading on, which may fail
            has_more = goes_on and position.read_more(pieces)
        skipped = position.line - 1 - header.count("\n")
        yield from self._by_records(header, position.data.decode(), pieces, skipped=skipped)

    def _by_records(self, header: str, rest: str, pieces: Iterator[str], *, skipped: int) -> Iterator[LogRecordBatch]:
        """Read the rest as `documents` does, `skipped` lines further down, together with records that still wait."""
        records = documents.parse_records(chain((header + rest,), pieces), self._read)
        first = next(records, None)
        if first is None:
            yield from self._windows.last_window()
            return
        left: Iterable[Record] = chain((first,), records)
        if skipped:
            left = (record._replace(line=record.line + skipped) for record in left)
        windows = documents.time_windows(chain(self._windows.pending_records(), left))
        known = self._windows.writers_with_record()
        yield from iter_batches(text_lines.with_record_starts(chain.from_iterable(windows), known), self._writers)

    def _read_block(self, position: Position, layout: DocumentLayout) -> bool:
        """Read the records of this layout. Return whether more of them may follow."""
        table = _quote_table(layout.record, position.data, position.next_record)
        if not len(table.begin):
            return position.is_incomplete
        try:
            chunk = self._columns(position, table, layout)
        except (UnsupportedLayout, UndecodableEscape):
            return False
        end = int(table.end[-1])
        self._windows.add(chunk)
        position.line += int(np.count_nonzero(np.frombuffer(position.data, np.uint8)[:end] == NEWLINE))
        position.data = position.data[end:]
        return position.is_incomplete

    def _columns(self, position: Position, table: QuoteTable, layout: DocumentLayout) -> RecordColumns:
        data, columns = position.data, layout.record.columns
        array = np.frombuffer(data, np.uint8)
        begin, end = table.quotes[:, columns["message"] + 2] + 1, table.quotes[:, columns["message"] + 3]
        spans = zip(begin.tolist(), end.tolist(), strict=True)
        raw = b"\n".join([data[first:last] for first, last in spans])
        slashes = np.count_nonzero(array[table.begin[0] : table.end[-1]] == BACKSLASH)  # twice as fast as `bytes.count`
        if slashes != np.count_nonzero(np.frombuffer(raw, np.uint8) == BACKSLASH):
            raise UnsupportedLayout("escapes outside of messages")
        ends = np.cumsum(end - begin + 1)
        starts = ends - (end - begin + 1)
        text, moved = unescape(raw, np.append(starts, len(raw) + 1))
        newlines = np.flatnonzero(array[: table.end[-1]] == NEWLINE)
        above = np.searchsorted(newlines, begin)
        chunk = RecordColumns(
            at=_times(array, table.quotes[:, columns["timestamp"] + 1] + 1),
            writer=self._writer(data, table, layout),
            line=above + position.line,
            text=text,
            begin=moved[:-1],
            end=strip_newlines(text, moved[:-1], moved[1:] - 1),
            raw=raw,
            raw_begin=starts,
            raw_end=ends - 1,
        )
        odd = (begin == end) | (np.searchsorted(newlines, end) != above)
        odd |= self._ambiguous(array, table, layout.record, begin=begin, end=end)
        return self._replace_odd(np.flatnonzero(odd), chunk, position, table=table, newlines=newlines)

    def _writer(self, data: bytes, table: QuoteTable, layout: DocumentLayout) -> Numbers:
        column = layout.record.columns.get("logStreamName")
        if column is None:
            return np.full(len(table.begin), self._writers.number(layout.writer))
        begin, end = (table.quotes[:, column + 2] + 1).tolist(), table.quotes[:, column + 3].tolist()
        names = [data[first:last] for first, last in zip(begin, end, strict=True)]
        for name in dict.fromkeys(names):
            if name not in self._names:
                self._names[name] = self._writers.number(name.decode() or layout.writer)
        return np.fromiter(map(self._names.__getitem__, names), np.int64, len(names))

    @staticmethod
    def _ambiguous(
        array: NDArray[np.uint8], table: QuoteTable, layout: RecordLayout, *, begin: Numbers, end: Numbers
    ) -> NDArray[np.bool_]:
        """Return which messages, in quotation marks, might stand at another place of their record too."""
        first, second, third = (array[begin + offset] for offset in range(3))
        tab = (first == BACKSLASH) & (second == ord("t"))
        second = np.where(tab, third, second)
        marks = (AFTER_A_STRING[first] | tab) & BETWEEN_STRINGS[second]
        ambiguous: NDArray[np.bool_] = marks | ((first == BACKSLASH) & ~tab) | (end - begin <= COMPARED_BYTES)
        beginnings = sliding_window(array, COMPARED_BYTES)
        own = beginnings[begin]
        for key, column in layout.columns.items():
            others = [table.quotes[:, column] + 1]
            if key in ("eventId", "logStreamName"):
                others.append(table.quotes[:, column + 2] + 1)
            for other in others:
                starts = np.minimum(other, len(beginnings) - 1)  # a shorter value, at the end, begins like no message
                ambiguous |= (own == beginnings[starts]).all(axis=1)
        return ambiguous

    def _replace_odd(
        self, odd: Numbers, chunk: RecordColumns, position: Position, *, table: QuoteTable, newlines: Numbers
    ) -> RecordColumns:
        """Return the records, with the odd ones replaced by what `documents` reads there."""
        if not len(odd):
            return chunk
        above = np.searchsorted(newlines, table.begin[odd]).tolist()
        texts, raws, line = chunk.texts(), chunk.raws(), chunk.line.copy()
        for record, lines in zip(odd.tolist(), above, strict=True):
            begin, end = int(table.begin[record]), int(table.end[record])
            raw = position.data[begin:end].decode()
            parsed = list(documents.parse_element(raw, documents.DECODER.decode(raw), self._read))
            if len(parsed) != 1:
                raise UnsupportedLayout("no record, or several")
            _, _, message, first, last = parsed[0]
            texts[record], raws[record] = message.encode("utf-8", "replace"), raw[first:last].split("\n", 1)[0].encode()
            line[record] = position.line + lines + raw.count("\n", 0, first)
        return replace(chunk, line=line).with_texts(texts, raws)


def _times(array: NDArray[np.uint8], after: Numbers) -> Numbers:
    """Return the numbers of thirteen digits that follow a key. Raises UnsupportedLayout where there are others."""
    first = int(after[0])
    gap = next((offset for offset in range(16) if ZERO <= array[first + offset] < ZERO + 10), None)
    if gap is None:
        raise UnsupportedLayout("no number")
    digits = sliding_window(array, EPOCH_MS_DIGITS + 1)[after + gap] - np.uint8(ZERO)
    behind = digits[:, EPOCH_MS_DIGITS]
    if (digits[:, :EPOCH_MS_DIGITS] >= BASE).any() or ((behind < BASE) | np.isin(behind, list(NUMBER_CONTINUES))).any():
        raise UnsupportedLayout("no time in milliseconds")
    return (digits[:, :EPOCH_MS_DIGITS] @ POWERS).astype(np.int64)


NUMBER_CONTINUES = {(ord(mark) - ZERO) % 256 for mark in ".eE"}
POWERS = 10.0 ** np.arange(EPOCH_MS_DIGITS - 1, -1, -1)
"""Exact: below 2 ** 53."""


@lru_cache(1)
def _quote_table(layout: RecordLayout, data: bytes, start: int) -> QuoteTable:
    """Cache the last table: all of a small document is needed to recognise it, and again to read it."""
    return layout.quote_table(data, start)


@lru_cache(1)
def _document_layout(text: str) -> DocumentLayout | None:
    """Return the layout of a document whose records can be read in columns; None for any other document."""
    parser = DocumentParser([text], documents.RECORD_ARRAYS, documents.DECODER)
    elements: list[tuple[Element, int]] = []
    try:
        for element in parser.elements():
            elements.append((element, parser.position))
            if len(elements) > 1:
                break
    except BrokenDocument:
        return None
    if len(elements) < 2:  # noqa: PLR2004 - the text between records is learnt from two
        return None
    (first, end), (second, second_end) = elements
    between = text[end : second_end - len(second.raw)]
    value = first.value
    if not isinstance(value, dict) or not value.keys() <= KEYS or not SPACE.fullmatch(between):
        return None
    if not isinstance(value.get("timestamp"), int) or not isinstance(value.get("message"), str):
        return None
    try:
        record = RecordLayout(first.raw.encode(), value, between.encode())
    except UnsupportedLayout:
        return None
    return DocumentLayout(
        text[: end - len(first.raw)], record, json_fields.text_at(first.context, documents.DOCUMENT_WRITER_KEYS)
    )
