"""The same for asyncio: gives out a live instance of the running event loop, and replaces one that could be dead."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from leadsman.clients.clock import SystemClock, elapsed
from leadsman.clients.errors import CreationFailed, CreationTimedOut, ProviderClosed
from leadsman.clients.events import Event, Kind, Reason, tell
from leadsman.clients.keeper import said
from leadsman.clients.lifecycle import Generation, Lifecycle
from leadsman.clients.pauses import Pauses
from leadsman.clients.policy import Activity, Policy, Retire
from leadsman.clients.processwide import KEPT, join
from leadsman.clients.tally import Stats, Tally, stats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
    from datetime import timedelta

    from leadsman.clients.clock import Clock, Instant
    from leadsman.clients.events import Listener

T = TypeVar("T")


async def leave(_: object, __: timedelta) -> None:
    """Retire nothing: for instances that need no closing."""


class _Share(Generic[T]):
    """What belongs to one event loop."""

    def __init__(self, name: str, policy: Policy, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.lifecycle: Lifecycle[T] = Lifecycle(name, policy)
        self.pauses = Pauses(name, policy)
        self.creating: asyncio.Task[None] | None = None
        self.retiring: set[asyncio.Task[None]] = set()


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
        retire: Callable[[T, timedelta], Awaitable[int | None]] = leave,
        *,
        policy: Policy | None = None,
        name: str = "provider",
        usable: Callable[[T], bool] | None = None,
        fatal: Callable[[BaseException], bool] | None = None,
        on_event: Listener | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self.name = name
        self._create = create
        self._retire = retire
        self._usable = usable
        self._fatal = fatal
        self._on_event = on_event
        self._read = (clock or SystemClock()).read
        self._tally = Tally()
        self._shared: _Share[T] | None = None
        self._closed = False
        self.birth = join(self)

    @asynccontextmanager
    async def lease(self, *, within: timedelta | None = None) -> AsyncIterator[T]:
        """Give a live instance for as long as the block lasts; wait at most so long for one.

        Raises NoInstance if there is none by then, and ProviderClosed after close().
        """
        share, generation = await self._taken((within or self.policy.wait_within).total_seconds())
        try:
            yield generation.value
        except BaseException as error:
            if self._fatal is not None and self._fatal(error):
                share.lifecycle.expire(Reason.FAILED, self._read(), generation, says=repr(error))
            await self._give_back(share, generation, active=False)
            raise
        await self._give_back(share, generation, active=self.policy.activity is Activity.RELEASE)

    def touch(self, instance: T | None = None) -> None:
        """Say that the live instance (with `instance`: if it is that one) proved alive: its idle time starts anew."""
        live = self._current(instance)
        if live is not None and self._shared is not None:
            self._shared.lifecycle.touch(live, self._read())

    def invalidate(self, cause: BaseException | str = "", *, instance: T | None = None) -> bool:
        """Stop giving out the live instance, or this one if it is live; return whether it was replaced."""
        return self._expire(Reason.FAILED, self._current(instance), says=said(cause))

    async def reset(self) -> bool:
        """Replace the live instance: its configuration or its credentials changed. Return whether there was one."""
        replaced = self._expire(Reason.RESET, self._current(None))
        if self._shared is not None:
            await self._tidy(self._shared)
        return replaced

    async def close(self, *, within: timedelta | None = None) -> bool:
        """Retire everything, in at most so long in all, and give out nothing any more; return whether all is closed."""
        self._closed = True
        share = self._own_share()
        limit = within or self.policy.retire_within
        self._start_retiring(share, share.lifecycle.give_up(Reason.CLOSING, self._read()), limit)
        if not share.retiring:
            return True
        _, late = await asyncio.wait(share.retiring, timeout=limit.total_seconds())
        return not late

    @property
    def stats(self) -> Stats:
        """What happened so far in this process, and how the live instance is."""
        lifecycle: Lifecycle[T] = self._shared.lifecycle if self._shared else Lifecycle(self.name, self.policy)
        return stats(self.name, lifecycle, self._tally, self._read())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Getting an instance.

    async def _taken(self, seconds: float) -> tuple[_Share[T], Generation[T]]:
        began = self._read()
        share = self._own_share()
        while True:
            if self._closed:
                raise ProviderClosed(f"{self.name} is closed. Make a new provider, or close it later.")
            generation = share.lifecycle.take(self._read())
            await self._tidy(share)
            if generation is None:
                await self._step(share, began, seconds - elapsed(began, self._read()))
            elif self._usable is None or self._usable(generation.value):
                return share, generation
            else:
                await self._refuse(share, generation)

    async def _refuse(self, share: _Share[T], generation: Generation[T]) -> None:
        now = self._read()
        if share.lifecycle.expire(Reason.UNUSABLE, now, generation):
            share.pauses.failed(CreationFailed(f"{self.name} #{generation.number} is not usable."), now)
        await self._give_back(share, generation, active=False)

    async def _step(self, share: _Share[T], began: Instant, left: float) -> None:
        """Come one step closer to an instance: wait for its creation, or for the end of a pause."""
        if share.creating is None:
            pause = share.pauses.left(self._read())
            if pause >= left:
                raise share.pauses.refusal(self._read())
            if pause:
                await asyncio.sleep(pause)
                return
            share.creating = asyncio.ensure_future(self._make(share))
        task = share.creating
        done, _ = await asyncio.wait([task], timeout=max(0.0, left))
        if not done:
            raise CreationTimedOut(f"No instance of {self.name} within {elapsed(began, self._read()):.1f} s.")
        if error := task.exception():
            raise CreationFailed(f"{self.name} could not be created: {error!r}") from error

    async def _make(self, share: _Share[T]) -> None:
        began, limit = self._read(), self.policy.create_within.total_seconds()
        try:
            value = await asyncio.wait_for(self._create(), limit)
        except BaseException as error:
            now = self._read()
            share.pauses.failed(error, now)
            says = repr(error)
            self._tell([Event(kind=Kind.CREATE_FAILED, provider=self.name, says=says, seconds=elapsed(began, now))])
            raise
        else:
            now = self._read()
            share.pauses.worked(now)
            share.lifecycle.admit(value, now, seconds=elapsed(began, now))
            if self._closed:
                due = share.lifecycle.give_up(Reason.CLOSING, now)
                self._start_retiring(share, due, self.policy.retire_within)
        finally:
            share.creating = None

    def _own_share(self) -> _Share[T]:
        """Return the running loop's share. Another loop's is let go of untouched: its loop may be gone."""
        loop = asyncio.get_running_loop()
        if self._shared is None or self._shared.loop is not loop:
            old, self._shared = self._shared, _Share(self.name, self.policy, loop)
            if old is not None:
                KEPT.append(old)
                gone = old.lifecycle.give_up(Reason.LOOP, self._read())
                self._tell(old.lifecycle.events())
                self._tell(self._event(Kind.ABANDONED, generation) for generation in gone)
        return self._shared

    def _current(self, instance: T | None) -> Generation[T] | None:
        return self._shared.lifecycle.current(instance=instance) if self._shared else None

    # Retiring, and telling of it.

    def _expire(self, reason: Reason, generation: Generation[T] | None, *, says: str = "") -> bool:
        if self._shared is None:
            return False
        return self._shared.lifecycle.expire(reason, self._read(), generation, says=says)

    async def _give_back(self, share: _Share[T], generation: Generation[T], *, active: bool) -> None:
        share.lifecycle.release(generation, self._read(), active=active)
        if generation.reason is not None:
            await self._tidy(share)

    async def _tidy(self, share: _Share[T]) -> None:
        """Retire what is due, and tell what happened."""
        due = share.lifecycle.due(self._read())
        self._tell(share.lifecycle.events())
        if not due:
            return
        if self.policy.retire is Retire.ABANDON:
            KEPT.extend(due)
            self._tell(self._event(Kind.ABANDONED, generation) for generation in due)
            return
        tasks = self._start_retiring(share, due, self.policy.retire_within)
        if self.policy.retire is Retire.INLINE:
            await asyncio.wait(tasks, timeout=self.policy.retire_within.total_seconds())

    def _start_retiring(
        self, share: _Share[T], due: Sequence[Generation[T]], within: timedelta
    ) -> list[asyncio.Task[None]]:
        self._tell(share.lifecycle.events())
        tasks = [asyncio.ensure_future(self._retire_one(generation, within)) for generation in due]
        share.retiring.update(tasks)
        for task in tasks:
            task.add_done_callback(share.retiring.discard)
        return tasks

    async def _retire_one(self, generation: Generation[T], within: timedelta) -> None:
        began, unsent, says = self._read(), 0, ""
        try:
            async with asyncio.timeout(2 * within.total_seconds()):
                unsent = await self._retire(generation.value, within) or 0
        except Exception as error:  # noqa: BLE001 (the edge of a task: nobody could catch it)
            says = repr(error)
        seconds = elapsed(began, self._read())
        self._tell([self._event(Kind.CLOSED, generation, unsent=unsent, seconds=seconds, says=says)])

    def _event(self, kind: Kind, generation: Generation[T], **more: Any) -> Event:  # noqa: ANN401 (Event checks them)
        return Event(kind=kind, provider=self.name, generation=generation.number, reason=generation.reason, **more)

    def _tell(self, events: Iterable[Event]) -> None:
        for event in events:
            self._tally.add(event)
            tell(event, self._on_event)

    # Forks, and the end of the process.

    def before_fork(self) -> None:
        """Do nothing: there is no lock."""

    def after_fork_in_parent(self) -> None:
        """Do nothing."""

    def after_fork_in_child(self) -> None:
        """Start anew. The parent's loop does not run here, and its instance is never touched."""
        inherited, self._shared = self._shared, None
        self._tally = Tally()
        if inherited is not None:
            KEPT.append(inherited)

    def at_exit(self) -> None:
        """Do nothing: no loop runs any more. Close the provider before the loop ends."""
        self._closed = True
