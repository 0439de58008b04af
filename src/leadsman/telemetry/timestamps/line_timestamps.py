"""Detects how the lines of a file carry their times, whatever stands before a time: a bracket, a level, a key."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta, timezone
from functools import cache
from typing import TYPE_CHECKING

from leadsman.telemetry.discovery import declared_in
from leadsman.telemetry.timestamps import formats, json_times
from leadsman.telemetry.timestamps.parsers import iso_or_epoch_parser
from leadsman.telemetry.timestamps.timestamp_format import TimestampContext, TimestampFormat

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.telemetry.timestamps.parsers import TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimeDefaults

LEADING_MARKS = re.compile(rb"(?:\x1b\[[0-9;]*m|\xef\xbb\xbf|\x00)+")
"""Colours, a byte order mark, the NUL bytes that copytruncate leaves."""
MARK_FIRST_BYTES = (b"\x1b", b"\xef", b"\x00")

UNUSED_ZONE = timezone(timedelta(hours=13, minutes=37))
"""A zone that no place has: a time that it changes does not name its own zone."""

NO_BYTE = 10  # no line holds a newline, and no timestamp format begins with one
NO_TIMESTAMP = (-1, None)

MIN_SHARE = 0.2
"""Share of the lines in which a guess must be met: any text can hold what looks like such a time."""


@dataclass(frozen=True, slots=True)
class LineFormat:
    """A timestamp format as the lines of one file are read with it."""

    name: str
    first_bytes: bytes
    parse: TimestampParser
    is_guess: bool


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
    indices: tuple[int, ...]
    """Which of the formats were met, or could be met by a line that the sample does not hold."""
    first: TimestampParser
    """The format that is tried first, until a line is read by another."""
    tries_first: Callable[[], bool]
    """Whether the next line is tried with that format first. If it reads a time, no other format is tried."""


@cache
def all_timestamp_formats() -> tuple[TimestampFormat, ...]:
    """All formats declared as `FORMATS` below timestamps/formats/, in the order in which they are tried."""
    declared: list[tuple[TimestampFormat, ...]] = declared_in(formats, "FORMATS")
    return tuple(sorted((each for several in declared for each in several), key=lambda each: each.priority))


def _line_formats(context: TimestampContext) -> tuple[LineFormat, ...]:
    parsers = ((each, each.parser(context)) for each in all_timestamp_formats())
    return tuple(
        LineFormat(each.name, each.first_bytes, parse, each.is_guess) for each, parse in parsers if parse is not None
    )


def detect_timestamps(sample: list[bytes], defaults: TimeDefaults) -> LineTimestamps:
    """Choose the timestamp formats that this file needs."""
    json_keys = json_times.time_keys(sample)
    candidates = _line_formats(TimestampContext(defaults, sample, json_keys))
    read = _formats_and_times(sample, candidates)
    counts = Counter(index for index, at in read if at is not None)
    lines = max(1, sum(1 for line in sample if line.strip()))
    indices = tuple(
        index for index, each in enumerate(candidates) if not each.is_guess or counts[index] >= MIN_SHARE * lines
    )
    time_at, tries_first = _line_parser(tuple(candidates[index] for index in indices))
    return LineTimestamps(
        time_at,
        _sample_times(sample, read, time_at),
        tuple(dict.fromkeys(candidates[index].name for index, _ in counts.most_common() if index in indices)),
        json_keys,
        iso_or_epoch_parser(defaults.zone),
        not any(candidates[index].is_guess and b"<"[0] in candidates[index].first_bytes for index in indices),
        indices,
        candidates[indices[0]].parse,
        tries_first,
    )


def _sample_times(sample: list[bytes], read: list[FormatAndTime], time_at: TimestampParser) -> tuple[int | None, ...]:
    """Return the times of the lines. If all lines are JSON, these are the times that were already read."""
    timed = next((line for line, (_, at) in zip(sample, read, strict=True) if at is not None), None)
    if timed is not None and all(line[:1] == b"{" for line in sample):
        time_at(timed, 0, len(timed))  # the next line is first tried with the format of the last one
        return tuple(at for _, at in read)
    return tuple(time_at(line, 0, len(line)) for line in sample)


def is_zoned(sample: list[bytes], defaults: TimeDefaults, timestamps: LineTimestamps) -> bool:
    """Whether every time names its zone: then another default changes none of these times of the sample."""
    candidates = _line_formats(TimestampContext(replace(defaults, zone=UNUSED_ZONE), sample, timestamps.json_keys))
    parse, _ = _line_parser(tuple(candidates[index] for index in timestamps.indices))
    timed = ((line, at) for line, at in zip(sample, timestamps.times, strict=True) if at is not None)
    return all(parse(line, 0, len(line)) == at for line, at in timed)


FormatAndTime = tuple[int, int | None]
"""The format that matches a line's beginning, and the time that it reads there."""


def _formats_and_times(sample: list[bytes], candidates: tuple[LineFormat, ...]) -> list[FormatAndTime]:
    """Return for each line which format reads its time."""
    by_first_byte: dict[int, list[tuple[int, TimestampParser]]] = {}
    result: list[FormatAndTime] = []
    for line in sample:
        marks = LEADING_MARKS.match(line) if line[:1] in MARK_FIRST_BYTES else None
        start, end = marks.end() if marks else 0, len(line)
        first = line[start] if start < end else NO_BYTE
        if first not in by_first_byte:
            by_first_byte[first] = [
                (index, each.parse) for index, each in enumerate(candidates) if first in each.first_bytes
            ]
        read = ((index, at) for index, parse in by_first_byte[first] if (at := parse(line, start, end)) is not None)
        result.append(next(read, NO_TIMESTAMP))
    return result


def _line_parser(candidates: tuple[LineFormat, ...]) -> tuple[TimestampParser, Callable[[], bool]]:
    """Return a parser that tries the format of the line before first, and whether that is the first format."""
    by_first_byte: dict[int, tuple[TimestampParser, ...]] = {}  # filled as bytes are met: a small file meets few
    last: TimestampParser = candidates[0].parse
    marked = frozenset(b"\x1b\xef\x00")

    def time_at(block: bytes, start: int, end: int) -> int | None:
        nonlocal last
        at = last(block, start, end)
        if at is not None or start >= end or start >= len(block):
            return at
        first = block[start]
        if first in marked and (marks := LEADING_MARKS.match(block, start, end)):
            return time_at(block, marks.end(), end)
        if first not in by_first_byte:
            by_first_byte[first] = tuple(each.parse for each in candidates if first in each.first_bytes)
        read = ((parse, at) for parse in by_first_byte[first] if (at := parse(block, start, end)) is not None)
        last, at = next(read, (last, None))
        return at

    def tries_first() -> bool:
        return last is candidates[0].parse

    return time_at, tries_first
