"""Finds the idle gaps of a log without looking at every line.

A stretch of lines whose first and last time lie closer together than the shortest gap of interest holds none, so a
block is halved until it is too short in time or down to two neighbouring lines.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.telemetry.format import TimeAt

SHORTEST_GAP_MS = 1000
"""Below a second every service is quiet all the time."""


class OutOfOrder(Exception):
    """The times of a stretch run back and forth: halving it would miss lines that fill a gap."""


class TimedLine(NamedTuple):
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


def next_timed_line(block: bytes, start: int, limit: int, time_at: TimeAt) -> TimedLine | None:
    """Return the first line at or after `start` that has a time and begins before `limit`."""
    while start < limit:
        end = block.find(b"\n", start, limit)
        end = limit if end < 0 else end
        at = time_at(block, start, end)
        if at is not None:
            return TimedLine(start, end, at)
        start = end + 1
    return None


def previous_timed_line(block: bytes, limit: int, time_at: TimeAt) -> TimedLine | None:
    """Return the last line that has a time and ends at or before `limit` (a line start, or the end of the block)."""
    end = limit - 1 if limit and block[limit - 1 : limit] == b"\n" else limit
    while end >= 0:
        start = block.rfind(b"\n", 0, end) + 1
        at = time_at(block, start, end)
        if at is not None:
            return TimedLine(start, end, at)
        if start == 0:
            return None
        end = start - 1
    return None


def are_in_one_direction(times: Sequence[int]) -> bool:
    """Say whether times rise or fall all along. What differs by less than any gap of interest may stand either way."""
    if times == sorted(times):
        return True
    steps = [after - before for before, after in pairwise(times)]
    return min(steps) >= -SHORTEST_GAP_MS or max(steps) <= SHORTEST_GAP_MS


def gaps_between(
    block: bytes, stretches: Iterable[tuple[TimedLine, TimedLine]], time_at: TimeAt, *, floor_ms: int
) -> Iterator[tuple[TimedLine, TimedLine]]:
    """Yield the neighbouring lines within the stretches that lie at least `floor_ms` apart, in the file's order.

    Raises OutOfOrder where a line lies outside of the stretch that it stands in.
    """
    pending = list(stretches)[::-1]
    while pending:
        left, right = pending.pop()
        early, late = (left.at, right.at) if left.at <= right.at else (right.at, left.at)
        if late - early < floor_ms:
            continue
        middle = _middle(block, left, right, time_at)
        if middle is None:
            yield left, right
        elif early - SHORTEST_GAP_MS <= middle.at <= late + SHORTEST_GAP_MS:
            pending += [(middle, right), (left, middle)]
        else:
            raise OutOfOrder


def _middle(block: bytes, left: TimedLine, right: TimedLine, time_at: TimeAt) -> TimedLine | None:
    """Return a line with a time strictly between the two, near the middle; None where they are neighbours."""
    half = block.rfind(b"\n", left.end, (left.end + right.start) // 2) + 1
    if half > left.end:
        later = next_timed_line(block, half, right.start, time_at)
        if later is not None:
            return later
        earlier = previous_timed_line(block, half, time_at)
        return earlier if earlier is not None and earlier.start > left.start else None
    return next_timed_line(block, left.end + 1, right.start, time_at)
