"""Rounds come when they are due, and items come in time or not at all."""

from __future__ import annotations

import itertools
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.waiting import items_within, rounds

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_what_lasts_no_time_is_done_once() -> None:
    assert list(rounds(every=timedelta(hours=1), lasts=timedelta())) == [0]


def test_rounds_are_a_fixed_time_apart() -> None:
    began = time.monotonic()

    numbers = list(rounds(every=timedelta(milliseconds=50), lasts=timedelta(milliseconds=240)))

    assert numbers == [0, 1, 2, 3, 4]
    assert 0.2 <= time.monotonic() - began < 0.24 + 0.2


def test_items_are_yielded_in_order_and_an_error_is_raised_after_them() -> None:
    def items() -> Iterator[int]:
        yield from range(1000)
        raise LookupError

    found: list[int] = []
    with pytest.raises(LookupError):
        found.extend(items_within(items, timeout=timedelta(seconds=30)))

    assert found == list(range(1000))


def test_items_that_do_not_come_in_time_are_given_up() -> None:
    release = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        release.wait(30)

    found: list[int] = []
    with pytest.raises(TimeoutError):
        found.extend(items_within(items, timeout=timedelta(seconds=0.2)))

    release.set()
    assert found == [1]


def test_a_reader_that_stops_early_ends_the_thread() -> None:
    ended = threading.Event()

    def items() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            ended.set()

    assert next(items_within(items, timeout=timedelta(seconds=30))) == 0
    assert ended.wait(30)
