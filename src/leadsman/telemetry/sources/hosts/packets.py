"""Packet captures: files of tcpdump and Wireshark, and what `tcpdump -e -n` and `leadsman collect host` print.

Only the opening of connections is read. Repeats of a packet are counted, because a client without an answer sends its
SYN again and again. Of the packets after a handshake, one per connection becomes an event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.addresses import address, mac
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, first_lines
from leadsman.telemetry.outputs.usual_lines import UsualLayout, lines_by_block
from leadsman.telemetry.packets.capture_file import is_capture, read_frames
from leadsman.telemetry.packets.handshake import Frame, HandshakePacket, parse_handshake, same_packet_key
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext
    from leadsman.telemetry.outputs.usual_lines import Lines

MAX_KINDS = 200_000
"""Packets with different addresses, ports or flags that are kept of one capture. A bounded one has thousands."""

PRINTED = re.compile(
    r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d:\d\d\.\d+) ([0-9a-f:]{17}) (?:\([^)]*\) )?> ([0-9a-f:]{17})[^,]*, "
    r"(?:ethertype [^,]+, )?length \d+: (?:\([^)]*\)\s*)?(?:IP6? )?"
    r"([0-9a-f:.]+)\.(\d+) > ([0-9a-f:.]+)\.(\d+): Flags \[([A-Z.]+)\]"
)
PRINTED_LAYOUT = UsualLayout(
    r"((?:\d{4}-\d\d-\d\d )?(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}) ([0-9a-f:]{17}) > ([0-9a-f:]{17}), "
    r"(?:ethertype IPv[46] \(0x\w+\), )?length \d+: (?:IP6? )?"
    r"([0-9.]+)\.(\d+) > ([0-9.]+)\.(\d+): Flags \[(S|S\.|\.|P\.|F\.|R|R\.)\].*"
)
MINUTE, UP_TO_MINUTE = 5, -10
"""Characters of a minute, and behind it: `12:00:00.123456`."""

FLAGS = {"S": "S", "S.": "SA", ".": "A", "P.": "A", "F.": "A", "R": "R", "R.": "R"}
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
    by_key: dict[tuple[object, ...], Repeats] = field(default_factory=dict)
    """The same by what their frames have in common."""
    opened: set[tuple[str, int, str, int]] = field(default_factory=set)

    def add(self, packet: HandshakePacket, line: int, at: int | None, text: str = "") -> None:
        """Add one packet, unless it belongs to a connection that was opened before the capture began."""
        repeats = self.packets.get(packet)
        if repeats is not None:  # its connection is known
            repeats.count += 1
            return
        flags, src, src_port, dst, dst_port, *_ = packet
        ends = (src, src_port, dst, dst_port)
        if flags in {"S", "SA"}:
            self.opened.add(ends if flags == "S" else (dst, dst_port, src, src_port))
        elif flags == "A" and ends not in self.opened:
            return
        if len(self.packets) < MAX_KINDS:
            self.packets[packet] = Repeats(line, at, text or str(packet))

    def add_frame(self, frame: Frame) -> None:
        """Add the packet of a frame, if it has one. A key is read in less time than a packet."""
        key = same_packet_key(frame)
        repeats = self.by_key.get(key) if key else None
        if repeats is not None:
            repeats.count += 1
        elif (packet := parse_handshake(frame)) is not None:
            self.add(packet, frame.number, frame.at)
            if key and packet in self.packets:
                self.by_key[key] = self.packets[packet]

    def events(self) -> Iterator[EventColumns]:
        """Return the packets as events."""
        if not self.packets:
            return
        rows = list(self.packets.values())
        labels = [[str(each) if each else None for each in column] for column in zip(*self.packets, strict=True)]
        times = [repeats.at for repeats in rows]
        yield EventColumns(
            name=v.HANDSHAKE_PACKET,
            lines=[repeats.line for repeats in rows],
            texts=[repeats.text for repeats in rows],
            values=[float(repeats.count) for repeats in rows],
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
            handshakes.add_frame(frame)
    else:
        for lines in lines_by_block(_chain(first, unread)):
            for index, packet, at in _printed_packets(lines, context.at):
                handshakes.add(packet, lines.first + index, at, lines.texts[index])
    yield from handshakes.events()


def _printed_packets(lines: Lines, captured_at: int | None) -> Iterator[tuple[int, HandshakePacket, int | None]]:
    """Yield the place of each line with a packet, the packet, and its time."""
    rows = PRINTED_LAYOUT.rows(lines)
    stamps, src_macs, dst_macs, srcs, src_ports, dsts, dst_ports, bits = rows.columns
    minutes = {minute: _minute(minute, captured_at) for minute in {stamp[:UP_TO_MINUTE] for stamp in stamps}}
    addresses = {text: address(text) for text in {*srcs, *dsts}}
    odd = rows.odd if None not in addresses.values() else range(len(lines.texts))
    usual = zip(
        rows.usual,
        stamps,
        map(FLAGS.__getitem__, bits),
        map(addresses.__getitem__, srcs),
        map(int, src_ports),
        map(addresses.__getitem__, dsts),
        map(int, dst_ports),
        map(mac, src_macs),
        map(mac, dst_macs),
        strict=True,
    )
    single = ((index, *read) for index in odd if (read := parse_printed(lines.texts[index], captured_at)) is not None)
    if len(odd) == len(lines.texts):
        yield from single
        return
    several = (
        (index, HandshakePacket(*packet), _after(minutes[stamp[:UP_TO_MINUTE]], stamp))
        for index, stamp, *packet in usual
    )
    yield from merge(several, single, key=itemgetter(0))


def _minute(text: str, captured_at: int | None) -> int | None:
    return _time(text[:-MINUTE].strip() or None, f"{text[-MINUTE:]}:00", captured_at)


def _after(minute: int | None, stamp: str) -> int | None:
    """Return the time that ends in seconds with six digits behind the point."""
    return None if minute is None else minute + int(stamp[-9:-7] + stamp[-6:-3])


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
