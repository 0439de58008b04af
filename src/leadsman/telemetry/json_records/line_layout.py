"""The layout of JSON lines, learnt from one line: which of its strings is the message, the writer, the level.

The strings of the line are replaced by placeholders, and the line is read like any other: the placeholders in the
result show which string is what, whatever the keys are.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from leadsman.telemetry.json_records import json_fields, line_reader
from leadsman.telemetry.json_records.quote_columns import FixedText, UnsupportedLayout, quote_positions
from leadsman.telemetry.record_batch import NO_TIME, sliding_window
from leadsman.telemetry.timestamps.timestamp_column import TimestampColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps

    Numbers = NDArray[np.int64]
    Bytes = NDArray[np.uint8]

PADDING = bytes(4096)
"""Bytes behind a block, so that fixed offsets of its last line stay inside the array."""

MAX_BETWEEN = 2048
"""Bytes between two strings, and of a key, in lines that are read in columns."""

MAX_QUOTES = 400
"""Quotation marks of such a line."""

ZERO = ord("0")
MILLISECOND_DIGITS, MICROSECOND_DIGITS = 13, 16
POWERS = 10.0 ** np.arange(MICROSECOND_DIGITS - 1, -1, -1)
"""Exact: below 2 ** 53."""

INDENTATIONS = (b"\\t", b"   ")
"""Texts that make `json_times.json_timestamp` treat a line as a continuation, behind the beginnings DOCKER_STARTS."""
DOCKER_STARTS = (b'{"log":"', b'{"log": "')


class LineLayout:
    """The layout of the line `raw`: its number of quotation marks, the texts between them, the meaning of its strings.

    Strings, keys among them, are numbered in order. Raises UnsupportedLayout where such a line is read singly.
    """

    def __init__(self, raw: bytes, path: str, timestamps: LineTimestamps) -> None:
        quote_offsets = quote_positions(np.frombuffer(raw, np.uint8)).tolist()
        self.count = len(quote_offsets)
        record = json_fields.parse_object(raw)
        if record is None or raw[:1] != b"{" or self.count % 2 or not 0 < self.count <= MAX_QUOTES:
            raise UnsupportedLayout("no JSON object")
        strings = list(zip(quote_offsets[::2], quote_offsets[1::2], strict=True))
        between = [raw[: quote_offsets[0]], *(raw[last + 1 : first] for (_, last), (first, _) in pairwise(strings))]
        between.append(raw[quote_offsets[-1] + 1 :])
        is_key = [text.lstrip(b" \t\r")[:1] == b":" for text in between[1:]]
        quoted_strings = [raw[first : last + 1] for first, last in strings]
        if (
            max(map(len, (*between, *(text for text, is_one in zip(quoted_strings, is_key, strict=True) if is_one))))
            > MAX_BETWEEN
        ):
            raise UnsupportedLayout("too long")
        self._between = [FixedText(text) for text in between]
        self._keys = [(index, FixedText(key)) for index, key in enumerate(quoted_strings) if is_key[index]]
        placeholders = {index: f"\x02{index}\x03" for index in range(len(strings)) if not is_key[index]}
        self._find_members(_with_placeholders(between, quoted_strings, placeholders), placeholders, path)
        self._find_time(raw, quote_offsets, timestamps)
        docker_start = next((text for text in DOCKER_STARTS if raw.startswith(text)), None)
        self._may_be_indented = docker_start is not None and self.message == 1

    def _find_members(self, line_with_placeholders: bytes, placeholders: dict[int, str], path: str) -> None:
        """Find which strings are the message, the name of the writer and the level."""
        record = json_fields.unwrap(json.loads(line_with_placeholders))
        numbers = {placeholder: index for index, placeholder in placeholders.items()}
        text, texts = line_reader.message_text(record)
        level, subject = json_fields.text_at(record, json_fields.LEVEL_KEYS), line_reader.writer_name(record, path)
        names = subject.split("/") if subject else []
        if len(texts) != 1 or texts[0] not in numbers or any(name not in numbers for name in names):
            raise UnsupportedLayout("the message is not one string")
        if (level is not None and level not in numbers) or json_fields.text_at(record, json_fields.STACK_KEYS) == texts[
            0
        ]:
            raise UnsupportedLayout("the level is no string, or the message is a stack trace")
        assert text.endswith(texts[0])
        self.message = numbers[texts[0]]
        self.level = None if level is None else numbers[level]
        self.subjects = tuple(numbers[name] for name in names)

    def _find_time(self, raw: bytes, quote_offsets: list[int], timestamps: LineTimestamps) -> None:
        """Find where the time stands: how many bytes behind which quotation mark."""
        start = next((at + len(key) for key in timestamps.json_keys if (at := raw.find(key)) >= 0), None)
        self.is_timed = start is not None
        if start is None:
            return
        self._time_quote = int(np.searchsorted(quote_offsets, start)) - 1
        self._time_offset = start - quote_offsets[self._time_quote]
        end = next((each for each in quote_offsets if each >= start), len(raw))
        example = raw[start : end + 1]
        digits = example[:-1]
        self._width, self._timestamp_column = 0, None
        if digits.isdigit() and len(digits) in (MILLISECOND_DIGITS, MICROSECOND_DIGITS) and example[-1:] == b'"':
            self._width = len(digits)
        elif TimestampColumn.can_read(example):
            self._timestamp_column = TimestampColumn(example, timestamps.json_time)
        self._read = timestamps.json_time

    def recognises(self, raw: bytes) -> bool:
        """Whether a line has this layout."""
        data = np.frombuffer(raw + PADDING, np.uint8)
        quote_offsets = quote_positions(data[: len(raw)])
        if len(quote_offsets) != self.count:
            return False
        return bool(self.fits(data, quote_offsets[None, :], np.zeros(1, np.int64), ends=np.array([len(raw)]))[0])

    def fits(self, data: Bytes, quote_table: Numbers, starts: Numbers, *, ends: Numbers) -> NDArray[np.bool_]:
        """Return which lines have this layout. `quote_table`: the offsets of quotation marks, a row for each line."""
        begin = np.column_stack((starts, quote_table[:, 1::2] + 1))
        end = np.column_stack((quote_table[:, ::2], ends))
        widths = np.array([fixed.width for fixed in self._between])
        fits: NDArray[np.bool_] = ((end - begin) == widths).all(axis=1)
        for index, key in self._keys:
            fits &= (quote_table[:, 2 * index + 1] - quote_table[:, 2 * index] + 1) == key.width
        left = np.flatnonzero(fits)
        for index, fixed in enumerate(self._between):
            left = left[fixed.at(data, begin[left, index])]
        for index, key in self._keys:
            left = left[key.at(data, quote_table[left, 2 * index])]
        fits[:] = False
        fits[left] = True
        return fits

    def times(self, block: bytes, data: Bytes, quote_table: Numbers) -> Numbers:
        """Return the time of each line; NO_TIME where it has none, or one that is written differently."""
        if not self.is_timed:
            return np.full(len(quote_table), NO_TIME)
        starts = quote_table[:, self._time_quote] + self._time_offset
        if self._timestamp_column is not None:
            return self._timestamp_column.read(block, data, starts)
        if self._width:
            return _epoch_times(data, starts, self._width)
        ends = np.append(quote_table[1:, 0], len(block)).tolist()
        read = (self._read(block, start, end) for start, end in zip(starts.tolist(), ends, strict=True))
        return np.fromiter((NO_TIME if at is None else at for at in read), np.int64, len(quote_table))

    def is_indented(self, data: Bytes, begin: Numbers) -> NDArray[np.bool_]:
        """Return which of the messages that begin there continue the line before."""
        indented = np.zeros(len(begin), np.bool_)
        if self._may_be_indented:
            for text in INDENTATIONS:
                indented |= (sliding_window(data, len(text))[begin] == np.frombuffer(text, np.uint8)).all(axis=1)
        return indented


class MemberSpans:
    """Where message, level and writer of lines begin and end."""

    def __init__(self, layout: LineLayout, quote_table: Numbers) -> None:
        self.message = _span(quote_table, layout.message)
        self.level = None if layout.level is None else _span(quote_table, layout.level)
        self.subjects = [_span(quote_table, index) for index in layout.subjects]
        spans = [self.message, *self.subjects, *([self.level] if self.level else [])]
        self.are_nonempty: NDArray[np.bool_] = np.logical_and.reduce([end > begin for begin, end in spans])


def _span(quote_table: Numbers, index: int) -> tuple[Numbers, Numbers]:
    return quote_table[:, 2 * index] + 1, quote_table[:, 2 * index + 1]


def _with_placeholders(between: list[bytes], quoted_strings: list[bytes], placeholders: dict[int, str]) -> bytes:
    """Return a line with placeholders in place of its strings."""
    parts = [between[0]]
    for index, (key, text) in enumerate(zip(quoted_strings, between[1:], strict=True)):
        parts += [json.dumps(placeholders[index]).encode() if index in placeholders else key, text]
    return b"".join(parts)


def _epoch_times(data: Bytes, starts: Numbers, width: int) -> Numbers:
    """Return times that are written as a number of `width` digits, in front of a quotation mark."""
    digits = sliding_window(data, width)[starts] - np.uint8(ZERO)
    number = digits @ POWERS[-width:]
    at = (number if width == MILLISECOND_DIGITS else number * 0.001).astype(np.int64)  # as `parsers.parse_epoch` does
    return np.where((digits > 9).any(axis=1), NO_TIME, at)  # noqa: PLR2004 - digits
