"""Seconds or milliseconds since 1970: librdkafka's lines on stderr, `%3|1613433600.123|FAIL|`, and bare numbers."""

from __future__ import annotations

import re

from leadsman.telemetry.timestamps.parsers import parse_epoch
from leadsman.telemetry.timestamps.timestamp_format import DIGITS, TimestampFormat, after_pattern

FORMATS = (
    TimestampFormat(
        name="librdkafka stderr",
        priority=40,
        first_bytes=b"%",
        parser=lambda _context: after_pattern(rb"%\d\|", parse_epoch),
        is_zoned=True,
    ),
    TimestampFormat(
        name="epoch lines",
        priority=150,
        first_bytes=DIGITS,
        begins=re.compile(rb"0{5}|0\.0"),
        parser=lambda _context: parse_epoch,
        is_guess=True,
        is_zoned=True,
    ),
)
