"""Packet captures: files of tcpdump and Wireshark, and what `tcpdump -e -n` and `leadsman collect host` print.

Only the opening of connections is read. Repeats of a packet are counted, because a client without an answer sends its
SYN again and again. Of the packets after a handshake, one per connection becomes an event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, decoded_lines, first_lines
from leadsman.telemetry.packets.capture_file import is_capture, read_frames
from leadsman.telemetry.packets.handshake import HandshakePacket, parse_handshake
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

MAX_KINDS = 200_000
"""Packets with different addresses, ports or flags that are kept of one capture. A bounded one has thousands."""

PRINTED = re.compile(
    r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d:\d\d\.\d+) ([0-9a-f:]{17}) (?:\([^)]*\) )?> ([0-9a-f:]{17})[^,]*, "
    r"(?:ethertype [^,]+, )?length \d+: (?:\([^)]*\)\s*)?(?:IP6? )?"
    r"([0-9a-f:.]+)\.(\d+) > ([0-9a-f:.]+)\.(\d+): Flags \[([A-Z.]+)\]"
)
BEGINS = re.compile(rb"(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d+ [0-9a-f:]{17} (?:\([^)]*\) )?> [0-9a-f:]{17}")
LABELS = ("flags", "src", "src_port", "dst", "dst_port", "src_mac", "dst_mac")


@dataclass(slots=True)
class Repeats:
    """Where and when a packet was seen first, and how often."""

    line: int
    at: int | None
    text: str
    count: int = 1


@dataclass(slots=True)
class Handshakes:
    """The packets of one capture that become events."""

    packets: dict[HandshakePacket, Repeats] = field(default_factory=dict)
    opened: set[tuple[str, int, str, int]] = field(default_factory=set)

    def add(self, packet: HandshakePacket, line: int, at: int | None, text: str = "") -> None:
        """Add one packet, unless it belongs to a connection that was opened before the capture began."""
        ends = (packet.src, packet.src_port, packet.dst, packet.dst_port)
        back = (packet.dst, packet.dst_port, packet.src, packet.src_port)
        if packet.flags in {"S", "SA"}:
            self.opened.add(ends if packet.flags == "S" else back)
        elif packet.flags == "A" and ends not in self.opened:
            return
        repeats = self.packets.get(packet)
        if repeats is not None:
            repeats.count += 1
        elif len(self.packets) < MAX_KINDS:
            self.packets[packet] = Repeats(line, at, text or str(packet))

    def events(self) -> Iterator[EventColumns]:
        """Return the packets as events."""
        if not self.packets:
            return
        rows = list(self.packets.items())
        labels = [[str(value) if (value := getattr(packet, name)) else None for packet, _ in rows] for name in LABELS]
        times = [repeats.at for _, repeats in rows]
        yield EventColumns(
            name=v.HANDSHAKE_PACKET,
            lines=[repeats.line for _, repeats in rows],
            texts=[repeats.text for _, repeats in rows],
            values=[float(repeats.count) for _, repeats in rows],
            labels=dict(zip(LABELS, labels, strict=True)),
            at=times if any(at is not None for at in times) else None,
        )


def matches_head(head: bytes) -> bool:
    """Whether this is a capture file, or packets as tcpdump prints them."""
    return is_capture(head) or any(BEGINS.match(line) for line in first_lines(head)[:3])


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Parse a capture file, or packets as tcpdump prints them."""
    unread = iter(blocks)
    first = next(unread, b"")
    handshakes = Handshakes()
    if is_capture(first):
        for frame in read_frames(_chain(first, unread)):
            if (packet := parse_handshake(frame)) is not None:
                handshakes.add(packet, frame.number, frame.at)
    else:
        for number, line in decoded_lines(_chain(first, unread)):
            if (timed := parse_printed(line, context.at)) is not None:
                handshakes.add(timed[0], number, timed[1], line)
    yield from handshakes.events()


def parse_printed(line: str, captured_at: int | None) -> tuple[HandshakePacket, int | None] | None:
    """Parse one line of tcpdump. Without -tttt a line has no date: it is that of the capture, if that has a time."""
    match = PRINTED.match(line)
    src, dst = (address(match[5]), address(match[7])) if match else (None, None)
    if match is None or src is None or dst is None:
        return None
    bits = match[9]
    flags = "R" if "R" in bits else ("SA" if "." in bits else "S") if "S" in bits else "A"
    packet = HandshakePacket(flags, src, int(match[6]), dst, int(match[8]), mac(match[3]), mac(match[4]))
    return packet, _time(match[1], match[2], captured_at)


def _time(day: str | None, clock: str, captured_at: int | None) -> int | None:
    if day is None and captured_at is None:
        return None
    day = day or f"{datetime.fromtimestamp((captured_at or 0) / 1000, UTC):%Y-%m-%d}"
    return round(datetime.fromisoformat(f"{day}T{clock[:12]}+00:00").timestamp() * 1000)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


SOURCE = Source(
    "packets",
    "Packet capture",
    "state",
    parser=OutputParser(matches=matches_head, parse=parse, event_names=frozenset({v.HANDSHAKE_PACKET})),
)
