"""Quiet gaps are found without looking at every line, and none is missed."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman.pipeline.idle_gaps.bisection import (
    OutOfOrder,
    TimedLine,
    gaps_between,
    next_timed_line,
    previous_timed_line,
)

SECOND = 1000


def time_at(block: bytes, start: int, end: int, /) -> int | None:
    """Lines are `<milliseconds> text`; a line that begins with a tab continues the one before."""
    word = block[start:end].split(b" ", 1)[0]
    return int(word) if word.isdigit() else None


def found(block: bytes, floor_ms: int, known: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return the gaps of a block in which the times of some lines, counted from 0, are known anyway."""
    first, last = next_timed_line(block, 0, len(block), time_at), previous_timed_line(block, len(block), time_at)
    assert first
    assert last
    marks = [first, *(mark for mark in every_mark(block) if block.count(b"\n", 0, mark.start) in known), last]
    return [(left.at, right.at) for left, right in gaps_between(block, pairwise(marks), time_at, floor_ms=floor_ms)]


def every_mark(block: bytes) -> Iterator[TimedLine]:
    mark = next_timed_line(block, 0, len(block), time_at)
    while mark is not None:
        yield mark
        mark = next_timed_line(block, mark.end + 1, len(block), time_at)


def every_gap(times: list[int], floor_ms: int) -> list[tuple[int, int]]:
    return [(a, b) for a, b in pairwise(times) if b - a >= floor_ms]


STEPS = st.lists(st.tuples(st.integers(0, 5 * SECOND), st.integers(0, 3)), min_size=1, max_size=60)


@given(STEPS, st.sets(st.integers(0, 60)))
def test_the_same_gaps_are_found_as_by_looking_at_every_line(steps, known):
    times = [sum(step for step, _ in steps[: i + 1]) for i in range(len(steps))]
    lines = [b"%d x\n" % at + b"\tat frame\n" * frames for at, (_, frames) in zip(times, steps, strict=True)]

    assert found(b"".join(lines), 2 * SECOND, sorted(known)) == every_gap(times, 2 * SECOND)


def test_a_block_without_any_time_has_no_marks():
    block = b"\tat frame\n" * 10

    assert next_timed_line(block, 0, len(block), time_at) is None
    assert previous_timed_line(block, len(block), time_at) is None


def test_the_last_line_counts_without_its_newline():
    block = b"1 x\n5000 y"

    assert previous_timed_line(block, len(block), time_at) == TimedLine(4, 10, 5000)


def test_a_gap_is_found_where_times_run_backwards():
    assert found(b"9000 x\n5000 y\n4500 z\n1000 z\n", 2 * SECOND) == [(9000, 5000), (4500, 1000)]


def test_a_line_outside_of_its_stretch_is_out_of_order():
    with pytest.raises(OutOfOrder):
        found(b"1000 x\n90000 y\n5000 z\n", 2 * SECOND)
