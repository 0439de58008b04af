"""The adapter for kafka-python."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from leadsman_clients.errors import MissingLibrary
from leadsman_clients.producer.records import DeliveryFailure, ProducerRecord, RecordMetadata

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from leadsman_clients.producer._adapter import ReportCallback
    from leadsman_clients.producer.settings import Settings

CLOSE_SECONDS = 1.0
"""How long closing may take after the flush."""

FATAL_ERRORS = frozenset(
    {
        "ProducerFencedError",
        "InvalidProducerEpochError",
        "OutOfOrderSequenceNumberError",
        "UnknownProducerIdError",
        "SaslAuthenticationFailedError",
        "KafkaTimeoutError",  # the record's own time is over: a new producer looks up brokers and credentials again
    }
)
"""Errors after which only a new producer helps, by class."""

POSSIBLY_PERSISTED_ERRORS = frozenset(
    {"RequestTimedOutError", "KafkaTimeoutError", "KafkaConnectionError", "Cancelled"}
)
"""Errors after which the broker may have stored the record, by class."""


class KafkaPythonAdapter:
    """One kafka.KafkaProducer. It has a thread of its own, which calls the callbacks of its reports."""

    def __init__(self, settings: Settings, *, on_failed: Callable[[str], None], on_alive: Callable[[], None]) -> None:
        try:
            from kafka import KafkaProducer
        except ImportError as error:
            raise MissingLibrary(
                "kafka-python is not installed. Install it: pip install 'leadsman-clients[kafka-python]'"
            ) from error
        self._on_failed = on_failed
        self._on_alive = on_alive
        self._has_failed = False
        self._in_flight = 0
        self._lock = threading.Lock()
        self._client = KafkaProducer(**settings)

    @property
    def client(self) -> Any:  # noqa: ANN401 - the library is untyped
        """The kafka.KafkaProducer."""
        return self._client

    def send(self, record: ProducerRecord, on_report: ReportCallback, *, timeout: timedelta) -> None:  # noqa: ARG002 - see below
        """Send a record. How long it waits for room is the client's own setting, max_block_ms."""
        future = self._client.send(
            record.topic,
            value=record.value,
            key=record.key,
            headers=list(record.headers),
            partition=record.partition,
            timestamp_ms=record.timestamp_ms,
        )
        with self._lock:
            self._in_flight += 1
        future.add_callback(partial(self._on_stored, on_report))
        future.add_errback(partial(self._on_error, on_report))

    def poll(self, seconds: float) -> None:
        """Do nothing: the client has a thread of its own."""

    def flush(self, timeout: timedelta) -> int:
        """Wait for all reports; return how many are missing."""
        from kafka.errors import KafkaTimeoutError

        try:
            self._client.flush(timeout.total_seconds())
        except KafkaTimeoutError:
            return self._in_flight
        return 0

    def is_usable(self) -> bool:
        """Whether no fatal error was reported."""
        return not self._has_failed

    def retire(self, timeout: timedelta) -> int:
        """Flush, then close by force: the remaining records fail, each with its report."""
        unsent = self.flush(timeout)
        from kafka.errors import KafkaTimeoutError

        try:
            self._client.close(CLOSE_SECONDS)
        except KafkaTimeoutError:  # it flushes first, and gives up before it closes
            self._client._sender.force_close()  # noqa: SLF001 - there is no other way to end it
            self._client._sender.join(CLOSE_SECONDS)  # noqa: SLF001 - the same
        return unsent

    def _on_stored(self, on_report: ReportCallback, metadata: Any) -> None:  # noqa: ANN401 - the library is untyped
        with self._lock:
            self._in_flight -= 1
        self._on_alive()
        on_report(RecordMetadata(topic=metadata.topic, partition=metadata.partition, offset=metadata.offset))

    def _on_error(self, on_report: ReportCallback, error: BaseException) -> None:
        with self._lock:
            self._in_flight -= 1
        name = type(error).__name__
        if name in FATAL_ERRORS:
            self._has_failed = True
            self._on_failed(repr(error))
        on_report(
            DeliveryFailure(
                message=repr(error),
                retriable=bool(getattr(error, "retriable", False)),
                possibly_persisted=name in POSSIBLY_PERSISTED_ERRORS,
            )
        )
