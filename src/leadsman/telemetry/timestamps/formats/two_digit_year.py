"""`21/02/16 12:36:02`: the default of Spark and Hadoop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.dates import HOUR_AND_MINUTE
from leadsman.telemetry.timestamps.parsers import date_parser
from leadsman.telemetry.timestamps.timestamp_format import DIGITS, TimestampFormat

if TYPE_CHECKING:
    from leadsman.telemetry.timestamps.parsers import MinuteFields, TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimestampContext


def _two_digit_year(context: TimestampContext) -> TimestampParser:
    def fields(match: re.Match[bytes]) -> MinuteFields:
        return 2000 + int(match[1]), int(match[2]), int(match[3]), int(match[4]), int(match[5])

    return date_parser(rb"(\d\d)/(\d\d)/(\d\d) " + HOUR_AND_MINUTE, fields, context.defaults.zone)


FORMATS = (
    TimestampFormat(
        name="timed lines",
        priority=140,
        first_bytes=DIGITS,
        begins=re.compile(rb"00/00"),
        parser=_two_digit_year,
        is_guess=True,
    ),
)
