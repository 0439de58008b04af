"""`docker compose logs`: `worker-1  | text`."""

from __future__ import annotations

import re

from leadsman.telemetry.line_records.interleaved import COLOUR, Prefix
from leadsman.telemetry.line_records.prefix_format import prefix_format

PREFIX = Prefix(
    "docker compose",
    re.compile(COLOUR + rb"(?P<id>[\w.-]{1,80}) +\| ?" + COLOUR + b" ?"),
    is_stripped=True,
    allows_single_writer=True,
    followed_by=re.compile(rb"[^ \x1b]"),  # a blank or a colour may belong to the prefix
)

FORMAT = prefix_format(PREFIX, priority=500)
