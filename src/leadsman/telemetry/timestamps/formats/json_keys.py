"""JSON lines: the time stands under one of the usual keys."""

from __future__ import annotations

from leadsman.telemetry.timestamps import json_times
from leadsman.telemetry.timestamps.timestamp_format import TimestampFormat

FORMATS = (
    TimestampFormat(
        name="JSON lines",
        priority=30,
        first_bytes=b"{",
        parser=lambda context: json_times.json_timestamp(context.json_keys, context.defaults.zone),
    ),
)
