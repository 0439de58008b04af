"""The parts of a block of lines in which there is no idle gap, and whether its times run one way."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from leadsman.pipeline.idle_gaps.bisection import (
    OutOfOrder,
    TimedLine,
    are_in_one_direction,
    gaps_between,
    next_timed_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.telemetry.format import TimeAt

NEARBY = 4096
"""Bytes in which a line with a time is looked for: a dump or a trace may stand there."""

LINES_LOOKED_AT = 4
"""Lines of a block by whose times it is seen whether they run one way, besides those of lines with hits."""

MIN_REVERSED_STEPS = 3
"""Two logs behind one another in one file step back once."""

MAX_REVERSED_SHARE = 0.05
"""Of the steps over an idle gap, the share that may lead the other way: two processes that share a file, a clock put
right. Of lines in no order every second one does."""


def is_in_one_direction(forwards: int, backwards: int) -> bool:
    """Whether so many steps lead one way, but for the few that clocks and threads explain."""
    reversed_steps = min(forwards, backwards)
    return reversed_steps < MIN_REVERSED_STEPS or reversed_steps <= MAX_REVERSED_SHARE * (forwards + backwards)


def sample_lines(data: bytes, time_at: TimeAt) -> Iterator[TimedLine]:
    """Yield a few lines from all over a block."""
    for part in range(1, LINES_LOOKED_AT + 1):
        start = data.find(b"\n", len(data) * part // (LINES_LOOKED_AT + 1)) + 1
        limit = data.find(b"\n", start + NEARBY)
        mark = next_timed_line(data, start, limit if limit >= 0 else len(data), time_at) if start else None
        if mark is not None:
            yield mark


def spans_of(
    data: bytes, known: Sequence[TimedLine], time_at: TimeAt, *, floor_ms: int
) -> Iterator[tuple[TimedLine, TimedLine]]:
    """Yield the parts of a block in which there is no idle gap, given lines in its order. Raises OutOfOrder."""
    if not are_in_one_direction([mark.at for mark in known]):
        raise OutOfOrder
    begun = known[0]
    for left, right in gaps_between(data, pairwise(known), time_at, floor_ms=floor_ms):
        yield begun, left
        begun = right
    yield begun, known[-1]
