"""Reads one time that stands at a known place. Each reader here caches the minute, because logs rarely leave it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

Stamp = Callable[[bytes, int, int], int | None]
"""Milliseconds since 1970 UTC of the time that stands at block[start:end], or None."""

MOST_MINUTES = 100_000  # two months of minutes; a file full of garbage must not fill the memory
MINUTE_MS = 60_000

SECONDS = {b"%02d" % second: second * 1000 for second in range(61)}
MILLIS = {mark + b"%03d" % milli: milli for mark in (b".", b",") for milli in range(1000)}
# What may go on with a time after its milliseconds, and what may begin a zone after a blank. b"" is the end.
GOES_ON = frozenset([b"%d" % digit for digit in range(10)] + [b"Z", b"+", b"-", b" ", b"U", b"G"])
ZONE_BEGINS = frozenset((b"+", b"-", b"U", b"G"))
AS_UTC, IN_ZONE, LOOK_CLOSER = 0, 1, 2
BEHIND_FRACTIONS = (23, 26, 29)
"""Where a fraction ends of three digits, of six and of nine, from where the time begins."""
MOST_ENDINGS = 4096
TAIL = re.compile(rb"(?:[.,](\d{1,9}))?(?: ?(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d(?!\d)))?( \t|   )?")
ISO_MINUTE = re.compile(rb"(\d{4})([-/.])(\d\d)\2(\d\d)[T _](\d\d):(\d\d):")
MONTHS = {name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}

Minute = tuple[int, int]
"""The same minute read as UTC and read in the default zone, both in milliseconds."""


def millis(moment: datetime) -> int:
    """Milliseconds since 1970 of an aware time, without a float's rounding."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def minute_of(parts: tuple[int, int, int, int, int], zone: tzinfo) -> Minute | None:
    """Year, month, day, hour, minute as both readings; None where there is no such time."""
    try:
        return millis(datetime(*parts, tzinfo=UTC)), millis(datetime(*parts, tzinfo=zone))
    except (ValueError, OverflowError):
        return None


def offset_ms(text: bytes) -> int:
    """`+01:00`, `-0330`, `+01` as milliseconds; names of UTC as 0."""
    digits = text[1:].replace(b":", b"")
    if not digits.isdigit():
        return 0
    minutes = int(digits[:2]) * 60 + int(digits[2:4] or b"0")
    return (-minutes if text[:1] == b"-" else minutes) * MINUTE_MS


class Endings(dict[bytes, int]):
    """How the three bytes behind the milliseconds want the time to be read. Never more than MOST_ENDINGS of them."""

    def __missing__(self, after: bytes) -> int:
        reading = _reading_of(after)
        if len(self) < MOST_ENDINGS:
            self[after] = reading
        return reading


def _reading_of(after: bytes) -> int:
    mark, follow = after[:1], after[1:]
    if mark == b"Z":
        return LOOK_CLOSER if follow in (b" \t", b"  ") else AS_UTC
    if mark == b" ":
        return LOOK_CLOSER if follow[:1] in ZONE_BEGINS else IN_ZONE
    return LOOK_CLOSER if mark in GOES_ON else IN_ZONE


class Minutes(dict[bytes, Minute]):
    """The minutes met so far, as they are written, never more than MOST_MINUTES. What is no minute is not kept."""

    def __init__(self, zone: tzinfo) -> None:
        super().__init__()
        self._zone = zone

    def read(self, text: bytes) -> Minute | None:
        """Return the minute that `text`, up to the colon behind it, names."""
        found = ISO_MINUTE.match(text)
        if found is None:
            return None
        year, _, month, day, hour, minute = found.groups()
        both = minute_of((int(year), int(month), int(day), int(hour), int(minute)), self._zone)
        if both is not None:
            if len(self) >= MOST_MINUTES:
                self.clear()
            self[text] = both
        return both


def tail_ms(block: bytes, start: int, end: int, minute: Minute) -> int | None:
    """Fraction and zone after the seconds.

    None: the text is indented behind a zoned time. A collector put that time before a line that continues another.
    """
    found = TAIL.match(block, start, end)
    if found is None or (found[2] and found[3]):
        return None
    fraction = int((found[1] or b"0").ljust(3, b"0")[:3])
    if not found[2]:
        return minute[1] + fraction
    return minute[0] - offset_ms(found[2]) + fraction


@lru_cache(8)
def iso(zone: tzinfo) -> Stamp:
    """`2021-02-16 12:36:02,123`, `2021-02-16T12:36:02.123456Z`, `2021/02/16 12:36:02`, with or without a zone.

    Made once a zone: so files share what is known of minutes.
    """
    minutes, endings = Minutes(zone), Endings()

    def stamp(block: bytes, start: int, end: int) -> int | None:
        minute = minutes.get(block[start : start + 17]) or minutes.read(block[start : start + 17])
        second = SECONDS.get(block[start + 17 : start + 19])
        if minute is None or second is None:
            return None
        fraction = MILLIS.get(block[start + 19 : start + 23])
        if fraction is not None:  # the short way, for nearly all lines
            for after in BEHIND_FRACTIONS:
                behind = block[start + after : start + after + 3]
                reading = endings[behind]
                if reading != LOOK_CLOSER:
                    return minute[reading] + second + fraction
                if not behind.isdigit():
                    break
        at = tail_ms(block, start + 19, end, minute)
        return None if at is None else at + second

    return stamp


EPOCH = re.compile(rb"(\d{9,19})(?:[.,](\d{1,9})\d*)?(?!\d)")
EXPONENT = re.compile(rb"\d\.\d+[eE]\+?(?:09|9)\b")
DIGITS_MS = {9: 1000.0, 10: 1000.0, 13: 1.0, 16: 0.001, 19: 0.000001}


def epoch(block: bytes, start: int, end: int) -> int | None:
    """Seconds (with a fraction), milliseconds, microseconds or nanoseconds since 1970, told apart by their length."""
    point = start + 10
    if block[point : point + 1] == b"." and point + 4 <= end:  # the short way, for what librdkafka writes
        whole, fraction = block[start:point], block[point + 1 : point + 4]
        if whole.isdigit() and fraction.isdigit():
            return int(whole) * 1000 + int(fraction)
    found = EPOCH.match(block, start, end)
    if found is None:
        written = EXPONENT.match(block, start, end)
        return int(float(written[0]) * 1000) if written else None
    whole = found[1]
    if len(whole) <= 10:  # noqa: PLR2004 - ten digits of seconds last until 2286
        return int(whole) * 1000 + int((found[2] or b"0").ljust(3, b"0")[:3])
    scale = DIGITS_MS.get(len(whole))
    return None if scale is None else int(int(whole) * scale)


def iso_or_epoch(zone: tzinfo) -> Stamp:
    """Either, for places such as a JSON value where both are common."""
    read_iso = iso(zone)

    def stamp(block: bytes, start: int, end: int) -> int | None:
        at = read_iso(block, start, end)
        return epoch(block, start, end) if at is None else at

    return stamp


Parts = tuple[int, int, int, int, int]


def worded(pattern: bytes, parts: Callable[[re.Match[bytes]], Parts], zone: tzinfo) -> Stamp:
    """Make a stamp whose pattern reaches up to the colon before the seconds; `parts` names the minute."""
    compiled = re.compile(pattern)
    minutes: dict[bytes, Minute | None] = {}

    def stamp(block: bytes, start: int, end: int) -> int | None:
        found = compiled.match(block, start, end)
        if found is None:
            return None
        key = found[0]
        if key not in minutes:
            if len(minutes) >= MOST_MINUTES:
                minutes.clear()
            minutes[key] = minute_of(_safely(parts, found), zone)
        minute = minutes[key]
        after = found.end()
        second = SECONDS.get(block[after : after + 2])
        if minute is None or second is None:
            return None
        at = tail_ms(block, after + 2, end, minute)
        return None if at is None else at + second

    return stamp


def _safely(parts: Callable[[re.Match[bytes]], Parts], found: re.Match[bytes]) -> Parts:
    try:
        return parts(found)
    except (KeyError, ValueError):
        return (0, 0, 0, 0, 0)  # no such minute
