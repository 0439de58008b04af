"""Rounds come when they are due."""

from __future__ import annotations

import time
from datetime import timedelta

from leadsman.waiting import rounds


def test_what_lasts_no_time_is_done_once() -> None:
    assert list(rounds(every=timedelta(hours=1), lasts=timedelta())) == [0]


def test_rounds_are_a_fixed_time_apart() -> None:
    began = time.monotonic()

    numbers = list(rounds(every=timedelta(milliseconds=50), lasts=timedelta(milliseconds=240)))

    assert numbers == [0, 1, 2, 3, 4]
    assert 0.2 <= time.monotonic() - began < 0.24 + 0.2
