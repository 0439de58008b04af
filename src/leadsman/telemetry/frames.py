"""Frames of a network, as far as they tell how a connection is opened: who asked whom, and which MACs stood on it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from leadsman.telemetry.addresses import mac

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ETHERNET, COOKED, COOKED_2, RAW, RAW_IPV4, RAW_IPV6 = 1, 113, 276, 101, 228, 229
"""Link types of capture files. The cooked ones (`tcpdump -i any`) hold the sender's MAC only."""

ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
VLANS = frozenset({0x8100, 0x88A8})
TCP, ICMPV6 = 6, 58
FIN, SYN, RST, ACK = 1, 2, 4, 16
SOLICITATION, ADVERTISEMENT = 135, 136

MAGIC = {b"\xa1\xb2\xc3\xd4": (">", 1000), b"\xd4\xc3\xb2\xa1": ("<", 1000)}
MAGIC |= {b"\xa1\xb2\x3c\x4d": (">", 1_000_000), b"\x4d\x3c\xb2\xa1": ("<", 1_000_000)}
"""Byte order, and how many of the file's units are a millisecond."""

NEW_MAGIC = b"\x0a\x0d\x0d\x0a"
SECTION, INTERFACE, ENHANCED, SIMPLE = 0x0A0D0D0A, 1, 6, 3
LARGEST = 1 << 20
"""Bytes of one packet: more is a broken file."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One captured frame: its number in the file, its time in milliseconds since 1970, and how to read it."""

    number: int
    at: int
    link: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a frame says about opening a connection. `flags`: S, SA, R, A (anything later), or ARP for a claim."""

    flags: str
    src: str
    src_port: int
    dst: str
    dst_port: int
    src_mac: str | None
    dst_mac: str | None

    def __str__(self) -> str:
        """Return it in words, since a capture file has no lines to quote."""
        if self.flags == "ARP":
            return f"{self.src} is-at {self.src_mac}"
        ends = f"{self.src}:{self.src_port} > {self.dst}:{self.dst_port}"
        return f"{WORDS[self.flags]} {ends}, from {self.src_mac or '?'} to {self.dst_mac or '?'}"


WORDS = {"S": "SYN", "SA": "SYN-ACK", "R": "RST", "A": "ACK"}


def is_capture(head: bytes) -> bool:
    """Whether a file that begins so is a packet capture, of the old form or of the new."""
    return head[:4] in MAGIC or (head[:4] == NEW_MAGIC and head[8:12] in {b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"})


class Source:
    """Bytes that come in pieces, taken as they are needed."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._held = bytearray()
        self._from = 0

    def take(self, count: int) -> bytes | None:
        """Return the next `count` bytes; None where the file ends before: a capture that was stopped is whole."""
        while len(self._held) - self._from < count:
            block = next(self._blocks, None)
            if block is None:
                return None
            del self._held[: self._from]
            self._from = 0
            self._held += block
        taken = bytes(self._held[self._from : self._from + count])
        self._from += count
        return taken


def frames(blocks: Iterable[bytes]) -> Iterator[Frame]:
    """Yield every frame of a capture file. OSError where it breaks off into something else."""
    source = Source(blocks)
    magic = source.take(4) or b""
    if magic == NEW_MAGIC:
        yield from _new(source)
        return
    order, unit = MAGIC[magic]
    head = source.take(20)
    link = struct.unpack(order + "I", head[16:20])[0] & 0xFFFF if head else ETHERNET
    number = 0
    while (record := source.take(16)) is not None:
        seconds, fraction, kept, _ = struct.unpack(order + "IIII", record)
        number += 1
        data = source.take(_sane(kept, number))
        if data is None:
            return
        yield Frame(number, seconds * 1000 + fraction // unit, link, data)


def _sane(length: int, number: int) -> int:
    if length > LARGEST:
        raise OSError(f"packet {number} of the capture claims {length} bytes: the file is damaged from there on")
    return length


def _new(source: Source) -> Iterator[Frame]:
    order, number, body = "<", 0, b""
    links: list[tuple[int, float]] = []
    kind = SECTION
    while True:
        if kind == SECTION:
            start = source.take(8)
            if start is None:
                return
            order = "<" if start[4:] == b"\x4d\x3c\x2b\x1a" else ">"
            length = struct.unpack(order + "I", start[:4])[0]
            links = []
            source.take(max(0, length - 12))
        elif kind == INTERFACE:
            links.append((struct.unpack_from(order + "H", body)[0], _resolution(body[8:], order)))
        elif kind == ENHANCED and links:
            interface, high, low, kept, _ = struct.unpack_from(order + "IIIII", body)
            number += 1
            link, unit = links[min(interface, len(links) - 1)]
            yield Frame(number, int((high << 32 | low) * unit), link, body[20 : 20 + kept])
        head = source.take(4)
        if head is None:
            return
        kind = SECTION if head == NEW_MAGIC else struct.unpack(order + "I", head)[0]
        if kind != SECTION:
            size = source.take(4)
            body = source.take(_sane(struct.unpack(order + "I", size)[0], number) - 8) or b"" if size else b""


def _resolution(options: bytes, order: str) -> float:
    """Return how many milliseconds a unit of the interface's clock is: a thousandth, unless an option says more."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from(order + "HH", options, at)
        if code == 9 and length == 1:  # noqa: PLR2004 - if_tsresol
            value = options[at + 4]
            return 1000.0 * (2.0 ** -(value & 0x7F) if value & 0x80 else 10.0**-value)
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 0.001


def handshake(frame: Frame) -> Handshake | None:
    """Return what a frame says; None where it is of no interest, or cut too short to tell."""
    try:
        kind, src_mac, dst_mac, packet = _link(frame)
        if kind == ARP:
            return _arp(packet)
        if kind == IPV4:
            behind = (packet[0] & 15) * 4
            first = struct.unpack_from("!H", packet, 6)[0] & 0x1FFF == 0
            ends, protocol = (packet[12:16], packet[16:20]), packet[9] if first else 0
        elif kind == IPV6:
            ends, protocol, behind = (packet[8:24], packet[24:40]), packet[6], 40
        else:
            return None
        if protocol == ICMPV6:
            return _advertisement(packet[behind:])
        return _tcp(ends, packet[behind:], (src_mac, dst_mac)) if protocol == TCP else None
    except (struct.error, IndexError, ValueError):
        return None


def _link(frame: Frame) -> tuple[int, str | None, str | None, bytes]:
    """Return protocol, MACs and packet."""
    data = frame.data
    if frame.link == ETHERNET:
        kind, start = struct.unpack_from("!H", data, 12)[0], 14
        while kind in VLANS:
            kind, start = struct.unpack_from("!H", data, start + 2)[0], start + 4
        return kind, _mac(data[6:12]), _mac(data[:6]), data[start:]
    if frame.link == COOKED:
        return struct.unpack_from("!H", data, 14)[0], _mac(data[6:12]), None, data[16:]
    if frame.link == COOKED_2:
        return struct.unpack_from("!H", data)[0], _mac(data[12:18]), None, data[20:]
    if frame.link in {RAW, RAW_IPV4, RAW_IPV6}:
        return (IPV4 if data[0] >> 4 == 4 else IPV6), None, None, data  # noqa: PLR2004 - the packet's own version
    return 0, None, None, data


def _mac(raw: bytes) -> str | None:
    return mac(raw.hex(":"))


def _arp(packet: bytes) -> Handshake | None:
    """Return whom the sender of an ARP packet says to be."""
    if len(packet) < 28 or not any(packet[14:18]):  # noqa: PLR2004 - of an ARP packet for IPv4
        return None
    return Handshake(
        "ARP", str(ip_address(packet[14:18])), 0, str(ip_address(packet[24:28])), 0, _mac(packet[8:14]), None
    )


def _advertisement(message: bytes) -> Handshake | None:
    """Return whom a neighbour advertisement says to be: IPv6's ARP answer."""
    if message[0] != ADVERTISEMENT or message[24:26] != b"\x02\x01":
        return None
    return Handshake("ARP", str(ip_address(message[8:24])), 0, "", 0, _mac(message[26:32]), None)


def _tcp(ends: tuple[bytes, bytes], segment: bytes, macs: tuple[str | None, str | None]) -> Handshake:
    src_port, dst_port = struct.unpack_from("!HH", segment)
    bits = segment[13]
    flags = "R" if bits & RST else ("SA" if bits & ACK else "S") if bits & SYN else "A"
    return Handshake(flags, str(ip_address(ends[0])), src_port, str(ip_address(ends[1])), dst_port, *macs)
