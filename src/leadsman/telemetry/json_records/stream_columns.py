"""Reads Loki's streams in columns, many at once: the records that `documents` reads from them.

A stream has the usual layout where its labels stand first and its values are pairs of a time in nanoseconds and a line.
Any other stream is read by `documents`, and the next one is tried again.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leadsman.telemetry.json_records import documents, json_fields, line_reader
from leadsman.telemetry.json_records.document_parser import (
    BrokenDocument,
    DocumentParser,
    Element,
    is_cut,
)
from leadsman.telemetry.json_records.document_position import MAX_UNREAD, NEWLINE
from leadsman.telemetry.json_records.escapes import UndecodableEscape, unescape
from leadsman.telemetry.json_records.quote_columns import FixedText, UnsupportedLayout, quote_positions
from leadsman.telemetry.json_records.time_windows import RecordColumns
from leadsman.telemetry.record_batch import sliding_window, text_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from leadsman.telemetry.json_records.document_position import Position
    from leadsman.telemetry.json_records.time_windows import TimeWindows
    from leadsman.telemetry.record_batch import Writers
    from leadsman.telemetry.timestamps.parsers import TimestampParser

    Numbers = NDArray[np.int64]

BLANKS = r"[ \t\r\n]*"
LABELS = r'\{(?:[^{}"\\]++|"(?:[^"\\]++|\\.)*+")*+\}'
STREAM_START = BLANKS.join(
    (r"\{", '"stream"', ":", f"({LABELS})", ",", '"values"', ":", r"\[", r"\[", '(?=")'),
)
START, START_IN_TEXT = re.compile(STREAM_START.encode()), re.compile(STREAM_START)
FIRST_STREAM = re.compile(rf'\{{{BLANKS}"stream"')
END = re.compile(BLANKS.join(("", r"\]", r"\]", r"\}")).encode())
COMMA = f"{BLANKS},{BLANKS}"
FIRST_COMMA = re.compile(rf'"\d+"({COMMA})"')
TWO_PAIRS = re.compile(rf'"\d+"{COMMA}{line_reader.STRING}({BLANKS}\]{COMMA}\[{BLANKS})"\d')
BETWEEN_PAIRS = "],["
"""What stands between pairs where no stream of the first block has two."""

SPACE = re.compile(rb"[ \t\r\n\v\f,]*")
MAX_HEADER = 64 << 10
"""Characters in which the first stream must begin."""

ODD_STREAM_COST = 64
"""What an odd stream costs beside its reading, in records: those before it become columns of their own."""

MAX_LOSS = 16 * ODD_STREAM_COST
"""Records by which these costs may exceed those read in columns, before `documents` reads on."""

TIME_DIGITS, MILLISECOND_DIGITS = 19, 13
"""Digits of a time in nanoseconds, from 2001 to 2286, and of its milliseconds."""
POWERS = 10.0 ** np.arange(MILLISECOND_DIGITS - 1, -1, -1)
"""Exact: below 2 ** 53."""
ZERO, BASE = 48, 10


class StreamLayout(NamedTuple):
    """How a document of streams is written. `header` is the text before them, `context` its members (JSON).

    `comma` stands between a time and its line, `between` between pairs.
    """

    header: str
    context: dict[str, Any]
    comma: FixedText
    between: FixedText


@lru_cache(1)
def stream_layout(text: str) -> StreamLayout | None:
    """Return the layout of a document that begins so; None where it holds no streams, or others."""
    first = FIRST_STREAM.search(text, 0, MAX_HEADER)
    start = START_IN_TEXT.match(text, first.start()) if first else None
    comma = FIRST_COMMA.match(text, start.end()) if start else None
    if start is None or comma is None:
        return None
    header = text[: start.start()]
    parser = DocumentParser([header + "{}"], documents.RECORD_ARRAYS, documents.DECODER)
    try:
        element = next(parser.elements(), None)
    except BrokenDocument:
        return None
    if element is None or parser.position != len(header) + 2:
        return None
    pairs = TWO_PAIRS.search(text, start.end())
    between = pairs[2] if pairs else BETWEEN_PAIRS
    return StreamLayout(header, element.context, FixedText(comma[1].encode()), FixedText(between.encode()))


class StreamStrings(NamedTuple):
    """Where a stream of the usual layout stands in a block: its strings, from its first time to its last line."""

    writer: int
    first: int
    last: int
    end: int


class StreamBlock:
    """The strings of a block, in order: where each begins and ends, whether it is a time or the end of a pair.

    The last one may be open: it has a beginning alone.
    """

    def __init__(self, data: bytes, layout: StreamLayout) -> None:
        self.data = data
        array = np.frombuffer(data, np.uint8)
        self.newlines = np.flatnonzero(array == NEWLINE)
        marks = quote_positions(array)
        self.opens, self.closes = marks[::2], marks[1::2]
        count = len(self.closes)
        self.at = np.zeros(count, np.int64)
        self._is_time, self._is_pair_end = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        follow = self.opens[1:]
        gaps = follow - self.closes[: len(follow)] - 1
        has_digits = (self.closes - self.opens[:count])[: len(follow)] == TIME_DIGITS + 1
        times = np.flatnonzero((gaps == layout.comma.width) & has_digits)
        times = times[layout.comma.at(array, self.closes[times] + 1)]
        digits = sliding_window(array, TIME_DIGITS)[self.opens[times] + 1] - np.uint8(ZERO)
        self._is_time[times] = (digits < BASE).all(axis=1)
        self.at[times] = (digits[:, :MILLISECOND_DIGITS] @ POWERS).astype(np.int64)
        ends = np.flatnonzero(gaps == layout.between.width)
        self._is_pair_end[ends] = layout.between.at(array, self.closes[ends] + 1)
        self._others = np.flatnonzero(~(self._is_time | self._is_pair_end))

    def strings_at(self, begin: int) -> tuple[int, int, int] | None:
        """Return the strings of the pairs that begin at an offset, and the offset behind their stream.

        The strings are the first time and the last line, by number. None where these are not pairs, or are not whole.
        """
        first, last = self._pairs_at(begin)
        if last == len(self.closes) or (last - first) % 2 == 0:
            return None
        if not self._is_time[first:last:2].all() or not self._is_pair_end[first + 1 : last : 2].all():
            return None
        end = END.match(self.data, int(self.closes[last]) + 1)
        return None if end is None else (first, last, end.end())

    def ends_inside(self, begin: int) -> bool:
        """Whether the block ends inside a string of the pairs that begin at an offset, and is JSON up to there."""
        if self._pairs_at(begin)[1] < len(self.closes):
            return False
        try:
            unescape(self.data[begin:], np.zeros(0, np.int64))
        except UndecodableEscape:
            return False
        return True

    def _pairs_at(self, begin: int) -> tuple[int, int]:
        """Return the string at an offset, and the next one that neither a comma nor the next pair follows."""
        first = int(np.searchsorted(self.opens, begin))
        other = int(np.searchsorted(self._others, first))
        return first, int(self._others[other]) if other < len(self._others) else len(self.closes)


class StreamReader:
    """Reads the streams of one document."""

    def __init__(self, layout: StreamLayout, read: TimestampParser, *, writers: Writers, windows: TimeWindows) -> None:
        self._layout = layout
        self._read = read
        self._writers = writers
        self._windows = windows
        self._writer_of_start: dict[bytes, int | None] = {}
        self._gain = 0  # in records

    def read_block(self, position: Position) -> bool:
        """Read the streams that are complete. Return whether more of them may follow."""
        done, goes_on = 0, True
        try:
            for columns, end in self._columns(position):
                if len(columns):
                    self._windows.add(columns)
                done = end
        except UnsupportedLayout:
            goes_on = False
        position.advance(done)
        return goes_on

    def _columns(self, position: Position) -> Iterator[tuple[RecordColumns, int]]:
        """Yield the records of streams, and the offset behind these, until a stream is not complete.

        Raises UnsupportedLayout where the rest of the document must be read by `documents`.
        """
        block, end = StreamBlock(position.data, self._layout), 0
        streams: list[StreamStrings] = []
        while True:
            space = SPACE.match(block.data, end)
            assert space is not None
            start = space.end()
            if (stream := self._stream_at(block, start)) is not None:
                streams.append(stream)
                end = stream.end
                continue
            if streams:
                columns = _stream_columns(block, streams, position.line)
                yield columns, end
                self._gain += len(columns)
                streams = []
            if start == len(block.data) or (element := self._element_at(block, start, position.line)) is None:
                return
            self._gain -= ODD_STREAM_COST
            if self._gain < -MAX_LOSS:
                raise UnsupportedLayout("most streams have another layout")
            end = start + len(element.raw.encode())
            yield self._element_columns(element), end

    def _stream_at(self, block: StreamBlock, start: int) -> StreamStrings | None:
        """Return the stream that begins at an offset, if it is complete and has the usual layout."""
        found = self._start_at(block, start)
        strings = None if found is None else block.strings_at(found[1])
        return None if found is None or strings is None else StreamStrings(found[0], *strings)

    def _start_at(self, block: StreamBlock, start: int) -> tuple[int, int] | None:
        """Return the writer of the stream that begins at an offset, and the offset of its first pair's time."""
        match = START.match(block.data, start)
        if match is None:
            return None
        if match[0] not in self._writer_of_start:
            self._writer_of_start[match[0]] = self._writer(match[0].decode(), match[1].decode())
        writer = self._writer_of_start[match[0]]
        return None if writer is None else (writer, match.end())

    def _element_at(self, block: StreamBlock, start: int, line: int) -> Element | None:
        """Return the element that begins at an offset; None where its end has not been read.

        Raises UnsupportedLayout where `documents` must read on: it is broken, for example.
        """
        if block.data[start] != ord("{") or len(block.data) - start > MAX_UNREAD:
            raise UnsupportedLayout("no stream, or a large one")
        if (found := self._start_at(block, start)) and block.ends_inside(found[1]):
            return None
        text = block.data[start:].decode()
        try:
            value, end = documents.DECODER.raw_decode(text)
        except json.JSONDecodeError as error:
            if is_cut(error, text):
                return None
            raise UnsupportedLayout(str(error)) from error
        except (RecursionError, ValueError) as error:
            raise UnsupportedLayout(str(error)) from error
        above = int(np.searchsorted(block.newlines, start))
        return Element(text[:end], line + above, value, self._layout.context)

    def _writer(self, start: str, labels: str) -> int | None:
        """Return the writer that labels name; None where they are no JSON, or hold what looks like a pair."""
        try:
            values = documents.DECODER.decode(labels)
        except ValueError:
            return None
        if documents.LOKI_VALUE.search(start):
            return None
        name = line_reader.writer_of_labels(values)
        return self._number(name or json_fields.text_at(self._layout.context, documents.DOCUMENT_WRITER_KEYS))

    def _number(self, name: str | None) -> int:
        return self._writers.number(None if name is None else _encoded(name).decode())

    def _element_columns(self, element: Element) -> RecordColumns:
        """Return the records that `documents` reads from a stream."""
        records = list(documents.element_records(element, self._read))
        at = [record.at for record in records if record.at is not None]
        if len(at) < len(records):
            raise UnsupportedLayout("a record without a time")
        texts, raws = [_encoded(record.text) for record in records], [record.quote.encode() for record in records]
        (begin, end), (raw_begin, raw_end) = text_spans(texts), text_spans(raws)
        return RecordColumns(
            at=np.array(at, np.int64),
            writer=np.array([self._number(record.subject) for record in records], np.int64),
            line=np.array([record.line for record in records], np.int64),
            text=b"\n".join(texts), begin=begin, end=end, raw=b"\n".join(raws), raw_begin=raw_begin, raw_end=raw_end,
        )  # fmt: skip


def _stream_columns(block: StreamBlock, streams: list[StreamStrings], line: int) -> RecordColumns:
    """Return the records of streams of the usual layout; the block begins on this line.

    Raises UnsupportedLayout where a string is no JSON.
    """
    times = np.concatenate([np.arange(stream.first, stream.last, 2) for stream in streams])
    begin, end = block.opens[times + 1] + 1, block.closes[times + 1]
    raws = [block.data[first:last] for first, last in zip(begin.tolist(), end.tolist(), strict=True)]
    raw = b"\n".join(raws)
    raw_begin, _ = text_spans(raws)
    text, text_begin, text_end = _decoded(raws, raw, raw_begin)
    newlines = np.append(np.flatnonzero(np.frombuffer(raw, np.uint8) == NEWLINE), len(raw))
    writers = np.array([stream.writer for stream in streams])
    return RecordColumns(
        at=block.at[times],
        writer=np.repeat(writers, [(stream.last - stream.first + 1) // 2 for stream in streams]),
        line=np.searchsorted(block.newlines, begin) + line,
        text=text,
        begin=text_begin,
        end=text_end,
        raw=raw,
        raw_begin=raw_begin,
        raw_end=newlines[np.searchsorted(newlines, raw_begin)],  # of a line that is several in the file, the first
    )


def _decoded(raws: list[bytes], raw: bytes, raw_begin: Numbers) -> tuple[bytes, Numbers, Numbers]:
    """Return strings, decoded and joined with newlines, and where each begins and ends. `raw`: the same ones, joined.

    Raises UnsupportedLayout where a string is no JSON.
    """
    try:
        text, moved = unescape(raw, np.append(raw_begin, len(raw) + 1))
    except UndecodableEscape:  # half of a surrogate pair, for example
        texts = []
        for each in raws:
            decoded = line_reader.decode_string(each.decode())
            if decoded is None:
                raise UnsupportedLayout("an escape that JSON does not have") from None
            texts.append(_encoded(decoded))
        return b"\n".join(texts), *text_spans(texts)
    return text, moved[:-1], moved[1:] - 1


def _encoded(text: str) -> bytes:
    """Encode a text, with halves of surrogate pairs replaced."""
    return text.encode("utf-8", "replace")
