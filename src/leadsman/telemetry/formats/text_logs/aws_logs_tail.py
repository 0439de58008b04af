"""`aws logs tail`: each line has its time and its log stream before the text."""

from __future__ import annotations

import re

from leadsman.telemetry.line_records import aws_tail_columns
from leadsman.telemetry.line_records.interleaved import Prefix
from leadsman.telemetry.line_records.prefix_format import prefix_format

PREFIX = Prefix(
    "aws logs tail",
    re.compile(
        rb"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d) (?P<id>"
        rb"\d{4}/\d\d/\d\d/[^ ]*\[[^\]]+\][0-9a-f]{32}|[\w.-]+/[\w.-]+/[0-9a-f]{32}) "
    ),
    is_stripped=False,
    allows_single_writer=True,
)

FORMAT = prefix_format(PREFIX, priority=530, batch_reader=aws_tail_columns.reader)
