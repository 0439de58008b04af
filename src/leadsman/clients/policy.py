"""What a provider is allowed: how old an instance may get, how long creating and retiring may take."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leadsman.clients.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Callable


class Retire(StrEnum):
    """Where an instance that is no longer given out is flushed and closed."""

    BACKGROUND = "background"
    """In a thread; nobody waits for it. For services that run all the time."""
    INLINE = "inline"
    """While the caller waits. For workers that are frozen between invocations: their threads are frozen too."""
    ABANDON = "abandon"
    """Not at all: the instance is kept and never touched again."""


class Activity(StrEnum):
    """What proves that an instance is alive, so that its idle time starts anew."""

    RELEASE = "release"
    """A lease that ends without an error. For whatever answers while it is held: a query, a request."""
    REPORTED = "reported"
    """Only `touch()`. For what answers later: a producer is alive when a delivery report says so, not when used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How long an instance may live, and what its replacement may cost.

    `max_idle` counts from the last proven activity, `max_age` from the creation. Each instance's age limit is
    shortened at random by up to the share `jitter` (HikariCP shortens by 2.5 %; a fleet deployed at once wants more),
    so that a fleet that started together does not replace together. None: no limit.

    `create_within` bounds one creation, `wait_within` what a caller waits in all unless it says otherwise.
    `create_interval` is the least time between two creations. `retire_within` bounds the flush and close of one
    instance, `retire_slots` how many of them go on at once. `grace` is how long an expired instance waits for those who
    still hold it.
    """

    max_idle: timedelta | None = None
    max_age: timedelta | None = None
    jitter: float = 0.1
    activity: Activity = Activity.RELEASE
    create_within: timedelta = timedelta(seconds=10)
    wait_within: timedelta = timedelta(seconds=30)
    create_interval: timedelta = timedelta(0)
    backoff: Backoff = field(default_factory=Backoff)
    retire: Retire = Retire.BACKGROUND
    retire_within: timedelta = timedelta(seconds=5)
    retire_slots: int = 2
    grace: timedelta = timedelta(minutes=5)
    uniform: Callable[[float, float], float] = field(default=random.uniform, repr=False)

    def __post_init__(self) -> None:
        for name in ("max_idle", "max_age", "create_within", "wait_within", "retire_within", "grace"):
            limit: timedelta | None = getattr(self, name)
            if limit is not None and limit <= timedelta(0):
                raise ValueError(f"{name} is {limit}; it must be longer than nothing. Leave it out for the default.")
        if not 0 <= self.jitter < 1:
            raise ValueError(f"jitter is {self.jitter}; it must be a share from 0 to below 1, such as 0.1.")
        if self.retire_slots < 1:
            raise ValueError(f"retire_slots is {self.retire_slots}; it must be at least 1.")

    def idle_seconds(self) -> float:
        """Return the idle limit; infinite if there is none."""
        return math.inf if self.max_idle is None else self.max_idle.total_seconds()

    def age_seconds(self) -> float:
        """Return the age limit of one instance, shortened by chance; infinite if there is none."""
        return math.inf if self.max_age is None else self.max_age.total_seconds() * (1 - self.uniform(0.0, self.jitter))
