"""Syslog as it is sent, with its priority: `<34>Feb 16 12:36:02 host app[1]: text`, `<34>1 2021-02-16T12:36:02Z`."""

from __future__ import annotations

import re

from leadsman.telemetry.line_records.interleaved import SYSLOG_TIME, Prefix
from leadsman.telemetry.line_records.prefix_format import prefix_format

PREFIX = Prefix(
    "syslog",
    re.compile(rb"<\d+>(?:\d )?" + SYSLOG_TIME + rb" (?P<id>[\w.-]+ [\w.@/-]+(?:\[\d+\]| (?!- )[\w-]+)?)(?: -)?:? "),
    is_stripped=False,
)

FORMAT = prefix_format(PREFIX, priority=550)
