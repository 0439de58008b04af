"""How often something may be started again."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from leadsman.clients.backoff import Backoff


class Budget:
    """So many in a window of time, with a longer pause each time."""

    def __init__(self, most: int, window: timedelta, backoff: Backoff) -> None:
        self._most = most
        self._window_seconds = window.total_seconds()
        self._backoff = backoff
        self._spent: deque[float] = deque()

    def spend(self, now: float) -> float | None:
        """Take one; return the pause in seconds before it, or None if there is none left. `now` is a monotonic time."""
        while self._spent and now - self._spent[0] >= self._window_seconds:
            self._spent.popleft()
        if len(self._spent) >= self._most:
            return None
        self._spent.append(now)
        return self._backoff.seconds(len(self._spent))
