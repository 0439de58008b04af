"""For your own tests: a clock that you move by hand, and a listener that remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading

    from leadsman.clients.clock import Instant
    from leadsman.clients.events import Event, Kind


@dataclass(slots=True)
class HandClock:
    """Stands still until it is moved. Set one clock alone to play a freeze, a restored snapshot or a step of the time.

    Waiting gives other threads `patience` real seconds; if what is waited for does not come, the time moves instead.

    >>> clock = HandClock()
    >>> clock.pass_by(60)
    >>> clock.wall -= 3600  # somebody sets the clock back
    """

    monotonic: float = 1000.0
    boot: float = 5000.0
    wall: float = 1_700_000_000.0
    patience: float = 5.0

    def read(self) -> Instant:
        """Return all three clocks."""
        return self.monotonic, self.boot, self.wall

    def pass_by(self, seconds: float) -> None:
        """Move all three."""
        self.monotonic += seconds
        self.boot += seconds
        self.wall += seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event; if it does not come, let the time pass."""
        if event.wait(self.patience):
            return True
        self.pass_by(seconds)
        return False

    def pause(self, seconds: float) -> None:
        """Let so much time pass, in no time."""
        self.pass_by(seconds)


@dataclass(slots=True)
class Heard:
    """A listener (`on_event=`) that keeps what it is told."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def kinds(self) -> list[Kind]:
        """Return what happened, in order."""
        return [event.kind for event in self.events]

    def of(self, kind: Kind) -> list[Event]:
        """Return the events of one kind."""
        return [event for event in self.events if event.kind is kind]
