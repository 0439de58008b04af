"""Defers a Ctrl-C, finds one behind another error, and repeats one that was lost."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REPEATED_AFTER_SECONDS = 0.05
"""A Ctrl-C that was lost in a callback comes again so much later: the callback has ended then."""


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


def repeat_lost_interrupts() -> None:
    """Repeat a Ctrl-C that Python loses: an error in a callback of its own, as while modules are imported."""

    def report(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
            return
        again = threading.Timer(REPEATED_AFTER_SECONDS, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = report
