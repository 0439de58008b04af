"""Dates without a year, and clocks with AM and PM: shared by several timestamp formats."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

    from leadsman.telemetry.timestamps.parsers import TimestampParser

HOUR_AND_MINUTE = rb"(\d\d):(\d\d):"
ONE_DAY = timedelta(days=1)  # a clock or zone may be off; a log is not written tomorrow
MONTHS_A_YEAR = 12
NOON = 12


def latest_year(month: int, day: int, latest: datetime) -> int:
    """Return the latest year in which this day is not after `latest`."""
    try:
        moment = datetime(latest.year, month, day, tzinfo=UTC)
    except ValueError:
        return latest.year - 1 if month == 2 else latest.year  # noqa: PLR2004 - 29 February
    return latest.year if moment <= latest + ONE_DAY else latest.year - 1


def with_am_pm(parse: TimestampParser, am_pm: re.Pattern[bytes], hour_group: int) -> TimestampParser:
    """Read a time by a clock of twice twelve hours where the line says AM or PM, which `am_pm` matches last."""

    def parse_either(block: bytes, start: int, end: int) -> int | None:
        at = parse(block, start, end)
        match = am_pm.match(block, start, end) if at is not None else None
        if at is None or match is None:
            return at
        hour = int(match[hour_group])
        hour_of_day = hour % NOON + (NOON if match[match.re.groups] == b"P" else 0)
        return at + (hour_of_day - hour) * 3_600_000

    return parse_either
