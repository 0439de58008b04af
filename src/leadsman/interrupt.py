"""Defers a Ctrl-C, and finds one behind another error."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer a Ctrl-C until the end of the block, which must not be interrupted.

    For example between starting a program and recording who stops it; and while a module is imported beside other
    threads: an interrupted import can keep its lock, and the next thread that needs the lock waits for ever.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is ever interrupted
        return
    deferred: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: deferred.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if deferred:
            signal.raise_signal(signal.SIGINT)  # to whoever handles it now: perhaps a block around this one


def is_interrupt(error: BaseException) -> bool:
    """Whether an error was raised while a Ctrl-C was handled: py4j then closes connections, and can fail at that."""
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, KeyboardInterrupt):
            return True
        at = at.__cause__ or at.__context__
    return False


def raise_if_interrupted(error: BaseException) -> None:
    """Raise KeyboardInterrupt where an error comes of a Ctrl-C, so that nobody goes on after it in another way."""
    if is_interrupt(error):
        raise KeyboardInterrupt from error
