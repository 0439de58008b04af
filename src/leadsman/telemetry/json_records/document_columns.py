"""Reads documents of CloudWatch and Loki in columns, block by block: the records that `documents.reader` reads.

From the first record that has another layout than the first one, and from the end of their array, the document is read
by `documents`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.json_records import documents
from leadsman.telemetry.json_records.document_layout import DocumentLayout, document_layout, quote_table
from leadsman.telemetry.json_records.document_parser import decode_blocks
from leadsman.telemetry.json_records.document_position import NEWLINE, Position
from leadsman.telemetry.json_records.escapes import BACKSLASH, UndecodableEscape, unescape
from leadsman.telemetry.json_records.quote_columns import QUOTE, QuoteTable, UnsupportedLayout
from leadsman.telemetry.json_records.stream_columns import StreamReader, stream_layout
from leadsman.telemetry.json_records.time_windows import RecordColumns, TimeWindows
from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.record_batch import NO_TIME, Writers, iter_batches, sliding_window, strip_newlines
from leadsman.telemetry.timestamps.parsers import iso_or_epoch_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import tzinfo

    from numpy.typing import NDArray

    from leadsman.telemetry.record import Record
    from leadsman.telemetry.record_batch import LogRecordBatch
    from leadsman.telemetry.timestamps.parsers import TimestampParser
    from leadsman.telemetry.timestamps.timestamp_column import TimestampColumn

    Numbers = NDArray[np.int64]

EPOCH_MS_DIGITS = 13
"""Digits of a time in milliseconds, from 2001 to 2286."""

ZERO, BASE = 48, 10
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
    layout = document_layout(text)
    if layout is not None:  # times of its layout are in UTC, and need no check
        rest = text[len(layout.header) :].encode()
        ends = quote_table(layout.record, rest, 0).end
        text = layout.header + rest[ends[-1] if len(ends) else 0 :].decode()
    return not documents.has_written_times(text) or documents.same_times(head, zone, other)


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
        header, read_block = self._block_reader(text)
        if read_block is None:
            yield from self._by_records("", text, pieces, skipped=0)
            return
        position = Position(text[len(header) :].encode(), 1 + header.count("\n"))
        has_more = True
        while has_more:
            goes_on = read_block(position)
            yield from self._windows.full_windows()  # before reading on, which may fail
            has_more = goes_on and position.read_more(pieces)
        skipped = position.line - 1 - header.count("\n")
        yield from self._by_records(header, position.data.decode(), pieces, skipped=skipped)

    def _block_reader(self, text: str) -> tuple[str, Callable[[Position], bool] | None]:
        """Return the text before the first record, and what reads a block of records; None for other documents."""
        if (layout := document_layout(text)) is not None:
            return layout.header, partial(self._read_block, layout=layout)
        if (streams := stream_layout(text)) is not None:
            reader = StreamReader(streams, self._read, writers=self._writers, windows=self._windows)
            return streams.header, reader.read_block
        return "", None

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
        table = quote_table(layout.record, position.data, position.next_record)
        if not len(table.begin):
            return position.is_incomplete
        try:
            chunk = self._columns(position, table, layout)
        except (UnsupportedLayout, UndecodableEscape):
            return False
        end = int(table.end[-1])
        self._windows.add(chunk)
        position.advance(end)
        return position.is_incomplete

    def _columns(self, position: Position, table: QuoteTable, layout: DocumentLayout) -> RecordColumns:
        data, columns = position.data, layout.record.columns
        array = np.frombuffer(data, np.uint8)
        message = columns[layout.message] + 2
        begin, end = table.quotes[:, message] + 1, table.quotes[:, message + 1]
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
            at=_times(data, table.quotes[:, columns[layout.time] :], layout.timestamps),
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
        odd |= _ambiguous(array, table, message=message, texts=(text, moved))
        return self._replace_odd(np.flatnonzero(odd), chunk, position, table=table, newlines=newlines)

    def _writer(self, data: bytes, table: QuoteTable, layout: DocumentLayout) -> Numbers:
        column = layout.record.columns.get(layout.subject)
        if column is None:
            return np.full(len(table.begin), self._writers.number(layout.writer))
        begin, end = (table.quotes[:, column + 2] + 1).tolist(), table.quotes[:, column + 3].tolist()
        names = [data[first:last] for first, last in zip(begin, end, strict=True)]
        for name in dict.fromkeys(names):
            if name not in self._names:
                self._names[name] = self._writers.number(name.decode() or layout.writer)
        return np.fromiter(map(self._names.__getitem__, names), np.int64, len(names))

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


def _ambiguous(
    array: NDArray[np.uint8], table: QuoteTable, *, message: int, texts: tuple[bytes, Numbers]
) -> NDArray[np.bool_]:
    """Return which messages, in quotation marks, might stand at another place of their record too.

    `message` is the column of their first quotation mark; `texts` are the messages decoded, and where each begins. One
    without a quotation mark is all of the string that it begins like. One that begins like the text between strings may
    stand there, and one with a backslash within itself.
    """
    text, starts = np.frombuffer(texts[0] + bytes(COMPARED_BYTES), np.uint8), texts[1]
    length = np.diff(starts) - 1
    own, beginnings = sliding_window(text, COMPARED_BYTES)[starts[:-1]], sliding_window(array, COMPARED_BYTES)
    follows_a_string = (AFTER_A_STRING[own[:, 0]] & BETWEEN_STRINGS[own[:, 1]]) | (own[:, 0] == BACKSLASH)
    ambiguous: NDArray[np.bool_] = follows_a_string | (length <= COMPARED_BYTES)
    is_quoting = np.diff(np.searchsorted(np.flatnonzero(text == QUOTE), starts)) > 0
    for column in range(0, table.quotes.shape[1], 2):
        if column == message:
            continue
        other = table.quotes[:, column] + 1
        rows = np.flatnonzero(is_quoting | (table.quotes[:, column + 1] - other == length))
        if not len(rows):
            continue
        other = np.minimum(other[rows], len(beginnings) - 1)  # a shorter string, at the end, begins like no message
        ambiguous[rows] |= (own[rows] == beginnings[other]).all(axis=1)
    return ambiguous


def _times(data: bytes, quotes: Numbers, timestamps: TimestampColumn | None) -> Numbers:
    """Return the times of records, given the quotation marks from their keys on, a row for each record.

    Without `timestamps` they are numbers of thirteen digits. Raises UnsupportedLayout where any is written otherwise.
    """
    array = np.frombuffer(data, np.uint8)
    if timestamps is None:
        return _milliseconds(array, quotes[:, 1] + 1)
    if (quotes[:, 3] - quotes[:, 2] != timestamps.width).any():
        raise UnsupportedLayout("no time in UTC")
    at = timestamps.read(data, array, quotes[:, 2] + 1)
    if (at == NO_TIME).any():
        raise UnsupportedLayout("no time in UTC")
    return at


def _milliseconds(array: NDArray[np.uint8], after: Numbers) -> Numbers:
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
