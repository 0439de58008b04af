"""Reads a heap dump in one pass: how many instances each class has, and how many bytes they take."""

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
    OBJECT_ARRAY,
    PRIMITIVE_ARRAY,
    ROOTS,
    STRING,
    WIDE,
    WIDTHS,
    HeapClass,
    aligned,
    display_name,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

NARROW_ID = 4
RECORD = struct.Struct(">BII")
MAX_SUPERCLASSES = 1000
"""Classes above a class. Java programs have some ten; in a damaged dump a class can be its own superclass."""

MARK_INTERVAL = 1 << 20
"""Bytes between two marks, offsets at which an object begins: from a mark, the object at an offset can be found."""

SAMPLED_COUNTS = frozenset(10**power for power in range(12))
"""Which instances of a sampled class are kept: the first, the tenth, the hundredth, ..."""


class InvalidDump(OSError):
    """The dump breaks off, as when the JVM was killed while it wrote; or the file is no heap dump."""


class Cursor:
    """A position in a stream of blocks. Keeps only the bytes that are needed at the moment."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self.data = b""
        self.at = 0
        self._above = 0
        self._blocks = iter(blocks)

    @property
    def offset(self) -> int:
        """The position in the file, in bytes."""
        return self._above + self.at

    def take(self, size: int) -> int:
        """Return where in `data` the next `size` bytes begin, and go past them. This may replace `data`."""
        if self.at + size > len(self.data):
            self._fill(size)
        start = self.at
        self.at += size
        return start

    def body(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        start = self.take(size)
        return self.data[start : start + size]

    def skip(self, size: int) -> None:
        """Go past `size` bytes without keeping them."""
        while self.at + size > len(self.data):
            size -= len(self.data) - self.at
            self._above += len(self.data)
            self.data, self.at = self._next(), 0
        self.at += size

    @property
    def is_at_end(self) -> bool:
        """Whether no byte follows."""
        while self.at >= len(self.data):
            self._above += len(self.data)
            self.data, self.at = next(self._blocks, b""), 0
            if not self.data:
                return True
        return False

    def _fill(self, size: int) -> None:
        parts = [self.data[self.at :]]
        self._above += self.at
        available = len(parts[0])
        while available < size:
            parts.append(self._next())
            available += len(parts[-1])
        self.data, self.at = b"".join(parts), 0

    def _next(self) -> bytes:
        block = next(self._blocks, b"")
        if not block:
            raise InvalidDump("the heap dump breaks off: its writer was stopped, or the disk was full")
        return block


@dataclass(slots=True)
class HeapContents:
    """The contents of a dump: classes by identifier, and samples of instances."""

    width: int
    """Bytes of an identifier."""
    at: int
    """When it was written, in milliseconds since 1970 UTC."""
    strings: dict[int, str] = field(default_factory=dict)
    classes: dict[int, HeapClass] = field(default_factory=dict)
    arrays: dict[int, HeapClass] = field(default_factory=dict)
    marks: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    lowest: int = 1 << 63
    highest: int = 0

    def histogram(self) -> list[tuple[int, int, str]]:
        """Return instances, bytes and name of every class that has any, the largest first."""
        reference, header = WIDE if self.highest - self.lowest >= COMPRESSED_SPAN or self.width == NARROW_ID else NARROW
        counted = [
            (each.count, self.size(each, reference, header), display_name(each.name))
            for each in (*self.classes.values(), *self.arrays.values())
            if each.count
        ]
        return sorted(counted, key=lambda row: (-row[1], row[2]))

    def size(self, each: HeapClass, reference: int, header: int) -> int:
        """Return the bytes that all instances of a class take."""
        if each.narrow_bytes:
            return each.narrow_bytes if reference == NARROW[0] else each.wide_bytes
        types = [kind for _, kind in self.layout(each)]
        return each.count * aligned(header + sum(WIDTHS.get(kind, reference) for kind in types))

    def layout(self, each: HeapClass) -> list[tuple[int, int]]:
        """Return all fields of an instance in the order of a dump: its own, then those of its superclasses."""
        fields: list[tuple[int, int]] = []
        current: HeapClass | None = each
        for _ in range(MAX_SUPERCLASSES):
            if current is None:
                return fields
            fields += current.fields
            current = self.classes.get(current.superclass)
        raise InvalidDump(f"the class {each.name} has more than {MAX_SUPERCLASSES} superclasses: the dump is damaged")


def read_dump(blocks: Iterable[bytes], sampled_classes: Collection[str] = ()) -> HeapContents:
    """Read a dump. Samples are kept of `sampled_classes` (names with dots)."""
    cursor = Cursor(blocks)
    header = cursor.body(len(MAGIC) + 2)
    if not header.startswith(MAGIC):
        raise InvalidDump("it is no heap dump")
    contents = HeapContents(*struct.unpack(">IQ", cursor.body(12)))
    while not cursor.is_at_end:
        tag, _, length = RECORD.unpack(cursor.body(RECORD.size))
        if tag in {HEAP_DUMP, HEAP_DUMP_SEGMENT}:
            Segment(contents, cursor, sampled_classes).read(length)
        else:
            _read_name(contents, tag, cursor, length)
    return contents


def _read_name(contents: HeapContents, tag: int, cursor: Cursor, length: int) -> None:
    """Keep strings, and the names of classes."""
    if tag not in {STRING, LOAD_CLASS}:
        cursor.skip(length)
        return
    body = cursor.body(length)
    width = contents.width
    if tag == STRING:
        contents.strings[int.from_bytes(body[:width], "big")] = body[width:].decode("utf-8", "replace")
    else:
        identifier, name = (int.from_bytes(body[start : start + width], "big") for start in (4, 8 + width))
        contents.classes[identifier] = HeapClass(contents.strings.get(name, "?"))


class Segment:
    """A segment of objects. Its loops are the only ones that run once per object."""

    def __init__(self, contents: HeapContents, cursor: Cursor, sampled_classes: Collection[str]) -> None:
        letter = "I" if contents.width == NARROW_ID else "Q"
        self.contents, self.cursor, self.sampled_classes = contents, cursor, sampled_classes
        self.instance = struct.Struct(f">{letter}I{letter}I")
        self.objects = struct.Struct(f">{letter}II{letter}")
        self.primitives = struct.Struct(f">{letter}IIB")

    def read(self, length: int) -> None:
        """Read the segment's records."""
        cursor, width = self.cursor, self.contents.width
        end = cursor.offset + length
        readers = {
            OBJECT_ARRAY: self._objects,
            PRIMITIVE_ARRAY: self._primitives,
            CLASS_DUMP: self._class,
        }
        marks = self.contents.marks
        while (offset := cursor.offset) < end:
            if not marks or offset - marks[-1] >= MARK_INTERVAL:
                marks.append(offset)
            start = cursor.take(1)
            tag = cursor.data[start]
            if tag == INSTANCE:
                self._instances(start, start + min(end, marks[-1] + MARK_INTERVAL) - offset)
            elif tag in readers:
                readers[tag]()
            elif tag in ROOTS:
                identifiers, more = ROOTS[tag]
                cursor.skip(identifiers * width + more)
            else:
                raise InvalidDump(f"the heap dump has an unknown part (0x{tag:02x}) at byte {offset}")

    def _instances(self, start: int, until: int) -> None:
        """Read the instance at `start` of the block, and those that follow it, as far as they begin before `until`."""
        contents, cursor = self.contents, self.cursor
        data, at, unpack_from, header = cursor.data, start, self.instance.unpack_from, 1 + self.instance.size
        classes, lowest, highest = contents.classes, contents.lowest, contents.highest
        whole = len(data)
        until = min(until, whole - header + 1)
        while at < until and data[at] == INSTANCE:
            identifier, _, class_id, size = unpack_from(data, at + 1)
            if at + header + size > whole:
                break
            at += header + size
            kind = classes.get(class_id) or classes.setdefault(class_id, HeapClass("?"))
            kind.count += 1
            if identifier < lowest:  # noqa: PLR1730 - once per object, and `min` takes three times as long
                lowest = identifier
            if identifier > highest:  # noqa: PLR1730 - as above
                highest = identifier
            if kind.count in SAMPLED_COUNTS:
                self._sample(kind, identifier)
        contents.lowest, contents.highest = lowest, highest
        if at > start:
            cursor.at = at
        else:
            self._cut_instance()

    def _cut_instance(self) -> None:
        """Read an instance that goes on in the next block. A damaged one of gigabytes is not kept."""
        cursor = self.cursor
        start = cursor.take(self.instance.size)
        identifier, _, class_id, size = self.instance.unpack_from(cursor.data, start)
        cursor.skip(size)
        kind = self.contents.classes.setdefault(class_id, HeapClass("?"))
        kind.count += 1
        self._note_address(identifier)
        if kind.count in SAMPLED_COUNTS:
            self._sample(kind, identifier)

    def _sample(self, kind: HeapClass, identifier: int) -> None:
        if display_name(kind.name) in self.sampled_classes:
            self.contents.samples.append(identifier)

    def _note_address(self, identifier: int) -> None:
        contents = self.contents
        contents.lowest = min(contents.lowest, identifier)
        contents.highest = max(contents.highest, identifier)

    def _objects(self) -> None:
        start = self.cursor.take(self.objects.size)
        identifier, _, length, class_id = self.objects.unpack_from(self.cursor.data, start)
        self.cursor.skip(length * self.contents.width)
        self._note_address(identifier)
        self._array(self.contents.classes.setdefault(class_id, HeapClass("?")), length, width=None)

    def _primitives(self) -> None:
        start = self.cursor.take(self.primitives.size)
        _, _, length, kind = self.primitives.unpack_from(self.cursor.data, start)
        self.cursor.skip(length * WIDTHS[kind])
        array_class = self.contents.arrays.setdefault(kind, HeapClass(ARRAYS[kind]))
        self._array(array_class, length, width=WIDTHS[kind])

    def _array(self, kind: HeapClass, length: int, *, width: int | None) -> None:
        kind.count += 1
        kind.elements += length
        kind.narrow_bytes += aligned(NARROW[1] + 4 + length * (width or NARROW[0]))
        kind.wide_bytes += aligned(WIDE[1] + 4 + length * (width or WIDE[0]))

    def _class(self) -> None:
        width, cursor = self.contents.width, self.cursor
        identifier, _, superclass = struct.unpack(f">{width}sI{width}s", cursor.body(2 * width + 4))
        cursor.skip(5 * width + 4)
        self._constants()
        self._statics()
        heap_class = self.contents.classes.setdefault(int.from_bytes(identifier, "big"), HeapClass("?"))
        heap_class.superclass = int.from_bytes(superclass, "big")
        heap_class.fields = [self._field() for _ in range(self._number(2))]

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
