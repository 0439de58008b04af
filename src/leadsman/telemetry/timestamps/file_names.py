"""The time in a file's name: `metrics.20261121T075849Z.prom`. It dates outputs that hold no time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from leadsman.telemetry.timestamps.parsers import epoch_ms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

DATE = r"(?<!\d)(?P<year>20\d\d)(?P<dash>[-_]?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)"
ZONE = r"(?P<zone>Z|[+-](?:0\d|1[0-4]):?(?:00|30|45))?"  # another number behind a hyphen is a count of files
END = r"(?![0-9A-Za-z])"

# The colons of a time are often replaced, because a file on Windows or S3 cannot have them in its name. A `-` as
# the mark between `day-hour` needs seconds too: `2026-11-21-14` is the hour of a rotated log.
TIMESTAMPS = (
    re.compile(
        DATE + r"[T_ .-](?P<hour>\d\d)(?P<mark>[-:._]?)(?P<minute>\d\d)(?P=mark)(?P<second>\d\d)"
        r"(?:[.,]\d{1,9}(?=Z|[+-]))?" + ZONE + END
    ),
    re.compile(DATE + r"T(?P<hour>\d\d)(?P<mark>[-:._]?)(?P<minute>\d\d)(?P<second>)" + ZONE + END),
)  # fmt: skip - one pattern, two lines

# A number of ten or thirteen digits is a time only behind a word that says so.
TIME_WORD = r"(?:@|(?<![A-Za-z])(?:epoch|unix|unixtime|ts|timestamp|time)[-_.=]?)"
EPOCH = re.compile(TIME_WORD + r"(\d{10}(?:\d{3})?)" + END, re.IGNORECASE)
DIGITS_OF_SECONDS = 10
PARTS = ("year", "month", "day", "hour", "minute", "second")


class NameTime(NamedTuple):
    """A time in a name: milliseconds since 1970 UTC, and whether the name has a zone."""

    at: int
    zoned: bool


def time_in_name(name: str, zone: tzinfo) -> NameTime | None:
    """Return the time in a file's path below its capture; None where there is none, or more than one.

    A time in the file's own name counts before one in the name of a folder, which must be a time and nothing else, as
    where each collection has its own folder. Times without a zone are in `zone`.
    """
    *folders, base = name.split("/")
    times = set(_file_times(base, zone))
    if times:
        return times.pop() if len(times) == 1 else None
    return next((time for folder in reversed(folders) if (time := _folder_time(folder, zone))), None)


def _file_times(text: str, zone: tzinfo) -> Iterator[NameTime]:
    for pattern in TIMESTAMPS:
        times = [time for match in pattern.finditer(text) if (time := _time(match, zone)) is not None]
        if times:
            yield from times
            return
    for match in EPOCH.finditer(text):
        yield NameTime(int(match[1]) * (1000 if len(match[1]) == DIGITS_OF_SECONDS else 1), zoned=True)


def _folder_time(text: str, zone: tzinfo) -> NameTime | None:
    matches = (pattern.fullmatch(text) for pattern in TIMESTAMPS)
    return next((_time(match, zone) for match in matches if match), None)


def _time(match: re.Match[str], zone: tzinfo) -> NameTime | None:
    year, month, day, hour, minute, second = (int(match[name] or 0) for name in PARTS)
    zone_text = match["zone"]
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_offset(zone_text) if zone_text else zone)
    except ValueError:
        return None
    return NameTime(epoch_ms(moment), zoned=bool(zone_text))


def _offset(text: str) -> tzinfo:
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))
