"""`Feb 16 12:36:02`: RFC 3164 and journalctl; behind a priority, `<34>`, also the dates of RFC 5424."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.dates import HOUR_AND_MINUTE, latest_year
from leadsman.telemetry.timestamps.parsers import MONTHS, date_parser, iso_parser
from leadsman.telemetry.timestamps.timestamp_format import CAPITALS, TimestampFormat, after_pattern, first_of

if TYPE_CHECKING:
    from leadsman.telemetry.timestamps.parsers import MinuteFields, TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimestampContext


def _syslog(context: TimestampContext) -> TimestampParser:
    # The year is the last one in which the time is not in the future.
    def fields(match: re.Match[bytes]) -> MinuteFields:
        month, day = MONTHS[match[1]], int(match[2])
        return latest_year(month, day, context.defaults.latest), month, day, int(match[3]), int(match[4])

    return date_parser(rb"([A-Z][a-z]{2}) {1,2}(\d{1,2}) " + HOUR_AND_MINUTE, fields, context.defaults.zone)


def _behind_priority(context: TimestampContext) -> TimestampParser:
    dates = first_of(iso_parser(context.defaults.zone), _syslog(context))
    return after_pattern(rb"<\d{1,3}>(?:\d )?", dates)


FORMATS = (
    TimestampFormat(name="syslog", priority=50, first_bytes=b"<", parser=_behind_priority),
    TimestampFormat(
        name="syslog",
        priority=90,
        first_bytes=CAPITALS,
        begins=re.compile(rb".[a-z]{2} [ 0]"),
        parser=_syslog,
        second=re.compile(rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d "),
    ),
)
