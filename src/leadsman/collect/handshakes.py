"""Captures TCP handshakes on given ports for a bounded time, and prints them as `tcpdump -e -n -tttt` does.

`python -m leadsman.collect.handshakes PORTS SECONDS [INTERFACE]`. The kernel hands over only packets with SYN or RST,
so that the capture costs a busy broker almost nothing. Every packet capture needs CAP_NET_RAW.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman.telemetry.packets.handshake import ETHERNET, Frame, parse_handshake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.telemetry.packets.handshake import HandshakePacket

SO_ATTACH_FILTER = 26
ETH_P_ALL = 3
"""From asm-generic/socket.h and linux/if_ether.h."""

HEADER_BYTES = 256
"""Bytes that are read of a packet: the headers of Ethernet, IP and TCP with their options."""

MAX_PACKETS = 20_000
"""The capture ends after so many printed packets, 2 MB of text, whatever time is left."""

FILTER = (
    (0x28, 0, 0, 12),  # 0  protocol
    (0x15, 0, 7, 0x0800),  # 1  IPv4? else 9
    (0x30, 0, 0, 23),  # 2  its payload
    (0x15, 0, 11, 6),  # 3  TCP? else drop
    (0x28, 0, 0, 20),  # 4  fragment offset
    (0x45, 9, 0, 0x1FFF),  # 5  a later fragment: drop
    (0xB1, 0, 0, 14),  # 6  length of the IP header
    (0x50, 0, 0, 27),  # 7  TCP flags
    (0x45, 5, 6, 0x06),  # 8  SYN or RST: take
    (0x15, 0, 5, 0x86DD),  # 9  IPv6? else drop
    (0x30, 0, 0, 20),  # 10 its payload
    (0x15, 0, 3, 6),  # 11 TCP? else drop
    (0x30, 0, 0, 67),  # 12 TCP flags
    (0x45, 0, 1, 0x06),  # 13 SYN or RST? else drop
    (0x06, 0, 0, HEADER_BYTES),  # 14 take
    (0x06, 0, 0, 0),  # 15 drop
)
"""Classic BPF: operation, instructions to skip if it holds and if not, operand. For Ethernet."""


def capture_handshakes(
    ports: frozenset[int], seconds: float, interface: str | None
) -> Iterator[tuple[HandshakePacket, int, datetime]]:
    """Yield packets that open or refuse a connection on one of the ports, with length and time."""
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as sock:
        _attach(sock)
        if interface:
            sock.bind((interface, 0))
        for _ in range(MAX_PACKETS):
            matching = None
            while matching is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    return
                sock.settimeout(left)
                try:
                    data = sock.recv(HEADER_BYTES)
                except TimeoutError:
                    return
                packet = parse_handshake(Frame(0, 0, ETHERNET, data))
                matching = packet if packet and {packet.src_port, packet.dst_port} & ports else None
            yield matching, len(data), datetime.now(UTC)


def _attach(sock: socket.socket) -> None:
    program = b"".join(struct.pack("=HBBI", *instruction) for instruction in FILTER)
    buffer = ctypes.create_string_buffer(program, len(program))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("@HP", len(FILTER), ctypes.addressof(buffer)))


FLAGS = {"S": "S", "SA": "S.", "R": "R.", "A": "."}


def tcpdump_line(packet: HandshakePacket, length: int, at: datetime) -> str:
    """Return a packet as tcpdump prints it."""
    kind = "IPv6 (0x86dd)" if ":" in packet.src else "IPv4 (0x0800)"
    return (
        f"{at:%Y-%m-%d %H:%M:%S.%f} {packet.src_mac} > {packet.dst_mac}, ethertype {kind}, length {length}: "
        f"{packet.src}.{packet.src_port} > {packet.dst}.{packet.dst_port}: Flags [{FLAGS[packet.flags]}], length 0"
    )


def main(ports: str, seconds: str, interface: str | None = None) -> int:
    """Print packets until the time is over."""
    try:
        for packet, length, at in capture_handshakes(frozenset(map(int, ports.split(","))), float(seconds), interface):
            sys.stdout.write(tcpdump_line(packet, length, at) + "\n")
            sys.stdout.flush()
    except PermissionError:
        sys.stderr.write("capturing packets needs root, or CAP_NET_RAW\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
