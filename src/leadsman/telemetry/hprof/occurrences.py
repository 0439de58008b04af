"""Finds where some identifiers stand in a memory-mapped file: all of them in one pass, at gigabytes a second."""

from __future__ import annotations

import mmap
import re
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Find = Callable[[memoryview], list[tuple[int, int]]]

WINDOW_BYTES = 1 << 20
"""Bytes, whole pages, that are searched and then dropped from this process's memory: a dump can be larger than that. In
a damaged dump an identifier can stand at every place of a window."""


def occurrences(data: mmap.mmap, identifiers: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield each place of each identifier, as an offset and an index of `identifiers`, in the order of the file."""
    find = _finder(identifiers)
    beyond = len(identifiers[0]) - 1
    for start in range(0, len(data), WINDOW_BYTES):
        with memoryview(data)[start : start + WINDOW_BYTES + beyond] as window:
            found = find(window)
        for at, index in found:
            yield start + at, index
        data.madvise(mmap.MADV_DONTNEED, start, min(WINDOW_BYTES, len(data) - start))


def _finder(identifiers: Sequence[bytes]) -> Find:
    """Return what finds identifiers, which are equally long, in a window: Hyperscan, where this machine has it."""
    try:
        return _hyperscan(identifiers)
    except ImportError:
        return _re(identifiers)


def _hyperscan(identifiers: Sequence[bytes]) -> Find:
    import hyperscan

    width, count = len(identifiers[0]), len(identifiers)
    patterns = ["".join(f"\\x{byte:02x}" for byte in identifier).encode() for identifier in identifiers]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=patterns, ids=list(range(count)), elements=count, flags=[0] * count)

    def find(window: memoryview) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []

        def on_match(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end - width, index))

        database.scan(cast("bytes", window), match_event_handler=on_match)
        return found

    return find


def _re(identifiers: Sequence[bytes]) -> Find:
    index_of = {identifier: index for index, identifier in enumerate(identifiers)}
    search = re.compile(b"(?=(" + b"|".join(map(re.escape, identifiers)) + b"))", re.DOTALL).finditer
    return lambda window: [(match.start(), index_of[match[1]]) for match in search(window)]
