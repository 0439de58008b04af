"""One pass over a heap dump: how many instances each class has, and how many bytes they take."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadsman.telemetry.hprof.layout import (
    ARRAYS,
    CLASS_DUMP,
    COMPRESSED_SPAN,
    HEAP_DUMP,
    HEAP_DUMP_SEGMENT,
    INSTANCE,
    LOAD_CLASS,
    MAGIC,
    NARROW,
    OBJECT,
    OBJECTS,
    PRIMITIVES,
    ROOTS,
    STRING,
    WIDE,
    WIDTHS,
    Class,
    aligned,
    called,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

NARROW_ID = 4
RECORD = struct.Struct(">BII")
MARK_EVERY = 1 << 20
"""Bytes between two places at which an object is known to begin: from there one that is sought is found."""

SAMPLED = frozenset(10**power for power in range(12))
"""Which instances of a class of interest are kept as samples: the first, the tenth, the hundredth, ..."""


class NotWhole(OSError):
    """The dump breaks off, or is none. JVMs that die while they write leave such."""


class Cursor:
    """Where one is in a stream of blocks. Holds no more of it than is needed at the moment."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.data = b""
        self.at = 0
        self._above = 0
        self._blocks = iter(blocks)

    @property
    def offset(self) -> int:
        """How far into the file that is."""
        return self._above + self.at

    def take(self, size: int) -> int:
        """Return where in `data` the next so many bytes begin, and go past them. It may put another `data` in place."""
        if self.at + size > len(self.data):
            self._fill(size)
        start = self.at
        self.at += size
        return start

    def body(self, size: int) -> bytes:
        """Return the next so many bytes."""
        start = self.take(size)
        return self.data[start : start + size]

    def skip(self, size: int) -> None:
        """Go past so many bytes without holding them."""
        while self.at + size > len(self.data):
            size -= len(self.data) - self.at
            self._above += len(self.data)
            self.data, self.at = self._next(), 0
        self.at += size

    @property
    def ended(self) -> bool:
        """Whether nothing follows."""
        while self.at >= len(self.data):
            self._above += len(self.data)
            self.data, self.at = next(self._blocks, b""), 0
            if not self.data:
                return True
        return False

    def _fill(self, size: int) -> None:
        rest = [self.data[self.at :]]
        self._above += self.at
        held = len(rest[0])
        while held < size:
            rest.append(self._next())
            held += len(rest[-1])
        self.data, self.at = b"".join(rest), 0

    def _next(self) -> bytes:
        block = next(self._blocks, b"")
        if not block:
            raise NotWhole("the heap dump breaks off: its writer was stopped, or the disk was full")
        return block


@dataclass(slots=True)
class Contents:
    """What a dump holds: classes by identifier, and samples of the classes of interest."""

    width: int
    """Bytes of an identifier."""
    at: int
    """When it was written, in milliseconds since 1970 UTC."""
    strings: dict[int, str] = field(default_factory=dict)
    classes: dict[int, Class] = field(default_factory=dict)
    arrays: dict[int, Class] = field(default_factory=dict)
    marks: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    lowest: int = 1 << 63
    highest: int = 0

    def histogram(self) -> list[tuple[int, int, str]]:
        """Return instances, bytes and name of every class that has any, the largest first."""
        reference, header = WIDE if self.highest - self.lowest >= COMPRESSED_SPAN or self.width == NARROW_ID else NARROW
        counted = [
            (each.count, self.size(each, reference, header), called(each.name))
            for each in (*self.classes.values(), *self.arrays.values())
            if each.count
        ]
        return sorted(counted, key=lambda row: (-row[1], row[2]))

    def size(self, each: Class, reference: int, header: int) -> int:
        """Return the bytes that all instances of a class take."""
        if each.narrow:
            return each.narrow if reference == NARROW[0] else each.wide
        types = [kind for _, kind in self.layout(each)]
        return each.count * aligned(header + sum(WIDTHS.get(kind, reference) for kind in types))

    def layout(self, each: Class) -> list[tuple[int, int]]:
        """Return all fields of an instance in the order in which a dump has them: its own, then those above."""
        fields: list[tuple[int, int]] = []
        above: Class | None = each
        while above is not None:
            fields += above.fields
            above = self.classes.get(above.above)
        return fields


def read(blocks: Iterable[bytes], interesting: Collection[str] = ()) -> Contents:
    """Read a dump. Of the classes that are `interesting` (by name, with dots) samples are kept."""
    cursor = Cursor(blocks)
    head = cursor.body(len(MAGIC) + 2)
    if not head.startswith(MAGIC):
        raise NotWhole("it is no heap dump")
    contents = Contents(*struct.unpack(">IQ", cursor.body(12)))
    while not cursor.ended:
        tag, _, length = RECORD.unpack(cursor.body(RECORD.size))
        if tag in {HEAP_DUMP, HEAP_DUMP_SEGMENT}:
            Segment(contents, cursor, interesting).read(length)
        else:
            _named(contents, tag, cursor, length)
    return contents


def _named(contents: Contents, tag: int, cursor: Cursor, length: int) -> None:
    """Keep names: of everything, and of classes."""
    if tag not in {STRING, LOAD_CLASS}:
        cursor.skip(length)
        return
    body = cursor.body(length)
    width = contents.width
    if tag == STRING:
        contents.strings[int.from_bytes(body[:width], "big")] = body[width:].decode("utf-8", "replace")
    else:
        identifier, name = (int.from_bytes(body[start : start + width], "big") for start in (4, 8 + width))
        contents.classes[identifier] = Class(contents.strings.get(name, "?"))


class Segment:
    """One stretch of objects. Its loop is the only one that runs as often as there are objects."""

    def __init__(self, contents: Contents, cursor: Cursor, interesting: Collection[str]) -> None:
        letter = "I" if contents.width == NARROW_ID else "Q"
        self.contents, self.cursor, self.interesting = contents, cursor, interesting
        self.instance = struct.Struct(f">{letter}I{letter}I")
        self.objects = struct.Struct(f">{letter}II{letter}")
        self.primitives = struct.Struct(f">{letter}IIB")

    def read(self, length: int) -> None:
        """Read the segment's records."""
        cursor, width = self.cursor, self.contents.width
        end = cursor.offset + length
        readers = {
            INSTANCE: self._instance,
            OBJECTS: self._objects,
            PRIMITIVES: self._primitives,
            CLASS_DUMP: self._class,
        }
        marks = self.contents.marks
        while (offset := cursor.offset) < end:
            if not marks or offset - marks[-1] >= MARK_EVERY:
                marks.append(offset)
            start = cursor.take(1)
            tag = cursor.data[start]
            if tag in readers:
                readers[tag]()
            elif tag in ROOTS:
                identifiers, more = ROOTS[tag]
                cursor.skip(identifiers * width + more)
            else:
                raise NotWhole(f"the heap dump has an unknown part (0x{tag:02x}) at byte {offset}")

    def _instance(self) -> None:
        cursor = self.cursor
        start = cursor.take(self.instance.size)
        identifier, _, of, size = self.instance.unpack_from(cursor.data, start)
        cursor.skip(size)
        kind = self.contents.classes.setdefault(of, Class("?"))
        kind.count += 1
        self._saw(identifier)
        if kind.count in SAMPLED and called(kind.name) in self.interesting:
            self.contents.samples.append(identifier)

    def _saw(self, identifier: int) -> None:
        contents = self.contents
        contents.lowest = min(contents.lowest, identifier)
        contents.highest = max(contents.highest, identifier)

    def _objects(self) -> None:
        start = self.cursor.take(self.objects.size)
        identifier, _, length, of = self.objects.unpack_from(self.cursor.data, start)
        self.cursor.skip(length * self.contents.width)
        self._saw(identifier)
        self._array(self.contents.classes.setdefault(of, Class("?")), length, width=None)

    def _primitives(self) -> None:
        start = self.cursor.take(self.primitives.size)
        _, _, length, kind = self.primitives.unpack_from(self.cursor.data, start)
        self.cursor.skip(length * WIDTHS[kind])
        known = self.contents.arrays.setdefault(kind, Class(ARRAYS[kind]))
        self._array(known, length, width=WIDTHS[kind])

    def _array(self, kind: Class, length: int, *, width: int | None) -> None:
        kind.count += 1
        kind.elements += length
        kind.narrow += aligned(NARROW[1] + 4 + length * (width or NARROW[0]))
        kind.wide += aligned(WIDE[1] + 4 + length * (width or WIDE[0]))

    def _class(self) -> None:
        width, cursor = self.contents.width, self.cursor
        identifier, _, above = struct.unpack(f">{width}sI{width}s", cursor.body(2 * width + 4))
        cursor.skip(5 * width + 4)
        self._constants()
        self._statics()
        known = self.contents.classes.setdefault(int.from_bytes(identifier, "big"), Class("?"))
        known.above = int.from_bytes(above, "big")
        known.fields = [self._field() for _ in range(self._number(2))]

    def _number(self, size: int) -> int:
        return int.from_bytes(self.cursor.body(size), "big")

    def _field(self) -> tuple[int, int]:
        return self._number(self.contents.width), self._number(1)

    def _constants(self) -> None:
        for _ in range(self._number(2)):
            self.cursor.skip(2)
            self._value()

    def _statics(self) -> None:
        for _ in range(self._number(2)):
            self.cursor.skip(self.contents.width)
            self._value()

    def _value(self) -> None:
        kind = self._number(1)
        self.cursor.skip(self.contents.width if kind == OBJECT else WIDTHS[kind])
