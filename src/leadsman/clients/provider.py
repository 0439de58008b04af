"""Gives out a live instance, and replaces one that could be dead."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from leadsman.clients.clock import SystemClock
from leadsman.clients.events import Reason
from leadsman.clients.keeper import Keeper, said
from leadsman.clients.lease import Lease
from leadsman.clients.policy import Policy, Retire
from leadsman.clients.processwide import KEPT, join
from leadsman.clients.tally import Stats, stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.clients.clock import Clock
    from leadsman.clients.events import Listener
    from leadsman.clients.retiring import RetireCall

T = TypeVar("T")

AT_EXIT = timedelta(seconds=5)
"""What a process that ends may wait for its last records. Close the provider to wait longer."""


def leave(_: object, __: timedelta) -> None:
    """Retire nothing: for instances that need no closing."""


class ExpiringProvider(Generic[T]):
    """Gives one instance to everybody, until it was idle or old for too long, failed, or the process forked.

    `create()` makes an instance. `retire(instance, within)` flushes and closes one, in at most that time, and returns
    how many records it gave up. It is called once for each instance, never while somebody holds it (but for the
    policy's grace), never under a lock. `usable(instance)`, if given, is asked before each use and must be quick.
    `fatal(error)` says which errors, raised inside a `with` block, mean that the instance is beyond use.

    Threads may share it. A child process that inherits it by fork makes an instance of its own; a pickled copy carries
    its configuration only. Creating takes place in a thread of its own, so that a creator that hangs holds nobody for
    longer than the policy's `create_within`.

    >>> from datetime import timedelta
    >>> provider = ExpiringProvider(list, policy=Policy(max_idle=timedelta(minutes=4)))
    >>> with provider.lease() as connection:
    ...     connection.append("a query")
    >>> provider.stats.created
    1
    """

    def __init__(
        self,
        create: Callable[[], T],
        retire: RetireCall[T] = leave,
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
        self._configuration: dict[str, Any] = {
            "create": create,
            "retire": retire,
            "policy": self.policy,
            "name": name,
            "usable": usable,
            "fatal": fatal,
            "on_event": on_event,
            "clock": clock,
        }
        self._keeper = self._make_keeper()
        self.birth = join(self)

    def _make_keeper(self) -> Keeper[T]:
        configuration = {**self._configuration, "clock": self._configuration["clock"] or SystemClock()}
        return Keeper(**configuration)

    def lease(self, *, within: timedelta | None = None) -> Lease[T]:
        """Return the right to use a live instance; wait at most so long for one (default: the policy's `wait_within`).

        Raises NoInstance if there is none by then, and ProviderClosed after close().
        """
        keeper = self._keeper
        now = keeper.read()
        with keeper.lock:
            generation = keeper.lifecycle.take(now)
        if generation is None or keeper.usable is not None:
            generation = keeper.settled(generation, now, (within or self.policy.wait_within).total_seconds())
        return Lease(keeper, generation)

    def get(self, *, within: timedelta | None = None) -> T:
        """Return a live instance without a lease: only where closing it under its user does no harm.

        Whoever uses it says so by `touch()`, or the instance counts as idle since its creation.
        """
        keeper = self._keeper
        live = keeper.lifecycle.live
        if live is not None and keeper.usable is None and live.outlived(keeper.read()) is None:
            return live.value
        with self.lease(within=within) as value:
            return value

    def touch(self, instance: T | None = None) -> None:
        """Say that the live instance (with `instance`: if it is that one) proved alive: its idle time starts anew."""
        self._keeper.alive(instance)

    def invalidate(
        self, cause: BaseException | str = "", *, generation: int | None = None, instance: T | None = None
    ) -> bool:
        """Stop giving out the live instance; return whether it was replaced.

        With `generation` or `instance`, only if it is that one: late news of an old instance do not harm the new one.
        It may be called from a client's own thread: nothing is closed in it, and nobody is waited for.
        """
        return self._keeper.expire(Reason.FAILED, generation=generation, instance=instance, says=said(cause))

    def reset(self) -> bool:
        """Replace the live instance: its configuration or its credentials changed. Return whether there was one."""
        replaced = self._keeper.expire(Reason.RESET)
        self._keeper.tidy(self.policy.retire_within.total_seconds())
        return replaced

    def close(self, *, within: timedelta | None = None) -> bool:
        """Retire everything, in at most so long in all, and give out nothing any more; return whether all is closed."""
        keeper = self._keeper
        due = keeper.give_up()
        if self.policy.retire is Retire.ABANDON:
            keeper.abandon(due)
            return True
        limit = within or self.policy.retire_within
        return keeper.retirer.wait(keeper.retirer.submit(due, within=limit), limit.total_seconds())

    @property
    def stats(self) -> Stats:
        """What happened so far in this process, and how the live instance is."""
        keeper = self._keeper
        with keeper.lock:
            return stats(keeper.name, keeper.lifecycle, keeper.tally, keeper.read())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        keeper, live = self._keeper, self._keeper.lifecycle.live
        return f"<ExpiringProvider {self.name} {'closed' if keeper.closed else f'#{live.number}' if live else 'empty'}>"

    def __del__(self) -> None:
        if not sys.is_finalizing() and hasattr(self, "birth") and not self._keeper.inherited:
            self._keeper.expire(Reason.CLOSING)
            self._keeper.tidy(0.0)

    def __getstate__(self) -> dict[str, Any]:
        return self._configuration

    def __setstate__(self, configuration: dict[str, Any]) -> None:
        self.__init__(**configuration)  # type: ignore[misc]  # a copy starts as a new one does

    def before_fork(self) -> None:
        """Take the lock, so that a child inherits no half-made step."""
        self._keeper.lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Let go of it."""
        self._keeper.lock.release()

    def after_fork_in_child(self) -> None:
        """Start anew. What was inherited is kept and never touched; leases on it are released into nothing."""
        inherited, self._keeper = self._keeper, self._make_keeper()
        inherited.inherited = True
        KEPT.append(inherited)
        self._keeper.closed = inherited.closed
        if inherited.lifecycle.live is not None:
            self._keeper.lifecycle.inherit(inherited.lifecycle.live.number)

    def at_exit(self) -> None:
        """Flush and close in this thread: no other can be started any more."""
        due = self._keeper.give_up()
        if self.policy.retire is not Retire.ABANDON:
            self._keeper.retirer.here(due, min(self.policy.retire_within, AT_EXIT).total_seconds())
