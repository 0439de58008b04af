"""Finds which fields refer to an object of a heap dump: upwards from samples, by searching the file for identifiers.

The whole graph of references would take as much memory as the heap did. An identifier is eight bytes that occur where
the object stands and where a field refers to it, and the file is searched for them at the speed of the disk.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
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
    display_name,
)
from leadsman.telemetry.hprof.occurrences import occurrences
from leadsman.telemetry.hprof.reader import RECORD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leadsman.telemetry.hprof.reader import HeapContents

MAX_STEPS = 12
"""Steps upwards: from an entry over its map to the log that owns it are five or six."""

OWNERS = ("kafka.", "org.apache.kafka.")
MAX_OCCURRENCES = 10_000
"""Places in the file that are looked at for one identifier. Eight bytes stand elsewhere by chance a few times; a small
identifier of a damaged dump stands in every object."""

COLLISION_CHAIN = "$Node.next"
"""Entries of a map whose hashes collide refer to one another: no step towards the owner."""

MAX_OWNERS = 2
"""How many of Kafka's own classes end a path: the one that has the map, and its owner."""


def reference_paths(path: str, contents: HeapContents) -> Counter[str]:
    """Return the paths that refer to samples, `Class.field <- Class.field`, each with the number of its samples."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:  # noqa: PTH123 - mmap needs a descriptor
        paths = ReferenceSearch(data, contents).paths(contents.samples)
        return Counter(" <- ".join(path) for path in paths if path)


@dataclass(slots=True)
class ReferencePath:
    """The fields that lead up from a sample to the object `identifier`, the nearest first."""

    identifier: int
    fields: list[str] = field(default_factory=list)
    owners: int = 0
    visited: set[int] = field(default_factory=set)

    def extend(self, holder: int, step: str) -> None:
        """Go up to the object `holder`, which refers to this one by the field `step`."""
        self.visited.add(self.identifier)
        self.identifier = holder
        if not step.endswith(COLLISION_CHAIN):
            self.fields.append(step)
            self.owners += step.startswith(OWNERS)

    @property
    def is_whole(self) -> bool:
        """Whether it is not followed further."""
        return len(self.fields) >= MAX_STEPS or self.owners >= MAX_OWNERS


class ReferenceSearch:
    """Searches for references in a memory-mapped dump."""

    def __init__(self, data: mmap.mmap, contents: HeapContents) -> None:
        self.data, self.contents = data, contents

    def paths(self, identifiers: Iterable[int]) -> list[list[str]]:
        """Return for each object the fields that lead up from it, the nearest first. Each step is one pass for all."""
        paths = [ReferencePath(identifier) for identifier in identifiers]
        going = paths
        while going := [path for path in going if path.identifier and not path.is_whole]:  # 0 is `null`
            going = self._extend(going)
        return [path.fields for path in paths]

    def _extend(self, paths: list[ReferencePath]) -> list[ReferencePath]:
        """Extend paths by the first object in the file that refers to their last, and return those that were."""
        width = self.contents.width
        waiting: dict[int, list[ReferencePath]] = {}
        for path in paths:
            waiting.setdefault(path.identifier, []).append(path)
        identifiers = list(waiting)
        places = Counter[int]()
        extended: list[ReferencePath] = []
        for at, index in occurrences(self.data, [each.to_bytes(width, "big") for each in identifiers]):
            identifier = identifiers[index]
            if identifier not in waiting:
                continue
            places[identifier] += 1
            holder = self._holder(at)
            if holder is not None:
                above = [path for path in waiting[identifier] if holder[0] not in {identifier, *path.visited}]
                for path in above:
                    path.extend(*holder)
                extended += above
                waiting[identifier] = [path for path in waiting[identifier] if path.identifier == identifier]
            if not waiting[identifier] or places[identifier] == MAX_OCCURRENCES:
                del waiting[identifier]
            if not waiting:
                break
        return extended

    def _holder(self, at: int) -> tuple[int, str] | None:
        """Return the object and the field at an offset of the file; None where there is no field."""
        marks = self.contents.marks
        index = bisect_right(marks, at) - 1
        return self._scan(marks[index], at) if index >= 0 else None

    def _scan(self, start: int, at: int) -> tuple[int, str] | None:
        """Walk from the beginning of one object to the object in which `at` lies."""
        width = self.contents.width
        while start <= at:
            tag = self.data[start]
            if tag == INSTANCE:
                end = start + 1 + 2 * width + 8 + self._number(start + 5 + 2 * width, 4)
                if at < end:
                    return self._instance(start, at)
            elif tag == OBJECT_ARRAY:
                end = start + 1 + 2 * width + 8 + width * self._number(start + 5 + width, 4)
                if at < end:
                    return self._element(start, at)
            elif tag == PRIMITIVE_ARRAY:
                size = WIDTHS[self.data[start + 9 + width]] * self._number(start + 5 + width, 4)
                end = start + 10 + width + size
            else:
                end = self._other(start, tag)
            if end <= start:
                return None
            start = end
        return None

    def _other(self, start: int, tag: int) -> int:
        """Return where a root, a class or the header of the next segment ends; 0 for any other tag."""
        if tag in ROOTS:
            identifiers, more = ROOTS[tag]
            return start + 1 + identifiers * self.contents.width + more
        if tag in {HEAP_DUMP_SEGMENT, HEAP_DUMP}:
            return start + RECORD.size
        return self._class_end(start) if tag == CLASS_DUMP else 0

    def _class_end(self, start: int) -> int:
        width = self.contents.width
        at = start + 1 + 7 * width + 8
        for name_width in (2, width):
            count, at = self._number(at, 2), at + 2
            for _ in range(count):
                kind = self.data[at + name_width]
                at += name_width + 1 + (width if kind == OBJECT else WIDTHS[kind])
        return at + 2 + self._number(at, 2) * (width + 1)

    def _instance(self, start: int, at: int) -> tuple[int, str] | None:
        width = self.contents.width
        kind = self.contents.classes[self._number(start + 5 + width, width)]
        offset = start + 9 + 2 * width
        for name, type_ in self.contents.layout(kind):
            if offset == at and type_ == OBJECT:
                field = self.contents.strings.get(name, "?")
                return self._number(start + 1, width), f"{display_name(kind.name)}.{field}"
            offset += width if type_ == OBJECT else WIDTHS[type_]
        return None

    def _element(self, start: int, at: int) -> tuple[int, str] | None:
        width = self.contents.width
        first = start + 9 + 2 * width
        if at < first or (at - first) % width:
            return None
        kind = self.contents.classes[self._number(start + 9 + width, width)]
        return self._number(start + 1, width), display_name(kind.name)

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self.data[at : at + size], "big")
