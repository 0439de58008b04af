"""When creating is allowed again: after a failure there is a pause, longer each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.clients.clock import elapsed
from leadsman.clients.errors import CreationFailed

if TYPE_CHECKING:
    from leadsman.clients.clock import Instant
    from leadsman.clients.policy import Policy

ROUNDING_SECONDS = 1e-6
"""A pause that was waited out can be left with less than this by rounding; waiting so little may not move a clock."""


class Pauses:
    """Failures in a row, and the pause that the last of them costs."""

    def __init__(self, name: str, policy: Policy) -> None:
        self._name = name
        self._policy = policy
        self._failures = 0
        self._error: BaseException | None = None
        self._since: Instant | None = None
        self._seconds = 0.0

    def left(self, now: Instant) -> float:
        """Return for how many seconds nothing may be created."""
        if self._since is None:
            return 0.0
        left = self._seconds - elapsed(self._since, now)
        return left if left > ROUNDING_SECONDS else 0.0

    def failed(self, error: BaseException, now: Instant) -> None:
        """Note a failure: the next creation waits, longer each time."""
        self._failures += 1
        self._error = error
        self._since = now
        self._seconds = max(self._policy.backoff.seconds(self._failures), self._policy.create_interval.total_seconds())

    def worked(self, now: Instant) -> None:
        """Note that an instance is good: the next failure is the first again."""
        self._failures, self._error = 0, None
        self._since, self._seconds = now, self._policy.create_interval.total_seconds()

    def refusal(self, now: Instant) -> CreationFailed:
        """Return the error for a caller who cannot wait until the pause is over."""
        times = f"failed {self._failures} times in a row" if self._failures else "was just made"
        error = CreationFailed(
            f"{self._name} {times}; the next attempt is in {self.left(now):.1f} s. Last error: {self._error!r}"
        )
        error.__cause__ = self._error
        return error
