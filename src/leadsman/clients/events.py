"""What happens to instances, told to whoever listens: one event and one log line for each transition."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

LOG = logging.getLogger("leadsman.clients")


class Kind(StrEnum):
    """What happened."""

    CREATED = "created"
    CREATE_FAILED = "create_failed"
    EXPIRED = "expired"
    """An instance is no longer given out. `reason` says why."""
    CLOSED = "closed"
    """An instance was retired. `unsent` records of it were given up, each with its delivery report."""
    ABANDONED = "abandoned"
    """An instance was let go of untouched, as touching it could hang: it is a parent process's, or a dead loop's."""
    OVERSTAYED = "overstayed"
    """An expired instance was retired although somebody still held a lease."""
    LEAKED = "leaked"
    """A lease was dropped without being released."""
    CLOCK_SET_BACK = "clock_set_back"
    OUTSTANDING = "outstanding"
    """An instance expired for idleness with records still under way: somebody did not wait for their reports."""
    CHURN = "churn"
    """Idempotent producers are replaced so often that their ids pile up on the brokers."""
    MANY_CALLS = "many_calls"
    """A call site keeps creating what it should create once."""


class Reason(StrEnum):
    """Why an instance is no longer given out."""

    IDLE = "idle"
    AGE = "age"
    FAILED = "failed"
    FORKED = "forked"
    RESET = "reset"
    UNUSABLE = "unusable"
    LOOP = "loop"
    CLOSING = "closing"


WARNINGS = frozenset(
    {Kind.CREATE_FAILED, Kind.OVERSTAYED, Kind.LEAKED, Kind.OUTSTANDING, Kind.CHURN, Kind.MANY_CALLS},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One transition. `seconds` is how long it took: creating, or retiring."""

    kind: Kind
    provider: str
    generation: int = 0
    reason: Reason | None = None
    unsent: int = 0
    seconds: float = 0.0
    says: str = ""

    def __str__(self) -> str:
        details = {"reason": self.reason, "unsent": self.unsent, "seconds": round(self.seconds, 3), "": self.says}
        told = " ".join(f"{name}={value}" if name else str(value) for name, value in details.items() if value)
        return f"{self.provider} #{self.generation} {self.kind} {told}".rstrip()


Listener: TypeAlias = Callable[[Event], None]


def tell(event: Event, listener: Listener | None) -> None:
    """Log the event and hand it on. Never called under a lock; what a listener raises is logged, not raised."""
    warns = event.kind in WARNINGS or (event.kind is Kind.CLOSED and event.unsent)
    LOG.log(logging.WARNING if warns else logging.INFO, "%s", event)
    if listener is None:
        return
    try:
        listener(event)
    except Exception:
        LOG.exception("The listener of %s failed on %s", event.provider, event.kind)
