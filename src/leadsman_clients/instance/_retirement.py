"""Flushes and closes expired instances: in bounded time, never under a lock, never raising."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from leadsman_clients.observability.events import ClientEvent, EventKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman_clients.clock import Clock
    from leadsman_clients.instance._lifecycle import ManagedInstance
    from leadsman_clients.instance.policy import Policy

T = TypeVar("T")

RetireFunction: TypeAlias = Callable[[T, timedelta], int | None]
"""Flushes and closes one instance within a time; returns how many records were left unsent."""


class RetirementTask(Generic[T]):
    """The flush and close of one instance."""

    __slots__ = ("done", "managed", "started", "timeout")

    def __init__(self, managed: ManagedInstance[T], timeout: timedelta) -> None:
        self.managed = managed
        self.timeout = timeout
        self.done = threading.Event()
        self.started: float | None = None


class InstanceRetirer(Generic[T]):
    """At most `max_retire_threads` threads, alive while there is work. One that hangs is abandoned and not counted."""

    def __init__(
        self,
        name: str,
        retire: RetireFunction[T],
        *,
        policy: Policy,
        clock: Clock,
        on_event: Callable[[ClientEvent], None],
    ) -> None:
        self._name = name
        self._retire = retire
        self._policy = policy
        self._clock = clock
        self._on_event = on_event
        self._lock = threading.Lock()
        self._queue: deque[RetirementTask[T]] = deque()
        self._running: set[RetirementTask[T]] = set()
        self._thread_count = 0

    def submit(
        self, instances: Sequence[ManagedInstance[T]], *, timeout: timedelta | None = None
    ) -> list[RetirementTask[T]]:
        """Retire them in threads, each in at most so long (default: the policy's `retire_timeout`); return at once."""
        tasks = [RetirementTask(managed, timeout or self._policy.retire_timeout) for managed in instances]
        with self._lock:
            self._queue.extend(tasks)
            hung = self._abandon_hung()
            new_threads = min(len(self._queue), self._policy.max_retire_threads - self._thread_count)
            self._thread_count += max(new_threads, 0)
        for task in hung:
            message = f"closing took longer than {2 * self._policy.retire_timeout.total_seconds():g} s"
            self._emit(EventKind.ABANDONED, task.managed, message=message)
        for _ in range(new_threads):
            threading.Thread(target=self._work, name=f"{self._name}-retire", daemon=True).start()
        return tasks

    def wait(self, tasks: Sequence[RetirementTask[T]], seconds: float) -> bool:
        """Wait for the tasks, at most so many seconds in all; return whether they are done."""
        deadline = self._clock.read()[0] + seconds
        for task in tasks:
            self._clock.wait(task.done, max(0.0, deadline - self._clock.read()[0]))
        return all(task.done.is_set() for task in tasks)

    def retire_in_this_thread(self, instances: Sequence[ManagedInstance[T]], seconds: float) -> None:
        """Retire them within so many seconds in all: at interpreter exit no thread can be started any more."""
        deadline = self._clock.read()[0] + seconds
        for managed in instances:
            remaining = deadline - self._clock.read()[0]
            self._run(RetirementTask(managed, timedelta(seconds=max(0.0, remaining))))

    def _abandon_hung(self) -> list[RetirementTask[T]]:
        now, limit = self._clock.read()[0], 2 * self._policy.retire_timeout.total_seconds()
        hung = [task for task in self._running if task.started is not None and now - task.started > limit]
        self._running.difference_update(hung)
        self._thread_count -= len(hung)
        return sorted(hung, key=lambda task: task.managed.generation)

    def _work(self) -> None:
        while task := self._next_task():
            self._run(task)
            with self._lock:
                if task not in self._running:
                    return  # abandoned meanwhile: another thread has taken this one's place
                self._running.discard(task)

    def _next_task(self) -> RetirementTask[T] | None:
        with self._lock:
            if not self._queue:
                self._thread_count -= 1
                return None
            task = self._queue.popleft()
            task.started = self._clock.read()[0]
            self._running.add(task)
            return task

    def _run(self, task: RetirementTask[T]) -> None:
        began, unsent, message = self._clock.read()[0], 0, ""
        try:
            unsent = self._retire(task.managed.value, task.timeout) or 0
        except Exception as error:  # noqa: BLE001 - the edge of a thread: no caller could catch it
            message = repr(error)
        seconds = self._clock.read()[0] - began
        task.done.set()
        self._emit(EventKind.CLOSED, task.managed, unsent=unsent, seconds=seconds, message=message)

    def _emit(
        self,
        kind: EventKind,
        managed: ManagedInstance[T],
        *,
        unsent: int = 0,
        seconds: float = 0.0,
        message: str = "",
    ) -> None:
        self._on_event(
            ClientEvent(
                kind=kind,
                provider=self._name,
                generation=managed.generation,
                reason=managed.expiry_reason,
                unsent=unsent,
                seconds=seconds,
                message=message,
            )
        )
