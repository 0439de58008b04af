"""kafka-python behind the provider's face."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from leadsman.clients.errors import MissingLibrary
from leadsman.clients.records import Delivered, Record, Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from leadsman.clients.line import Reported
    from leadsman.clients.settings import Settings

CLOSED_SECONDS = 1.0
"""What closing may take once everything was flushed, or was not to be."""

BEYOND_USE = frozenset(
    {
        "ProducerFencedError",
        "InvalidProducerEpochError",
        "OutOfOrderSequenceNumberError",
        "UnknownProducerIdError",
        "SaslAuthenticationFailedError",
        "KafkaTimeoutError",  # after a record's own time is up, a new producer asks for brokers and credentials anew
    }
)
"""Errors after which only a new producer helps, by class."""

UNKNOWN = frozenset({"RequestTimedOutError", "KafkaTimeoutError", "KafkaConnectionError", "Cancelled"})
"""Errors after which a record may be stored all the same, by class."""


class KafkaPythonLine:
    """One kafka.KafkaProducer. It has a thread of its own, which tells its reports."""

    def __init__(self, settings: Settings, *, failed: Callable[[str], None], alive: Callable[[], None]) -> None:
        try:
            from kafka import KafkaProducer  # noqa: PLC0415 (only who uses this client needs it)
        except ImportError as error:
            raise MissingLibrary("kafka-python is not installed. Install it: pip install 'kafka-python>=3'") from error
        self._failed = failed
        self._alive = alive
        self._beyond_use = False
        self._under_way = 0
        self._lock = threading.Lock()
        self._raw = KafkaProducer(**settings)

    @property
    def raw(self) -> Any:  # noqa: ANN401 (the library is untyped)
        """The kafka.KafkaProducer."""
        return self._raw

    def send(self, record: Record, reported: Reported, *, within: timedelta) -> None:  # noqa: ARG002 (see below)
        """Hand a record over. How long it waits for room is the client's own setting, max_block_ms."""
        future = self._raw.send(
            record.topic,
            value=record.value,
            key=record.key,
            headers=list(record.headers),
            partition=record.partition,
            timestamp_ms=record.timestamp_ms,
        )
        with self._lock:
            self._under_way += 1
        future.add_callback(partial(self._stored, reported))
        future.add_errback(partial(self._refused, reported))

    def serve(self, seconds: float) -> None:
        """Do nothing: the client serves itself."""

    def flush(self, within: timedelta) -> int:
        """Wait for all reports; return how many are missing."""
        from kafka.errors import KafkaTimeoutError  # noqa: PLC0415 (the same)

        try:
            self._raw.flush(within.total_seconds())
        except KafkaTimeoutError:
            return self._under_way
        return 0

    def usable(self) -> bool:
        """Whether no error said otherwise."""
        return not self._beyond_use

    def retire(self, within: timedelta) -> int:
        """Flush, then close by force: what is left fails, and each record is told so."""
        left = self.flush(within)
        from kafka.errors import KafkaTimeoutError  # noqa: PLC0415 (the same)

        try:
            self._raw.close(CLOSED_SECONDS)
        except KafkaTimeoutError:  # it flushes first, and gives up before it closes
            self._raw._sender.force_close()  # noqa: SLF001 (there is no other way to end it)
            self._raw._sender.join(CLOSED_SECONDS)  # noqa: SLF001 (the same)
        return left

    def _stored(self, reported: Reported, metadata: Any) -> None:  # noqa: ANN401 (the library is untyped)
        with self._lock:
            self._under_way -= 1
        self._alive()
        reported(Delivered(topic=metadata.topic, partition=metadata.partition, offset=metadata.offset))

    def _refused(self, reported: Reported, error: BaseException) -> None:
        with self._lock:
            self._under_way -= 1
        name = type(error).__name__
        if name in BEYOND_USE:
            self._beyond_use = True
            self._failed(repr(error))
        reported(Refused(says=repr(error), retriable=bool(getattr(error, "retriable", False)), unknown=name in UNKNOWN))
