"""What the provider needs of a producer, whichever client it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from leadsman.clients.records import Record, Report
    from leadsman.clients.settings import Settings

Reported: TypeAlias = "Callable[[Report], None]"
"""Told once for each record, in a thread of the client's or of whoever serves it."""


class Line(Protocol):
    """One producer of one client."""

    @property
    def raw(self) -> Any:  # noqa: ANN401 (each client has its own class)
        """The client's own producer."""

    def send(self, record: Record, reported: Reported, *, within: timedelta) -> None:
        """Hand a record over. Where the client's queue is full, wait for room for at most so long; then BufferError."""

    def serve(self, seconds: float) -> None:
        """Let the client tell its reports; wait at most so long for one."""

    def flush(self, within: timedelta) -> int:
        """Wait for all reports; return how many are missing."""

    def retire(self, within: timedelta) -> int:
        """Flush, give up what is left (each record with its report), close. Return how many were given up."""

    def usable(self) -> bool:
        """Whether it can still be used. Quick, unless it has been without a broker for long."""


class MakeLine(Protocol):
    """Makes a producer, which calls `failed`, in any thread, when it is beyond use and `alive` when it proves alive."""

    def __call__(self, settings: Settings, *, failed: Callable[[str], None], alive: Callable[[], None]) -> Line:
        """Return a new producer."""
