"""The adapter for confluent-kafka."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leadsman_clients.clock import Clock, SystemClock
from leadsman_clients.errors import MissingLibrary
from leadsman_clients.producer.records import DeliveryFailure, ProducerRecord, RecordMetadata

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError, Message, Producer

    from leadsman_clients.producer._adapter import ReportCallback
    from leadsman_clients.producer.records import DeliveryResult
    from leadsman_clients.producer.settings import Settings

LOG = logging.getLogger("leadsman_clients")

POLL_SECONDS = 0.1
"""How long one poll of the polling thread blocks at most. A report wakes it at once; a retirement waits for it."""

PURGE_TIMEOUT = timedelta(seconds=1)
"""Reports of purged records are there at once; this is for a machine that is busy."""

FLUSH_SHARE = 0.8
"""The flush's part of a retirement; the rest is for the reports of records that were not sent."""

FAILED_FLUSH_TIMEOUT = timedelta(seconds=1)
"""How long flushing a producer with a fatal error may take: the next producer sends its records again."""

WARM_UP_SECONDS = 0.02
"""An idempotent producer that is used before its first connection is up sleeps 500 ms for its producer id; 5 ms are
enough on loopback (measured: 502 ms to the first acknowledgement without a warm-up, 53 ms with it)."""

ALL_BROKERS_DOWN_SECONDS = 30.0
"""How long all brokers may be reported down before metadata is requested. librdkafka often reports _ALL_BROKERS_DOWN
after a mere idle close."""

METADATA_TIMEOUT_SECONDS = 2.0
"""How long that metadata request may take."""

FATAL_ERRORS = frozenset(
    {"_FATAL", "_FENCED", "_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "INVALID_PRODUCER_EPOCH"}
)
"""Errors after which only a new producer helps: its producer id or its credentials are no longer valid."""

POSSIBLY_PERSISTED_ERRORS = frozenset(
    {"_MSG_TIMED_OUT", "_TIMED_OUT", "_PURGE_INFLIGHT", "_TRANSPORT", "REQUEST_TIMED_OUT", "_TIMED_OUT_QUEUE"}
)
"""Errors after which the broker may have stored the record."""


class ConfluentAdapter:
    """One confluent_kafka.Producer. With `has_poll_thread`, a thread of its own polls for its reports."""

    def __init__(
        self,
        settings: Settings,
        *,
        on_failed: Callable[[str], None],
        on_alive: Callable[[], None],
        has_poll_thread: bool,
        warm_up: bool,
        clock: Clock | None = None,
    ) -> None:
        self._on_failed = on_failed
        self._on_alive = on_alive
        self._clock = clock or SystemClock()
        self._read_clock = self._clock.read
        self._user_error_callback = settings.get("error_cb")
        self._has_failed = False
        self._brokers_down_since: float | None = None
        self._stop = threading.Event()
        self._client: Producer = _reporting_producer(settings, on_delivery=self._on_delivery, on_error=self._on_error)
        if warm_up:
            self._client.poll(WARM_UP_SECONDS)
        self._poll_thread: threading.Thread | None = None
        if has_poll_thread:
            self._poll_thread = threading.Thread(target=self._poll_until_stopped, name="leadsman-reports", daemon=True)
            self._poll_thread.start()

    @property
    def client(self) -> Producer:
        """The confluent_kafka.Producer."""
        return self._client

    def send(self, record: ProducerRecord, on_report: ReportCallback, *, timeout: timedelta) -> None:
        """Send a record."""
        deadline = self._read_clock()[0] + timeout.total_seconds()
        while True:
            try:
                self._client.produce(
                    **_produce_arguments(record), on_delivery=lambda *report: on_report(_result(*report))
                )
            except BufferError:
                if self._read_clock()[0] >= deadline:
                    raise
                self._client.poll(POLL_SECONDS)
            except _kafka_exception() as error:  # the client knows at once: no such topic, too large
                on_report(_failure(error.args[0]))
                return
            else:
                return

    def poll(self, seconds: float) -> None:
        """Call the callbacks of reports that have arrived. During a retirement, the retirement polls instead."""
        if self._stop.is_set():
            self._clock.pause(seconds)
        else:
            self._client.poll(seconds)

    def flush(self, timeout: timedelta) -> int:
        """Wait for all reports; return how many are missing."""
        return int(self._client.flush(timeout.total_seconds()))

    def is_usable(self) -> bool:
        """Whether no fatal error was reported. With all brokers down for long, request metadata to find out."""
        if self._has_failed:
            return False
        down_since = self._brokers_down_since
        if down_since is None or self._read_clock()[0] - down_since < ALL_BROKERS_DOWN_SECONDS:
            return True
        try:
            self._client.list_topics(timeout=METADATA_TIMEOUT_SECONDS)
        except Exception:  # noqa: BLE001 - whatever it is, there was no response
            return False
        self._brokers_down_since = None
        return True

    def retire(self, timeout: timedelta) -> int:
        """Flush, purge the remaining records, close. Never called from the client's own callbacks."""
        unsent = self.flush((min(timeout, FAILED_FLUSH_TIMEOUT) if self._has_failed else timeout) * FLUSH_SHARE)
        if unsent:
            self._client.purge()
            self._client.flush(PURGE_TIMEOUT.total_seconds())
        self._stop.set()
        if self._poll_thread:
            self._poll_thread.join(PURGE_TIMEOUT.total_seconds())
        close = getattr(self._client, "close", None)  # not before 2.13: there the garbage collector closes it
        if close is not None:
            close()
        return unsent

    def _poll_until_stopped(self) -> None:
        """Poll until the end. An error of a user's own callback comes out of poll(): it must not end the thread."""
        while not self._stop.is_set():
            try:
                self._client.poll(POLL_SECONDS)
            except Exception:
                LOG.exception("A callback of a producer failed")

    def _on_delivery(self, error: KafkaError | None) -> None:
        """Note from a delivery report that the producer is alive, or that it failed."""
        if error is None:
            self._brokers_down_since = None
            self._on_alive()
        else:
            self._note_error(error)

    def _on_error(self, error: KafkaError) -> None:
        """Handle the client's error_cb. Runs in whichever thread polls the client: only flags are set."""
        self._note_error(error)
        if self._user_error_callback is not None:
            self._user_error_callback(error)

    def _note_error(self, error: KafkaError) -> None:
        if error.name() == "_ALL_BROKERS_DOWN" and self._brokers_down_since is None:
            self._brokers_down_since = self._read_clock()[0]
        if (error.fatal() or error.name() in FATAL_ERRORS) and not self._has_failed:
            self._has_failed = True
            self._on_failed(str(error))


def _kafka_exception() -> type[Exception]:
    from confluent_kafka import KafkaException

    return KafkaException


def _result(error: KafkaError | None, message: Message) -> DeliveryResult:
    if error is None:
        topic, partition, offset = str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)
        return RecordMetadata(topic=topic, partition=partition, offset=offset)
    return _failure(error)


def _failure(error: KafkaError) -> DeliveryFailure:
    name = str(error.name())
    unsent = name == "_PURGE_QUEUE"
    return DeliveryFailure(
        message=str(error),
        retriable=bool(error.retriable()) or unsent,
        unsent=unsent,
        possibly_persisted=name in POSSIBLY_PERSISTED_ERRORS,
    )


def _reporting_producer(
    settings: Settings, *, on_delivery: Callable[[KafkaError | None], None], on_error: Callable[[KafkaError], None]
) -> Producer:
    """Return a producer that passes on each delivery report, however its user calls produce()."""
    try:
        from confluent_kafka import Producer
    except ImportError as missing:
        raise MissingLibrary(
            "confluent-kafka is not installed. Install it: pip install 'leadsman-clients[confluent]'"
        ) from missing
    default_callback = settings.get("on_delivery")

    class ReportingProducer(Producer):
        def produce(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - the library's own signature
            user_callback = kwargs.pop("on_delivery", None) or kwargs.pop("callback", None) or default_callback

            def call_both(error: KafkaError | None, message: Message) -> None:
                on_delivery(error)
                if user_callback is not None:
                    user_callback(error, message)

            super().produce(*args, **{**kwargs, "on_delivery": call_both})

    return ReportingProducer({**settings, "error_cb": on_error})


def _produce_arguments(record: ProducerRecord) -> dict[str, Any]:
    """Return the arguments of produce(); those that are not set are left to its defaults."""
    arguments: dict[str, Any] = {"topic": record.topic, "value": record.value, "key": record.key}
    if record.headers:
        arguments["headers"] = list(record.headers)
    if record.partition is not None:
        arguments["partition"] = record.partition
    if record.timestamp_ms is not None:
        arguments["timestamp"] = record.timestamp_ms
    return arguments
