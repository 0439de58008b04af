"""Creates instances one at a time: one creation for all who wait, with pauses after failures."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from leadsman.clients.clock import elapsed
from leadsman.clients.creation import Creation
from leadsman.clients.errors import ClientsError, CreationFailed, CreationTimedOut

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.clients.clock import Clock, Instant
    from leadsman.clients.policy import Policy

T = TypeVar("T")

HUNG_AT_ONCE = 3
"""So many creations may hang; then nobody starts another until one ends. Each holds a thread."""

ROUNDING_SECONDS = 1e-6
"""A pause that was waited out can be left with less than this by rounding; waiting so little may not move a clock."""


class Creator(Generic[T]):
    """Who creates now, and when creating is allowed again. Its caller holds the provider's lock, but for `wait`."""

    def __init__(self, name: str, create: Callable[[], T], *, policy: Policy, clock: Clock) -> None:
        self._name = name
        self._create = create
        self._policy = policy
        self._clock = clock
        self._failures = 0
        self._error: BaseException | None = None
        self._quiet_until: Instant | None = None
        self._quiet_seconds = 0.0
        self._hung: set[Creation[T]] = set()
        self.current: Creation[T] | None = None

    def join(self, now: Instant) -> tuple[Creation[T] | None, bool]:
        """Return the creation to wait for, and whether it is new: then the caller starts it. None: a pause is on."""
        if self.current is None:
            if self.pause(now) > 0:
                return None, False
            self._refuse_if_many_hang()
            self.current = Creation(self._create, self._clock)
            return self.current, True
        if self.current.thread is threading.current_thread():
            raise ClientsError(
                f"The creator of {self._name} asked {self._name} for an instance: it would wait for itself."
            )
        return self.current, False

    def pause(self, now: Instant) -> float:
        """Return for how many seconds nothing may be created."""
        if self._quiet_until is None:
            return 0.0
        left = self._quiet_seconds - elapsed(self._quiet_until, now)
        return left if left > ROUNDING_SECONDS else 0.0

    def ended(self, creation: Creation[T], now: Instant) -> bool:
        """Note the end of a creation; return whether somebody waits for its value."""
        self._hung.discard(creation)
        if creation.given_up:
            return False
        self.current = None
        if creation.error is not None:
            self.failed(creation.error, now)
            return False
        self._rest(now, self._policy.create_interval.total_seconds())
        return True

    def give_up(self, creation: Creation[T], now: Instant) -> bool:
        """Stop waiting for a creation that hangs; return whether this call did."""
        if creation.given_up or creation.done.is_set() or self.current is not creation:
            return False
        creation.given_up = True
        self.current = None
        self._hung.add(creation)
        self.failed(CreationTimedOut(f"{self._name} took too long to create."), now)
        return True

    def failed(self, error: BaseException, now: Instant) -> None:
        """Note a failure: the next creation waits, longer each time."""
        self._failures += 1
        self._error = error
        self._rest(now, max(self._policy.backoff.seconds(self._failures), self._policy.create_interval.total_seconds()))

    def worked(self) -> None:
        """Note that an instance is good: the next failure is the first again."""
        self._failures, self._error = 0, None

    def refusal(self, now: Instant) -> CreationFailed:
        """Return the error for a caller who cannot wait until the pause is over."""
        what = (
            f"{self._name} failed {self._failures} times in a row" if self._failures else f"{self._name} was just made"
        )
        error = CreationFailed(f"{what}; the next attempt is in {self.pause(now):.1f} s. Last error: {self._error!r}")
        error.__cause__ = self._error
        return error

    def wait(self, creation: Creation[T], seconds: float) -> bool:
        """Wait for a creation's end, at most so long and no longer than one may take; return whether it has ended."""
        left = self._policy.create_within.total_seconds() - elapsed(creation.began, self._clock.read())
        return self._clock.wait(creation.done, max(0.0, min(seconds, left)))

    def overdue(self, creation: Creation[T], now: Instant) -> bool:
        """Whether a creation takes longer than it may."""
        return elapsed(creation.began, now) >= self._policy.create_within.total_seconds()

    def _rest(self, now: Instant, seconds: float) -> None:
        self._quiet_until, self._quiet_seconds = now, seconds

    def _refuse_if_many_hang(self) -> None:
        if len(self._hung) >= HUNG_AT_ONCE:
            raise CreationTimedOut(
                f"{len(self._hung)} creations of {self._name} hang. Give its creator a timeout of its own, shorter "
                f"than create_within ({self._policy.create_within.total_seconds():g} s)."
            )
