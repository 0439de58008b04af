"""Peers of binary forms: from record to record by `struct`, in plain Python."""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING

from leadsman.telemetry.hprof.layout import (
    CLASS_DUMP,
    HEAP_DUMP,
    HEAP_DUMP_SEGMENT,
    INSTANCE,
    OBJECT,
    OBJECT_ARRAY,
    PRIMITIVE_ARRAY,
    ROOTS,
    WIDTHS,
)

if TYPE_CHECKING:
    from pathlib import Path

PCAP_HEAD, SNAPSHOT_HEAD = 24, 10
PACKET, ENTRY = struct.Struct("<IIII"), struct.Struct(">qhiqiqiq")
ENDS, ETHERNET = struct.Struct(">4s4sI9xB"), 14
"""Of IPv4 and TCP behind it: both addresses, both ports, the flags."""
PARTS = ("source", "target", "ports", "flags")
RECORD = struct.Struct(">BII")
AN_INSTANCE, AN_ARRAY, A_PRIMITIVE_ARRAY = struct.Struct(">QIQI"), struct.Struct(">QIIQ"), struct.Struct(">QIIB")
REFERENCE = 8
WIDTH = {**WIDTHS, OBJECT: REFERENCE}
CLASS_HEAD = REFERENCE + 4 + 6 * REFERENCE + 4
"""The class, its stack trace, six references (superclass, loader, ...), and the size of an instance."""


def packets(path: Path) -> list[dict[str, object]]:
    """Return the times, addresses, ports and flags of a capture's packets."""
    data, at, found = path.read_bytes(), PCAP_HEAD, list[dict[str, object]]()
    while at < len(data):
        seconds, micros, kept, _ = PACKET.unpack_from(data, at)
        packet = dict(zip(PARTS, ENDS.unpack_from(data, at + PACKET.size + ETHERNET + 12), strict=True))
        found.append({"at": seconds * 1_000_000 + micros, **packet})
        at += PACKET.size + kept
    return found


def entries(path: Path) -> int:
    """Count the ids of a snapshot."""
    return sum(1 for _ in ENTRY.iter_unpack(path.read_bytes()[SNAPSHOT_HEAD:]))


def instances(path: Path) -> Counter[int]:
    """Count a heap dump's instances by class, and its arrays of primitives by type."""
    data = path.read_bytes()
    at = data.index(b"\0") + 1 + 4 + 8
    counts: Counter[int] = Counter()
    while at < len(data):
        tag, _, length = RECORD.unpack_from(data, at)
        at += RECORD.size
        if tag in (HEAP_DUMP, HEAP_DUMP_SEGMENT):
            _segment(data, at, at + length, counts)
        at += length
    return counts


def _segment(data: bytes, at: int, end: int, counts: Counter[int]) -> None:
    while at < end:
        tag, at = data[at], at + 1
        if tag == INSTANCE:
            _, _, kind, length = AN_INSTANCE.unpack_from(data, at)
            at += AN_INSTANCE.size + length
            counts[kind] += 1
        elif tag == OBJECT_ARRAY:
            _, _, count, kind = AN_ARRAY.unpack_from(data, at)
            at += AN_ARRAY.size + count * REFERENCE
            counts[kind] += 1
        elif tag == PRIMITIVE_ARRAY:
            _, _, count, kind = A_PRIMITIVE_ARRAY.unpack_from(data, at)
            at += A_PRIMITIVE_ARRAY.size + count * WIDTH[kind]
            counts[kind] += 1
        elif tag == CLASS_DUMP:
            at = _behind_class(data, at)
        else:
            identifiers, further = ROOTS[tag]
            at += identifiers * REFERENCE + further


def _behind_class(data: bytes, at: int) -> int:
    """Return where a class's record ends: behind its constants, static fields, and fields."""
    at += CLASS_HEAD
    for before_type, has_value in ((2, True), (REFERENCE, True), (REFERENCE, False)):
        (count,) = struct.unpack_from(">H", data, at)
        at += 2
        for _ in range(count):
            kind = data[at + before_type]
            at += before_type + 1 + (WIDTH[kind] if has_value else 0)
    return at
