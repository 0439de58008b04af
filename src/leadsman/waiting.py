"""Waits for a condition, with a deadline. The only place that polls."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

POLL = timedelta(milliseconds=50)
"""Short against everything that is waited for (a broker: seconds), long against the cost of looking (microseconds)."""


def wait_for(
    condition: Callable[[], T],
    *,
    within: timedelta,
    what: str,
    every: timedelta = POLL,
    error: Callable[[str], Exception] = LeadsmanError,
) -> T:
    """Return the condition's first true result, or raise `error` with a sentence that says `what` did not happen."""
    deadline = time.monotonic() + within.total_seconds()
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise error(f"Waited {within.total_seconds():g} s for {what}, in vain.")
        time.sleep(every.total_seconds())  # reason: the pause between two looks at the condition
    return result


def rounds(*, every: timedelta, lasts: timedelta) -> Iterator[int]:
    """Yield 0, 1, 2 ... each when it is due: every so often for so long; 0 alone where it lasts no time.

    A round that takes longer than `every` delays the next one; none is made up for.
    """
    began = due = time.monotonic()
    number = 0
    while True:
        yield number
        number += 1
        due = max(due + every.total_seconds(), time.monotonic())
        if due - began >= lasts.total_seconds():
            return
        time.sleep(max(0.0, due - time.monotonic()))  # reason: the pause between two rounds
