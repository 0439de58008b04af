"""Creates instances one at a time: one creation for all who wait, with pauses after failures."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from leadsman.clients.clock import elapsed
from leadsman.clients.creation import Creation
from leadsman.clients.errors import ClientsError, CreationTimedOut
from leadsman.clients.pauses import Pauses

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.clients.clock import Clock, Instant
    from leadsman.clients.policy import Policy

T = TypeVar("T")

HUNG_AT_ONCE = 3
"""So many creations may hang; then nobody starts another until one ends. Each holds a thread."""


class Creator(Generic[T]):
    """Who creates now, and when creating is allowed again. Its caller holds the provider's lock, but for `wait`."""

    def __init__(self, name: str, create: Callable[[], T], *, policy: Policy, clock: Clock) -> None:
        self._name = name
        self._create = create
        self._policy = policy
        self._clock = clock
        self.pauses = Pauses(name, policy)
        self._hung: set[Creation[T]] = set()
        self.current: Creation[T] | None = None

    def join(self, now: Instant) -> tuple[Creation[T] | None, bool]:
        """Return the creation to wait for, and whether it is new: then the caller starts it. None: a pause is on."""
        if self.current is None:
            if self.pauses.left(now) > 0:
                return None, False
            self._refuse_if_many_hang()
            self.current = Creation(self._create, self._clock)
            return self.current, True
        if self.current.thread is threading.current_thread():
            raise ClientsError(
                f"The creator of {self._name} asked {self._name} for an instance: it would wait for itself."
            )
        return self.current, False

    def ended(self, creation: Creation[T], now: Instant) -> bool:
        """Note the end of a creation; return whether somebody waits for its value."""
        self._hung.discard(creation)
        if creation.given_up:
            return False
        self.current = None
        if creation.error is not None:
            self.pauses.failed(creation.error, now)
            return False
        self.pauses.worked(now)
        return True

    def give_up(self, creation: Creation[T], now: Instant) -> bool:
        """Stop waiting for a creation that hangs; return whether this call did."""
        if creation.given_up or creation.done.is_set() or self.current is not creation:
            return False
        creation.given_up = True
        self.current = None
        self._hung.add(creation)
        self.pauses.failed(CreationTimedOut(f"{self._name} took too long to create."), now)
        return True

    def wait(self, creation: Creation[T], seconds: float) -> bool:
        """Wait for a creation's end, at most so long and no longer than one may take; return whether it has ended."""
        left = self._policy.create_within.total_seconds() - elapsed(creation.began, self._clock.read())
        return self._clock.wait(creation.done, max(0.0, min(seconds, left)))

    def overdue(self, creation: Creation[T], now: Instant) -> bool:
        """Whether a creation takes longer than it may."""
        return elapsed(creation.began, now) >= self._policy.create_within.total_seconds()

    def _refuse_if_many_hang(self) -> None:
        if len(self._hung) >= HUNG_AT_ONCE:
            raise CreationTimedOut(
                f"{len(self._hung)} creations of {self._name} hang. Give its creator a timeout of its own, shorter "
                f"than create_within ({self._policy.create_within.total_seconds():g} s)."
            )
