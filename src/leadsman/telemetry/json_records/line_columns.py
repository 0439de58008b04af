"""Reads JSON lines of several writers in columns, block by block: the records that `line_reader.LineReader` reads.

A line has a known layout where it has as many quotation marks as an earlier line, the same keys, and the same text
between its strings except for digits. The offsets of its quotation marks then give its message, writer and level. All
other lines are read one by one, and further layouts are learnt from the first of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.json_records import line_reader
from leadsman.telemetry.json_records.escapes import BACKSLASH, UndecodableEscape, unescape
from leadsman.telemetry.json_records.line_layout import PADDING, LineLayout, MemberSpans
from leadsman.telemetry.json_records.quote_columns import UnsupportedLayout, quote_positions
from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.line_records.record_starts import RecordStarts
from leadsman.telemetry.record_batch import NO_TIME, LogRecordBatch, Writers, strip_newlines, text_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from leadsman.telemetry.record import Record
    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps

    Numbers = NDArray[np.int64]

BLOCK_BYTES = 2 << 20
"""Bytes of lines that are read together: among hundreds of writers, each should have several lines."""

MAX_LAYOUTS = 8
"""Layouts of one file. Each costs a comparison of all lines that do not have an earlier layout."""

MAX_LAYOUT_ATTEMPTS = 200
"""Lines from which a layout is learnt. Where these give none, later lines will not either."""

MIN_LINES = 4
"""Lines below which arrays cost more than they save."""

ESCAPE = re.compile(rb"\\(.)")
CONTROLS = frozenset((b"n", b"t", b"r", b"b", b"f"))
UNAMBIGUOUS = CONTROLS | {b'"', b"\\"}
"""Escapes for which there is no other usual spelling."""

NEWLINE, SPACE = 10, 32
UNKNOWN_WRITER, NO_LINE = -1, -1


def reader(path: str, timestamps: LineTimestamps) -> Callable[[Iterable[bytes]], Iterator[LogRecordBatch]]:
    """Read what `line_reader.LineReader` reads, in batches."""

    def batches(blocks: Iterable[bytes]) -> Iterator[LogRecordBatch]:
        column_reader = LineColumnReader(path, timestamps)
        for number, data in text_lines.complete_lines(text_lines.coalesce_blocks(blocks, BLOCK_BYTES)):
            batch = column_reader.batch(number, _as_utf_8(data))
            if len(batch.at):
                yield batch

    return batches


class LineBlock:
    """Lines as arrays: where each begins and ends, and the offsets of quotation marks and backslashes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.padded = np.frombuffer(data + PADDING, np.uint8)
        array = self.padded[: len(data)]
        self.ends = np.append(np.flatnonzero(array == NEWLINE), len(data))
        self.starts = np.concatenate(([0], self.ends[:-1] + 1))
        self.quotes = quote_positions(array)
        self.first = np.searchsorted(self.quotes, self.starts)
        self.count = np.diff(np.append(self.first, len(self.quotes)))
        self.slashes = np.flatnonzero(array == BACKSLASH)
        controls = np.flatnonzero(array < SPACE)
        self.has_controls = np.zeros(len(self.starts), np.bool_)
        self.has_controls[np.searchsorted(self.ends, controls[array[controls] != NEWLINE])] = True

    def escapes_between(self, begin: Numbers, end: Numbers) -> Numbers:
        """Return how many backslashes each span has."""
        counts: Numbers = np.searchsorted(self.slashes, end) - np.searchsorted(self.slashes, begin)
        return counts


class RecordRows:
    """The records of a block, line by line, as far as they are known. Lines without a layout have UNKNOWN_WRITER."""

    def __init__(self, count: int) -> None:
        self.at = np.full(count, NO_TIME)
        self.writer = np.full(count, UNKNOWN_WRITER)
        self.begin = np.zeros(count, np.int64)
        self.end = np.zeros(count, np.int64)
        self.level = np.zeros(count, np.int64)
        self.has_layout = np.zeros(count, np.bool_)
        self.is_record = np.ones(count, np.bool_)
        self.single_records: dict[int, Record] = {}


class LineColumnReader:
    """One file, as far as it has been read: its writers, and the layouts of its lines."""

    def __init__(self, path: str, timestamps: LineTimestamps) -> None:
        self._path = path
        self._timestamps = timestamps
        self._writers = Writers()
        self._record_starts = RecordStarts(self._writers)
        self._layouts: list[LineLayout] = []
        self._attempts = 0
        self._names: dict[bytes, int] = {}
        self._levels: dict[bytes, int] = {b"": 0}
        self._prefixes: list[bytes] = [b""]

    def batch(self, number: int, data: bytes) -> LogRecordBatch:
        """Return the lines of a block; `number` is that of its first line."""
        block = LineBlock(data)
        rows = RecordRows(len(block.starts))
        if len(rows.at) >= MIN_LINES:
            self._learn(block, range(MIN_LINES))
            for layout in self._layouts:
                self._read_layout(block, layout, rows)
        self._read_others(block, rows, number)
        text, begin, end = self._texts(block, rows)
        record_lines = np.flatnonzero(rows.is_record)
        at, writer, begin, end = (
            rows.at[record_lines],
            rows.writer[record_lines],
            begin[record_lines],
            end[record_lines],
        )
        starts_record = self._record_starts.mark_starts(writer, text, begin, end=end)
        return LogRecordBatch(
            writers=self._writers,
            writer=writer,
            at=np.where(starts_record, at, NO_TIME),
            starts_record=starts_record,
            line=record_lines + number,
            text=text,
            begin=begin,
            end=end,
            quote=QuoteReader(block, rows, record_lines),
        )

    def _learn(self, block: LineBlock, lines: Iterable[int]) -> bool:
        """Learn the layout of the first of these lines that has a new one."""
        for line in lines:
            if len(self._layouts) >= MAX_LAYOUTS or self._attempts >= MAX_LAYOUT_ATTEMPTS:
                return False
            self._attempts += 1
            raw = block.data[block.starts[line] : block.ends[line]]
            if any(layout.recognises(raw) for layout in self._layouts):
                continue
            try:
                self._layouts.append(LineLayout(raw, self._path, self._timestamps))
            except UnsupportedLayout:
                continue
            return True
        return False

    def _read_layout(self, block: LineBlock, layout: LineLayout, rows: RecordRows) -> None:
        """Read the lines of one layout, except those that need the standard library."""
        lines = np.flatnonzero((block.count == layout.count) & ~rows.has_layout & ~block.has_controls)
        if not len(lines):
            return
        table = block.quotes[block.first[lines][:, None] + np.arange(layout.count)]
        fits = layout.fits(block.padded, table, block.starts[lines], ends=block.ends[lines])
        lines, table = lines[fits], table[fits]
        if not len(lines):
            return
        members = MemberSpans(layout, table)
        at = layout.times(block.data, block.padded, table)
        begin, end = members.message
        inside = block.escapes_between(begin, end)
        outside = block.escapes_between(block.starts[lines], block.ends[lines]) - inside
        readable = members.are_nonempty & (outside == 0) & ((at != NO_TIME) | (not layout.is_timed))
        at = np.where(layout.is_indented(block.padded, begin), NO_TIME, at)
        selected = np.flatnonzero(readable)
        selected = selected[self._decodable(block, begin[selected], end[selected])]
        rows.has_layout[lines[selected]] = True
        for column, values in ((rows.at, at), (rows.begin, begin), (rows.end, end)):
            column[lines[selected]] = values[selected]
        rows.writer[lines[selected]] = self._writer(block.data, members, selected)
        rows.level[lines[selected]] = self._level(block.data, members, selected)

    @staticmethod
    def _decodable(block: LineBlock, begin: Numbers, end: Numbers) -> NDArray[np.bool_]:
        """Return which messages `unescape` can decode. In most blocks it can decode all."""
        raw = _joined(block.data, begin, end)
        decodable = np.ones(len(begin), np.bool_)
        try:
            unescape(raw, np.zeros(0, np.int64))
        except UndecodableEscape:
            for row, text in enumerate(raw.split(b"\n")):
                try:
                    unescape(text, np.zeros(0, np.int64))
                except UndecodableEscape:
                    decodable[row] = False
        return decodable

    def _writer(self, data: bytes, members: MemberSpans, selected: Numbers) -> Numbers:
        """Return the writers of the selected lines."""
        if not members.subjects:
            return np.full(len(selected), self._writers.number(None))
        parts = [_cut(data, begin[selected], end[selected]) for begin, end in members.subjects]
        names = parts[0] if len(parts) == 1 else list(map(b"/".join, zip(*parts, strict=True)))
        for name in dict.fromkeys(names):
            if name not in self._names:
                self._names[name] = self._writers.number(name.decode())
        return np.fromiter(map(self._names.__getitem__, names), np.int64, len(names))

    def _level(self, data: bytes, members: MemberSpans, selected: Numbers) -> Numbers:
        """Return the number of the level prefix of each of the selected lines."""
        if members.level is None:
            return np.zeros(len(selected), np.int64)
        begin, end = members.level
        levels = _cut(data, begin[selected], end[selected])
        for level in dict.fromkeys(levels):
            if level not in self._levels:
                self._levels[level] = len(self._prefixes)
                self._prefixes.append(f"[{level.decode().upper()}] ".encode())
        return np.fromiter(map(self._levels.__getitem__, levels), np.int64, len(levels))

    def _read_others(self, block: LineBlock, rows: RecordRows, number: int) -> None:
        """Read the other lines. The timestamp format tried first depends on the line before: that is read again."""
        others = np.flatnonzero(~rows.has_layout).tolist()
        line_before = NO_LINE
        for line in others:
            raw = block.data[block.starts[line] : block.ends[line]]
            if not raw.strip():
                rows.is_record[line] = False
                continue
            if line and line_before != line - 1 and rows.has_layout[line - 1]:
                self._timestamps.time_at(block.data, int(block.starts[line - 1]), int(block.ends[line - 1]))
            line_before = line
            record = next(
                text_lines.with_record_starts(
                    [line_reader.parse_line(raw, number + line, self._path, self._timestamps.time_at)]
                )
            )
            rows.single_records[line] = record
            rows.at[line] = NO_TIME if record.at is None else record.at
            rows.writer[line] = self._writers.number(record.subject)
        if len(rows.at) and rows.has_layout[-1]:
            self._timestamps.time_at(block.data, int(block.starts[-1]), int(block.ends[-1]))
        self._learn(block, list(rows.single_records)[:MIN_LINES])

    def _texts(self, block: LineBlock, rows: RecordRows) -> tuple[bytes, Numbers, Numbers]:
        """Return the texts of all lines, and where each begins and ends."""
        lines = np.flatnonzero(rows.has_layout)
        begin, end = rows.begin[lines], rows.end[lines]
        raw = _joined(block.data, begin, end)
        ends = np.cumsum(end - begin + 1)
        text, moved = unescape(raw, np.append(ends - (end - begin + 1), len(raw) + 1))
        begin, end = moved[:-1], strip_newlines(text, moved[:-1], moved[1:] - 1)
        if len(lines) == len(rows.at) and not rows.level.any():
            return text, begin, end
        texts = [b""] * len(rows.at)
        columns = (lines.tolist(), rows.level[lines].tolist(), begin.tolist(), end.tolist())
        for line, level, first, last in zip(*columns, strict=True):
            texts[line] = self._prefixes[level] + text[first:last]
        for line, record in rows.single_records.items():
            texts[line] = record.text.encode()
        return b"\n".join(texts), *text_spans(texts)


class QuoteReader:
    """Returns the quotes of some lines of a block: their texts as the file has them."""

    def __init__(self, block: LineBlock, rows: RecordRows, lines: Numbers) -> None:
        self._data = block.data
        self._begin, self._end = rows.begin[lines].tolist(), rows.end[lines].tolist()
        self._lines = np.column_stack((block.starts[lines], block.ends[lines]))
        positions = np.searchsorted(lines, list(rows.single_records)).tolist()
        self._single_quotes = {
            position: each.quote for position, each in zip(positions, rows.single_records.values(), strict=True)
        }

    def __call__(self, record: int) -> str:
        """Return the quote that `line_reader.literal_span` finds.

        That searches for the text as it is, and for its usual spellings. Without escapes these are the same; and no
        line has a tab or a newline as it is.
        """
        if record in self._single_quotes:
            return self._single_quotes[record]
        message = self._data[self._begin[record] : self._end[record]]
        letters = set(ESCAPE.findall(message)) if b"\\" in message else set()
        if not letters or (letters <= UNAMBIGUOUS and not letters.isdisjoint(CONTROLS)):
            return message.decode()
        start, end = self._lines[record].tolist()
        raw, text = self._data[start:end].decode(), line_reader.decode_string(message.decode())
        assert text is not None
        begin, end = line_reader.literal_span(raw, [text])
        return raw[begin:end]


def _joined(data: bytes, begin: Numbers, end: Numbers) -> bytes:
    return b"\n".join(_cut(data, begin, end))


def _cut(data: bytes, begin: Numbers, end: Numbers) -> list[bytes]:
    return [data[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True)]


def _as_utf_8(data: bytes) -> bytes:
    return data if data.isascii() else data.decode("utf-8", "replace").encode()
