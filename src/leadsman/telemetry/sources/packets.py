"""Packet captures: files of tcpdump and Wireshark, and what `tcpdump -e -n` and `leadsman collect host` print.

Only the opening of connections is read. Repeats of a packet are counted, since a client that gets no answer sends its
SYN again and again; of what follows a handshake one packet a connection is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.frames import Handshake, frames, handshake, is_capture
from leadsman.telemetry.reading import Facts, Reading, decoded_lines, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.reading import About

MOST_KINDS = 200_000
"""Packets of different ends or flags that are told of one capture. A bounded one has thousands."""

PRINTED = re.compile(
    r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d:\d\d\.\d+) ([0-9a-f:]{17}) (?:\([^)]*\) )?> ([0-9a-f:]{17})[^,]*, "
    r"(?:ethertype [^,]+, )?length \d+: (?:\([^)]*\)\s*)?(?:IP6? )?"
    r"([0-9a-f:.]+)\.(\d+) > ([0-9a-f:.]+)\.(\d+): Flags \[([A-Z.]+)\]"
)
BEGINS = re.compile(rb"(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d+ [0-9a-f:]{17} (?:\([^)]*\) )?> [0-9a-f:]{17}")
LABELS = ("flags", "src", "src_port", "dst", "dst_port", "src_mac", "dst_mac")


@dataclass(slots=True)
class Seen:
    """One kind of packet: where and when it was seen first, and how often."""

    line: int
    at: int | None
    text: str
    count: int = 1


@dataclass(slots=True)
class Handshakes:
    """The packets of one capture that are told."""

    seen: dict[Handshake, Seen] = field(default_factory=dict)
    opened: set[tuple[str, int, str, int]] = field(default_factory=set)

    def add(self, packet: Handshake, line: int, at: int | None, text: str = "") -> None:
        """Take one packet in. What belongs to no connection that was opened before our eyes is passed over."""
        ends = (packet.src, packet.src_port, packet.dst, packet.dst_port)
        back = (packet.dst, packet.dst_port, packet.src, packet.src_port)
        if packet.flags in {"S", "SA"}:
            self.opened.add(ends if packet.flags == "S" else back)
        elif packet.flags == "A" and ends not in self.opened:
            return
        found = self.seen.get(packet)
        if found is not None:
            found.count += 1
        elif len(self.seen) < MOST_KINDS:
            self.seen[packet] = Seen(line, at, text or str(packet))

    def facts(self) -> Iterator[Facts]:
        """Return all of it as columns."""
        if not self.seen:
            return
        rows = list(self.seen.items())
        labels = [[str(value) if (value := getattr(packet, name)) else None for packet, _ in rows] for name in LABELS]
        times = [seen.at for _, seen in rows]
        yield Facts(
            name=v.HANDSHAKE_PACKET,
            lines=[seen.line for _, seen in rows],
            texts=[seen.text for _, seen in rows],
            values=[float(seen.count) for _, seen in rows],
            labels=dict(zip(LABELS, labels, strict=True)),
            at=times if any(at is not None for at in times) else None,
        )


def tells(head: bytes) -> bool:
    """Whether this is a capture file, or packets as tcpdump prints them."""
    return is_capture(head) or any(BEGINS.match(line) for line in first_lines(head)[:3])


def facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    """Read whichever of the two it is."""
    coming = iter(blocks)
    first = next(coming, b"")
    found = Handshakes()
    if is_capture(first):
        for frame in frames(_chain(first, coming)):
            if (packet := handshake(frame)) is not None:
                found.add(packet, frame.number, frame.at)
    else:
        for number, line in decoded_lines(_chain(first, coming)):
            if (told := printed(line, about.at)) is not None:
                found.add(told[0], number, told[1], line)
    yield from found.facts()


def printed(line: str, around: int | None) -> tuple[Handshake, int | None] | None:
    """Read one line of tcpdump. Without -tttt it names no day: then it is that of the capture, if that has a time."""
    match = PRINTED.match(line)
    src, dst = (address(match[5]), address(match[7])) if match else (None, None)
    if match is None or src is None or dst is None:
        return None
    bits = match[9]
    flags = "R" if "R" in bits else ("SA" if "." in bits else "S") if "S" in bits else "A"
    packet = Handshake(flags, src, int(match[6]), dst, int(match[8]), mac(match[3]), mac(match[4]))
    return packet, _time(match[1], match[2], around)


def _time(day: str | None, clock: str, around: int | None) -> int | None:
    if day is None and around is None:
        return None
    day = day or f"{datetime.fromtimestamp((around or 0) / 1000, UTC):%Y-%m-%d}"
    return round(datetime.fromisoformat(f"{day}T{clock[:12]}+00:00").timestamp() * 1000)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


SOURCE = Source(
    "packets",
    "Packet capture",
    "state",
    reading=Reading(tells=tells, facts=facts, reports=frozenset({v.HANDSHAKE_PACKET})),
)
