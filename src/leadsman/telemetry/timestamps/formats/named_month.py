"""`16/Feb/2021:12:36:02 +0000`, `16-Feb-2021 12:36:02.123`, `16 Feb 2021 12:36:02,123`; also in access logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.dates import HOUR_AND_MINUTE
from leadsman.telemetry.timestamps.parsers import MONTHS, date_parser
from leadsman.telemetry.timestamps.timestamp_format import DIGITS, TimestampFormat, after_bytes, after_pattern

if TYPE_CHECKING:
    import re

    from leadsman.telemetry.timestamps.parsers import MinuteFields, TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimestampContext

DATE = rb"(\d{1,2})[-/ ]([A-Z][a-z]{2})[-/ ](\d{4})[ :T]" + HOUR_AND_MINUTE
CLIENT_AND_USER = rb"[\w.:-]+ [^ ]+ [^ ]+ \["


def _named_month(context: TimestampContext) -> TimestampParser:
    def fields(match: re.Match[bytes]) -> MinuteFields:
        return int(match[3]), MONTHS[match[2]], int(match[1]), int(match[4]), int(match[5])

    return date_parser(DATE, fields, context.defaults.zone)


FORMATS = (
    TimestampFormat(
        name="access log",
        priority=110,
        first_bytes=DIGITS + b"abcdef:",
        parser=lambda context: after_pattern(CLIENT_AND_USER, _named_month(context)),
    ),
    TimestampFormat(name="timed lines", priority=120, first_bytes=DIGITS, parser=_named_month),
    TimestampFormat(
        name="timed lines",
        priority=130,
        first_bytes=b"[",
        parser=lambda context: after_bytes(1, _named_month(context)),
    ),
)
