"""Who holds an object of a heap dump: followed upwards from samples, by looking for their identifiers in the file.

The whole graph of references would take as much memory as the heap did. An identifier is eight bytes that occur where
the object stands and where it is referred to, and the file is searched for them at the speed of the disk.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from leadsman.telemetry.hprof.layout import (
    CLASS_DUMP,
    HEAP_DUMP,
    HEAP_DUMP_SEGMENT,
    INSTANCE,
    OBJECT,
    OBJECTS,
    PRIMITIVES,
    ROOTS,
    WIDTHS,
    called,
)
from leadsman.telemetry.hprof.reading import RECORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.telemetry.hprof.reading import Contents

MOST_STEPS = 12
"""Steps upwards: from an entry over its map to the log that owns it are five or six."""

OWNERS = ("kafka.", "org.apache.kafka.")
WITHIN_A_BUCKET = "$Node.next"
"""A map's entries whose hashes collide hold one another: no step towards the owner."""

OWNERS_WANTED = 2
"""How many classes of Kafka's own end a path: the one that keeps the map, and whose it is."""


def holders(path: str, contents: Contents) -> Counter[str]:
    """Return the paths by which samples are held, `Class.field <- Class.field`, each with how many samples it holds."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:  # noqa: PTH123 - mmap needs a descriptor
        search = Search(data, contents)
        found = (search.path(identifier) for identifier in contents.samples)
        return Counter(" <- ".join(each) for each in found if each)


class Search:
    """Looks for references in a dump that lies in memory's place."""

    def __init__(self, data: mmap.mmap, contents: Contents) -> None:
        self.data, self.contents = data, contents

    def path(self, identifier: int) -> list[str]:
        """Return the fields that lead up from an object, the nearest first."""
        steps: list[str] = []
        passed = {identifier}
        owners = 0
        while len(steps) < MOST_STEPS and owners < OWNERS_WANTED:
            above = next((each for each in self._references(identifier) if each[0] not in passed), None)
            if above is None:
                break
            identifier, step = above
            passed.add(identifier)
            if not step.endswith(WITHIN_A_BUCKET):
                steps.append(step)
                owners += step.startswith(OWNERS)
        return steps

    def _references(self, identifier: int) -> Iterator[tuple[int, str]]:
        """Yield who refers to an object, and by which field."""
        sought = identifier.to_bytes(self.contents.width, "big")
        at = self.data.find(sought)
        while at >= 0:
            if (holder := self._holder(at)) is not None and holder[0] != identifier:
                yield holder
            at = self.data.find(sought, at + 1)

    def _holder(self, at: int) -> tuple[int, str] | None:
        """Return the object within which a place of the file lies, and the field; None where it is none's."""
        marks = self.contents.marks
        index = bisect_right(marks, at) - 1
        return self._scan(marks[index], at) if index >= 0 else None

    def _scan(self, start: int, at: int) -> tuple[int, str] | None:
        """Walk from a known beginning of an object to the one in which `at` lies."""
        width = self.contents.width
        while start <= at:
            tag = self.data[start]
            if tag == INSTANCE:
                end = start + 1 + 2 * width + 8 + self._number(start + 5 + 2 * width, 4)
                if at < end:
                    return self._instance(start, at)
            elif tag == OBJECTS:
                end = start + 1 + 2 * width + 8 + width * self._number(start + 5 + width, 4)
                if at < end:
                    return self._element(start, at)
            elif tag == PRIMITIVES:
                size = WIDTHS[self.data[start + 9 + width]] * self._number(start + 5 + width, 4)
                end = start + 10 + width + size
            else:
                end = self._other(start, tag)
            if end <= start:
                return None
            start = end
        return None

    def _other(self, start: int, tag: int) -> int:
        """Return where a root, a class or the head of the next segment ends; 0 where it is none of them.

        A segment's head begins as a root of another kind would (0x1C is none): what follows tells.
        """
        if tag in ROOTS:
            identifiers, more = ROOTS[tag]
            return start + 1 + identifiers * self.contents.width + more
        if tag in {HEAP_DUMP_SEGMENT, HEAP_DUMP}:
            return start + RECORD.size
        return self._class_end(start) if tag == CLASS_DUMP else 0

    def _class_end(self, start: int) -> int:
        width = self.contents.width
        at = start + 1 + 7 * width + 8
        for named in (2, width):
            count, at = self._number(at, 2), at + 2
            for _ in range(count):
                kind = self.data[at + named]
                at += named + 1 + (width if kind == OBJECT else WIDTHS[kind])
        return at + 2 + self._number(at, 2) * (width + 1)

    def _instance(self, start: int, at: int) -> tuple[int, str] | None:
        width = self.contents.width
        kind = self.contents.classes[self._number(start + 5 + width, width)]
        place = start + 9 + 2 * width
        for name, type_ in self.contents.layout(kind):
            if place == at and type_ == OBJECT:
                field = self.contents.strings.get(name, "?")
                return self._number(start + 1, width), f"{called(kind.name)}.{field}"
            place += width if type_ == OBJECT else WIDTHS[type_]
        return None

    def _element(self, start: int, at: int) -> tuple[int, str] | None:
        width = self.contents.width
        first = start + 9 + 2 * width
        if at < first or (at - first) % width:
            return None
        kind = self.contents.classes[self._number(start + 9 + width, width)]
        return self._number(start + 1, width), called(kind.name)

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self.data[at : at + size], "big")
