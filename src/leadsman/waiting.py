"""Waits with a deadline: for a condition, or for items. No other module polls."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from datetime import timedelta
from queue import Empty, Queue
from typing import TYPE_CHECKING, Generic, TypeVar

from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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


ITEMS_IN_ADVANCE = 64
"""Items that are read before they are requested: few, so that little memory is used."""


def items_within(items: Callable[[], Iterable[T]], *, timeout: timedelta) -> Iterator[T]:
    """Yield the items; TimeoutError where they take longer in all. An error of `items` is raised here.

    A timeout of a socket is for each byte: a server that sends a byte a second never exceeds it. So the items are read
    in a thread of their own, which ends with its next item, or with the process.
    """
    reading = _Reading(items)
    threading.Thread(target=reading.run, daemon=True).start()
    deadline = time.monotonic() + timeout.total_seconds()
    try:
        while (result := reading.next(deadline)) is not None:
            yield from result
    finally:
        reading.end()


class _Reading(Generic[T]):
    """Items that a thread puts into a queue: a list of one item, then None or the error."""

    def __init__(self, items: Callable[[], Iterable[T]]) -> None:
        self._items = items
        self._results: Queue[list[T] | BaseException | None] = Queue(ITEMS_IN_ADVANCE)
        self._is_over = False

    def run(self) -> None:
        end: BaseException | None = None
        try:
            for item in self._items():
                self._results.put([item])
                if self._is_over:
                    return
        except BaseException as error:  # noqa: BLE001 - raised again in the other thread
            end = error
        self._results.put(end)

    def next(self, deadline: float) -> list[T] | None:
        try:
            result = self._results.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            raise TimeoutError from None
        if isinstance(result, BaseException):
            raise result
        return result

    def end(self) -> None:
        """Let the thread end, which can wait for a place in the queue."""
        self._is_over = True
        with suppress(Empty):
            while True:
                self._results.get_nowait()


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
