"""Reads the prefixes of all lines of a block, where the lines of several writers alternate.

A prefix at the beginning of lines is read with its pattern once for each text that it has; lines with the same text are
found by comparing bytes. Prefixes that stand anywhere in a line are searched for in the whole block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.timestamps.timestamp_column import PADDING

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from leadsman.telemetry.line_records.interleaved import Prefix, PrefixSearch

    Numbers = NDArray[np.int64]

NEWLINE = 10
NO_WRITER, NOT_READ = -1, -2
"""Instead of a writer: of a line without the prefix, and of one that is to be read with the pattern."""
MAX_LENGTHS = 16
"""Lengths of prefixes that are compared with each line."""
LINES_TRIED = 8
"""Lines of a block whose prefixes show the lengths to compare."""
MAX_PREFIX_BYTES = len(PADDING) - 1


class SplitBlock(NamedTuple):
    """A block of complete lines, and where each begins and ends. `padded` has further bytes behind the block."""

    data: bytes
    padded: NDArray[np.uint8]
    starts: Numbers
    ends: Numbers


def split_block(data: bytes) -> SplitBlock:
    """Return a block with the offsets of its lines."""
    padded = np.frombuffer(data + PADDING, np.uint8)
    ends = np.append(np.flatnonzero(padded[: len(data)] == NEWLINE), len(data))
    return SplitBlock(data, padded, np.concatenate(([0], ends[:-1] + 1)), ends)


class PrefixTexts:
    """The texts of one file's prefixes: from the beginning of lines, or behind `offset` bytes that are all alike."""

    def __init__(self, prefix: Prefix, number: Callable[[bytes], int], offset: int) -> None:
        self._match = prefix.pattern.match
        self._may_follow = np.array([bool(prefix.followed_by.match(bytes([byte]))) for byte in range(256)])
        self._number = number
        self._offset = offset
        self._known: dict[bytes, int] = {}  # the writer of each text; NOT_READ where the pattern finds another text
        self._last_bytes: dict[int, bytes] = {}  # of the texts, by their lengths

    def read(self, block: SplitBlock, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Return the writers of these lines, and where their prefixes end."""
        writer, stop = np.full(len(rows), NOT_READ), block.starts[rows] + self._offset
        self._compare(block, block.ends[rows], writer=writer, stop=stop)
        left = rows[writer == NOT_READ]
        if len(left) and self._learn_lengths(block, left[:LINES_TRIED]):
            self._compare(block, block.ends[rows], writer=writer, stop=stop)
        return writer, stop

    def _compare(self, block: SplitBlock, ends: Numbers, *, writer: Numbers, stop: Numbers) -> None:
        """Find the prefixes of lines that are not read yet; `stop` is where they begin, and then where they end."""
        for length, last_bytes in self._last_bytes.items():
            rows = np.flatnonzero(writer == NOT_READ)
            stops = stop[rows] + length
            fits = (stops <= ends[rows]) & self._may_follow[block.padded[stops]]
            fits &= np.isin(block.padded[stops - 1], np.frombuffer(last_bytes, np.uint8))
            rows, stops = rows[fits], stops[fits]
            numbers = self._numbers(block.data, (stops - length).tolist(), stops.tolist(), ends=ends[rows])
            writer[rows] = numbers
            stop[rows] = np.where(writer[rows] == NOT_READ, stops - length, stops)

    def _numbers(self, data: bytes, begins: list[int], stops: list[int], *, ends: Numbers) -> list[int]:
        """Return the writers of prefixes with these texts, NOT_READ where that is not certain."""
        texts = [data[begin:stop] for begin, stop in zip(begins, stops, strict=True)]
        numbers = list(map(self._known.get, texts))
        places = dict(zip(texts, range(len(texts)), strict=True)) if None in numbers else {}
        new = {
            text: self._learn(data, text, begins[index], ends.item(index))
            for text, index in places.items()
            if text not in self._known
        }
        return [new[text] if number is None else number for text, number in zip(texts, numbers, strict=True)]

    def _learn(self, data: bytes, text: bytes, begin: int, end: int) -> int:
        """Return the writer of a prefix, as the pattern finds it in a line that ends at `end`."""
        match = self._match(data, begin - self._offset, end)
        is_prefix = match is not None and match.start("id") >= begin and match.end() == begin + len(text)
        number = self._number(match["id"]) if match is not None and is_prefix else NOT_READ
        if len(self._known) < text_lines.MAX_WRITERS:
            self._known[text] = number
        return number

    def _learn_lengths(self, block: SplitBlock, rows: Numbers) -> bool:
        """Note the lengths of the prefixes of these lines; return whether one is new."""
        is_new = False
        for start, end in zip(block.starts[rows].tolist(), block.ends[rows].tolist(), strict=True):
            match = self._match(block.data, start, end)
            length = 0 if match is None else match.end() - start - self._offset
            if match is None or not 0 < length <= MAX_PREFIX_BYTES or match.start("id") < start + self._offset:
                continue
            last = block.data[match.end() - 1]
            known = self._last_bytes.get(length, b"")
            if last not in known and (known or len(self._last_bytes) < MAX_LENGTHS):
                self._last_bytes[length] = known + bytes([last])
                is_new = True
        return is_new


def search_writers(search: PrefixSearch, block: SplitBlock, number: Callable[[bytes], int]) -> Numbers:
    """Return the writers of all lines of a block."""
    pattern = search.pattern if search.mark in block.data else search.pattern_without_mark
    found = [(match.start(), match["id"]) for match in pattern.finditer(block.data)]
    writer = np.full(len(block.starts), NO_WRITER)
    if not found:
        return writer
    places, names = zip(*found, strict=True)
    there = np.array(places, np.int64)
    rows = np.searchsorted(block.starts, there, side="right") - 1
    first = np.flatnonzero(np.diff(rows, prepend=NO_WRITER))
    first = first[there[first] - block.starts[rows[first]] <= search.max_bytes_before]
    writer[rows[first]] = [number(names[index]) for index in first.tolist()]
    return writer
