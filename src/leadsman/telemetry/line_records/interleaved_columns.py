"""Reads plain lines of several writers block by block: what `interleaved` reads, without an object for each line.

Lines whose prefix and time are written like those of other lines are read as arrays. All other lines (stack traces,
times of other formats) are read one by one, as `interleaved` reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.line_records.continued_records import ContinuedRecords, LineTexts
from leadsman.telemetry.line_records.interleaved_times import BlockTimes
from leadsman.telemetry.line_records.prefix_columns import (
    NO_WRITER,
    NOT_READ,
    PrefixTexts,
    search_writers,
    split_block,
)
from leadsman.telemetry.record_batch import NO_TIME, LogRecordBatch, Writers, text_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from leadsman.telemetry.line_records.interleaved import Prefix
    from leadsman.telemetry.line_records.interleaved_times import TimeForm
    from leadsman.telemetry.line_records.prefix_columns import SplitBlock
    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps

    Numbers = NDArray[np.int64]

BLOCK_BYTES = 1 << 20
"""Bytes of lines that are read together."""
MIN_LINES = 100
"""Lines of a block that are read as arrays: fewer take less time one by one."""


def reader(prefix: Prefix, timestamps: LineTimestamps) -> Callable[[Iterable[bytes]], Iterator[LogRecordBatch]]:
    """Read what `interleaved.reader` reads. Lines before an error are yielded before it is raised."""

    def batches(blocks: Iterable[bytes]) -> Iterator[LogRecordBatch]:
        block_reader = InterleavedBlocks(prefix, timestamps)
        for number, data in text_lines.complete_lines(text_lines.coalesce_blocks(blocks, BLOCK_BYTES)):
            batch = block_reader.batch(number, data)
            if len(batch.at):
                yield batch

    return batches


class InterleavedBlocks:
    """One file, as far as it has been read: its writers, and the last record of each."""

    def __init__(self, prefix: Prefix, timestamps: LineTimestamps) -> None:
        self._prefix = prefix
        self._times = BlockTimes(timestamps)
        self._writers = Writers()
        self._numbers: dict[bytes, int] = {}  # by name
        self._records = ContinuedRecords(self._writers)
        self._prefix_texts: dict[bytes, PrefixTexts] = {}  # by the form of the time before them

    def batch(self, number: int, data: bytes) -> LogRecordBatch:
        """Return the lines of a block; `number` is that of its first line."""
        block = split_block(data)
        writer, begin, at, blank = self._read_stripped(block) if self._prefix.is_stripped else self._read_whole(block)
        rows = np.delete(np.arange(len(at)), blank)
        at, writer, starts, ends = at[rows], writer[rows], block.starts[rows], block.ends[rows]
        if self._prefix.is_stripped:
            lines, quote = _stripped_lines(data, begin[rows], ends), _quote_reader(data, starts.tolist(), ends.tolist())
        else:
            lines, quote = whole_lines(data, starts, ends), None
        starts_record = at != NO_TIME
        record_starts = self._records.assign(starts_record, writer, lines) if len(rows) else {}
        return LogRecordBatch(
            writers=self._writers,
            writer=writer,
            at=at,
            starts_record=starts_record,
            line=rows + number,
            text=lines.text,
            begin=lines.begin,
            end=lines.end,
            quote=quote,
            record_starts=record_starts,
        )

    def _read_stripped(self, block: SplitBlock) -> tuple[Numbers, Numbers, Numbers, list[int]]:
        """Return writers, offsets of texts, times and the blank ones of lines whose times stand behind the prefix."""
        writer, begin = np.full(len(block.starts), NOT_READ), block.starts.copy()
        if len(writer) >= MIN_LINES:
            writer, begin = self._texts_behind(b"").read(block, np.arange(len(writer)))
        self._match_others(block, writer, begin)
        at, _, blank = self._read_times(block, begin)
        return writer, begin, at, blank

    def _read_whole(self, block: SplitBlock) -> tuple[Numbers, Numbers, Numbers, list[int]]:
        """Return the same for lines whose times stand before the name of the writer."""
        at, forms, blank = self._read_times(block, block.starts)
        if self._prefix.search is not None:
            writer = search_writers(self._prefix.search, block, self._number)
        else:
            writer = self._read_behind_times(block, forms)
        return writer, block.starts, at, blank

    def _read_times(self, block: SplitBlock, begins: Numbers) -> tuple[Numbers, list[TimeForm], list[int]]:
        read = self._times.read if len(begins) >= MIN_LINES else self._times.read_singly
        return read(block, begins)

    def _read_behind_times(self, block: SplitBlock, forms: list[TimeForm]) -> Numbers:
        """Return the writers of all lines."""
        writer = np.full(len(block.starts), NOT_READ)
        for each in forms:
            writer[each.rows], _ = self._texts_behind(each.form).read(block, each.rows)
        self._match_others(block, writer, block.starts.copy())
        return writer

    def _texts_behind(self, form: bytes) -> PrefixTexts:
        """Return the prefixes behind times of a form; those at the beginning of lines if it is empty."""
        if form not in self._prefix_texts:
            self._prefix_texts[form] = PrefixTexts(self._prefix, self._number, len(form))
        return self._prefix_texts[form]

    def _match_others(self, block: SplitBlock, writer: Numbers, begin: Numbers) -> None:
        """Read the prefixes that are not read yet with the pattern, one by one."""
        match_prefix = self._prefix.pattern.match
        for row in np.flatnonzero(writer == NOT_READ).tolist():
            match = match_prefix(block.data, block.starts.item(row), block.ends.item(row))
            writer[row] = NO_WRITER if match is None else self._number(match["id"])
            begin[row] = block.starts.item(row) if match is None else match.end()

    def _number(self, name: bytes) -> int:
        """Return the number of a writer."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._writers.number(text_lines.decode_line(name))
        return number


def whole_lines(data: bytes, starts: Numbers, ends: Numbers) -> LineTexts:
    """Return the lines as UTF-8, whatever their bytes were."""
    if _is_utf_8(data):
        return LineTexts(data, starts, ends)
    return _joined([data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])


def _stripped_lines(data: bytes, begins: Numbers, ends: Numbers) -> LineTexts:
    """Return the lines without their prefixes, as UTF-8."""
    texts = [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    if not _is_utf_8(data):
        return _joined(texts)
    stops = np.cumsum(ends - begins + 1) - 1
    return LineTexts(b"\n".join(texts), stops - (ends - begins), stops)


def _joined(texts: list[bytes]) -> LineTexts:
    texts = [text if text.isascii() else text_lines.decode_line(text).encode() for text in texts]
    return LineTexts(b"\n".join(texts), *text_spans(texts))


def _is_utf_8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _quote_reader(data: bytes, starts: list[int], ends: list[int]) -> Callable[[int], str]:
    return lambda record: text_lines.decode_line(data[starts[record] : ends[record]])
