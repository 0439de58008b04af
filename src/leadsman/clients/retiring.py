"""Flushes and closes instances that are no longer given out: bounded, never under a lock, never raising."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from leadsman.clients.events import Event, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.clients.clock import Clock
    from leadsman.clients.lifecycle import Generation
    from leadsman.clients.policy import Policy

T = TypeVar("T")

RetireCall: TypeAlias = Callable[[T, timedelta], int | None]
"""Flushes and closes one instance within a time; returns how many records it gave up."""


class Retirement(Generic[T]):
    """One instance on its way out."""

    __slots__ = ("done", "generation", "started", "within")

    def __init__(self, generation: Generation[T], within: timedelta) -> None:
        self.generation = generation
        self.within = within
        self.done = threading.Event()
        self.started: float | None = None


class Retirer(Generic[T]):
    """At most `retire_slots` threads, alive while there is work. One that hangs is given up, and counts no longer."""

    def __init__(
        self, name: str, retire: RetireCall[T], *, policy: Policy, clock: Clock, report: Callable[[Event], None]
    ) -> None:
        self._name = name
        self._retire = retire
        self._policy = policy
        self._clock = clock
        self._report = report
        self._lock = threading.Lock()
        self._queue: deque[Retirement[T]] = deque()
        self._running: set[Retirement[T]] = set()
        self._workers = 0

    def submit(self, generations: Sequence[Generation[T]], *, within: timedelta | None = None) -> list[Retirement[T]]:
        """Retire them in threads, each in at most so long (default: the policy's `retire_within`); return at once."""
        retirements = [Retirement(generation, within or self._policy.retire_within) for generation in generations]
        with self._lock:
            self._queue.extend(retirements)
            given_up = self._give_up_hung()
            wanted = min(len(self._queue), self._policy.retire_slots - self._workers)
            self._workers += max(wanted, 0)
        for retirement in given_up:
            says = f"closing took longer than {2 * self._policy.retire_within.total_seconds():g} s"
            self._say(Kind.ABANDONED, retirement.generation, says=says)
        for _ in range(wanted):
            threading.Thread(target=self._work, name=f"{self._name}-retire", daemon=True).start()
        return retirements

    def wait(self, retirements: Sequence[Retirement[T]], seconds: float) -> bool:
        """Wait for them, at most so long in all; return whether they are done."""
        deadline = self._clock.read()[0] + seconds
        for retirement in retirements:
            self._clock.wait(retirement.done, max(0.0, deadline - self._clock.read()[0]))
        return all(retirement.done.is_set() for retirement in retirements)

    def here(self, generations: Sequence[Generation[T]], seconds: float) -> None:
        """Retire them in this thread, within so long in all: when no thread can be started any more."""
        deadline = self._clock.read()[0] + seconds
        for generation in generations:
            left = deadline - self._clock.read()[0]
            self._run(Retirement(generation, timedelta(seconds=max(0.0, left))))

    def _give_up_hung(self) -> list[Retirement[T]]:
        now, limit = self._clock.read()[0], 2 * self._policy.retire_within.total_seconds()
        hung = [r for r in self._running if r.started is not None and now - r.started > limit]
        self._running.difference_update(hung)
        self._workers -= len(hung)
        return sorted(hung, key=lambda retirement: retirement.generation.number)

    def _work(self) -> None:
        while retirement := self._next():
            self._run(retirement)
            with self._lock:
                if retirement not in self._running:
                    return  # given up meanwhile: another worker has this one's place
                self._running.discard(retirement)

    def _next(self) -> Retirement[T] | None:
        with self._lock:
            if not self._queue:
                self._workers -= 1
                return None
            retirement = self._queue.popleft()
            retirement.started = self._clock.read()[0]
            self._running.add(retirement)
            return retirement

    def _run(self, retirement: Retirement[T]) -> None:
        began, unsent, says = self._clock.read()[0], 0, ""
        try:
            unsent = self._retire(retirement.generation.value, retirement.within) or 0
        except Exception as error:  # noqa: BLE001 (the edge of a thread: nobody could catch it)
            says = repr(error)
        seconds = self._clock.read()[0] - began
        retirement.done.set()
        self._say(Kind.CLOSED, retirement.generation, unsent=unsent, seconds=seconds, says=says)

    def _say(
        self, kind: Kind, generation: Generation[T], *, unsent: int = 0, seconds: float = 0.0, says: str = ""
    ) -> None:
        self._report(
            Event(
                kind=kind,
                provider=self._name,
                generation=generation.number,
                reason=generation.reason,
                unsent=unsent,
                seconds=seconds,
                says=says,
            )
        )
