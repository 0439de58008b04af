"""All lines of a block with their times, where many of them are needed: as arrays, not line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.telemetry.record_batch import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leadsman.pipeline.idle_gaps.bisection import TimedLine
    from leadsman.telemetry.format import RecognisedFormat, TimeAt

    Numbers = NDArray[np.int64]


class BlockLines(NamedTuple):
    """Where each line of a block begins and ends, and its time (ms since 1970), NO_TIME where it is to be read singly.

    A line without a time of its own has NO_TIME as well.
    """

    starts: Numbers
    ends: Numbers
    at: Numbers


class LineSpans(NamedTuple):
    """Spans of a block without an idle gap between two lines of one: the first and the last line of each, from 0.

    `is_rising` says whether times rise from line to line; else they fall.
    """

    begins: list[int]
    ends: list[int]
    is_rising: bool


def block_lines(data: bytes, newlines: NDArray[np.bool_], form: RecognisedFormat) -> BlockLines | None:
    """Return the lines of a block; None where their times cannot be read all at once."""
    if form.line_times is None or not form.line_times.are_likely:
        return None
    ends = np.flatnonzero(newlines)
    if not newlines[-1]:
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1))
    at = form.line_times.read(data, starts)
    return None if at is None else BlockLines(starts, ends, at)


def spans_of_lines(
    data: bytes, lines: BlockLines, outermost: tuple[TimedLine, TimedLine], *, time_at: TimeAt, floor_ms: int
) -> LineSpans | None:
    """Return the spans of a block between its first and its last line with a time, `outermost`.

    None where times run back and forth, or where a line within an idle gap has a time that was not read with the
    others: then the lines are looked at one by one.
    """
    timed = np.flatnonzero(lines.at != NO_TIME)
    if not len(timed) or [lines.starts[timed[0]], lines.starts[timed[-1]]] != [each.start for each in outermost]:
        return None
    at = lines.at[timed]
    steps = np.diff(at)
    is_rising = bool((steps >= 0).all())
    if not is_rising and (steps > 0).any():
        return None
    before = np.flatnonzero(np.abs(steps) >= floor_ms)
    left, right = timed[before], timed[before + 1]
    for index in np.flatnonzero(right - left > 1).tolist():
        between = range(int(left[index]) + 1, int(right[index]))
        if any(time_at(data, int(lines.starts[row]), int(lines.ends[row])) is not None for row in between):
            return None
    return LineSpans(
        np.concatenate((timed[:1], right)).tolist(), np.concatenate((left, timed[-1:])).tolist(), is_rising
    )
