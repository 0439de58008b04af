"""The log of one process with several Kafka clients: each line names its client."""

from __future__ import annotations

import re

from leadsman.telemetry.line_records.interleaved import Prefix
from leadsman.telemetry.line_records.prefix_format import prefix_format

PREFIX = Prefix(
    "several clients",
    re.compile(rb"[^\n]{0,240}?(?:clientId=|\|rdkafka#|\|(?=[\w.-]+#(?:producer|consumer)-\d+\|))(?P<id>[^,\]| \n]+)"),
    is_stripped=False,
    min_share=0.9,  # application lines between those of Kafka clients make a file one process's again
    hints=(b"clientId=", b"|rdkafka#", b"#producer-", b"#consumer-"),
)

FORMAT = prefix_format(PREFIX, priority=560)
