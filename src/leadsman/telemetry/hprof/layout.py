"""The binary format of heap dumps, as HotSpot writes it: tags, types, and the layout of instances.

Specified by OpenJDK's heapDumper.cpp; unchanged since Java 6. All numbers are big-endian.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAGIC = b"JAVA PROFILE 1.0."
"""The versions 1.0.1, 1.0.2 and 1.0.3 differ in nothing that is read here."""

STRING, LOAD_CLASS, HEAP_DUMP, HEAP_DUMP_SEGMENT = 0x01, 0x02, 0x0C, 0x1C
CLASS_DUMP, INSTANCE, OBJECT_ARRAY, PRIMITIVE_ARRAY = 0x20, 0x21, 0x22, 0x23

ROOTS = {0xFF: (1, 0), 1: (2, 0), 2: (1, 8), 3: (1, 8), 4: (1, 4), 5: (1, 0), 6: (1, 4), 7: (1, 0), 8: (1, 8)}
"""GC roots by tag: how many identifiers, and how many further bytes."""

OBJECT = 2
WIDTHS = {4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
"""Bytes of the primitive types; a reference has those of an identifier."""

ARRAYS = {4: "[Z", 5: "[C", 6: "[F", 7: "[D", 8: "[B", 9: "[S", 10: "[I", 11: "[J"}
"""Names of arrays of primitive types in class histograms."""

COMPRESSED_SPAN = 1 << 35
"""Heaps of up to 32 GiB have references of 4 bytes, and larger ones of 8, unless a flag of the JVM changes that."""

NARROW, WIDE = (4, 12), (8, 16)
"""Bytes of a reference, and of an object's header."""


@dataclass(slots=True)
class HeapClass:
    """A class: its own fields, as name and type, without inherited ones, and the figures of its instances."""

    name: str
    superclass: int = 0
    fields: list[tuple[int, int]] = field(default_factory=list)
    count: int = 0
    elements: int = 0
    """Of an array class: the elements of all its arrays."""
    narrow_bytes: int = 0
    wide_bytes: int = 0
    """Bytes of all its arrays, with references of 4 and of 8 bytes."""


def aligned(size: int) -> int:
    """Return the bytes that an object of this size takes: HotSpot aligns to 8."""
    return size + 7 & ~7


def display_name(name: str) -> str:
    """Return a class's name as a histogram writes it: java.lang.String, [Ljava.lang.Object;."""
    return name.replace("/", ".")
