"""One process's share of a provider: the lock, the instance, who creates and who retires."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from leadsman.clients.clock import elapsed
from leadsman.clients.creating import Creator
from leadsman.clients.errors import CreationFailed, CreationTimedOut, ProviderClosed
from leadsman.clients.events import Event, Kind, Reason, tell
from leadsman.clients.lifecycle import Generation, Lifecycle
from leadsman.clients.policy import Activity, Retire
from leadsman.clients.processwide import KEPT
from leadsman.clients.retiring import Retirer
from leadsman.clients.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leadsman.clients.clock import Clock, Instant
    from leadsman.clients.creation import Creation
    from leadsman.clients.events import Listener
    from leadsman.clients.policy import Policy
    from leadsman.clients.retiring import RetireCall

T = TypeVar("T")


def said(cause: BaseException | str) -> str:
    """Return a cause in words."""
    return cause if isinstance(cause, str) else repr(cause)


class Keeper(Generic[T]):
    """Takes the lock for moments only: creating, retiring and telling happen outside it."""

    def __init__(
        self,
        name: str,
        create: Callable[[], T],
        retire: RetireCall[T],
        *,
        policy: Policy,
        clock: Clock,
        usable: Callable[[T], bool] | None,
        fatal: Callable[[BaseException], bool] | None,
        on_event: Listener | None,
    ) -> None:
        self.name = name
        self.policy = policy
        self.lock = threading.RLock()  # reentrant: a signal handler or finaliser may come while this thread holds it
        self.lifecycle: Lifecycle[T] = Lifecycle(name, policy)
        self.tally = Tally()
        self.read = clock.read
        self.closed = False
        self.inherited = False
        """This is a parent process's: nothing of it may be touched."""
        self.usable = usable
        self._fatal = fatal
        self._on_event = on_event
        self._clock = clock
        self._on_release = policy.activity is Activity.RELEASE
        self._dropped: deque[Generation[T]] = deque()
        self._creator = Creator(name, create, policy=policy, clock=clock)
        self.retirer = Retirer(name, retire, policy=policy, clock=clock, report=lambda event: self._tell([event]))

    # Getting an instance.

    def settled(self, generation: Generation[T] | None, began: Instant, seconds: float) -> Generation[T]:
        """Return a leased generation that is good, at most so many seconds after `began`."""
        while generation is None or not self._is_good(generation):
            generation = self._step(seconds - elapsed(began, self.read()))
        return generation

    def _is_good(self, generation: Generation[T]) -> bool:
        if self.usable is None or self.usable(generation.value):
            return True
        now = self.read()
        with self.lock:
            if self.lifecycle.expire(Reason.UNUSABLE, now, generation):
                self._creator.pauses.failed(CreationFailed(f"{self.name} #{generation.number} is not usable."), now)
            self.lifecycle.release(generation, now, active=False)
        return False

    def _step(self, left: float) -> Generation[T] | None:
        """Come one step closer: take a generation, or wait for what is in the way, for at most `left` seconds."""
        now = self.read()
        with self.lock:
            if self.closed:
                raise ProviderClosed(f"{self.name} is closed. Make a new provider, or close it later.")
            generation = self.lifecycle.take(now)
            creation, is_new = (None, False) if generation is not None else self._creator.join(now)
        if creation is not None and is_new:
            creation.start(self.name, self._finish)
        self.tidy(left)
        if generation is None:
            self._pause(left) if creation is None else self._await(creation, left)
        return generation

    def _pause(self, left: float) -> None:
        now = self.read()
        pause = self._creator.pauses.left(now)
        if pause >= left:
            raise self._creator.pauses.refusal(now)
        self._clock.pause(pause)

    def _await(self, creation: Creation[T], left: float) -> None:
        if not self._creator.wait(creation, left):
            self._give_up(creation)
        elif creation.error is not None:
            raise CreationFailed(f"{self.name} could not be created: {creation.error!r}") from creation.error

    def _give_up(self, creation: Creation[T]) -> None:
        now, limit = self.read(), self.policy.create_within.total_seconds()
        with self.lock:
            hangs = self._creator.overdue(creation, now) and self._creator.give_up(creation, now)
        if hangs:
            self._tell([Event(kind=Kind.CREATE_FAILED, provider=self.name, says="not done in time", seconds=limit)])
        raise CreationTimedOut(
            f"No instance of {self.name} in time: its creation began {elapsed(creation.began, now):.1f} s ago. "
            f"One may take {limit:g} s (create_within)."
        )

    def _finish(self, creation: Creation[T]) -> None:
        """Take in what a creation brought. Runs in its thread."""
        now = self.read()
        seconds = elapsed(creation.began, now)
        with self.lock:
            wanted = self._creator.ended(creation, now) and not self.closed
            if wanted:
                self.lifecycle.admit(creation.brought(), now, seconds=seconds)
        if creation.error is not None:
            self._tell([Event(kind=Kind.CREATE_FAILED, provider=self.name, says=repr(creation.error), seconds=seconds)])
        elif not wanted:
            self.retirer.submit([Generation(creation.brought(), 0, now, self.policy)])
        self._tell_pending()

    # What a lease calls.

    def give_back(self, generation: Generation[T], error: BaseException | None) -> None:
        """Take a lease back, with the error that ended its use."""
        if self.inherited:
            return
        now = self.read()
        fatal = error is not None and self._fatal is not None and self._fatal(error)
        with self.lock:
            if fatal:
                self.lifecycle.expire(Reason.FAILED, now, generation, says=repr(error))
            self.lifecycle.release(generation, now, active=error is None and self._on_release)
            live = generation.reason is None
        if not live:
            self.tidy(self.policy.retire_within.total_seconds())

    def dropped(self, generation: Generation[T]) -> None:
        """Note a lease that was dropped without being released; the next caller clears it away."""
        self._dropped.append(generation)

    def touch(self, generation: Generation[T]) -> None:
        """Note that an instance proved to be alive."""
        now = self.read()
        with self.lock:
            self.lifecycle.touch(generation, now)

    def alive(self, instance: T | None) -> None:
        """Note that the live instance, if it is this one, proved to be alive."""
        now = self.read()
        with self.lock:
            live = self.lifecycle.current(instance=instance)
            if live is not None:
                self.lifecycle.touch(live, now)

    def failed(self, cause: BaseException | str, generation: Generation[T]) -> bool:
        """Stop giving out this instance; return whether it still was."""
        return self.expire(Reason.FAILED, generation=generation.number, says=said(cause))

    # Retiring, and telling of it. Never under the lock.

    def expire(
        self, reason: Reason, *, generation: int | None = None, instance: T | None = None, says: str = ""
    ) -> bool:
        """Stop giving out the live instance. Closes nothing in this thread, which may be a client's own."""
        if self.inherited:
            return False
        now = self.read()
        with self.lock:
            live = self.lifecycle.current(generation=generation, instance=instance)
            expired = self.lifecycle.expire(reason, now, live, says=says)
        if expired and self.policy.retire is Retire.BACKGROUND:
            self.tidy(0.0)
        return expired

    def tidy(self, seconds: float) -> None:
        """Retire what is due, and tell what happened. Where retiring is inline, it takes at most so many seconds."""
        now = self.read()
        with self.lock:
            while self._dropped:
                self.lifecycle.leaked(self._dropped.popleft(), now)
            due = self.lifecycle.due(now)
        self._tell_pending()
        if due:
            self._retire(due, min(seconds, self.policy.retire_within.total_seconds()))

    def _retire(self, due: Sequence[Generation[T]], seconds: float) -> None:
        if self.policy.retire is Retire.ABANDON:
            self.abandon(due)
            return
        retirements = self.retirer.submit(due)
        if self.policy.retire is Retire.INLINE:
            self.retirer.wait(retirements, max(0.0, seconds))

    def abandon(self, generations: Sequence[Generation[T]]) -> None:
        """Keep them and never touch them again."""
        KEPT.extend(generations)
        kind = Kind.ABANDONED
        self._tell(Event(kind=kind, provider=self.name, generation=g.number, reason=g.reason) for g in generations)

    def give_up(self) -> list[Generation[T]]:
        """Give out nothing any more; return what is still to be retired."""
        now = self.read()
        with self.lock:
            self.closed = True
            due = self.lifecycle.give_up(Reason.CLOSING, now)
        self._tell_pending()
        return due

    def _tell_pending(self) -> None:
        with self.lock:
            events = self.lifecycle.events()
        self._tell(events)

    def _tell(self, events: Iterable[Event]) -> None:
        for event in events:
            self.tally.add(event)
            tell(event, self._on_event)
