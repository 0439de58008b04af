"""Creates instances one at a time: all callers wait for the same creation, and failures are followed by a backoff."""

from __future__ import annotations

import contextvars
import threading
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from leadsman_clients.clock import elapsed
from leadsman_clients.errors import ClientsError, CreationFailed, CreationTimedOut

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman_clients.clock import Clock, Instant
    from leadsman_clients.instance.policy import Policy

T = TypeVar("T")

MAX_HUNG_CREATIONS = 3
"""While so many creations hang, no other is started. Each of them holds a thread."""

ROUNDING_SECONDS = 1e-6
"""A backoff that was waited out can be left with less than this by rounding; waiting so little may not move a clock."""


class CreationBackoff:
    """Failures in a row, and the pause before the next creation that they cost."""

    def __init__(self, name: str, policy: Policy) -> None:
        self._name = name
        self._policy = policy
        self._failures = 0
        self._error: BaseException | None = None
        self._began: Instant | None = None
        self._seconds = 0.0

    def remaining_seconds(self, now: Instant) -> float:
        """Return for how many seconds nothing may be created."""
        if self._began is None:
            return 0.0
        remaining = self._seconds - elapsed(self._began, now)
        return remaining if remaining > ROUNDING_SECONDS else 0.0

    def note_failure(self, error: BaseException, now: Instant) -> None:
        """Begin a pause, longer with each failure in a row."""
        self._failures += 1
        self._error = error
        self._began = now
        min_seconds = self._policy.min_create_interval.total_seconds()
        self._seconds = max(self._policy.backoff.seconds(self._failures), min_seconds)

    def note_success(self, now: Instant) -> None:
        """Forget the failures; only the policy's `min_create_interval` remains as a pause."""
        self._failures, self._error = 0, None
        self._began, self._seconds = now, self._policy.min_create_interval.total_seconds()

    def refusal(self, now: Instant) -> CreationFailed:
        """Return the error for a caller who cannot wait until the pause is over."""
        times = f"failed {self._failures} times in a row" if self._failures else "was just created"
        error = CreationFailed(
            f"{self._name} {times}; the next attempt is in {self.remaining_seconds(now):.1f} s. "
            f"Last error: {self._error!r}"
        )
        error.__cause__ = self._error
        return error


class Creation(Generic[T]):
    """One call of the user's `create()` in a thread of its own, so that a call that hangs can be abandoned."""

    __slots__ = ("_create", "began", "done", "error", "is_abandoned", "thread", "value")

    def __init__(self, create: Callable[[], T], clock: Clock) -> None:
        self._create = create
        self.began = clock.read()
        self.done = threading.Event()
        self.error: BaseException | None = None
        self.value: T | None = None
        self.is_abandoned = False
        """No caller waits any more: an instance that comes late is retired unused."""
        self.thread: threading.Thread | None = None

    def start(self, name: str, on_end: Callable[[Creation[T]], None]) -> None:
        """Call `create()`; then `on_end`, in that same thread, with the value or the error set."""
        context = contextvars.copy_context()  # tracing and logging contexts of the caller apply to create() too
        self.thread = threading.Thread(target=context.run, args=(self._run, on_end), name=f"{name}-create", daemon=True)
        self.thread.start()

    def _run(self, on_end: Callable[[Creation[T]], None]) -> None:
        try:
            self.value = self._create()
        except BaseException as error:  # noqa: BLE001 - handed on to the callers that wait
            self.error = error
        on_end(self)
        self.done.set()

    def result(self) -> T:
        """Return the instance of a creation that succeeded."""
        return cast("T", self.value)


class InstanceCreator(Generic[T]):
    """The current creation, and when the next one is allowed. The caller holds the provider's lock, but for `wait`."""

    def __init__(self, name: str, create: Callable[[], T], *, policy: Policy, clock: Clock) -> None:
        self._name = name
        self._create = create
        self._policy = policy
        self._clock = clock
        self.backoff = CreationBackoff(name, policy)
        self._hung: set[Creation[T]] = set()
        self.current: Creation[T] | None = None

    def join(self, now: Instant) -> tuple[Creation[T] | None, bool]:
        """Return the creation to wait for, and whether the caller must start it. None: a backoff is under way."""
        if self.current is None:
            if self.backoff.remaining_seconds(now) > 0:
                return None, False
            self._refuse_if_many_hang()
            self.current = Creation(self._create, self._clock)
            return self.current, True
        if self.current.thread is threading.current_thread():
            raise ClientsError(
                f"The create() of {self._name} leases an instance of {self._name}: it would wait for itself."
            )
        return self.current, False

    def note_end(self, creation: Creation[T], now: Instant) -> bool:
        """Note the end of a creation; return whether its instance is to be given out."""
        self._hung.discard(creation)
        if creation.is_abandoned:
            return False
        self.current = None
        if creation.error is not None:
            self.backoff.note_failure(creation.error, now)
            return False
        self.backoff.note_success(now)
        return True

    def abandon(self, creation: Creation[T], now: Instant) -> bool:
        """Stop waiting for a creation that hangs; return whether this call did."""
        if creation.is_abandoned or creation.done.is_set() or self.current is not creation:
            return False
        creation.is_abandoned = True
        self.current = None
        self._hung.add(creation)
        self.backoff.note_failure(CreationTimedOut(f"{self._name} took too long to create."), now)
        return True

    def wait(self, creation: Creation[T], seconds: float) -> bool:
        """Wait for a creation's end, at most so long and at most until `create_timeout`; return whether it ended."""
        remaining = self._policy.create_timeout.total_seconds() - elapsed(creation.began, self._clock.read())
        return self._clock.wait(creation.done, max(0.0, min(seconds, remaining)))

    def is_overdue(self, creation: Creation[T], now: Instant) -> bool:
        """Whether a creation has taken longer than the policy's `create_timeout`."""
        return elapsed(creation.began, now) >= self._policy.create_timeout.total_seconds()

    def _refuse_if_many_hang(self) -> None:
        if len(self._hung) >= MAX_HUNG_CREATIONS:
            raise CreationTimedOut(
                f"{len(self._hung)} creations of {self._name} hang. Give its create() a timeout of its own, shorter "
                f"than create_timeout ({self._policy.create_timeout.total_seconds():g} s)."
            )
