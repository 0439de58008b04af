"""The time of a JSON line: under which key it stands, and how that key is written."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from leadsman.telemetry.timestamps.parsers import iso_or_epoch_parser

if TYPE_CHECKING:
    from datetime import tzinfo

    from leadsman.telemetry.timestamps.parsers import TimestampParser

TIME_KEYS = (
    "@timestamp", "timestamp", "time", "ts", "__REALTIME_TIMESTAMP", "date", "datetime", "eventTime", "asctime",
    "Timestamp", "@t", "timeMillis", "epochSecond", "t",
)  # fmt: skip

TIME_KEY_SPELLING = re.compile(
    rb'"(' + b"|".join(re.escape(key.encode()) for key in TIME_KEYS) + rb')"\s{0,2}:\s{0,2}"?(?=\d)'
)
"""How a key is written that has a time as its value."""

BEFORE_NUMBER = re.compile(rb'"\s{0,2}:\s{0,2}"?(?=\d)')
"""What stands between a key and a value that begins with a digit. Few of a line's quotation marks do: looking for these
first takes a third of the time."""

ZONED_DATE = re.compile(rb'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:\d\d)"')
"""A date that names its zone: the zone of a reader changes nothing of what it reads there, if it is a time at all."""

LONGEST_KEY = max(map(len, TIME_KEYS))
RANKS = {key.encode(): rank for rank, key in enumerate(TIME_KEYS)}
"""Which key counts where a line has several."""

DOCKER_INDENTED = (b'{"log":"\\t', b'{"log": "\\t', b'{"log":"   ', b'{"log": "   ')
"""Beginnings of Docker's lines whose text is indented: they continue the line before."""


def json_timestamp(keys: tuple[bytes, ...], zone: tzinfo) -> TimestampParser:
    """Read the time of a JSON line under the first of these keys, spelled so, that has one."""
    parse = iso_or_epoch_parser(zone)

    def time_of(block: bytes, start: int, end: int) -> int | None:
        if block.startswith(DOCKER_INDENTED, start):
            return None
        for key in keys:
            at = block.find(key, start, end)
            if at >= 0 and (time := parse(block, at + len(key), end)) is not None:
                return time
        return None

    return time_of


def have_zoned_times(lines: list[bytes], keys: tuple[bytes, ...]) -> bool:
    """Whether a date with its zone stands behind each of these keys in each of these JSON lines.

    No time of these lines then depends on the default zone. False says nothing.
    """
    for key in keys:
        for line in lines:
            at = line.find(key)
            if at >= 0 and ZONED_DATE.match(line, at + len(key)) is None:
                return False
    return True


def time_keys(lines: list[bytes], text: bytes) -> tuple[bytes, ...]:
    """Return the three commonest spellings, such as `"ts": "`, of the keys that hold a time; usual ones without any.

    `text` are the lines, joined.
    """
    spellings = Counter[bytes]()
    for line in lines if TIME_KEY_SPELLING.search(text) else ():
        if line.lstrip(b"\xef\xbb\xbf \t")[:1] == b"{":
            best = _best_spelling(line)
            if best is not None:
                spellings[best] += 1
    commonest = tuple(key for key, _ in spellings.most_common(3))
    return commonest or tuple(f'"{key}":"'.encode() for key in TIME_KEYS[:3])


def _best_spelling(line: bytes) -> bytes | None:
    """Return the spelling of the most usual key of a line that holds a time, with all up to the time's first digit."""
    best, best_rank = None, len(RANKS)
    for match in BEFORE_NUMBER.finditer(line):
        key_end, time_begin = match.span()
        key_begin = line.rfind(b'"', max(0, key_end - LONGEST_KEY - 1), key_end)
        rank = RANKS.get(line[key_begin + 1 : key_end]) if key_begin >= 0 else None
        if rank is not None and rank <= best_rank:
            best, best_rank = line[key_begin:time_begin], rank
    return best
