"""Events of a provider's instances: one event and one log line for each."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

LOG = logging.getLogger("leadsman_clients")


class EventKind(StrEnum):
    """The events that a provider or registry emits."""

    CREATED = "created"
    CREATE_FAILED = "create_failed"
    EXPIRED = "expired"
    """An instance is no longer given out. `reason` is why."""
    CLOSED = "closed"
    """An instance was retired. `unsent` of its records were given up, each with its delivery report."""
    ABANDONED = "abandoned"
    """An instance was left open, because closing it could hang: it is a parent process's, or an ended loop's."""
    OVERSTAYED = "overstayed"
    """An expired instance was retired while it was still leased, because the grace period was over."""
    LEAKED = "leaked"
    """A lease was garbage-collected without being released."""
    CLOCK_SET_BACK = "clock_set_back"
    CHURN = "churn"
    """Idempotent producers are replaced so often that their producer ids accumulate on the brokers."""
    MANY_CALLS = "many_calls"
    """A line of code keeps requesting the producer that it should request once."""


class ExpiryReason(StrEnum):
    """Why an instance is no longer given out."""

    IDLE = "idle"
    AGE = "age"
    FAILED = "failed"
    FORKED = "forked"
    RESET = "reset"
    UNUSABLE = "unusable"
    LOOP = "loop"
    CLOSING = "closing"


WARNING_KINDS = frozenset(
    {
        EventKind.CREATE_FAILED,
        EventKind.OVERSTAYED,
        EventKind.LEAKED,
        EventKind.CHURN,
        EventKind.MANY_CALLS,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEvent:
    """One event. `seconds`: the duration of a creation or retirement; of an expiry, the idle time before it.

    `generation` is the number of the instance: 1 for the provider's first; 0 where the event is about none.
    """

    kind: EventKind
    provider: str
    generation: int = 0
    reason: ExpiryReason | None = None
    unsent: int = 0
    seconds: float = 0.0
    message: str = ""

    def __str__(self) -> str:
        details = {"reason": self.reason, "unsent": self.unsent, "seconds": round(self.seconds, 3), "": self.message}
        text = " ".join(f"{name}={value}" if name else str(value) for name, value in details.items() if value)
        return f"{self.provider} #{self.generation} {self.kind} {text}".rstrip()


EventListener: TypeAlias = Callable[[ClientEvent], None]


def emit(event: ClientEvent, listener: EventListener | None) -> None:
    """Log the event and pass it on. Never called under a lock; an error of the listener is logged, not raised."""
    is_warning = event.kind in WARNING_KINDS or (event.kind is EventKind.CLOSED and event.unsent)
    LOG.log(logging.WARNING if is_warning else logging.INFO, "%s", event)
    if listener is None:
        return
    try:
        listener(event)
    except Exception:
        LOG.exception("The listener of %s failed on %s", event.provider, event.kind)
