"""The state of a provider in one process: the lock, the live instance, its creation and the retirement of old ones."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from leadsman_clients.clock import elapsed
from leadsman_clients.errors import CreationFailed, CreationTimedOut, ProviderClosed
from leadsman_clients.instance._creation import InstanceCreator
from leadsman_clients.instance._lifecycle import Lifecycle, ManagedInstance
from leadsman_clients.instance._process_hooks import NEVER_CLOSED
from leadsman_clients.instance._retirement import InstanceRetirer
from leadsman_clients.instance.policy import Activity, Retirement
from leadsman_clients.observability.events import ClientEvent, EventKind, ExpiryReason, emit
from leadsman_clients.observability.statistics import EventCounters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leadsman_clients.clock import Clock, Instant
    from leadsman_clients.instance._creation import Creation
    from leadsman_clients.instance._retirement import RetireFunction
    from leadsman_clients.instance.policy import Policy
    from leadsman_clients.observability.events import EventListener

T = TypeVar("T")


def describe_cause(cause: BaseException | str) -> str:
    """Return a cause as text."""
    return cause if isinstance(cause, str) else repr(cause)


class InstanceHolder(Generic[T]):
    """Holds the lock for moments only: instances are created and retired, and events emitted, outside it."""

    def __init__(
        self,
        name: str,
        create: Callable[[], T],
        retire: RetireFunction[T],
        *,
        policy: Policy,
        clock: Clock,
        usable: Callable[[T], bool] | None,
        fatal: Callable[[BaseException], bool] | None,
        on_event: EventListener | None,
    ) -> None:
        self.name = name
        self.policy = policy
        self.lock = threading.RLock()  # reentrant: a signal handler or finaliser may come while this thread holds it
        self.lifecycle: Lifecycle[T] = Lifecycle(name, policy)
        self.counters = EventCounters()
        self.read_clock = clock.read
        self.is_closed = False
        self.is_inherited = False
        """It belongs to the parent process: nothing of it may be touched."""
        self.usable = usable
        self._fatal = fatal
        self._on_event = on_event
        self._clock = clock
        self._release_is_activity = policy.activity is Activity.RELEASE
        self._leaked: deque[ManagedInstance[T]] = deque()
        self._creator = InstanceCreator(name, create, policy=policy, clock=clock)
        self.retirer = InstanceRetirer(
            name, retire, policy=policy, clock=clock, on_event=lambda event: self._emit([event])
        )

    # Getting an instance.

    def acquire(self, managed: ManagedInstance[T] | None, began: Instant, seconds: float) -> ManagedInstance[T]:
        """Return a leased instance that is usable, at most so many seconds after `began`."""
        while managed is None or not self._is_usable(managed):
            managed = self._try_acquire(seconds - elapsed(began, self.read_clock()))
        return managed

    def _is_usable(self, managed: ManagedInstance[T]) -> bool:
        if self.usable is None or self.usable(managed.value):
            return True
        now = self.read_clock()
        with self.lock:
            if self.lifecycle.expire(ExpiryReason.UNUSABLE, now, managed):
                error = CreationFailed(f"{self.name} #{managed.generation} is not usable.")
                self._creator.backoff.note_failure(error, now)
            self.lifecycle.release(managed, now, active=False)
        return False

    def _try_acquire(self, remaining_seconds: float) -> ManagedInstance[T] | None:
        """Lease the live instance; without one, wait for its creation or for the backoff, and return None."""
        now = self.read_clock()
        with self.lock:
            if self.is_closed:
                raise ProviderClosed(f"{self.name} is closed. Make a new provider, or close it later.")
            managed = self.lifecycle.try_lease(now)
            creation, is_new = (None, False) if managed is not None else self._creator.join(now)
        if creation is not None and is_new:
            creation.start(self.name, self._on_creation_end)
        self.retire_due(remaining_seconds)
        if managed is None:
            self._wait_out_backoff(remaining_seconds) if creation is None else self._wait(creation, remaining_seconds)
        return managed

    def _wait_out_backoff(self, remaining_seconds: float) -> None:
        now = self.read_clock()
        pause = self._creator.backoff.remaining_seconds(now)
        if pause >= remaining_seconds:
            raise self._creator.backoff.refusal(now)
        self._clock.pause(pause)

    def _wait(self, creation: Creation[T], remaining_seconds: float) -> None:
        if not self._creator.wait(creation, remaining_seconds):
            self._raise_timeout(creation)
        elif creation.error is not None:
            raise CreationFailed(f"{self.name} could not be created: {creation.error!r}") from creation.error

    def _raise_timeout(self, creation: Creation[T]) -> None:
        now, limit = self.read_clock(), self.policy.create_timeout.total_seconds()
        with self.lock:
            is_hung = self._creator.is_overdue(creation, now) and self._creator.abandon(creation, now)
        if is_hung:
            self._emit([self._creation_failure("timed out", limit)])
        raise CreationTimedOut(
            f"No instance of {self.name} in time: its creation began {elapsed(creation.began, now):.1f} s ago. "
            f"One may take {limit:g} s (create_timeout)."
        )

    def _on_creation_end(self, creation: Creation[T]) -> None:
        """Make the created instance the live one, or retire it. Runs in the creation's thread."""
        now = self.read_clock()
        seconds = elapsed(creation.began, now)
        with self.lock:
            is_accepted = self._creator.note_end(creation, now) and not self.is_closed
            if is_accepted:
                self.lifecycle.add(creation.result(), now, seconds=seconds)
        if creation.error is not None:
            self._emit([self._creation_failure(repr(creation.error), seconds)])
        elif not is_accepted:
            self.retirer.submit([ManagedInstance(creation.result(), 0, now, self.policy)])
        self._emit_pending()

    def _creation_failure(self, message: str, seconds: float) -> ClientEvent:
        return ClientEvent(kind=EventKind.CREATE_FAILED, provider=self.name, message=message, seconds=seconds)

    # Called by leases.

    def release(self, managed: ManagedInstance[T], error: BaseException | None) -> None:
        """Take a lease back, with the error that ended its use."""
        if self.is_inherited:
            return
        now = self.read_clock()
        is_fatal = error is not None and self._fatal is not None and self._fatal(error)
        with self.lock:
            if is_fatal:
                self.lifecycle.expire(ExpiryReason.FAILED, now, managed, message=repr(error))
            self.lifecycle.release(managed, now, active=error is None and self._release_is_activity)
            is_live = managed.expiry_reason is None
        if not is_live:
            self.retire_due(self.policy.retire_timeout.total_seconds())

    def note_leaked(self, managed: ManagedInstance[T]) -> None:
        """Note a lease that was garbage-collected without being released; the next caller ends it."""
        self._leaked.append(managed)

    def touch(self, managed: ManagedInstance[T]) -> None:
        """Note that an instance proved to be alive."""
        now = self.read_clock()
        with self.lock:
            self.lifecycle.touch(managed, now)

    def touch_instance(self, instance: T | None) -> None:
        """Note that the live instance proved to be alive; with `instance`, only if it is that one."""
        now = self.read_clock()
        with self.lock:
            live = self.lifecycle.find_live(instance=instance)
            if live is not None:
                self.lifecycle.touch(live, now)

    def invalidate(self, cause: BaseException | str, managed: ManagedInstance[T]) -> bool:
        """Stop giving out this instance; return whether it was the live one."""
        return self.expire(ExpiryReason.FAILED, generation=managed.generation, message=describe_cause(cause))

    # Expiry and retirement. Instances are never retired, and events never emitted, under the lock.

    def expire(
        self, reason: ExpiryReason, *, generation: int | None = None, instance: T | None = None, message: str = ""
    ) -> bool:
        """Stop giving out the live instance. Closes nothing in this thread, which may be a client library's own."""
        if self.is_inherited:
            return False
        now = self.read_clock()
        with self.lock:
            live = self.lifecycle.find_live(generation=generation, instance=instance)
            expired = self.lifecycle.expire(reason, now, live, message=message)
        if expired and self.policy.retirement is Retirement.BACKGROUND:
            self.retire_due(0.0)
        return expired

    def retire_due(self, seconds: float) -> None:
        """Retire what is due and emit the pending events. With inline retirement, wait at most so many seconds."""
        now = self.read_clock()
        with self.lock:
            while self._leaked:
                self.lifecycle.release_leaked(self._leaked.popleft(), now)
            due = self.lifecycle.pop_due(now)
        self._emit_pending()
        if due:
            self._retire(due, min(seconds, self.policy.retire_timeout.total_seconds()))

    def _retire(self, due: Sequence[ManagedInstance[T]], seconds: float) -> None:
        if self.policy.retirement is Retirement.ABANDON:
            self.abandon(due)
            return
        tasks = self.retirer.submit(due)
        if self.policy.retirement is Retirement.INLINE:
            self.retirer.wait(tasks, max(0.0, seconds))

    def abandon(self, instances: Sequence[ManagedInstance[T]]) -> None:
        """Keep instances in memory and never touch them again."""
        NEVER_CLOSED.extend(instances)
        self._emit(
            ClientEvent(
                kind=EventKind.ABANDONED,
                provider=self.name,
                generation=managed.generation,
                reason=managed.expiry_reason,
            )
            for managed in instances
        )

    def close(self) -> list[ManagedInstance[T]]:
        """Give out no instance any more; return those that must still be retired."""
        now = self.read_clock()
        with self.lock:
            self.is_closed = True
            due = self.lifecycle.expire_all(ExpiryReason.CLOSING, now)
        self._emit_pending()
        return due

    def _emit_pending(self) -> None:
        with self.lock:
            events = self.lifecycle.pop_events()
        self._emit(events)

    def _emit(self, events: Iterable[ClientEvent]) -> None:
        for event in events:
            self.counters.add(event)
            emit(event, self._on_event)
