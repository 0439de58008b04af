"""Parses one time that stands at a known offset. Each parser caches minutes, because few lines begin a new one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

TimestampParser = Callable[[bytes, int, int], int | None]
"""Milliseconds since 1970 UTC of the time that stands at block[start:end], or None."""

MAX_MINUTES = 100_000  # about two months; a file full of garbage must not fill the memory
MINUTE_MS = 60_000

SECONDS = {b"%02d" % second: second * 1000 for second in range(61)}
MILLIS = {mark + b"%03d" % milli: milli for mark in (b".", b",") for milli in range(1000)}
# Bytes that can continue a time after its milliseconds, and bytes that can begin a zone after a blank. b"" is the end.
CONTINUES_TIME = frozenset([b"%d" % digit for digit in range(10)] + [b"Z", b"+", b"-", b" ", b"U", b"G"])
ZONE_FIRST_BYTES = frozenset((b"+", b"-", b"U", b"G"))
AS_UTC, IN_ZONE, NEEDS_REGEX = 0, 1, 2
FRACTION_ENDS = (23, 26, 29)
"""Where a fraction of three, six or nine digits ends, from where the time begins."""
MAX_SUFFIXES = 4096
FRACTION_AND_ZONE = re.compile(rb"(?:[.,](\d{1,9}))?(?: ?(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d(?!\d)))?( \t|   )?")
DATE_SEPARATORS = (b"-", b"/", b".")
ISO_MINUTE = re.compile(rb"(\d{4})([-/.])(\d\d)\2(\d\d)[T _](\d\d):(\d\d):")
MONTHS = {name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}

FIRST_YEAR, LAST_YEAR = 1970, 9998
"""Years that are read. Programs write earlier ones where they have no time: Go 0001-01-01, a clock without a battery 0.
With any zone, and with any idle time added, a time of the last year stays below the year 10000, where Python ends."""

Minute = tuple[int, int]
"""One minute read as UTC, and read in the default zone, both in milliseconds since 1970."""


def epoch_ms(moment: datetime) -> int:
    """Return milliseconds since 1970 of an aware time, without the rounding of a float."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def read_minute(parts: tuple[int, int, int, int, int], zone: tzinfo) -> Minute | None:
    """Return a minute, given as year, month, day, hour, minute; None where there is no such time."""
    if not FIRST_YEAR <= parts[0] <= LAST_YEAR:
        return None
    try:
        return epoch_ms(datetime(*parts, tzinfo=UTC)), epoch_ms(datetime(*parts, tzinfo=zone))
    except (ValueError, OverflowError):
        return None


def offset_ms(text: bytes) -> int:
    """Return `+01:00`, `-0330`, `+01` as milliseconds; names of UTC as 0."""
    digits = text[1:].replace(b":", b"")
    if not digits.isdigit():
        return 0
    minutes = int(digits[:2]) * 60 + int(digits[2:4] or b"0")
    return (-minutes if text[:1] == b"-" else minutes) * MINUTE_MS


class SuffixReadings(dict[bytes, int]):
    """How a time is read that has these three bytes behind its milliseconds. Keeps at most MAX_SUFFIXES of them."""

    def __missing__(self, after: bytes) -> int:
        reading = _suffix_reading(after)
        if len(self) < MAX_SUFFIXES:
            self[after] = reading
        return reading


def _suffix_reading(after: bytes) -> int:
    mark, follow = after[:1], after[1:]
    if mark == b"Z":
        return NEEDS_REGEX if follow in (b" \t", b"  ") else AS_UTC
    if mark == b" ":
        return NEEDS_REGEX if follow[:1] in ZONE_FIRST_BYTES else IN_ZONE
    return NEEDS_REGEX if mark in CONTINUES_TIME else IN_ZONE


class Minutes(dict[bytes, Minute]):
    """The minutes met so far, as they are written, at most MAX_MINUTES. Text that is no minute is not kept."""

    def __init__(self, zone: tzinfo) -> None:
        super().__init__()
        self._zone = zone

    def read(self, text: bytes) -> Minute | None:
        """Parse a minute, up to the colon behind it."""
        match = ISO_MINUTE.match(text) if text[4:5] in DATE_SEPARATORS else None
        if match is None:
            return None
        year, _, month, day, hour, minute = match.groups()
        parsed = read_minute((int(year), int(month), int(day), int(hour), int(minute)), self._zone)
        if parsed is not None:
            if len(self) >= MAX_MINUTES:
                self.clear()
            self[text] = parsed
        return parsed


def fraction_and_zone_ms(block: bytes, start: int, end: int, minute: Minute) -> int | None:
    """Parse fraction and zone after the seconds.

    None where the text behind a zoned time is indented: a collector put that time before a line that continues another.
    """
    match = FRACTION_AND_ZONE.match(block, start, end)
    if match is None or (match[2] and match[3]):
        return None
    fraction = int((match[1] or b"0").ljust(3, b"0")[:3])
    if not match[2]:
        return minute[1] + fraction
    return minute[0] - offset_ms(match[2]) + fraction


@lru_cache(8)
def iso_parser(zone: tzinfo) -> TimestampParser:
    """Parse `2021-02-16 12:36:02,123`, `2021-02-16T12:36:02.123456Z`, `2021/02/16 12:36:02`, with or without a zone.

    Cached per zone, so that files share the cached minutes.
    """
    minutes, suffixes = Minutes(zone), SuffixReadings()

    def parse(block: bytes, start: int, end: int) -> int | None:
        minute = minutes.get(block[start : start + 17]) or minutes.read(block[start : start + 17])
        second = SECONDS.get(block[start + 17 : start + 19])
        if minute is None or second is None:
            return None
        fraction = MILLIS.get(block[start + 19 : start + 23])
        if fraction is not None:  # the fast path, for nearly all lines
            for offset in FRACTION_ENDS:
                suffix = block[start + offset : start + offset + 3]
                reading = suffixes[suffix]
                if reading != NEEDS_REGEX:
                    return minute[reading] + second + fraction
                if not suffix.isdigit():
                    break
        at = fraction_and_zone_ms(block, start + 19, end, minute)
        return None if at is None else at + second

    return parse


EPOCH = re.compile(rb"(\d{9,19})(?:[.,](\d{1,9})\d*)?(?!\d)")
ENDS_MILLIS = b" \t"
EXPONENT = re.compile(rb"\d\.\d+[eE]\+?(?:09|9)\b")
DIGITS_MS = {9: 1000.0, 10: 1000.0, 13: 1.0, 16: 0.001, 19: 0.000001}


def parse_epoch(block: bytes, start: int, end: int) -> int | None:
    """Parse seconds (with a fraction), milliseconds, microseconds or nanoseconds since 1970: their length differs."""
    point = start + 10
    if block[point : point + 1] == b"." and point + 4 <= end:  # the fast path, for what librdkafka writes
        seconds, fraction = block[start:point], block[point + 1 : point + 4]
        if seconds.isdigit() and fraction.isdigit():
            return int(seconds) * 1000 + int(fraction)
    behind = start + 13
    if behind < end and block[behind] in ENDS_MILLIS and block[start:behind].isdigit():
        return int(block[start:behind])  # as fast, for milliseconds that end in a blank
    match = EPOCH.match(block, start, end)
    if match is None:
        exponent = EXPONENT.match(block, start, end)
        return int(float(exponent[0]) * 1000) if exponent else None
    digits = match[1]
    if len(digits) <= 10:  # noqa: PLR2004 - ten digits of seconds last until 2286
        return int(digits) * 1000 + int((match[2] or b"0").ljust(3, b"0")[:3])
    scale = DIGITS_MS.get(len(digits))
    return None if scale is None else int(int(digits) * scale)


def iso_or_epoch_parser(zone: tzinfo) -> TimestampParser:
    """Parse an ISO date or a number since 1970: in a JSON value, both are common."""
    read_iso = iso_parser(zone)

    def parse(block: bytes, start: int, end: int) -> int | None:
        at = read_iso(block, start, end)
        return parse_epoch(block, start, end) if at is None else at

    return parse


MinuteFields = tuple[int, int, int, int, int]


def date_parser(pattern: bytes, fields: Callable[[re.Match[bytes]], MinuteFields], zone: tzinfo) -> TimestampParser:
    """Return a parser of dates. `pattern` reaches up to the colon before the seconds; `fields` reads the minute."""
    compiled = re.compile(pattern)
    minutes: dict[bytes, Minute | None] = {}

    def parse(block: bytes, start: int, end: int) -> int | None:
        match = compiled.match(block, start, end)
        if match is None:
            return None
        key = match[0]
        if key not in minutes:
            if len(minutes) >= MAX_MINUTES:
                minutes.clear()
            minutes[key] = read_minute(_fields_or_invalid(fields, match), zone)
        minute = minutes[key]
        after = match.end()
        second = SECONDS.get(block[after : after + 2])
        if minute is None or second is None:
            return None
        at = fraction_and_zone_ms(block, after + 2, end, minute)
        return None if at is None else at + second

    return parse


def _fields_or_invalid(fields: Callable[[re.Match[bytes]], MinuteFields], match: re.Match[bytes]) -> MinuteFields:
    try:
        return fields(match)
    except (KeyError, ValueError):
        return (0, 0, 0, 0, 0)  # no such minute
