"""logfmt: `level=info ts=2021-02-16T12:36:02Z msg=text`."""

from __future__ import annotations

import re

from leadsman.telemetry.timestamps.parsers import iso_or_epoch_parser
from leadsman.telemetry.timestamps.timestamp_format import LETTERS, TimestampFormat, after_pattern

KEY = rb"(?:level=\w+ )?(?:time|ts|t|timestamp|date)=\"?"

FORMATS = (
    TimestampFormat(
        name="logfmt",
        priority=70,
        first_bytes=LETTERS,
        begins=re.compile(rb"level|time[=s]|ts=|t=|date="),
        parser=lambda context: after_pattern(KEY, iso_or_epoch_parser(context.defaults.zone)),
    ),
)
