"""Properties files of Kafka: they carry no time, and only their keys show whether a broker or a client reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.file_format import FileFormat
from leadsman.telemetry.format import RecognisedFormat, no_time
from leadsman.telemetry.line_records import text_lines
from leadsman.telemetry.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.telemetry.file_format import FileSample

ASSIGNMENT = re.compile(rb"[ \t]*([a-z][a-z0-9]*(?:[._-][a-z0-9]+)*)[ \t]*[=:][ \t]*(.*)$")
OWNERS = (
    (
        "broker",
        re.compile(rb"(?:log\.dirs?|zookeeper\.connect|process\.roles|broker\.id|node\.id|advertised\.listeners)\b"),
    ),
    ("producer", re.compile(rb"(?:acks|linger\.ms|enable\.idempotence|key\.serializer|value\.serializer)\b")),
    ("consumer", re.compile(rb"(?:group\.id|auto\.offset\.reset|key\.deserializer|value\.deserializer)\b")),
    ("client", re.compile(rb"bootstrap\.servers\b")),
)
MIN_SHARE = 0.8
"""Share of the lines that assign a value."""


def _matches(sample: FileSample) -> str | None:
    """Return the owner of the properties: broker, producer, consumer or client."""
    if sample.timestamps.names:
        return None
    lines = [line.strip() for line in sample.lines if line.strip() and line.lstrip()[:1] not in b"#!"]
    keys = [match[1] for line in lines if (match := ASSIGNMENT.match(line))]
    if not keys or len(keys) < MIN_SHARE * len(lines):
        return None
    return next((owner for owner, pattern in OWNERS if any(pattern.match(key) for key in keys)), None)


def _reader(_sample: FileSample, owner: str) -> RecognisedFormat:
    return RecognisedFormat(("properties",), no_time, zoned=True, records=_assignments(owner))


def _assignments(owner: str) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Return a reader of each assignment as a line of a dump, `key = value`, under `<owner> properties`."""

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        for number, line in text_lines.numbered_lines(blocks):
            match = None if line.lstrip()[:1] in b"#!" else ASSIGNMENT.match(line)
            if match:
                text = f"\t{text_lines.decode_line(match[1])} = {text_lines.decode_line(match[2]).strip()}"
                yield Record(number, None, None, text, text_lines.decode_line(line), f"{owner} properties")

    return records


FORMAT = FileFormat(name="properties", priority=700, matches=_matches, reader=_reader)
