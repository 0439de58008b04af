"""For your own tests: a clock that you advance by hand, and a listener that records events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading

    from leadsman_clients.clock import Instant
    from leadsman_clients.observability.events import ClientEvent, EventKind


@dataclass(slots=True)
class ManualClock:
    """Stands still until it is advanced. Set one clock alone to simulate a freeze, a restored snapshot or a clock step.

    `wait()` gives other threads `real_wait_seconds`; if the event is not set by then, the clock advances instead.

    >>> clock = ManualClock()
    >>> clock.advance(60)
    >>> clock.wall -= 3600  # an operator sets the clock back
    """

    monotonic: float = 1000.0
    boot: float = 5000.0
    wall: float = 1_700_000_000.0
    real_wait_seconds: float = 5.0

    def read(self) -> Instant:
        """Return all three clocks."""
        return self.monotonic, self.boot, self.wall

    def advance(self, seconds: float) -> None:
        """Advance all three clocks."""
        self.monotonic += seconds
        self.boot += seconds
        self.wall += seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event; if it is not set within `real_wait_seconds`, advance the clock."""
        if event.wait(self.real_wait_seconds):
            return True
        self.advance(seconds)
        return False

    def pause(self, seconds: float) -> None:
        """Advance the clock instead of sleeping."""
        self.advance(seconds)


@dataclass(slots=True)
class EventRecorder:
    """A listener (`on_event=`) that keeps the events."""

    events: list[ClientEvent] = field(default_factory=list)

    def __call__(self, event: ClientEvent) -> None:
        """Keep an event."""
        self.events.append(event)

    def kinds(self) -> list[EventKind]:
        """Return the kinds of all events, in order."""
        return [event.kind for event in self.events]

    def of_kind(self, kind: EventKind) -> list[ClientEvent]:
        """Return the events of one kind."""
        return [event for event in self.events if event.kind is kind]
