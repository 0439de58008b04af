"""What a module below `timestamps/formats/` declares: how a line begins, and how its time is parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

    from leadsman.telemetry.timestamps.parsers import TimestampParser

DIGITS = b"0123456789"
BEGINNING_BYTES = 5
"""Bytes of a line by which formats are ruled out: as many as tell years, days and seconds since 1970 apart."""
CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LETTERS = CAPITALS + CAPITALS.lower()


@dataclass(frozen=True, slots=True)
class TimeDefaults:
    """What a timestamp may leave out: its zone, and its year, which is that of `latest` or the one before."""

    zone: tzinfo
    latest: datetime


@dataclass(frozen=True, slots=True)
class TimestampContext:
    """What is known of a file before its timestamps are read: some lines, and the keys of times in JSON lines.

    `text` are the lines, separated by newlines.
    """

    defaults: TimeDefaults
    lines: list[bytes]
    text: bytes
    json_keys: tuple[bytes, ...]


class IsoPlace(NamedTuple):
    """So many bytes before an ISO date. `indented_after` bytes behind it, an indented text has no time of its own."""

    bytes_before: int
    indented_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampFormat:
    """One way in which a line begins that carries a time. `first_bytes` are the bytes that can begin such a line.

    The formats are tried in order of `priority`, the lowest first; no two have the same. `parser` returns None where
    the file cannot have this format. `iso_place` says where an ISO date stands that is read in any line that has one
    there. `second` matches a date to the second and the blank behind it; all lines that begin with the same one have
    the same time, unless a zone follows. A format with `is_guess` fits other text by chance: it counts only in files
    that are full of it. `begins` matches the first BEGINNING_BYTES of each such line if its digits are written as 0:
    other lines are not tried. `needs_lines` is set where the parser cannot be made without the lines of the context,
    `is_zoned` where no time of this format depends on the default zone.
    """

    name: str
    priority: int
    first_bytes: bytes
    parser: Callable[[TimestampContext], TimestampParser | None]
    is_guess: bool = False
    begins: re.Pattern[bytes] = re.compile(b"")
    needs_lines: bool = False
    is_zoned: bool = False
    iso_place: IsoPlace | None = None
    second: re.Pattern[bytes] | None = None


def after_bytes(count: int, parse: TimestampParser) -> TimestampParser:
    """Read a time that stands `count` bytes into the line."""

    def shifted(block: bytes, start: int, end: int) -> int | None:
        return parse(block, start + count, end)

    return shifted


def after_pattern(prefix: bytes, parse: TimestampParser) -> TimestampParser:
    """Read a time that stands behind what the pattern `prefix` matches."""
    match_prefix = re.compile(prefix).match

    def shifted(block: bytes, start: int, end: int) -> int | None:
        match = match_prefix(block, start, end)
        return None if match is None else parse(block, match.end(), end)

    return shifted


def first_of(*parsers: TimestampParser) -> TimestampParser:
    """Read a time with the first of these parsers that can."""

    def either(block: bytes, start: int, end: int) -> int | None:
        return next((at for parse in parsers if (at := parse(block, start, end)) is not None), None)

    return either
