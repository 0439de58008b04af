"""`I0216 12:36:02.123456`: klog, the logger of Kubernetes components."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.dates import HOUR_AND_MINUTE, latest_year
from leadsman.telemetry.timestamps.parsers import date_parser
from leadsman.telemetry.timestamps.timestamp_format import TimestampFormat

if TYPE_CHECKING:
    from leadsman.telemetry.timestamps.parsers import MinuteFields, TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimestampContext


def _klog(context: TimestampContext) -> TimestampParser:
    def fields(match: re.Match[bytes]) -> MinuteFields:
        month, day = int(match[1]), int(match[2])
        return latest_year(month, day, context.defaults.latest), month, day, int(match[3]), int(match[4])

    return date_parser(rb"[IWEF](\d\d)(\d\d) " + HOUR_AND_MINUTE, fields, context.defaults.zone)


FORMATS = (TimestampFormat(name="klog", priority=80, first_bytes=b"IWEF", begins=re.compile(rb".0{4}"), parser=_klog),)
