"""`Feb 16, 2021 12:36:02 PM`: java.util.logging."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.dates import with_am_pm
from leadsman.telemetry.timestamps.parsers import MONTHS, date_parser
from leadsman.telemetry.timestamps.timestamp_format import CAPITALS, TimestampFormat

if TYPE_CHECKING:
    from leadsman.telemetry.timestamps.parsers import MinuteFields, TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimestampContext

DATE = rb"([A-Z][a-z]{2}) (\d{1,2}), (\d{4})[ ,]{1,2}(\d{1,2}):(\d\d):"
HOUR_GROUP = 4


def _java_util(context: TimestampContext) -> TimestampParser:
    def fields(match: re.Match[bytes]) -> MinuteFields:
        return int(match[3]), MONTHS[match[1]], int(match[2]), int(match[HOUR_GROUP]), int(match[5])

    am_pm = re.compile(DATE + rb"\d\d[ \x80-\xff]{0,3}([AP])M")
    return with_am_pm(date_parser(DATE, fields, context.defaults.zone), am_pm, HOUR_GROUP)


FORMATS = (
    TimestampFormat(
        name="java.util.logging",
        priority=100,
        first_bytes=CAPITALS,
        begins=re.compile(rb".[a-z]{2} 0"),
        parser=_java_util,
    ),
)
