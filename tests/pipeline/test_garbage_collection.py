"""While events are read, Python looks for garbage seldom, and afterwards as often as before."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from leadsman.pipeline.events import EventRow, batches
from leadsman.pipeline.garbage_collection import YOUNG_THRESHOLD, rare_garbage_collection

if TYPE_CHECKING:
    from collections.abc import Iterator

ROW = EventRow("c", None, None, None, "error", "f", 1, "text", None, {})


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_it_is_seldom_while_events_are_read_and_as_before_afterwards() -> None:
    before = gc.get_threshold()
    seen = []

    def rows() -> Iterator[EventRow]:
        for _ in range(3):
            seen.append(gc.get_threshold()[0])
            yield ROW

    assert sum(each.num_rows for each in batches(rows())) == 3
    assert seen == [YOUNG_THRESHOLD] * 3
    assert gc.get_threshold() == before


def test_readings_that_end_in_another_order_leave_it_as_before() -> None:
    before = gc.get_threshold()
    first, second = rare_garbage_collection(), rare_garbage_collection()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] == YOUNG_THRESHOLD
    second.__exit__(None, None, None)

    assert gc.get_threshold() == before


def test_a_reading_that_fails_or_is_given_up_leaves_it_as_before() -> None:
    before = gc.get_threshold()

    def failing() -> Iterator[EventRow]:
        yield ROW
        raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        list(batches(failing()))
    given_up = batches(iter([ROW] * 50_000))
    next(given_up)
    del given_up

    assert gc.get_threshold() == before


@pytest.mark.parametrize("own", [0, 1_000_000])
def test_who_collects_never_or_more_seldom_still_does(own: int) -> None:
    gc.set_threshold(own, 10, 10)
    with rare_garbage_collection():
        assert gc.get_threshold()[0] == own
    assert gc.get_threshold()[0] == own
