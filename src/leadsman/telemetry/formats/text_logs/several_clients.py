"""The log of one process with several Kafka clients: each line names its client."""

from __future__ import annotations

import re

from leadsman.telemetry.line_records.interleaved import Prefix, PrefixSearch
from leadsman.telemetry.line_records.prefix_format import prefix_format

MAX_BYTES_BEFORE = 240
NAME = rb"(?P<id>[^,\]| \n]+)"
CLIENT = rb"(?:clientId=|\|rdkafka#|\|(?=[\w.-]+#(?:producer|consumer)-\d+\|))" + NAME

PREFIX = Prefix(
    "several clients",
    re.compile(rb"[^\n]{0,%d}?" % MAX_BYTES_BEFORE + CLIENT),
    is_stripped=False,
    min_share=0.9,  # application lines between those of Kafka clients make a file one process's again
    hints=(b"clientId=", b"|rdkafka#", b"#producer-", b"#consumer-"),
    search=PrefixSearch(re.compile(CLIENT), MAX_BYTES_BEFORE, b"#", re.compile(rb"clientId=" + NAME)),
)

FORMAT = prefix_format(PREFIX, priority=560)
