"""`stern`: pod and container before each line."""

from __future__ import annotations

import re

from leadsman.telemetry.line_records.interleaved import COLOUR, Prefix
from leadsman.telemetry.line_records.prefix_format import prefix_format

PREFIX = Prefix(
    "stern",
    re.compile(
        COLOUR
        + rb"(?P<id>[a-z0-9][a-z0-9.-]*-[a-z0-9]{4,10} "
        + COLOUR
        + rb"[a-z0-9][a-z0-9-]*)"
        + COLOUR
        + rb" (?=[\[{\d%])"
    ),
    is_stripped=True,
    followed_by=re.compile(rb"[\[{\d%]"),
)

FORMAT = prefix_format(PREFIX, priority=520)
