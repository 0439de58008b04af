"""`kubectl logs --prefix`: `[pod/orders-1/app] text`."""

from __future__ import annotations

import re

from leadsman.telemetry.line_records.interleaved import COLOUR, Prefix
from leadsman.telemetry.line_records.prefix_format import prefix_format

PREFIX = Prefix(
    "kubectl --prefix", re.compile(COLOUR + rb"\[pod/(?P<id>[\w./-]+)\] "), is_stripped=True, allows_single_writer=True
)

FORMAT = prefix_format(PREFIX, priority=510)
