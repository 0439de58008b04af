"""Which instance is given out and which must be retired: the rules alone, without threads, locks or I/O.

The caller holds a lock (or is alone in an event loop), emits `pop_events()` after releasing the lock, and retires what
`pop_due()` returns, each instance exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from leadsman_clients.clock import Instant, elapsed
from leadsman_clients.observability.events import ClientEvent, EventKind, ExpiryReason

if TYPE_CHECKING:
    from leadsman_clients.instance.policy import Policy

T = TypeVar("T")


class ManagedInstance(Generic[T]):
    """One instance, `value`, with its `generation` (1 for the first), times, limits and leases."""

    __slots__ = (
        "age_limit",
        "created_at",
        "expired_at",
        "expiry_reason",
        "generation",
        "idle_limit",
        "last_active_at",
        "leases",
        "value",
    )

    def __init__(self, value: T, generation: int, now: Instant, policy: Policy) -> None:
        self.value = value
        self.generation = generation
        self.created_at = now
        self.last_active_at = now
        """When it last proved to be alive."""
        self.idle_limit = policy.idle_limit_seconds()
        self.age_limit = policy.random_age_limit_seconds()
        self.leases = 0
        self.expiry_reason: ExpiryReason | None = None
        """Why it is no longer given out; None while it is."""
        self.expired_at: Instant | None = None

    def exceeded_limit(self, now: Instant) -> ExpiryReason | None:
        """Return the limit that is reached, if one is. The three clocks are written out: every use runs this code."""
        active, idle = self.last_active_at, self.idle_limit
        if now[0] - active[0] >= idle or now[1] - active[1] >= idle or now[2] - active[2] >= idle:
            return ExpiryReason.IDLE
        created, age = self.created_at, self.age_limit
        if now[0] - created[0] >= age or now[1] - created[1] >= age or now[2] - created[2] >= age:
            return ExpiryReason.AGE
        return None


class Lifecycle(Generic[T]):
    """At most one live instance. Expired ones stay while they are leased, and are then due for retirement once."""

    __slots__ = ("_due", "_events", "_expired_in_use", "_name", "_policy", "created_count", "live")

    def __init__(self, name: str, policy: Policy) -> None:
        self._name = name
        self._policy = policy
        self._expired_in_use: dict[int, ManagedInstance[T]] = {}
        self._due: list[ManagedInstance[T]] = []
        self._events: list[ClientEvent] = []
        self.live: ManagedInstance[T] | None = None
        self.created_count = 0

    @property
    def expired_in_use(self) -> tuple[ManagedInstance[T], ...]:
        """Expired instances that are still leased."""
        return tuple(self._expired_in_use.values())

    def try_lease(self, now: Instant) -> ManagedInstance[T] | None:
        """Lease the live instance; None if there is none, or if it has just reached a limit."""
        live = self.live
        if live is None:
            return None
        reason = live.exceeded_limit(now)
        if reason is not None:
            self.expire(reason, now, live)
            return None
        live.leases += 1
        return live

    def add(self, value: T, now: Instant, *, seconds: float = 0.0) -> ManagedInstance[T]:
        """Make `value` the live instance. There must be none."""
        assert self.live is None, f"{self._name} has a live instance already"
        self.created_count += 1
        self.live = ManagedInstance(value, self.created_count, now, self._policy)
        self._note(EventKind.CREATED, self.created_count, seconds=seconds)
        return self.live

    def release(self, managed: ManagedInstance[T], now: Instant, *, active: bool) -> None:
        """End a lease. `active`: the instance proved to be alive during it."""
        managed.leases -= 1
        if active:
            self.touch(managed, now)
        if managed.leases == 0 and managed.expiry_reason is not None:
            self._mark_due(managed)

    def release_leaked(self, managed: ManagedInstance[T], now: Instant) -> None:
        """End a lease that was garbage-collected without being released."""
        self._note(EventKind.LEAKED, managed.generation)
        self.release(managed, now, active=False)

    def touch(self, managed: ManagedInstance[T], now: Instant) -> None:
        """Note that an instance proved to be alive."""
        if now[2] < managed.last_active_at[2]:
            self._note(EventKind.CLOCK_SET_BACK, managed.generation)
        managed.last_active_at = now

    def find_live(self, *, generation: int | None = None, instance: T | None = None) -> ManagedInstance[T] | None:
        """Return the live instance; with a number or an instance, only if they match: late reports are ignored."""
        live = self.live
        if live is None or generation not in {None, live.generation}:
            return None
        return live if instance is None or instance is live.value else None

    def expire(
        self, reason: ExpiryReason, now: Instant, managed: ManagedInstance[T] | None, *, message: str = ""
    ) -> bool:
        """Stop giving out an instance, if it is the live one."""
        if managed is None or managed is not self.live:
            return False
        self.live = None
        managed.expiry_reason, managed.expired_at = reason, now
        idle_seconds = elapsed(managed.last_active_at, now)
        self._note(EventKind.EXPIRED, managed.generation, reason=reason, seconds=idle_seconds, message=message)
        self._expired_in_use[managed.generation] = managed
        if managed.leases == 0:
            self._mark_due(managed)
        return True

    def pop_due(self, now: Instant) -> list[ManagedInstance[T]]:
        """Return what must be retired now: expired, and without leases or leased beyond the grace period."""
        for managed in self.expired_in_use:
            if managed.expired_at and self._is_beyond_grace(managed.expired_at, now):
                self._note(EventKind.OVERSTAYED, managed.generation, message=f"leases={managed.leases}")
                self._mark_due(managed)
        due, self._due = self._due, []
        return due

    def expire_all(self, reason: ExpiryReason, now: Instant) -> list[ManagedInstance[T]]:
        """Expire everything, leased or not. The caller keeps what is returned, or retires it."""
        self.expire(reason, now, self.live)
        for managed in self.expired_in_use:
            self._mark_due(managed)
        return self.pop_due(now)

    def note_inherited(self, generation: int) -> None:
        """Note the instance that the parent process had at the fork: this process must neither use nor close it."""
        for kind in (EventKind.EXPIRED, EventKind.ABANDONED):
            self._note(kind, generation, reason=ExpiryReason.FORKED)

    def pop_events(self) -> list[ClientEvent]:
        """Return what happened since the last call."""
        events, self._events = self._events, []
        return events

    def _is_beyond_grace(self, expired_at: Instant, now: Instant) -> bool:
        return elapsed(expired_at, now) >= self._policy.grace_period.total_seconds()

    def _mark_due(self, managed: ManagedInstance[T]) -> None:
        if self._expired_in_use.pop(managed.generation, None) is not None:
            self._due.append(managed)

    def _note(
        self,
        kind: EventKind,
        generation: int,
        *,
        reason: ExpiryReason | None = None,
        seconds: float = 0.0,
        message: str = "",
    ) -> None:
        self._events.append(
            ClientEvent(
                kind=kind, provider=self._name, generation=generation, reason=reason, seconds=seconds, message=message
            )
        )
