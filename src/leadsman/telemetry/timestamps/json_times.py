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


def time_keys(lines: list[bytes]) -> tuple[bytes, ...]:
    """Return the three commonest spellings, such as `"ts": "`, of the keys that hold a time; usual ones without any."""
    spellings = Counter[bytes]()
    for line in lines:
        if line.lstrip(b"\xef\xbb\xbf \t")[:1] == b"{":
            by_key = {match[1].decode(): match[0] for match in TIME_KEY_SPELLING.finditer(line)}
            best = next((by_key[key] for key in TIME_KEYS if key in by_key), None)
            if best is not None:
                spellings[best] += 1
    commonest = tuple(key for key, _ in spellings.most_common(3))
    return commonest or tuple(f'"{key}":"'.encode() for key in TIME_KEYS[:3])
