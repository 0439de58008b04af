"""Syslog of several hosts or programs: `Feb 16 12:36:02 host app[1]: text`."""

from __future__ import annotations

import re

from leadsman.telemetry.line_records.interleaved import SYSLOG_TIME, Prefix
from leadsman.telemetry.line_records.prefix_format import prefix_format

NO_LEVEL = rb"(?!\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\b)"
"""`2026-11-16T20:17:00-05:00 INFO handler: text` is no syslog of a host called INFO."""

PREFIX = Prefix(
    "syslog",
    re.compile(SYSLOG_TIME + rb" " + NO_LEVEL + rb"(?P<id>[\w.-]+ [\w.@/-]+\[\d+\]|[\w.-]+ [\w.@/-]+): "),
    is_stripped=False,
)

FORMAT = prefix_format(PREFIX, priority=540)
