"""Finds the quiet gaps of a log without looking at every line.

A stretch of lines whose first and last time lie closer together than the shortest gap of interest holds none, so a
block is halved until it is too short in time or down to two neighbouring lines.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.format import TimeAt

SHORTEST_GAP_MS = 1000
"""Below a second every service is quiet all the time."""

GAPS_KEPT = 200
"""Of each subject the longest gaps are kept; what is shorter than all of these says nothing about an idle limit."""


class Mark(NamedTuple):
    """A line with a time: where it stands in its block, and when it was written (ms)."""

    start: int
    end: int
    at: int


class Gap(NamedTuple):
    """Nothing was written between two lines. `at` is its end (ms since 1970), `seconds` its length.

    The texts are the lines' beginnings as they stand there, secrets and all: they are masked when they are handed out.
    """

    seconds: float
    at: int
    line: int
    text: str
    file: str
    before_line: int
    before_text: str
    before_file: str


class LongestGaps:
    """The longest gaps of one subject. `floor_ms` rises as they fill, and so the search gets cheaper."""

    def __init__(self, kept: int = GAPS_KEPT) -> None:
        self._heap: list[Gap] = []
        self._kept = kept
        self.floor_ms = SHORTEST_GAP_MS

    def add(self, gap: Gap) -> None:
        """Keep the gap if it is among the longest."""
        if len(self._heap) < self._kept:
            heapq.heappush(self._heap, gap)
        else:
            heapq.heappushpop(self._heap, gap)
        if len(self._heap) == self._kept:
            self.floor_ms = max(SHORTEST_GAP_MS, int(self._heap[0].seconds * 1000))

    def __iter__(self) -> Iterator[Gap]:
        return iter(sorted(self._heap, key=lambda gap: gap.at))


def next_mark(block: bytes, start: int, limit: int, time_at: TimeAt) -> Mark | None:
    """Return the first line at or after `start` that has a time and begins before `limit`."""
    while start < limit:
        end = block.find(b"\n", start, limit)
        end = limit if end < 0 else end
        at = time_at(block, start, end)
        if at is not None:
            return Mark(start, end, at)
        start = end + 1
    return None


def previous_mark(block: bytes, limit: int, time_at: TimeAt) -> Mark | None:
    """Return the last line that has a time and ends at or before `limit` (a line start, or the end of the block)."""
    end = limit - 1 if limit and block[limit - 1 : limit] == b"\n" else limit
    while end >= 0:
        start = block.rfind(b"\n", 0, end) + 1
        at = time_at(block, start, end)
        if at is not None:
            return Mark(start, end, at)
        if start == 0:
            return None
        end = start - 1
    return None


def gaps_between(
    block: bytes, stretches: Iterable[tuple[Mark, Mark]], time_at: TimeAt, *, floor_ms: int
) -> Iterator[tuple[Mark, Mark]]:
    """Yield the neighbouring lines within the stretches that lie at least `floor_ms` apart, in order."""
    pending = list(stretches)[::-1]
    while pending:
        left, right = pending.pop()
        if right.at - left.at < floor_ms:
            continue
        middle = _middle(block, left, right, time_at)
        if middle is None:
            yield left, right
        else:
            pending += [(middle, right), (left, middle)]


def _middle(block: bytes, left: Mark, right: Mark, time_at: TimeAt) -> Mark | None:
    """Return a line with a time strictly between the two, near the middle; None where they are neighbours."""
    half = block.rfind(b"\n", left.end, (left.end + right.start) // 2) + 1
    if half > left.end:
        later = next_mark(block, half, right.start, time_at)
        if later is not None:
            return later
        earlier = previous_mark(block, half, time_at)
        return earlier if earlier is not None and earlier.start > left.start else None
    return next_mark(block, left.end + 1, right.start, time_at)
