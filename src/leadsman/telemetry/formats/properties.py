"""Properties files: they carry no time, and only their keys say whose they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.telemetry.format import Record
from leadsman.telemetry.formats import streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
MOST = 0.8


def owner_of(sample: list[bytes]) -> str | None:
    """Whose properties these are; None where the lines are no Kafka properties."""
    lines = [line.strip() for line in sample if line.strip() and line.lstrip()[:1] not in b"#!"]
    keys = [found[1] for line in lines if (found := ASSIGNMENT.match(line))]
    if not keys or len(keys) < MOST * len(lines):
        return None
    return next((owner for owner, pattern in OWNERS if any(pattern.match(key) for key in keys)), None)


def reader(owner: str) -> Callable[[Iterable[bytes]], Iterator[Record]]:
    """Every assignment as a line of a dump, `key = value`, headed `<owner> properties`."""

    def records(blocks: Iterable[bytes]) -> Iterator[Record]:
        for number, line in streams.numbered_lines(blocks):
            found = None if line.lstrip()[:1] in b"#!" else ASSIGNMENT.match(line)
            if found:
                text = f"\t{streams.decoded(found[1])} = {streams.decoded(found[2]).strip()}"
                yield Record(number, None, None, text, streams.decoded(line), f"{owner} properties")

    return records
