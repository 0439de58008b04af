"""The other ways to write a date: month names, two-digit years, no year at all, day or month first."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from leadsman.telemetry.formats.stamps import MONTHS, Parts, Stamp, worded

CLOCK = rb"(\d\d):(\d\d):"
A_DAY = timedelta(days=1)  # a clock or zone may be off; a log is not written tomorrow


def _year_before(month: int, day: int, latest: datetime) -> int:
    """Return the latest year in which this day is not after `latest`."""
    try:
        moment = datetime(latest.year, month, day, tzinfo=UTC)
    except ValueError:
        return latest.year - 1 if month == 2 else latest.year  # noqa: PLR2004 - 29 February
    return latest.year if moment <= latest + A_DAY else latest.year - 1


def syslog(zone: tzinfo, latest: datetime) -> Stamp:
    """`Feb 16 12:36:02`: RFC 3164 and journalctl. The year is the last one that is not in the future."""

    def parts(found: re.Match[bytes]) -> Parts:
        month, day = MONTHS[found[1]], int(found[2])
        return _year_before(month, day, latest), month, day, int(found[3]), int(found[4])

    return worded(rb"([A-Z][a-z]{2}) {1,2}(\d{1,2}) " + CLOCK, parts, zone)


def klog(zone: tzinfo, latest: datetime) -> Stamp:
    """`I0216 12:36:02.123456`: Kubernetes components."""

    def parts(found: re.Match[bytes]) -> Parts:
        month, day = int(found[1]), int(found[2])
        return _year_before(month, day, latest), month, day, int(found[3]), int(found[4])

    return worded(rb"[IWEF](\d\d)(\d\d) " + CLOCK, parts, zone)


def named_month(zone: tzinfo) -> Stamp:
    """`16/Feb/2021:12:36:02 +0000`, `16-Feb-2021 12:36:02.123`, `16 Feb 2021 12:36:02,123`."""

    def parts(found: re.Match[bytes]) -> Parts:
        return int(found[3]), MONTHS[found[2]], int(found[1]), int(found[4]), int(found[5])

    return worded(rb"(\d{1,2})[-/ ]([A-Z][a-z]{2})[-/ ](\d{4})[ :T]" + CLOCK, parts, zone)


def two_digit_year(zone: tzinfo) -> Stamp:
    """`21/02/16 12:36:02`: Spark's and Hadoop's default."""

    def parts(found: re.Match[bytes]) -> Parts:
        return 2000 + int(found[1]), int(found[2]), int(found[3]), int(found[4]), int(found[5])

    return worded(rb"(\d\d)/(\d\d)/(\d\d) " + CLOCK, parts, zone)


NUMBERS = rb"(\d{1,2})[/.](\d{1,2})[/.](\d{4}),?[ T]{1,2}(\d{1,2}):(\d\d):"
BY_NUMBERS = re.compile(NUMBERS)
NOON = 12


def day_or_month_first(zone: tzinfo, lines: list[bytes]) -> Stamp | None:
    """`16/02/2021 12:36:02` or `02/16/2021 12:36:02 PM`; None unless some line tells which of the two it is."""
    pairs = [(int(found[1]), int(found[2])) for line in lines if (found := BY_NUMBERS.match(line))]
    day_first = any(first > NOON for first, _ in pairs)
    if day_first == any(second > NOON for _, second in pairs):
        return None
    return _numbered(zone, (2, 1) if day_first else (1, 2))


def _numbered(zone: tzinfo, groups: tuple[int, int]) -> Stamp:
    month, day = groups

    def parts(found: re.Match[bytes]) -> Parts:
        return int(found[3]), int(found[month]), int(found[day]), int(found[4]), int(found[5])

    return _with_halves(worded(NUMBERS, parts, zone), re.compile(NUMBERS + rb"\d\d[ \x80-\xff]{0,3}([AP])M"), 4)


def java_util(zone: tzinfo) -> Stamp:
    """`Feb 16, 2021 12:36:02 PM`: java.util.logging."""
    pattern = rb"([A-Z][a-z]{2}) (\d{1,2}), (\d{4})[ ,]{1,2}(\d{1,2}):(\d\d):"

    def parts(found: re.Match[bytes]) -> Parts:
        return int(found[3]), MONTHS[found[1]], int(found[2]), int(found[4]), int(found[5])

    return _with_halves(worded(pattern, parts, zone), re.compile(pattern + rb"\d\d[ \x80-\xff]{0,3}([AP])M"), 4)


def _with_halves(stamp: Stamp, halves: re.Pattern[bytes], hour_group: int) -> Stamp:
    """Read the same time by a clock of twice twelve hours, where the line says AM or PM."""

    def both(block: bytes, start: int, end: int) -> int | None:
        at = stamp(block, start, end)
        found = halves.match(block, start, end) if at is not None else None
        if at is None or found is None:
            return at
        hour = int(found[hour_group])
        right = hour % NOON + (NOON if found[found.re.groups] == b"P" else 0)
        return at + (right - hour) * 3_600_000

    return both
