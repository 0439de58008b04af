"""How old and how idle an instance may get, and how long creating and retiring one may take."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leadsman_clients.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable


class Retirement(StrEnum):
    """Where an expired instance is flushed and closed."""

    BACKGROUND = "background"
    """In a thread, so that no caller waits. For services that run all the time."""
    INLINE = "inline"
    """While the caller waits. For workers that are frozen between invocations: their threads are frozen too."""
    ABANDON = "abandon"
    """Nowhere: the instance is kept in memory and never touched again."""


class Activity(StrEnum):
    """What proves that an instance is alive, and so restarts its idle time."""

    RELEASE = "release"
    """A lease that ends without an error. For instances that answer during the lease: a query, an HTTP request."""
    TOUCH = "touch"
    """Only `touch()`. For instances that answer later: a producer is alive when a delivery report arrives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Limits of a provider's instances.

    `max_idle` counts from the last proven activity, `max_age` from the creation; None means no limit. Each instance's
    age limit is shortened at random by up to the share `jitter`, so that a fleet that started together does not replace
    its instances together (HikariCP shortens by 2.5 %; a fleet that is deployed at once needs more).

    `create_timeout` bounds one creation. `lease_timeout` bounds a caller's whole wait, unless the caller gives a
    shorter or longer one. `min_create_interval` is the least time between two creations. `retire_timeout` bounds the
    flush and close of one instance, `max_retire_threads` how many instances are retired at once. `grace_period` is how
    long an expired instance stays open for the leases that are still out. `uniform` returns a random number between two
    others.
    """

    max_idle: timedelta | None = None
    max_age: timedelta | None = None
    jitter: float = 0.1
    activity: Activity = Activity.RELEASE
    create_timeout: timedelta = timedelta(seconds=10)
    lease_timeout: timedelta = timedelta(seconds=30)
    min_create_interval: timedelta = timedelta(0)
    backoff: Backoff = field(default_factory=Backoff)
    retirement: Retirement = Retirement.BACKGROUND
    retire_timeout: timedelta = timedelta(seconds=5)
    max_retire_threads: int = 2
    grace_period: timedelta = timedelta(minutes=5)
    uniform: Callable[[float, float], float] = field(default=random.uniform, repr=False)

    def __post_init__(self) -> None:
        for name in ("max_idle", "max_age", "create_timeout", "lease_timeout", "retire_timeout", "grace_period"):
            limit: timedelta | None = getattr(self, name)
            if limit is not None and limit <= timedelta(0):
                raise ValueError(f"{name} is {limit}; it must be longer than 0 s. Leave it out for the default.")
        if not 0 <= self.jitter < 1:
            raise ValueError(f"jitter is {self.jitter}; it must be a share from 0 to below 1, such as 0.1.")
        if self.max_retire_threads < 1:
            raise ValueError(f"max_retire_threads is {self.max_retire_threads}; it must be at least 1.")

    def idle_limit_seconds(self) -> float:
        """Return the idle limit; infinite if there is none."""
        return math.inf if self.max_idle is None else self.max_idle.total_seconds()

    def random_age_limit_seconds(self) -> float:
        """Return the age limit of one instance, shortened at random by `jitter`; infinite if there is none."""
        return math.inf if self.max_age is None else self.max_age.total_seconds() * (1 - self.uniform(0.0, self.jitter))
