"""`2021-02-16 12:36:02,123` and its like: at the line's beginning, behind a bracket or a level, or further along."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.parsers import iso_parser
from leadsman.telemetry.timestamps.timestamp_format import (
    CAPITALS,
    LETTERS,
    IsoPlace,
    TimestampFormat,
    after_bytes,
    after_pattern,
)

if TYPE_CHECKING:
    from leadsman.telemetry.timestamps.parsers import TimestampParser
    from leadsman.telemetry.timestamps.timestamp_format import TimestampContext

LEVEL = rb"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\]?"
DATE = re.compile(rb"0{4}[-/.]")
"""A year and its separator, as `TimestampFormat.begins` sees them: every digit is written as 0."""
CRI_LINE = re.compile(rb"[^ ]+ std(?:out|err) [FP] ")
CRI_INDENTED = re.compile(rb"[^ ]+ std(?:out|err) [FP] (?:\t|  )")


def _is_cri(context: TimestampContext) -> bool:
    has_channel = b" stdout " in context.text or b" stderr " in context.text  # costs less than the pattern
    return has_channel and any(map(CRI_LINE.match, context.lines))


def _at_start(context: TimestampContext) -> TimestampParser | None:
    return None if _is_cri(context) else iso_parser(context.defaults.zone)


def _cri(context: TimestampContext) -> TimestampParser | None:
    """`2021-02-16T12:36:02.123456789Z stderr F text`. Indented text continues the line before."""
    if not _is_cri(context):
        return None
    parse = iso_parser(context.defaults.zone)

    def unless_indented(block: bytes, start: int, end: int) -> int | None:
        return None if CRI_INDENTED.match(block, start, end) else parse(block, start, end)

    return unless_indented


def _behind(prefix: bytes, context: TimestampContext) -> TimestampParser:
    return after_pattern(prefix, iso_parser(context.defaults.zone))


FORMATS = (
    TimestampFormat(
        name="Kubernetes CRI",
        priority=10,
        first_bytes=b"12",
        begins=DATE,
        parser=_cri,
        needs_lines=True,
        iso_place=IsoPlace(0, indented_after=len(" stdout F ")),
    ),
    TimestampFormat(
        name="timed lines",
        priority=11,
        first_bytes=b"12",
        begins=DATE,
        parser=_at_start,
        needs_lines=True,
        iso_place=IsoPlace(0),
    ),
    TimestampFormat(
        name="timed lines",
        priority=20,
        first_bytes=b"[(",
        begins=re.compile(rb".0{4}"),
        parser=lambda context: after_bytes(1, iso_parser(context.defaults.zone)),
        iso_place=IsoPlace(1),
    ),
    TimestampFormat(
        name="timed lines",
        priority=60,
        first_bytes=CAPITALS + b"[",
        begins=re.compile(rb"\[?(?:TRAC|DEBU|INFO|NOTI|WARN|ERRO|FATA|CRIT|SEVE)"),
        parser=lambda context: _behind(LEVEL + rb":?[ \t|:]{1,4}\[?(?:[\w.]{1,60}[ :])?", context),
    ),
    TimestampFormat(
        name="timed lines",
        priority=160,
        first_bytes=LETTERS + b"[<(-",
        parser=lambda context: _behind(rb"[^\n]{1,90}?(?=[ \[(|=]\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:)[ \[(|=]", context),
        is_guess=True,
    ),
)
