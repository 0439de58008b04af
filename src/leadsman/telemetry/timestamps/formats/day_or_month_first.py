"""`16/02/2021 12:36:02` or `02/16/2021 12:36:02 PM`, where a line shows whether the day or the month stands first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.dates import MONTHS_A_YEAR, with_am_pm
from leadsman.telemetry.timestamps.parsers import date_parser
from leadsman.telemetry.timestamps.timestamp_format import DIGITS, TimestampFormat

if TYPE_CHECKING:
    from leadsman.telemetry.timestamps.parsers import MinuteFields, TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimestampContext

NUMERIC_DATE = rb"(\d{1,2})[/.](\d{1,2})[/.](\d{4}),?[ T]{1,2}(\d{1,2}):(\d\d):"
PATTERN = re.compile(NUMERIC_DATE)
HOUR_GROUP = 4


def _day_or_month_first(context: TimestampContext) -> TimestampParser | None:
    """Return None unless a number above 12 shows which of the two is the day."""
    pairs = [(int(match[1]), int(match[2])) for line in context.lines if (match := PATTERN.match(line))]
    day_first = any(first > MONTHS_A_YEAR for first, _ in pairs)
    if day_first == any(second > MONTHS_A_YEAR for _, second in pairs):
        return None
    month, day = (2, 1) if day_first else (1, 2)

    def fields(match: re.Match[bytes]) -> MinuteFields:
        return int(match[3]), int(match[month]), int(match[day]), int(match[HOUR_GROUP]), int(match[5])

    am_pm = re.compile(NUMERIC_DATE + rb"\d\d[ \x80-\xff]{0,3}([AP])M")
    return with_am_pm(date_parser(NUMERIC_DATE, fields, context.defaults.zone), am_pm, HOUR_GROUP)


FORMATS = (
    TimestampFormat(
        name="timed lines",
        priority=170,
        first_bytes=DIGITS,
        begins=re.compile(rb"0{1,2}[/.]0"),
        parser=_day_or_month_first,
        is_guess=True,
        needs_lines=True,
    ),
)
