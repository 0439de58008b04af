"""Reads plain lines of several writers in one file: each line names its writer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.telemetry.timestamps.parsers import TimestampParser

COLOUR = rb"(?:\x1b\[[0-9;]*m)?"
SYSLOG_TIME = rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d))"
MIN_SHARE = 0.8

ANY_BYTE = re.compile(rb"(?s:.)")


@dataclass(frozen=True, slots=True)
class PrefixSearch:
    """Finds prefixes in many lines at once: the prefix of a line is the first one whose `name` begins early enough.

    `pattern` has the name in the group `id`, `max_bytes_before` may stand before it. In a block without `mark`,
    `pattern_without_mark` finds the same.
    """

    pattern: re.Pattern[bytes]
    max_bytes_before: int
    mark: bytes
    pattern_without_mark: re.Pattern[bytes]


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix that names the writer of a line, in the group `id`.

    With `is_stripped`, time and text stand behind the whole prefix; else the time stands before the `id`.
    `allows_single_writer` is set where the prefix shows a log collector even if only one writer was seen. `min_share`
    of the lines must have the prefix. In two lines with the same text up to the end of a prefix, `pattern` finds
    the same one, if the byte behind it fits `followed_by`. In the time before the `id`, it takes all digits for the
    same, and all names of months.
    """

    name: str
    pattern: re.Pattern[bytes]
    is_stripped: bool
    allows_single_writer: bool = False
    min_share: float = MIN_SHARE
    hints: tuple[bytes, ...] = ()
    """Texts of which each such prefix contains one: looking for them costs less than the pattern."""
    followed_by: re.Pattern[bytes] = ANY_BYTE
    search: PrefixSearch | None = None
    """What finds the same prefixes, where they stand anywhere in a line."""


NO_PREFIX = Prefix("plain", re.compile(rb"(?P<id>(?!))"), is_stripped=False)
"""Names no writer: for files that are read record by record for another reason."""


def has_prefix(prefix: Prefix, lines: list[bytes]) -> bool:
    """Whether enough of the lines have the prefix. Stops as soon as too few lines are left for that."""
    least = max(2, prefix.min_share * len(lines))
    writers: list[bytes] = []
    for left, line in zip(range(len(lines), 0, -1), lines, strict=True):
        if len(writers) + left < least:
            return False
        if (not prefix.hints or any(hint in line for hint in prefix.hints)) and (match := prefix.pattern.match(line)):
            writers.append(match["id"])
    return len(writers) >= least and (prefix.allows_single_writer or len(set(writers)) > 1)


def strip_prefix(prefix: Prefix, lines: list[bytes]) -> list[bytes]:
    """Return the lines as their writers wrote them."""
    return [
        line[match.end() :] if prefix.is_stripped and (match := prefix.pattern.match(line)) else line for line in lines
    ]


def reader(prefix: Prefix, time_at: TimestampParser) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Read line by line. A line that names no writer belongs to the writer of the line before."""

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        last: Record | None = None
        last_records: dict[str | None, Record] = {}
        for number, line in text_lines.numbered_lines(blocks):
            if not line.strip():
                continue
            record = _read(prefix, time_at, number, line)
            continued = last_records.get(record.subject) if record.subject else last
            if record.at is None and continued is not None:
                start = continued.text[: text_lines.MAX_RECORD_START]
                yield record._replace(subject=continued.subject, record_start=start)
                continue
            if len(last_records) >= text_lines.MAX_WRITERS:
                last_records.clear()
            last_records[record.subject] = last = record
            yield record

    return records


def _read(prefix: Prefix, time_at: TimestampParser, number: int, line: bytes) -> Record:
    match = prefix.pattern.match(line)
    start = match.end() if match and prefix.is_stripped else 0
    subject = text_lines.decode_line(match["id"]) if match else None
    at = time_at(line, start, len(line))
    return Record(number, at, subject, text_lines.decode_line(line[start:]), text_lines.decode_line(line))


CRI_PREFIX = re.compile(rb"[^ ]+ (std(?:out|err)) ([FP])(?::\w+)* ")


def cri_reader(time_at: TimestampParser) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Read Kubernetes CRI with partial lines: pieces marked P go on until one marked F."""

    def pieces(blocks: Iterable[bytes]) -> Iterator[tuple[Record, str, bool]]:
        for number, line in text_lines.numbered_lines(blocks):
            match = CRI_PREFIX.match(line)
            start = match.end() if match else 0
            text = text_lines.decode_line(line[start:])
            record = Record(number, time_at(line, 0, len(line)), None, text, text)
            yield record, (match[1].decode() if match else ""), match is not None and match[2] == b"P"

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        yield from text_lines.with_record_starts(text_lines.join_pieces(pieces(blocks)))

    return records
