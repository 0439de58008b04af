"""Frames of a network that open TCP connections: from which address and MAC to which."""

from __future__ import annotations

import struct
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

from leadsman.telemetry.addresses import CACHED_ADDRESSES, mac

ETHERNET, COOKED, COOKED_2, RAW, RAW_IPV4, RAW_IPV6 = 1, 113, 276, 101, 228, 229
"""Link types of capture files. The cooked ones (`tcpdump -i any`) have the MAC of the sender only."""

ARP, IPV4, IPV6 = 0x0806, 0x0800, 0x86DD
VLANS = frozenset({0x8100, 0x88A8})
TCP, ICMPV6 = 6, 58
FIN, SYN, RST, ACK = 1, 2, 4, 16
USUAL, USUAL_VERSION = struct.Struct("!12sHB5xHxB2x8sI9xB"), 0x45
"""Of Ethernet, an IPv4 header without options, and TCP: MACs, protocol, version, fragment, protocol, addresses, ports,
flags."""
SOLICITATION, ADVERTISEMENT = 135, 136


class Frame(NamedTuple):
    """One captured frame: its number in the file, its time in milliseconds since 1970, and how to read it."""

    number: int
    at: int
    link: int
    data: bytes


class HandshakePacket(NamedTuple):
    """A packet that opens a connection. `flags`: S, SA, R, A (any later packet), or ARP for an announced address."""

    flags: str
    src: str
    src_port: int
    dst: str
    dst_port: int
    src_mac: str | None
    dst_mac: str | None

    def __str__(self) -> str:
        """Return a line to quote, because a capture file has none."""
        if self.flags == "ARP":
            return f"{self.src} is-at {self.src_mac}"
        ends = f"{self.src}:{self.src_port} > {self.dst}:{self.dst_port}"
        return f"{FLAG_NAMES[self.flags]} {ends}, from {self.src_mac or '?'} to {self.dst_mac or '?'}"


FLAG_NAMES = {"S": "SYN", "SA": "SYN-ACK", "R": "RST", "A": "ACK"}


def same_packet_key(frame: Frame) -> tuple[object, ...] | None:
    """Return what two frames with the same packet have in common, for TCP in IPv4 on Ethernet; None for all others.

    It is read at one go: most frames of a capture repeat the packets of a few connections.
    """
    if frame.link != ETHERNET or len(frame.data) < USUAL.size:
        return None
    macs, kind, version, fragment, protocol, *ends, bits = USUAL.unpack_from(frame.data)
    if kind != IPV4 or version != USUAL_VERSION or protocol != TCP or fragment & 0x1FFF:
        return None
    return macs, *ends, bits & (RST | SYN | ACK)


def parse_handshake(frame: Frame) -> HandshakePacket | None:
    """Parse a frame; None where it opens no connection, or is cut too short."""
    try:
        kind, src_mac, dst_mac, packet = _parse_link_layer(frame)
        if kind == ARP:
            return _parse_arp(packet)
        if kind == IPV4:
            payload = (packet[0] & 15) * 4
            is_first_fragment = struct.unpack_from("!H", packet, 6)[0] & 0x1FFF == 0
            ends, protocol = (packet[12:16], packet[16:20]), packet[9] if is_first_fragment else 0
        elif kind == IPV6:
            ends, protocol, payload = (packet[8:24], packet[24:40]), packet[6], 40
        else:
            return None
        if protocol == ICMPV6:
            return _parse_neighbour_advertisement(packet[payload:])
        return _parse_tcp(ends, packet[payload:], (src_mac, dst_mac)) if protocol == TCP else None
    except (struct.error, IndexError, ValueError):
        return None


def _parse_link_layer(frame: Frame) -> tuple[int, str | None, str | None, bytes]:
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


@lru_cache(CACHED_ADDRESSES)
def _mac(raw: bytes) -> str | None:
    return mac(raw.hex(":"))


@lru_cache(CACHED_ADDRESSES)
def _address(raw: bytes) -> str:
    return str(ip_address(raw))


def _parse_arp(packet: bytes) -> HandshakePacket | None:
    """Return the address and MAC that the sender of an ARP packet announces."""
    if len(packet) < 28 or not any(packet[14:18]):  # noqa: PLR2004 - of an ARP packet for IPv4
        return None
    return HandshakePacket("ARP", _address(packet[14:18]), 0, _address(packet[24:28]), 0, _mac(packet[8:14]), None)


def _parse_neighbour_advertisement(message: bytes) -> HandshakePacket | None:
    """Return the address and MAC that a neighbour advertisement announces: what an ARP reply is for IPv4."""
    if message[0] != ADVERTISEMENT or message[24:26] != b"\x02\x01":
        return None
    return HandshakePacket("ARP", _address(message[8:24]), 0, "", 0, _mac(message[26:32]), None)


def _parse_tcp(ends: tuple[bytes, bytes], segment: bytes, macs: tuple[str | None, str | None]) -> HandshakePacket:
    src_port, dst_port = struct.unpack_from("!HH", segment)
    bits = segment[13]
    flags = "R" if bits & RST else ("SA" if bits & ACK else "S") if bits & SYN else "A"
    return HandshakePacket(flags, _address(ends[0]), src_port, _address(ends[1]), dst_port, *macs)
