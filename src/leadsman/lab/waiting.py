"""Waits for a condition, with a deadline. The only place in the lab that polls."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from leadsman.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

POLL = timedelta(milliseconds=50)
"""Short against everything that is waited for (a broker: seconds), long against the cost of looking (microseconds)."""


def wait_for(
    condition: Callable[[], T], *, within: timedelta, what: str, error: Callable[[str], Exception] = LabError
) -> T:
    """Return the condition's first true result, or raise `error` with a sentence that says `what` did not happen."""
    deadline = time.monotonic() + within.total_seconds()
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise error(f"Waited {within.total_seconds():g} s for {what}, in vain.")
        time.sleep(POLL.total_seconds())  # reason: the one poll interval that all waiting shares
    return result
