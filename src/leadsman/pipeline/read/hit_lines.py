"""The lines of a block on which signatures were found: where each stands, its number, and what was found on it."""

from __future__ import annotations

from itertools import accumulate, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from leadsman.pipeline.idle_gaps.bisection import TimedLine
from leadsman.pipeline.read.records import QUOTE_LENGTH, Hit
from leadsman.pipeline.read.scanner import scanner
from leadsman.telemetry.format import no_time
from leadsman.telemetry.record_batch import NO_TIME
from leadsman.telemetry.source import MAX_MATCH, once_signatures

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from numpy.typing import NDArray

    from leadsman.pipeline.idle_gaps.block_lines import BlockLines
    from leadsman.telemetry.format import TimeAt

LONG_LINE = 16_384
"""Characters. On a longer line a signature is tried only around the first thing that was found."""

MANY_HITS = 40
"""Lines with hits in one block, above which listing all newlines (50 microseconds) costs less than counting on."""


class HitLine(NamedTuple):
    """A line on which signatures were found: from `start` to `end` of its block, the first match ending at `near`.

    `at` is the line's own time (ms since 1970), if it has one.
    """

    start: int
    end: int
    near: int
    signatures: tuple[int, ...]
    at: int | None


NO_HIT_LINE = HitLine(0, 0, 0, (), None)


def hit_lines_of(
    data: bytes, found: list[tuple[int, int]], reported_once: Container[int], time_at: TimeAt
) -> Iterator[HitLine]:
    """Group by line what was found, which comes in the order in which the matches end."""
    start, end, near = 0, -1, 0
    there: tuple[int, ...] = ()
    for offset, index in found:
        if index in reported_once:
            continue
        if offset <= end:
            if index not in there:
                there = tuple(sorted((*there, index)))
            continue
        if there:
            yield HitLine(start, end, near, there, time_at(data, start, end))
        start, end = data.rfind(b"\n", 0, offset - 1) + 1, data.find(b"\n", offset - 1)
        end = len(data) if end < 0 else end
        near, there = offset, (index,)
    if there:
        yield HitLine(start, end, near, there, time_at(data, start, end))


def hit_lines_among(
    data: bytes, found: list[tuple[int, int]], reported_once: Container[int], time_at: TimeAt, *, lines: BlockLines
) -> list[HitLine]:
    """Return what `hit_lines_of` yields, given all lines of the block."""
    news = [each for each in found if each[1] not in reported_once]
    if not news:
        return []
    offsets = np.fromiter(map(itemgetter(0), news), np.int64, len(news))
    rows = np.searchsorted(lines.ends, offsets - 1)
    if (lines.ends[rows] < offsets).any():  # a match that holds the newline
        return list(hit_lines_of(data, found, reported_once, time_at))
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    there = rows[first]
    columns = (first, lines.starts[there], lines.ends[there], lines.at[there])
    until = [*first[1:].tolist(), len(news)]
    hit_lines: list[HitLine] = []
    for index, start, end, at, after in zip(*(column.tolist() for column in columns), until, strict=True):
        near, signature = news[index]
        several = after - index > 1
        signatures = tuple(sorted({each for _, each in news[index:after]})) if several else (signature,)
        hit_lines.append(HitLine(start, end, near, signatures, time_at(data, start, end) if at == NO_TIME else at))
    return hit_lines


def timed_hit_lines(hit_lines: Iterable[HitLine]) -> list[TimedLine]:
    """Return the lines with hits whose times are known, but for those that are no hits later in the stream."""
    once = once_signatures()
    return [
        TimedLine(hit_line.start, hit_line.end, hit_line.at)
        for hit_line in hit_lines
        if hit_line.at is not None and not once.issuperset(hit_line.signatures)
    ]


def hit_of(data: bytes, hit_line: HitLine, line: int) -> Hit:
    """Return what was found on a line, which is the file's `line`-th."""
    text = data[hit_line.start : hit_line.end].decode("utf-8", "replace").rstrip("\r")
    near = hit_line.near - hit_line.start
    window = text if len(text) <= LONG_LINE else text[max(0, near - MAX_MATCH) : near + MAX_MATCH]
    return Hit(line, window, text, near, hit_line.signatures)


def without_known_signatures(hit: Hit, known: Container[int]) -> Hit | None:
    """Return what is left of a hit without signatures that are events already; None where nothing is."""
    left = tuple(index for index in hit.signatures if index not in known)
    if not left:
        return None
    if len(hit.raw) > QUOTE_LENGTH and left != hit.signatures:
        data = hit.raw.encode()
        hit_line = next(hit_lines_of(data, scanner()[1](data), known, no_time), None)
        hit = hit if hit_line is None else hit_of(data, hit_line, hit.line)
    return hit._replace(signatures=left)


def lines_before(starts: list[int], newlines: NDArray[np.bool_]) -> list[int]:
    """Return how many lines end before each of these places. Few are counted one by one, many looked up at once."""
    if len(starts) > MANY_HITS:
        return [int(count) for count in np.searchsorted(np.flatnonzero(newlines), starts)]
    counts = [np.count_nonzero(newlines[since:start]) for since, start in pairwise([0, *starts])]
    return list(accumulate(map(int, counts)))
