"""Waits for a condition with a deadline. No other module polls."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

POLL = timedelta(milliseconds=50)
"""Short compared with the waits (a broker: seconds), long compared with one check (microseconds)."""


def wait_for(
    condition: Callable[[], T],
    *,
    timeout: timedelta,
    what: str,
    every: timedelta = POLL,
    error: Callable[[str], Exception] = LeadsmanError,
) -> T:
    """Return the condition's first true result, or raise `error` with a sentence that says `what` did not happen."""
    deadline = time.monotonic() + timeout.total_seconds()
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise error(f"Waited {timeout.total_seconds():g} s for {what} without success.")
        time.sleep(every.total_seconds())  # reason: the pause between two checks of the condition
    return result


def wait_for_ever(call: Callable[[], T], *, error: type[Exception], every_seconds: float) -> T:
    """Return what `call` returns, as soon as it raises no `error`."""
    while True:
        try:
            return call()
        except error:
            time.sleep(every_seconds)  # reason: the pause between two attempts


def rounds(*, every: timedelta, lasts: timedelta) -> Iterator[int]:
    """Yield 0, 1, 2 ... with the pause `every`, for the duration `lasts`; only 0 where the duration is zero.

    A round that takes longer than `every` delays the next round; missed rounds are skipped.
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
