"""Plain lines of several writers in one file: each line names its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leadsman.telemetry.format import Record
from leadsman.telemetry.formats import streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.formats.stamps import Stamp

COLOUR = rb"(?:\x1b\[[0-9;]*m)?"
SYSLOG_TIME = rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d))"
NO_LEVEL = rb"(?!\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\b)"
"""`2026-11-16T20:17:00-05:00 INFO handler: text` is no syslog of a host called INFO."""
MANY = 0.9  # application lines between those of Kafka clients make a file one process's again
MOST = 0.8


@dataclass(frozen=True, slots=True)
class Prefix:
    """How a line names its writer. The group `id` is the identity.

    With `cut`, time and text stand behind the whole prefix; else the line keeps its time before the identity.
    `alone` says that the prefix means a collector even when only one writer was seen.
    """

    name: str
    pattern: re.Pattern[bytes]
    cut: bool
    alone: bool = False
    share: float = MOST
    hints: tuple[bytes, ...] = ()
    """Texts of which each such prefix holds one, where looking for them costs less than the pattern."""


PREFIXES = (
    Prefix(
        "docker compose", re.compile(COLOUR + rb"(?P<id>[\w.-]{1,80}) +\| ?" + COLOUR + b" ?"), cut=True, alone=True
    ),
    Prefix("kubectl --prefix", re.compile(COLOUR + rb"\[pod/(?P<id>[\w./-]+)\] "), cut=True, alone=True),
    Prefix(
        "stern",
        re.compile(
            COLOUR
            + rb"(?P<id>[a-z0-9][a-z0-9.-]*-[a-z0-9]{4,10} "
            + COLOUR
            + rb"[a-z0-9][a-z0-9-]*)"
            + COLOUR
            + rb" (?=[\[{\d%])"
        ),
        cut=True,
    ),
    Prefix(
        "aws logs tail",
        re.compile(
            rb"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d) (?P<id>"
            rb"\d{4}/\d\d/\d\d/[^ ]*\[[^\]]+\][0-9a-f]{32}|[\w.-]+/[\w.-]+/[0-9a-f]{32}) "
        ),
        cut=False,
        alone=True,
    ),
    Prefix(
        "syslog",
        re.compile(SYSLOG_TIME + rb" " + NO_LEVEL + rb"(?P<id>[\w.-]+ [\w.@/-]+\[\d+\]|[\w.-]+ [\w.@/-]+): "),
        cut=False,
    ),
    Prefix(
        "syslog",
        re.compile(rb"<\d+>(?:\d )?" + SYSLOG_TIME + rb" (?P<id>[\w.-]+ [\w.@/-]+(?:\[\d+\]| [\w-]+)?):? "),
        cut=False,
    ),
    Prefix(
        "several clients",
        re.compile(
            rb"[^\n]{0,240}?(?:clientId=|\|rdkafka#|\|(?=[\w.-]+#(?:producer|consumer)-\d+\|))(?P<id>[^,\]| \n]+)"
        ),
        cut=False,
        share=MANY,
        hints=(b"clientId=", b"|rdkafka#", b"#producer-", b"#consumer-"),
    ),
)

NOBODY = Prefix("plain", re.compile(rb"(?P<id>(?!))"), cut=False)
"""Names no writer: for files that must be read record by record for another reason."""


def prefix_of(lines: list[bytes], times: Sequence[int | None]) -> Prefix | None:
    """Return how the lines of this file, with these times, name their writers; None where they do not, or name one."""
    filled = [line for line in lines if line.strip()]
    timed = [line for line, at in zip(lines, times, strict=True) if at is not None]
    return next((prefix for prefix in PREFIXES if _fits(prefix, filled if prefix.cut else timed)), None)


def _fits(prefix: Prefix, lines: list[bytes]) -> bool:
    """Say whether enough of the lines have the prefix, looking no further than where too few are left for that."""
    least = max(2, prefix.share * len(lines))
    found: list[bytes] = []
    for left, line in zip(range(len(lines), 0, -1), lines, strict=True):
        if len(found) + left < least:
            return False
        if (not prefix.hints or any(hint in line for hint in prefix.hints)) and (match := prefix.pattern.match(line)):
            found.append(match["id"])
    return len(found) >= least and (prefix.alone or len(set(found)) > 1)


def behind_prefix(prefix: Prefix, lines: list[bytes]) -> list[bytes]:
    """Return the lines as their writers wrote them."""
    return [line[match.end() :] if prefix.cut and (match := prefix.pattern.match(line)) else line for line in lines]


def reader(prefix: Prefix, time_at: Stamp) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Read line by line. A line without identity belongs to the writer before it."""

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        last: Record | None = None
        heads: dict[str | None, Record] = {}
        for number, line in streams.numbered_lines(blocks):
            if not line.strip():
                continue
            record = _read(prefix, time_at, number, line)
            header = heads.get(record.subject) if record.subject else last
            if record.at is None and header is not None:
                head = header.text[: streams.LONGEST_HEAD]
                yield replace(record, subject=header.subject, head=head)
                continue
            if len(heads) >= streams.MOST_SUBJECTS:
                heads.clear()
            heads[record.subject] = last = record
            yield record

    return records


def _read(prefix: Prefix, time_at: Stamp, number: int, line: bytes) -> Record:
    found = prefix.pattern.match(line)
    start = found.end() if found and prefix.cut else 0
    subject = streams.decoded(found["id"]) if found else None
    at = time_at(line, start, len(line))
    return Record(number, at, subject, streams.decoded(line[start:]), streams.decoded(line))


CRI = re.compile(rb"[^ ]+ (std(?:out|err)) ([FP])(?::\w+)* ")


def container_reader(time_at: Stamp) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Kubernetes CRI with partial lines: P pieces go on until an F."""

    def pieces(blocks: Iterable[bytes]) -> Iterator[tuple[Record, str, bool]]:
        for number, line in streams.numbered_lines(blocks):
            found = CRI.match(line)
            start = found.end() if found else 0
            text = streams.decoded(line[start:])
            record = Record(number, time_at(line, 0, len(line)), None, text, text)
            yield record, (found[1].decode() if found else ""), found is not None and found[2] == b"P"

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        yield from streams.with_heads(streams.joined(pieces(blocks)))

    return records
