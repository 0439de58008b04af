"""Detects how the lines of a file carry their times, whatever stands before a time: a bracket, a level, a key."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta, timezone
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from leadsman.telemetry.discovery import declared_in
from leadsman.telemetry.timestamps import formats, json_times
from leadsman.telemetry.timestamps.parsers import iso_or_epoch_parser
from leadsman.telemetry.timestamps.timestamp_format import (
    BEGINNING_BYTES,
    DIGITS,
    TimeDefaults,
    TimestampContext,
    TimestampFormat,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import tzinfo

    from leadsman.telemetry.timestamps.parsers import TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import IsoPlace

LEADING_MARKS = re.compile(rb"(?:\x1b\[[0-9;]*m|\xef\xbb\xbf|\x00)+")
"""Colours, a byte order mark, the NUL bytes that copytruncate leaves."""
MARK_FIRST_BYTES = (b"\x1b", b"\xef", b"\x00")

UNUSED_ZONE = timezone(timedelta(hours=13, minutes=37))
"""A zone that no place has: a time that it changes does not name its own zone."""

NO_BYTE = 10  # no line holds a newline, and no timestamp format begins with one
AS_ZERO = bytes.maketrans(DIGITS, b"0" * len(DIGITS))
YEAR = b"0000"
MAX_BEGINNINGS = 4096
"""Beginnings of lines whose formats are cached: the lines of a log have few."""

NO_FORMAT = -1
NO_TIMESTAMP = (NO_FORMAT, None)

MIN_SHARE = 0.2
"""Share of the lines in which a guess must be met: any text can hold what looks like such a time."""


@dataclass(frozen=True, slots=True)
class LineTimestamps:
    """How the lines of one file carry their times."""

    time_at: TimestampParser
    times: tuple[int | None, ...]
    """Those of the sample's lines."""
    names: tuple[str, ...]
    json_keys: tuple[bytes, ...]
    """The spellings of the keys under which JSON lines carry their times."""
    json_time: TimestampParser
    """Reads a time behind such a key."""
    only_json_reads_json: bool
    """Whether no other format can read a JSON line."""
    is_json: bool
    """Whether all lines of the sample begin like a JSON object, and some of them have times."""
    only_format: int | None
    """The format that reads all times of the sample, by its index; None where several do, or perhaps would."""
    indices: frozenset[int]
    """Which of the formats were met, or could be met by a line that the sample does not hold."""
    first: TimestampParser
    """The format that is tried first, until a line is read by another."""
    tried_first: Callable[[], TimestampParser]
    """Returns what the next line is tried with first. If it reads a time, no other format is tried."""
    parsers: LineFormats
    zone: tzinfo

    def tries_first(self) -> bool:
        """Whether the next line is tried with the format `first` first."""
        return self.tried_first() is self.first

    def tried_format(self) -> TimestampFormat | None:
        """Return the format that the next line is tried with first, if the times of many lines can be read with it."""
        tried = self.tried_first()
        read = (index for index in _indices_of_columns() & self.indices if self.parsers.get(index) is tried)
        return next((all_timestamp_formats()[index] for index in read), None)

    def iso_place(self) -> IsoPlace | None:
        """Return where an ISO date stands in a line that the next line is taken for; None where that is not known."""
        tried = self.tried_format()
        return None if tried is None else tried.iso_place

    def rules_out(self, beginning: bytes) -> bool:
        """Whether a line that begins so has no time, as long as lines are tried with `tried_format` first.

        `beginning` are the first BEGINNING_BYTES of a line, or a whole one that is shorter.
        """
        tried, zeroed = self.tried_format(), beginning.translate(AS_ZERO)
        if tried is None or not beginning.strip() or beginning[:1] in MARK_FIRST_BYTES:
            return False
        before = None if tried.iso_place is None else tried.iso_place.bytes_before
        if before is not None and YEAR.startswith(zeroed[before : before + len(YEAR)]):
            return False
        possible = self.indices.intersection(_indices_by_beginning(beginning[0], zeroed))
        return all(self.parsers[index] is None for index in possible)


@cache
def all_timestamp_formats() -> tuple[TimestampFormat, ...]:
    """All formats declared as `FORMATS` below timestamps/formats/, in the order in which they are tried."""
    declared: list[tuple[TimestampFormat, ...]] = declared_in(formats, "FORMATS")
    return tuple(sorted((each for several in declared for each in several), key=lambda each: each.priority))


@cache
def _indices_by_first_byte() -> tuple[tuple[int, ...], ...]:
    """Return for each byte the formats that can begin with it."""
    listed = list(enumerate(all_timestamp_formats()))
    return tuple(tuple(index for index, each in listed if byte in each.first_bytes) for byte in range(256))


@lru_cache(MAX_BEGINNINGS)
def _indices_by_beginning(first_byte: int, beginning: bytes) -> tuple[int, ...]:
    """Return the formats that a line can have which begins so: BEGINNING_BYTES, the digits among them written as 0."""
    declared = all_timestamp_formats()
    return tuple(index for index in _indices_by_first_byte()[first_byte] if declared[index].begins.match(beginning))


@cache
def _certain_indices() -> frozenset[int]:
    """Return the formats that are no guess."""
    return frozenset(index for index, each in enumerate(all_timestamp_formats()) if not each.is_guess)


@cache
def _indices_of_columns() -> frozenset[int]:
    """Return the formats with which the times of many lines can be read at once."""
    declared = enumerate(all_timestamp_formats())
    return frozenset(index for index, each in declared if each.iso_place is not None or each.second is not None)


@cache
def _indices_that_need_lines() -> frozenset[int]:
    """Return the formats whose parsers cannot be made without the lines of a file."""
    return frozenset(index for index, each in enumerate(all_timestamp_formats()) if each.needs_lines)


class LineFormats(dict[int, "TimestampParser | None"]):
    """The timestamp formats as the lines of one file are read with them; None where the file cannot have one.

    Each is made when the first line needs it: making all of them costs more than reading a small file.
    """

    def __init__(self, context: TimestampContext) -> None:
        super().__init__()
        self._context = context

    def __missing__(self, index: int) -> TimestampParser | None:
        parser = self[index] = all_timestamp_formats()[index].parser(self._context)
        return parser

    def drop_lines(self, indices: frozenset[int]) -> None:
        """Make those of these formats that need the lines of the file, and keep the lines no longer."""
        for index in indices & _indices_that_need_lines():
            _ = self[index]
        self._context = TimestampContext(self._context.defaults, [], b"", self._context.json_keys)

    def first_of(self, indices: Iterable[int]) -> TimestampParser:
        """Return the first of these formats that the file can have."""
        return next(parse for index in sorted(indices) if (parse := self[index]) is not None)

    def chosen(self, first_byte: int, indices: frozenset[int]) -> tuple[TimestampParser, ...]:
        """Return those of these formats that the file can have, and that can begin with this byte, in their order."""
        met = (self[index] for index in _indices_by_first_byte()[first_byte] if index in indices)
        return tuple(parse for parse in met if parse is not None)


def detect_timestamps(lines: list[bytes], defaults: TimeDefaults) -> LineTimestamps:
    """Choose the timestamp formats that this file needs."""
    text = b"\n".join(lines)
    context = TimestampContext(defaults, lines, text, json_times.time_keys(lines, text))
    candidates = LineFormats(context)
    read = _formats_and_times(lines, candidates)
    counts = Counter([index for index, at in read if at is not None])
    indices = _certain_indices().union(_likely_guesses(lines, counts))
    is_json = bool(counts) and all(line[:1] == b"{" for line in lines)
    only_format = None if is_json else _only_format(context, read, candidates, indices=indices)
    candidates.drop_lines(indices)
    time_at, tried_first = _line_parser(candidates, indices)
    declared = all_timestamp_formats()
    return LineTimestamps(
        time_at,
        _sample_times(lines, read, time_at, is_known=is_json or only_format is not None),
        tuple(dict.fromkeys(declared[index].name for index, _ in counts.most_common() if index in indices)),
        context.json_keys,
        iso_or_epoch_parser(defaults.zone),
        not any(declared[index].is_guess and b"<"[0] in declared[index].first_bytes for index in indices),
        is_json,
        only_format,
        indices,
        candidates.first_of(indices),
        tried_first,
        candidates,
        defaults.zone,
    )


def _likely_guesses(lines: list[bytes], counts: Counter[int]) -> list[int]:
    """Return the guesses that enough of the lines fit."""
    guesses = counts.keys() - _certain_indices()
    if not guesses:
        return []
    least = MIN_SHARE * max(1, sum(1 for line in lines if line.strip()))
    return [index for index in guesses if counts[index] >= least]


def _only_format(
    context: TimestampContext, read: list[FormatAndTime], candidates: LineFormats, *, indices: frozenset[int]
) -> int | None:
    """Return the format that reads the times of `read`, where there is one and `time_at` reads the same ones.

    `time_at` tries the format of the line before without a look at the line's first byte, so that format must read no
    time on the other lines; nor must the first one, which it tries before it has met a time.
    """
    timed = next((index for index, (_, at) in enumerate(read) if at is not None), None)
    index = NO_FORMAT if timed is None else read[timed][0]
    parse, first = candidates.get(index), candidates.first_of(indices)
    if timed is None or parse is None or index not in indices or any(mark in context.text for mark in MARK_FIRST_BYTES):
        return None
    if any(found not in (index, NO_FORMAT) for found, _ in read):
        return None
    before = context.lines[: timed + (parse is not first)]
    untimed = (line for line, (_, at) in zip(context.lines, read, strict=True) if at is None)
    is_met = any(first(line, 0, len(line)) is not None for line in before) or any(
        parse(line, 0, len(line)) is not None for line in untimed
    )
    return None if is_met else index


def _sample_times(
    lines: list[bytes], read: list[FormatAndTime], time_at: TimestampParser, *, is_known: bool
) -> tuple[int | None, ...]:
    """Return the times of the lines as `time_at` reads them; where that `is_known`, they were read already."""
    if not is_known:
        return tuple([time_at(line, 0, len(line)) for line in lines])
    timed = next((line for line, (_, at) in zip(lines, read, strict=True) if at is not None), b"")
    time_at(timed, 0, len(timed))  # the next line is first tried with the format of the last one
    return tuple([at for _, at in read])


def is_zoned(sample: list[bytes], defaults: TimeDefaults, timestamps: LineTimestamps) -> bool:
    """Whether every time names its zone: then another default changes none of these times of the sample."""
    index = timestamps.only_format
    if index is not None and all_timestamp_formats()[index].is_zoned:
        return True
    timed = [(line, at) for line, at in zip(sample, timestamps.times, strict=True) if at is not None]
    if timestamps.is_json and json_times.have_zoned_times([line for line, _ in timed], timestamps.json_keys):
        return True
    defaults = TimeDefaults(UNUSED_ZONE, defaults.latest)
    candidates = LineFormats(TimestampContext(defaults, sample, b"\n".join(sample), timestamps.json_keys))
    only = None if index is None else candidates[index]
    parse = only or _line_parser(candidates, timestamps.indices)[0]
    return all(parse(line, 0, len(line)) == at for line, at in timed)


FormatAndTime = tuple[int, int | None]
"""The format that matches a line's beginning, and the time that it reads there."""


def _formats_and_times(lines: list[bytes], candidates: LineFormats) -> list[FormatAndTime]:
    """Return for each line which format reads its time."""
    result: list[FormatAndTime] = []
    for line in lines:
        start, end = 0, len(line)
        if line[:1] in MARK_FIRST_BYTES and (marks := LEADING_MARKS.match(line)):
            start = marks.end()
        found: FormatAndTime = NO_TIMESTAMP
        first = line[start] if start < end else NO_BYTE
        for index in _indices_by_beginning(first, line[start : start + BEGINNING_BYTES].translate(AS_ZERO)):
            parse = candidates[index]
            if parse is not None and (at := parse(line, start, end)) is not None:
                found = index, at
                break
        result.append(found)
    return result


def _line_parser(
    candidates: LineFormats, indices: frozenset[int]
) -> tuple[TimestampParser, Callable[[], TimestampParser]]:
    """Return a parser that tries the format of the line before first, and what returns the parser of that format."""
    by_first_byte: dict[int, tuple[TimestampParser, ...]] = {}  # filled as bytes are met: a small file meets few
    last = candidates.first_of(indices)
    marked = frozenset(b"".join(MARK_FIRST_BYTES))

    def time_at(block: bytes, start: int, end: int) -> int | None:
        nonlocal last
        at = last(block, start, end)
        if at is not None or start >= end or start >= len(block):
            return at
        first = block[start]
        if first in marked and (marks := LEADING_MARKS.match(block, start, end)):
            return time_at(block, marks.end(), end)
        if first not in by_first_byte:
            by_first_byte[first] = candidates.chosen(first, indices)
        for parse in by_first_byte[first]:
            at = parse(block, start, end)
            if at is not None:
                last = parse
                return at
        return None

    def tried_first() -> TimestampParser:
        return last

    return time_at, tried_first
