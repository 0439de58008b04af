"""The times of all lines of a block, read at once, are those of the lines read one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from random import Random
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadsman.telemetry.record_batch import NO_TIME
from leadsman.telemetry.timestamps.line_times import LineTimes
from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps, detect_timestamps
from leadsman.telemetry.timestamps.timestamp_format import TimeDefaults

LATEST = datetime(2026, 11, 23, tzinfo=UTC)
HALF_PAST = timezone(timedelta(hours=-3, minutes=-30))
SUMMER_TIME = ZoneInfo("Europe/Berlin")

USUAL = (
    "[{date} {clock},{ms}] INFO started (kafka.server)",
    "({date} {clock},{ms}) INFO started",
    "{date} {clock}.{ms} [main] INFO  app - started",
    "{date}T{clock}.{ms}Z stdout F started",
    "{date}T{clock}.{ms}{ms}{ms}Z stderr F started",
    "{date}T{clock}.{ms}+01:00 started",
    "{slashes} {clock},{ms}: started",
    "{date} {clock},{ms}{ms} started",
)
ODD = (
    "\tat com.acme.Store.put(Store.java:7)",
    "",
    "{date}T{clock}.{ms}Z stdout F   at com.acme.Store.put(Store.java:7)",
    "{date}T{clock}.{ms}Z stdout F \tat com.acme.Store.put(Store.java:7)",
    "{date}T{clock}.{ms}Z   indented",
    "{date}T{clock}.{ms}Z \tindented",
    "{date} {clock},{ms} UTC started",
    "{date} {clock},{ms} -0330 started",
    "{date} {clock},{ms} GATE opened",
    "{date}T{clock}.{ms}+01:00   indented",
    "{date} {clock},{ms}",
    "{date} {clock} started",
    "x{date} {clock},{ms}] INFO started",
    "{date} 24:00:00,{ms} started",
    "[{date} 23:60:00,{ms}] started",
    "{date} 23:59:61,{ms} started",
    "[{date} 23:59:60,{ms}] started",
    "2026-02-30 {clock},{ms} started",
    "0001-01-01 {clock},{ms} started",
    "[0001-01-01 {clock},{ms}] started",
    "{date}é{clock},{ms} started",
    "\x1b[32m{date} {clock},{ms} started",
    "1771243200.{ms} started",
    "Feb 16 {clock} host app[1]: started",
    "{date}",
)


def log(random: Random, usual: str, *, lines: int, odd_share: float) -> bytes:
    """Lines that are mostly written alike. Dates go back and forth."""
    written = []
    for _ in range(lines):
        text = random.choice(ODD + USUAL) if random.random() < odd_share else usual
        day = datetime(2026, random.choice((1, 2, 3, 10)), random.randint(1, 28), tzinfo=UTC)
        clock = f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"
        ms = f"{random.randrange(1000):03}"
        written.append(text.format(date=f"{day:%Y-%m-%d}", slashes=f"{day:%Y/%m/%d}", clock=clock, ms=ms))
    return "\n".join(written).encode() + random.choice((b"", b"\n"))


def starts_of(data: bytes) -> list[int]:
    return [0, *(index + 1 for index, byte in enumerate(data[:-1]) if byte == ord("\n"))]


def at_once(timestamps: LineTimestamps, data: bytes) -> list[int] | None:
    at = LineTimes(timestamps).read(data, np.array(starts_of(data), np.int64))
    return None if at is None else at.tolist()


def one_by_one(timestamps: LineTimestamps, data: bytes) -> list[int | None]:
    """Return the times of the lines, each read while its format is tried first as it was at the beginning."""
    starts = starts_of(data)
    first = timestamps.tried_first()
    times = []
    for start, end in zip(starts, [*(each - 1 for each in starts[1:]), len(data)], strict=True):
        times.append(timestamps.time_at(data, start, end))
        if timestamps.tried_first() is not first:
            break
    return times


@settings(deadline=None, max_examples=300)
@given(
    seed=st.integers(0, 1 << 32),
    usual=st.sampled_from(USUAL),
    lines=st.integers(1, 60),
    odd_share=st.sampled_from((0.0, 0.1, 0.5)),
    zone=st.sampled_from((UTC, HALF_PAST, SUMMER_TIME, ZoneInfo("UTC"))),
)
def test_a_time_that_is_read_at_once_is_that_of_the_line(*, seed, usual, lines, odd_share, zone):
    data = log(Random(seed), usual, lines=lines, odd_share=odd_share)
    timestamps = detect_timestamps(data.split(b"\n"), TimeDefaults(zone, LATEST))

    found = at_once(timestamps, data)

    if found is not None:
        singly = one_by_one(timestamps, data)
        both = list(zip(found, singly, strict=False))
        assert [pair for pair in both if pair[0] not in (NO_TIME, pair[1])] == []


@pytest.mark.parametrize("usual", USUAL)
def test_usual_lines_are_read_at_once(usual):
    data = log(Random(3), usual, lines=50, odd_share=0)
    timestamps = detect_timestamps(data.split(b"\n"), TimeDefaults(UTC, LATEST))

    assert at_once(timestamps, data) == one_by_one(timestamps, data)


def test_an_hour_that_occurs_twice_a_day_is_read_line_by_line():
    data = log(Random(3), USUAL[0], lines=50, odd_share=0)
    timestamps = detect_timestamps(data.split(b"\n"), TimeDefaults(SUMMER_TIME, LATEST))

    assert at_once(timestamps, data) is None


def test_another_way_of_writing_times_is_learnt_in_the_next_block():
    old, new = (log(Random(3), usual, lines=50, odd_share=0) + b"\n" for usual in (USUAL[2], USUAL[6]))
    timestamps = detect_timestamps((old + new).split(b"\n"), TimeDefaults(UTC, LATEST))
    line_times = LineTimes(timestamps)

    read = [line_times.read(data, np.array(starts_of(data), np.int64)) for data in (old, new, new)]

    assert [int(np.count_nonzero(at != NO_TIME)) for at in read if at is not None] == [50, 0, 50]
