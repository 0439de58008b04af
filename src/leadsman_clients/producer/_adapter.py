"""The interface to one producer of one client library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from leadsman_clients.producer.records import DeliveryResult, ProducerRecord
    from leadsman_clients.producer.settings import Settings

ReportCallback: TypeAlias = "Callable[[DeliveryResult], None]"
"""Called once for each record, in a thread of the client or of the caller that polls."""


class ProducerAdapter(Protocol):
    """One producer of one client library."""

    @property
    def client(self) -> Any:  # noqa: ANN401 - each library has its own class
        """The library's own producer."""

    def send(self, record: ProducerRecord, on_report: ReportCallback, *, timeout: timedelta) -> None:
        """Send a record. Where the client's queue is full, wait for room for at most so long; then BufferError."""

    def poll(self, seconds: float) -> None:
        """Call the callbacks of reports that have arrived; wait at most so many seconds for one."""

    def flush(self, timeout: timedelta) -> int:
        """Wait for all reports; return how many are missing."""

    def retire(self, timeout: timedelta) -> int:
        """Flush, give up the remaining records (each with its report), close. Return how many were given up."""

    def is_usable(self) -> bool:
        """Whether it can still be used. Quick, unless it has been without a broker for long."""


class AdapterFactory(Protocol):
    """Makes a producer that calls `on_failed` when it becomes unusable and `on_alive` when it proves to be alive."""

    def __call__(
        self, settings: Settings, *, on_failed: Callable[[str], None], on_alive: Callable[[], None]
    ) -> ProducerAdapter:
        """Return a new producer. Its callbacks come in any thread."""
