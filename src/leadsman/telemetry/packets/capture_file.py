"""Packet capture files of tcpdump and Wireshark, pcap and pcapng, read frame by frame."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from leadsman.telemetry.packets.handshake import ETHERNET, Frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PCAP_MAGIC = {b"\xa1\xb2\xc3\xd4": (">", 1000), b"\xd4\xc3\xb2\xa1": ("<", 1000)}
PCAP_MAGIC |= {b"\xa1\xb2\x3c\x4d": (">", 1_000_000), b"\x4d\x3c\xb2\xa1": ("<", 1_000_000)}
"""Byte order, and how many of the file's units are a millisecond."""

PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
SECTION, INTERFACE, ENHANCED, SIMPLE = 0x0A0D0D0A, 1, 6, 3
MIN_BLOCK_BYTES = 12
"""Bytes of a pcapng block without a body: its type, and its length twice."""

MAX_PACKET_BYTES = 1 << 20
"""Bytes of one packet: more is a broken file."""


def is_capture(head: bytes) -> bool:
    """Whether a file that begins so is a packet capture, pcap or pcapng."""
    return head[:4] in PCAP_MAGIC or (
        head[:4] == PCAPNG_MAGIC and head[8:12] in {b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"}
    )


class ByteStream:
    """Bytes that come in blocks, taken as they are needed."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._buffer = bytearray()
        self._from = 0

    def take(self, count: int) -> bytes | None:
        """Return the next `count` bytes; None where the file ends before, as a capture does that was stopped."""
        while len(self._buffer) - self._from < count:
            block = next(self._blocks, None)
            if block is None:
                return None
            del self._buffer[: self._from]
            self._from = 0
            self._buffer += block
        taken = bytes(self._buffer[self._from : self._from + count])
        self._from += count
        return taken

    def some(self) -> bytes | None:
        """Return what was not taken yet of the last block, else the next block; None at the end."""
        left = bytes(self._buffer[self._from :])
        self._buffer.clear()
        self._from = 0
        return left or next(self._blocks, None)


def read_frames(blocks: Iterable[bytes]) -> Iterator[Frame]:
    """Yield every frame of a capture file. OSError where it breaks off into something else."""
    source = ByteStream(blocks)
    magic = source.take(4) or b""
    if magic == PCAPNG_MAGIC:
        yield from _read_pcapng(source)
        return
    order, unit = PCAP_MAGIC[magic]
    header = source.take(20)
    link = struct.unpack(order + "I", header[16:20])[0] & 0xFFFF if header else ETHERNET
    for number, (seconds, fraction, data) in enumerate(_pcap_records(source, order), 1):
        yield Frame(number, seconds * 1000 + fraction // unit, link, data)


def _pcap_records(source: ByteStream, order: str) -> Iterator[tuple[int, int, bytes]]:
    """Yield seconds, fraction and bytes of each packet, up to where the file ends."""
    header = struct.Struct(order + "IIII")
    number, at, block = 0, 0, b""
    while True:
        begin = at + header.size
        if begin <= len(block):
            seconds, fraction, captured, _ = header.unpack_from(block, at)
            end = begin + _checked_length(captured, number + 1)
            if end <= len(block):
                number, at = number + 1, end
                yield seconds, fraction, block[begin:end]
                continue
        more = source.some()
        if more is None:
            return
        block, at = block[at:] + more, 0


def _checked_length(length: int, number: int) -> int:
    if length > MAX_PACKET_BYTES:
        raise OSError(f"packet {number} of the capture claims {length} bytes: the file is damaged from there on")
    return length


def _body_length(length: int, number: int) -> int:
    """Return the bytes of a block behind its type and its length, which it ends with once more."""
    if length < MIN_BLOCK_BYTES:
        raise OSError(f"the block after packet {number} claims {length} bytes: the file is damaged from there on")
    return _checked_length(length, number) - 8


def _read_pcapng(source: ByteStream) -> Iterator[Frame]:
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
            links.append((struct.unpack_from(order + "H", body)[0], _clock_unit_ms(body[8:], order)))
        elif kind == ENHANCED and links:
            interface, high, low, captured, _ = struct.unpack_from(order + "IIIII", body)
            number += 1
            link, unit = links[min(interface, len(links) - 1)]
            yield Frame(number, int((high << 32 | low) * unit), link, body[20 : 20 + captured])
        block_type = source.take(4)
        if block_type is None:
            return
        kind = SECTION if block_type == PCAPNG_MAGIC else struct.unpack(order + "I", block_type)[0]
        if kind != SECTION:
            size = source.take(4)
            body = source.take(_body_length(struct.unpack(order + "I", size)[0], number)) or b"" if size else b""


def _clock_unit_ms(options: bytes, order: str) -> float:
    """Return how many milliseconds a unit of the interface's clock is: 0.001, unless `if_tsresol` is set."""
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
