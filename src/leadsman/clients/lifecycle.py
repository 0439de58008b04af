"""Which instance is given out, which is to be retired: the rules, without threads, locks or input and output.

Whoever calls holds a lock (or is alone in an event loop), emits `events()` after letting go of it, and retires what
`due()` hands over, each instance exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from leadsman.clients.clock import Instant, elapsed
from leadsman.clients.events import Event, Kind, Reason

if TYPE_CHECKING:
    from leadsman.clients.policy import Policy

T = TypeVar("T")


class Generation(Generic[T]):
    """One instance, and what is known of it."""

    __slots__ = ("active", "age", "created", "expired", "idle", "leases", "number", "overstayed", "reason", "value")

    def __init__(self, value: T, number: int, now: Instant, policy: Policy) -> None:
        self.value = value
        self.number = number
        self.created = now
        self.active = now
        """When it last proved to be alive."""
        self.idle = policy.idle_seconds()
        self.age = policy.age_seconds()
        self.leases = 0
        self.reason: Reason | None = None
        """Why it is no longer given out; None: it is."""
        self.expired: Instant | None = None
        self.overstayed = False

    def outlived(self, now: Instant) -> Reason | None:
        """Say whether it is too old or idle. Exactly at a limit it is. Written out, because every use pays for it."""
        a, i = self.active, self.idle
        if now[0] - a[0] >= i or now[1] - a[1] >= i or now[2] - a[2] >= i:
            return Reason.IDLE
        c, g = self.created, self.age
        if now[0] - c[0] >= g or now[1] - c[1] >= g or now[2] - c[2] >= g:
            return Reason.AGE
        return None


class Lifecycle(Generic[T]):
    """At most one live generation; those that expired wait for their leases, and are then handed over once."""

    __slots__ = ("_due", "_events", "_name", "_policy", "_waiting", "live", "made")

    def __init__(self, name: str, policy: Policy) -> None:
        self._name = name
        self._policy = policy
        self._waiting: dict[int, Generation[T]] = {}
        self._due: list[Generation[T]] = []
        self._events: list[Event] = []
        self.live: Generation[T] | None = None
        self.made = 0

    @property
    def waiting(self) -> tuple[Generation[T], ...]:
        """Expired generations that somebody still holds."""
        return tuple(self._waiting.values())

    def take(self, now: Instant) -> Generation[T] | None:
        """Lease the live generation; None if there is none, or none any more."""
        live = self.live
        if live is None:
            return None
        reason = live.outlived(now)
        if reason is not None:
            self.expire(reason, now, live)
            return None
        live.leases += 1
        return live

    def admit(self, value: T, now: Instant, *, seconds: float = 0.0) -> Generation[T]:
        """Make `value` the live generation. There must be none."""
        assert self.live is None, f"{self._name} has a live instance already"
        self.made += 1
        self.live = Generation(value, self.made, now, self._policy)
        self._note(Kind.CREATED, self.made, seconds=seconds)
        return self.live

    def release(self, generation: Generation[T], now: Instant, *, active: bool) -> None:
        """Give a lease back. `active`: the instance proved to be alive meanwhile."""
        generation.leases -= 1
        if active:
            self.touch(generation, now)
        if generation.leases == 0 and generation.reason is not None:
            self._hand_over(generation)

    def leaked(self, generation: Generation[T], now: Instant) -> None:
        """Give back a lease that was dropped without being released."""
        self._note(Kind.LEAKED, generation.number)
        self.release(generation, now, active=False)

    def touch(self, generation: Generation[T], now: Instant) -> None:
        """Note that it proved to be alive."""
        if now[2] < generation.active[2]:
            self._note(Kind.CLOCK_SET_BACK, generation.number)
        generation.active = now

    def current(self, *, generation: int | None = None, instance: T | None = None) -> Generation[T] | None:
        """Return the live generation; with a number or an instance, only if it is that one. Old news harm nobody."""
        live = self.live
        if live is None or generation not in {None, live.number}:
            return None
        return live if instance is None or instance is live.value else None

    def expire(self, reason: Reason, now: Instant, live: Generation[T] | None, *, says: str = "") -> bool:
        """Stop giving out a generation, if it is the live one."""
        if live is None or live is not self.live:
            return False
        self.live = None
        live.reason, live.expired = reason, now
        self._note(Kind.EXPIRED, live.number, reason=reason, seconds=elapsed(live.active, now), says=says)
        self._waiting[live.number] = live
        if live.leases == 0:
            self._hand_over(live)
        return True

    def due(self, now: Instant) -> list[Generation[T]]:
        """Hand over what is to be retired now: expired, and free of leases or held for longer than the grace."""
        for generation in self.waiting:
            if generation.expired and elapsed(generation.expired, now) >= self._policy.grace.total_seconds():
                self._note(Kind.OVERSTAYED, generation.number, says=f"leases={generation.leases}")
                generation.overstayed = True
                self._hand_over(generation)
        due, self._due = self._due, []
        return due

    def give_up(self, reason: Reason, now: Instant) -> list[Generation[T]]:
        """Let go of everything, held or not. The caller keeps what it gets, or retires it."""
        self.expire(reason, now, self.live)
        for generation in self.waiting:
            self._hand_over(generation)
        return self.due(now)

    def inherit(self, number: int) -> None:
        """Note an instance that a parent process had at the fork: it is out of reach here, and not ours to close."""
        for kind in (Kind.EXPIRED, Kind.ABANDONED):
            self._note(kind, number, reason=Reason.FORKED)

    def events(self) -> list[Event]:
        """Return what happened since the last call."""
        events, self._events = self._events, []
        return events

    def _hand_over(self, generation: Generation[T]) -> None:
        if self._waiting.pop(generation.number, None) is not None:
            self._due.append(generation)

    def _note(
        self, kind: Kind, number: int, *, reason: Reason | None = None, seconds: float = 0.0, says: str = ""
    ) -> None:
        self._events.append(
            Event(kind=kind, provider=self._name, generation=number, reason=reason, seconds=seconds, says=says)
        )
