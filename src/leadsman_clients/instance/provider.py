"""Gives out a live instance, and replaces it before an expired one is used."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from leadsman_clients.clock import SystemClock
from leadsman_clients.instance._holder import InstanceHolder, describe_cause
from leadsman_clients.instance._process_hooks import NEVER_CLOSED, register
from leadsman_clients.instance.lease import Lease
from leadsman_clients.instance.policy import Policy, Retirement
from leadsman_clients.observability.events import ExpiryReason
from leadsman_clients.observability.statistics import ProviderStats, collect_stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman_clients.clock import Clock
    from leadsman_clients.instance._retirement import RetireFunction
    from leadsman_clients.observability.events import EventListener

T = TypeVar("T")

EXIT_TIMEOUT = timedelta(seconds=5)
"""How long a process that ends waits for its last records. Close the provider to wait longer."""


def retire_nothing(_: object, __: timedelta) -> None:
    """Do nothing: for instances that need no closing."""


class ExpiringProvider(Generic[T]):
    """Gives one instance to all callers, until it was idle or old for too long, failed, or the process forked.

    `create()` makes an instance. `retire(instance, within)` flushes and closes one, in at most that time, and returns
    how many records were left unsent. It is called once for each instance, never while a lease is out (except after the
    policy's `grace_period`), never under a lock. `usable(instance)`, if given, is called before each use and must be
    quick. `fatal(error)` returns whether an error, raised inside a `with` block, makes the instance unusable.

    Threads may share it. A child process that inherits it by fork makes an instance of its own; a pickled copy carries
    its configuration only. `create()` runs in a thread of its own, so that one that hangs delays no caller for longer
    than the policy's `create_timeout`.

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
        retire: RetireFunction[T] = retire_nothing,
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
        self._holder = self._make_holder()
        self.registration = register(self)

    def _make_holder(self) -> InstanceHolder[T]:
        configuration = {**self._configuration, "clock": self._configuration["clock"] or SystemClock()}
        return InstanceHolder(**configuration)

    def lease(self, *, timeout: timedelta | None = None) -> Lease[T]:
        """Lease a live instance; wait at most so long for one (default: the policy's `lease_timeout`).

        Raises NoInstance if there is none by then, and ProviderClosed after close().
        """
        holder = self._holder
        now = holder.read_clock()
        with holder.lock:
            managed = holder.lifecycle.try_lease(now)
        if managed is None or holder.usable is not None:
            managed = holder.acquire(managed, now, (timeout or self.policy.lease_timeout).total_seconds())
        return Lease(holder, managed)

    def get(self, *, timeout: timedelta | None = None) -> T:
        """Return a live instance without a lease: only for instances that may be closed while they are used.

        Call `touch()` after each use, or the instance counts as idle since its creation.
        """
        holder = self._holder
        live = holder.lifecycle.live
        if live is not None and holder.usable is None and live.exceeded_limit(holder.read_clock()) is None:
            return live.value
        with self.lease(timeout=timeout) as value:
            return value

    def touch(self, instance: T | None = None) -> None:
        """Restart the idle time: the live instance (with `instance`: only if it is that one) proved to be alive."""
        self._holder.touch_instance(instance)

    def invalidate(
        self, cause: BaseException | str = "", *, generation: int | None = None, instance: T | None = None
    ) -> bool:
        """Stop giving out the live instance; return whether it was replaced.

        With `generation` or `instance`, only if it is that one: a late report about an old instance does not expire the
        new one. Safe to call from a client library's own thread: it closes nothing and waits for nothing.
        """
        return self._holder.expire(
            ExpiryReason.FAILED, generation=generation, instance=instance, message=describe_cause(cause)
        )

    def reset(self) -> bool:
        """Replace the live instance, because its configuration or credentials changed. Return whether there was one."""
        replaced = self._holder.expire(ExpiryReason.RESET)
        self._holder.retire_due(self.policy.retire_timeout.total_seconds())
        return replaced

    def close(self, *, timeout: timedelta | None = None) -> bool:
        """Retire all instances within so long in all, and give out none any more; return whether all are closed."""
        holder = self._holder
        due = holder.close()
        if self.policy.retirement is Retirement.ABANDON:
            holder.abandon(due)
            return True
        limit = timeout or self.policy.retire_timeout
        return holder.retirer.wait(holder.retirer.submit(due, timeout=limit), limit.total_seconds())

    @property
    def stats(self) -> ProviderStats:
        """Counts since the process began, and the state of the live instance."""
        holder = self._holder
        with holder.lock:
            return collect_stats(holder.name, holder.lifecycle, holder.counters, holder.read_clock())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        holder, live = self._holder, self._holder.lifecycle.live
        state = "closed" if holder.is_closed else f"#{live.generation}" if live else "empty"
        return f"<ExpiringProvider {self.name} {state}>"

    def __del__(self) -> None:
        if not sys.is_finalizing() and hasattr(self, "registration") and not self._holder.is_inherited:
            self._holder.expire(ExpiryReason.CLOSING)
            self._holder.retire_due(0.0)

    def __getstate__(self) -> dict[str, Any]:
        return self._configuration

    def __setstate__(self, configuration: dict[str, Any]) -> None:
        self.__init__(**configuration)  # type: ignore[misc]  # a copy starts as a new one does

    def before_fork(self) -> None:
        """Take the lock, so that a child inherits no half-made step."""
        self._holder.lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Release the lock."""
        self._holder.lock.release()

    def after_fork_in_child(self) -> None:
        """Start anew. What was inherited stays referenced and untouched; releasing its leases does nothing."""
        inherited, self._holder = self._holder, self._make_holder()
        inherited.is_inherited = True
        NEVER_CLOSED.append(inherited)
        self._holder.is_closed = inherited.is_closed
        if inherited.lifecycle.live is not None:
            self._holder.lifecycle.note_inherited(inherited.lifecycle.live.generation)

    def at_exit(self) -> None:
        """Flush and close in this thread: no other can be started any more."""
        due = self._holder.close()
        if self.policy.retirement is not Retirement.ABANDON:
            seconds = min(self.policy.retire_timeout, EXIT_TIMEOUT).total_seconds()
            self._holder.retirer.retire_in_this_thread(due, seconds)
