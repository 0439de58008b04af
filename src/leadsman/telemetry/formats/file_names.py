"""The time in a file's name: `metrics.20261121T075849Z.prom`. It dates outputs that say nothing of their own time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from leadsman.telemetry.formats.stamps import millis

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

DATE = r"(?<!\d)(?P<year>20\d\d)(?P<dash>[-_]?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)"
ZONE = r"(?P<zone>Z|[+-](?:0\d|1[0-4]):?(?:00|30|45))?"  # another number behind a hyphen counts files
END = r"(?![0-9A-Za-z])"

# The colons of a time are often written otherwise, because a file on Windows or S3 cannot have them in its name. `-` as
# the mark between `day-hour` needs seconds too: `2026-11-21-14` is the hour of a rotated log.
STAMPS = (
    re.compile(
        DATE + r"[T_ .-](?P<hour>\d\d)(?P<mark>[-:._]?)(?P<minute>\d\d)(?P=mark)(?P<second>\d\d)"
        r"(?:[.,]\d{1,9}(?=Z|[+-]))?" + ZONE + END
    ),
    re.compile(DATE + r"T(?P<hour>\d\d)(?P<mark>[-:._]?)(?P<minute>\d\d)(?P<second>)" + ZONE + END),
)  # fmt: skip - one pattern, two lines

# A number of ten or thirteen digits may be anything, unless a word says that it is a time.
WORD = r"(?:@|(?<![A-Za-z])(?:epoch|unix|unixtime|ts|timestamp|time)[-_.=]?)"
EPOCH = re.compile(WORD + r"(\d{10}(?:\d{3})?)" + END, re.IGNORECASE)
DIGITS_OF_SECONDS = 10
PARTS = ("year", "month", "day", "hour", "minute", "second")


class NameTime(NamedTuple):
    """A time in a name: milliseconds since 1970 UTC, and whether the name says its zone."""

    at: int
    zoned: bool


def time_in_name(name: str, zone: tzinfo) -> NameTime | None:
    """Return the time in a file's path below its capture; None where there is none, or more than one.

    The file's own name counts before those of the folders around it, of which a folder counts that is called by its
    time and nothing else: one folder for each look. Times without a zone are in `zone`.
    """
    *folders, base = name.split("/")
    own = set(_times(base, zone))
    if own:
        return own.pop() if len(own) == 1 else None
    return next((found for folder in reversed(folders) if (found := _only_time(folder, zone))), None)


def _times(text: str, zone: tzinfo) -> Iterator[NameTime]:
    for pattern in STAMPS:
        found = [time for match in pattern.finditer(text) if (time := _time(match, zone)) is not None]
        if found:
            yield from found
            return
    for match in EPOCH.finditer(text):
        yield NameTime(int(match[1]) * (1000 if len(match[1]) == DIGITS_OF_SECONDS else 1), zoned=True)


def _only_time(text: str, zone: tzinfo) -> NameTime | None:
    whole = (pattern.fullmatch(text) for pattern in STAMPS)
    return next((_time(match, zone) for match in whole if match), None)


def _time(match: re.Match[str], zone: tzinfo) -> NameTime | None:
    year, month, day, hour, minute, second = (int(match[name] or 0) for name in PARTS)
    written = match["zone"]
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_offset(written) if written else zone)
    except ValueError:
        return None
    return NameTime(millis(moment), zoned=bool(written))


def _offset(text: str) -> tzinfo:
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))
