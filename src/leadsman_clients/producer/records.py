"""A record that is sent, and its delivery report."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leadsman_clients.producer._adapter import ProducerAdapter

Headers: TypeAlias = "Sequence[tuple[str, bytes]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerRecord:
    """A record to be stored."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class RecordOptions(TypedDict, total=False):
    """The optional parts of a record, besides topic and value."""

    key: bytes | str | None
    headers: Headers
    partition: int | None
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordMetadata:
    """Where a record is stored."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFailure:
    """Why a record is not known to be stored.

    `unsent`: it never left the client, and any producer can send it again. `possibly_persisted`: the broker may have
    stored it.
    """

    message: str
    retriable: bool = False
    unsent: bool = False
    possibly_persisted: bool = False


DeliveryResult: TypeAlias = RecordMetadata | DeliveryFailure


class DeliveryFuture(Future[RecordMetadata]):
    """The delivery report to come: a `concurrent.futures.Future`, which `asyncio.wrap_future` takes as well.

    `result(timeout)` raises NotDelivered if the report is an error, and TimeoutError if there is none in time. Where
    the client has no thread of its own that polls for reports, waiting for one polls for all. It cannot be cancelled:
    the client cannot take back a record.
    """

    adapter: ProducerAdapter
    """The producer that has the record."""

    def __init__(self, poll_until_done: Callable[[DeliveryFuture, float | None], None] | None = None) -> None:
        super().__init__()
        self._poll_until_done = poll_until_done
        # Running at once, or a task that is cancelled while it awaits the report would cancel the report itself.
        self.set_running_or_notify_cancel()

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait for the report and return where the record is stored."""
        return super().result(self._polled(timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the report and return its error, if it is one."""
        return super().exception(self._polled(timeout))

    def _polled(self, timeout: float | None) -> float | None:
        """Poll until this report is there; return how long the future must still wait for it."""
        if self._poll_until_done is None:
            return timeout
        self._poll_until_done(self, timeout)
        return 0
