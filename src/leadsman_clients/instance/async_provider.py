"""The provider for asyncio: gives out a live instance of the running event loop, and replaces expired ones."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from leadsman_clients.clock import SystemClock, elapsed
from leadsman_clients.errors import CreationFailed, CreationTimedOut, ProviderClosed
from leadsman_clients.instance._creation import CreationBackoff
from leadsman_clients.instance._holder import describe_cause
from leadsman_clients.instance._lifecycle import Lifecycle, ManagedInstance
from leadsman_clients.instance._process_hooks import NEVER_CLOSED, register
from leadsman_clients.instance.policy import Activity, Policy, Retirement
from leadsman_clients.observability.events import ClientEvent, EventKind, ExpiryReason, emit
from leadsman_clients.observability.statistics import EventCounters, ProviderStats, collect_stats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
    from datetime import timedelta

    from leadsman_clients.clock import Clock, Instant
    from leadsman_clients.observability.events import EventListener

T = TypeVar("T")


async def retire_nothing(_: object, __: timedelta) -> None:
    """Do nothing: for instances that need no closing."""


class _LoopState(Generic[T]):
    """The state of a provider in one event loop."""

    def __init__(self, name: str, policy: Policy, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.lifecycle: Lifecycle[T] = Lifecycle(name, policy)
        self.backoff = CreationBackoff(name, policy)
        self.creation: asyncio.Task[None] | None = None
        self.retirements: set[asyncio.Task[None]] = set()


class AsyncExpiringProvider(Generic[T]):
    """`ExpiringProvider` with coroutines for `create` and `retire`.

    An instance belongs to the event loop that made it. A provider that is used in another loop (`asyncio.run` again, a
    child process) leaves the old instance untouched and makes a new one; so keep one loop for the life of the process.

    >>> async def main() -> str:
    ...     async def create() -> list[str]:
    ...         return []
    ...     async with AsyncExpiringProvider(create) as provider, provider.lease() as connection:
    ...         connection.append("a query")
    ...         return repr(provider.stats.created)
    >>> asyncio.run(main())
    '1'
    """

    def __init__(
        self,
        create: Callable[[], Awaitable[T]],
        retire: Callable[[T, timedelta], Awaitable[int | None]] = retire_nothing,
        *,
        policy: Policy | None = None,
        name: str = "provider",
        usable: Callable[[T], bool] | None = None,
        fatal: Callable[[BaseException], bool] | None = None,
        on_event: EventListener | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self.name = name
        self._create = create
        self._retire = retire
        self._usable = usable
        self._fatal = fatal
        self._on_event = on_event
        self._read_clock = (clock or SystemClock()).read
        self._counters = EventCounters()
        self._state: _LoopState[T] | None = None
        self._is_closed = False
        self.registration = register(self)

    @asynccontextmanager
    async def lease(self, *, timeout: timedelta | None = None) -> AsyncIterator[T]:
        """Lease a live instance for as long as the block lasts; wait at most so long for one.

        Raises NoInstance if there is none by then, and ProviderClosed after close().
        """
        state, managed = await self._acquire((timeout or self.policy.lease_timeout).total_seconds())
        try:
            yield managed.value
        except BaseException as error:
            if self._fatal is not None and self._fatal(error):
                state.lifecycle.expire(ExpiryReason.FAILED, self._read_clock(), managed, message=repr(error))
            await self._release(state, managed, active=False)
            raise
        await self._release(state, managed, active=self.policy.activity is Activity.RELEASE)

    def touch(self, instance: T | None = None) -> None:
        """Restart the idle time: the live instance (with `instance`: only if it is that one) proved to be alive."""
        live = self._find_live(instance)
        if live is not None and self._state is not None:
            self._state.lifecycle.touch(live, self._read_clock())

    def invalidate(self, cause: BaseException | str = "", *, instance: T | None = None) -> bool:
        """Stop giving out the live instance (with `instance`: only that one); return whether it was replaced."""
        return self._expire(ExpiryReason.FAILED, self._find_live(instance), message=describe_cause(cause))

    async def reset(self) -> bool:
        """Replace the live instance, because its configuration or credentials changed. Return whether there was one."""
        replaced = self._expire(ExpiryReason.RESET, self._find_live(None))
        if self._state is not None:
            await self._retire_due(self._state)
        return replaced

    async def close(self, *, timeout: timedelta | None = None) -> bool:
        """Retire all instances within so long in all, and give out none any more; return whether all are closed."""
        self._is_closed = True
        state = self._running_loop_state()
        limit = timeout or self.policy.retire_timeout
        self._start_retiring(state, state.lifecycle.expire_all(ExpiryReason.CLOSING, self._read_clock()), limit)
        if not state.retirements:
            return True
        _, pending = await asyncio.wait(state.retirements, timeout=limit.total_seconds())
        return not pending

    @property
    def stats(self) -> ProviderStats:
        """Counts since the process began, and the state of the live instance."""
        lifecycle: Lifecycle[T] = self._state.lifecycle if self._state else Lifecycle(self.name, self.policy)
        return collect_stats(self.name, lifecycle, self._counters, self._read_clock())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Getting an instance.

    async def _acquire(self, seconds: float) -> tuple[_LoopState[T], ManagedInstance[T]]:
        began = self._read_clock()
        state = self._running_loop_state()
        while True:
            if self._is_closed:
                raise ProviderClosed(f"{self.name} is closed. Make a new provider, or close it later.")
            managed = state.lifecycle.try_lease(self._read_clock())
            await self._retire_due(state)
            if managed is None:
                await self._wait_for_instance(state, began, seconds - elapsed(began, self._read_clock()))
            elif self._usable is None or self._usable(managed.value):
                return state, managed
            else:
                await self._expire_unusable(state, managed)

    async def _expire_unusable(self, state: _LoopState[T], managed: ManagedInstance[T]) -> None:
        now = self._read_clock()
        if state.lifecycle.expire(ExpiryReason.UNUSABLE, now, managed):
            state.backoff.note_failure(CreationFailed(f"{self.name} #{managed.generation} is not usable."), now)
        await self._release(state, managed, active=False)

    async def _wait_for_instance(self, state: _LoopState[T], began: Instant, remaining_seconds: float) -> None:
        """Wait for the creation of an instance, or for the end of the backoff before it."""
        if state.creation is None:
            pause = state.backoff.remaining_seconds(self._read_clock())
            if pause >= remaining_seconds:
                raise state.backoff.refusal(self._read_clock())
            if pause:
                await asyncio.sleep(pause)
                return
            state.creation = asyncio.ensure_future(self._create_live(state))
        task = state.creation
        done, _ = await asyncio.wait([task], timeout=max(0.0, remaining_seconds))
        if not done:
            raise CreationTimedOut(f"No instance of {self.name} within {elapsed(began, self._read_clock()):.1f} s.")
        if error := task.exception():
            raise CreationFailed(f"{self.name} could not be created: {error!r}") from error

    async def _create_live(self, state: _LoopState[T]) -> None:
        began, limit = self._read_clock(), self.policy.create_timeout.total_seconds()
        try:
            value = await asyncio.wait_for(self._create(), limit)
        except BaseException as error:
            now = self._read_clock()
            state.backoff.note_failure(error, now)
            self._emit([self._creation_failure(error, elapsed(began, now))])
            raise
        else:
            now = self._read_clock()
            state.backoff.note_success(now)
            state.lifecycle.add(value, now, seconds=elapsed(began, now))
            if self._is_closed:
                due = state.lifecycle.expire_all(ExpiryReason.CLOSING, now)
                self._start_retiring(state, due, self.policy.retire_timeout)
        finally:
            state.creation = None

    def _running_loop_state(self) -> _LoopState[T]:
        """Return the running loop's state. Another loop's is abandoned untouched: that loop may have ended."""
        loop = asyncio.get_running_loop()
        if self._state is None or self._state.loop is not loop:
            old, self._state = self._state, _LoopState(self.name, self.policy, loop)
            if old is not None:
                NEVER_CLOSED.append(old)
                abandoned = old.lifecycle.expire_all(ExpiryReason.LOOP, self._read_clock())
                self._emit(old.lifecycle.pop_events())
                self._emit(self._event(EventKind.ABANDONED, managed) for managed in abandoned)
        return self._state

    def _find_live(self, instance: T | None) -> ManagedInstance[T] | None:
        return self._state.lifecycle.find_live(instance=instance) if self._state else None

    # Expiry, retirement and events.

    def _expire(self, reason: ExpiryReason, managed: ManagedInstance[T] | None, *, message: str = "") -> bool:
        if self._state is None:
            return False
        return self._state.lifecycle.expire(reason, self._read_clock(), managed, message=message)

    async def _release(self, state: _LoopState[T], managed: ManagedInstance[T], *, active: bool) -> None:
        state.lifecycle.release(managed, self._read_clock(), active=active)
        if managed.expiry_reason is not None:
            await self._retire_due(state)

    async def _retire_due(self, state: _LoopState[T]) -> None:
        """Retire what is due, and emit the pending events."""
        due = state.lifecycle.pop_due(self._read_clock())
        self._emit(state.lifecycle.pop_events())
        if not due:
            return
        if self.policy.retirement is Retirement.ABANDON:
            NEVER_CLOSED.extend(due)
            self._emit(self._event(EventKind.ABANDONED, managed) for managed in due)
            return
        tasks = self._start_retiring(state, due, self.policy.retire_timeout)
        if self.policy.retirement is Retirement.INLINE:
            await asyncio.wait(tasks, timeout=self.policy.retire_timeout.total_seconds())

    def _start_retiring(
        self, state: _LoopState[T], due: Sequence[ManagedInstance[T]], timeout: timedelta
    ) -> list[asyncio.Task[None]]:
        self._emit(state.lifecycle.pop_events())
        tasks = [asyncio.ensure_future(self._retire_one(managed, timeout)) for managed in due]
        state.retirements.update(tasks)
        for task in tasks:
            task.add_done_callback(state.retirements.discard)
        return tasks

    async def _retire_one(self, managed: ManagedInstance[T], timeout: timedelta) -> None:
        began, unsent, message = self._read_clock(), 0, ""
        try:
            async with asyncio.timeout(2 * timeout.total_seconds()):
                unsent = await self._retire(managed.value, timeout) or 0
        except Exception as error:  # noqa: BLE001 - the edge of a task: no caller could catch it
            message = repr(error)
        seconds = elapsed(began, self._read_clock())
        self._emit([self._event(EventKind.CLOSED, managed, unsent=unsent, seconds=seconds, message=message)])

    def _creation_failure(self, error: BaseException, seconds: float) -> ClientEvent:
        return ClientEvent(kind=EventKind.CREATE_FAILED, provider=self.name, message=repr(error), seconds=seconds)

    def _event(self, kind: EventKind, managed: ManagedInstance[T], **details: Any) -> ClientEvent:  # noqa: ANN401 - ClientEvent checks them
        return ClientEvent(
            kind=kind, provider=self.name, generation=managed.generation, reason=managed.expiry_reason, **details
        )

    def _emit(self, events: Iterable[ClientEvent]) -> None:
        for event in events:
            self._counters.add(event)
            emit(event, self._on_event)

    # Forks, and the end of the process.

    def before_fork(self) -> None:
        """Do nothing: there is no lock."""

    def after_fork_in_parent(self) -> None:
        """Do nothing."""

    def after_fork_in_child(self) -> None:
        """Start anew. The parent's loop does not run here, and its instance is never touched."""
        inherited, self._state = self._state, None
        self._counters = EventCounters()
        if inherited is not None:
            NEVER_CLOSED.append(inherited)

    def at_exit(self) -> None:
        """Do nothing: no loop runs any more. Close the provider before the loop ends."""
        self._is_closed = True
