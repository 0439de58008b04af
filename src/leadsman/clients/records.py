"""A record on its way, and what became of it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leadsman.clients.line import Line

Headers: TypeAlias = "Sequence[tuple[str, bytes]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is to be stored."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class RecordOptions(TypedDict, total=False):
    """What a record may have besides topic and value."""

    key: bytes | str | None
    headers: Headers
    partition: int | None
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """Where a record is stored."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a record is not known to be stored.

    `unsent`: it never left, and can be sent again by anybody. `unknown`: it may be stored all the same.
    """

    says: str
    retriable: bool = False
    unsent: bool = False
    unknown: bool = False


Report: TypeAlias = Delivered | Refused


class Delivery(Future[Delivered]):
    """The delivery report to come: a future like any other, which `asyncio.wrap_future` takes as well.

    `result(timeout)` raises NotDelivered if the report is an error, and TimeoutError if there is none in time. Where
    the client has no thread of its own that serves reports, waiting for one serves them all. Nobody can cancel it: a
    record that was handed over cannot be taken back.
    """

    line: Line
    """The producer that has it."""

    def __init__(self, serve: Callable[[Delivery, float | None], None] | None = None) -> None:
        super().__init__()
        self._serve = serve
        # Under way at once, or a task that is cancelled while it awaits the report would cancel the report itself.
        self.set_running_or_notify_cancel()

    def result(self, timeout: float | None = None) -> Delivered:
        """Wait for the report and return where the record is stored."""
        return super().result(self._served(timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the report and return its error, if it is one."""
        return super().exception(self._served(timeout))

    def _served(self, timeout: float | None) -> float | None:
        """Serve reports until this one is there; return how long there is still to wait for it."""
        if self._serve is None:
            return timeout
        self._serve(self, timeout)
        return 0
