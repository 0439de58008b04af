"""`16/Feb/2021:12:36:02 +0000`, `16-Feb-2021 12:36:02.123`, `16 Feb 2021 12:36:02,123`; also in access logs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.dates import HOUR_AND_MINUTE
from leadsman.telemetry.timestamps.parsers import MONTHS, date_parser
from leadsman.telemetry.timestamps.timestamp_format import DIGITS, TimestampFormat, after_bytes, after_pattern

if TYPE_CHECKING:
    from leadsman.telemetry.timestamps.parsers import MinuteFields, TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimestampContext

DATE = rb"(\d{1,2})[-/ ]([A-Z][a-z]{2})[-/ ](\d{4})[ :T]" + HOUR_AND_MINUTE
CLIENT_AND_USER = rb"[\w.:-]+ [^ ]+ [^ ]+ \["


def _named_month(context: TimestampContext) -> TimestampParser:
    def fields(match: re.Match[bytes]) -> MinuteFields:
        return int(match[3]), MONTHS[match[2]], int(match[1]), int(match[4]), int(match[5])

    return date_parser(DATE, fields, context.defaults.zone)


def _behind_user(parse: TimestampParser) -> TimestampParser:
    """Look for the bracket before the date first: that costs less than the pattern."""

    def parse_bracketed(block: bytes, start: int, end: int) -> int | None:
        return parse(block, start, end) if block.find(b" [", start, end) >= 0 else None

    return parse_bracketed


FORMATS = (
    TimestampFormat(
        name="access log",
        priority=110,
        first_bytes=DIGITS + b"abcdef:",
        begins=re.compile(rb"(?!0{5})"),  # no address begins so, but each line with milliseconds since 1970 does
        parser=lambda context: _behind_user(after_pattern(CLIENT_AND_USER, _named_month(context))),
    ),
    TimestampFormat(
        name="timed lines", priority=120, first_bytes=DIGITS, begins=re.compile(rb"0{1,2}[-/ ]"), parser=_named_month
    ),
    TimestampFormat(
        name="timed lines",
        priority=130,
        first_bytes=b"[",
        begins=re.compile(rb".0{1,2}[-/ ]"),
        parser=lambda context: after_bytes(1, _named_month(context)),
    ),
)
