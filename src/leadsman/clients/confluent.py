"""confluent-kafka behind the provider's face."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leadsman.clients.clock import Clock, SystemClock
from leadsman.clients.errors import MissingLibrary
from leadsman.clients.records import Delivered, Record, Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError, Message, Producer

    from leadsman.clients.line import Reported
    from leadsman.clients.records import Report
    from leadsman.clients.settings import Settings

LOG = logging.getLogger("leadsman.clients")

POLL_SECONDS = 0.1
"""How long the serving thread blocks at most. A report wakes it at once; a retirement waits for it."""

PURGED_WITHIN = timedelta(seconds=1)
"""Reports of purged records are there at once; this is for a machine that is busy."""

FLUSH_SHARE = 0.8
"""The flush's part of a retirement; the rest is for the reports of what was not sent."""

FAILED_WITHIN = timedelta(seconds=1)
"""What flushing a producer may take that has reported itself beyond use: its records are sent again by another."""

WARM_UP_SECONDS = 0.02
"""An idempotent producer that is used before its first connection is up sleeps 500 ms for its id; 5 ms are enough on
loopback (measured: 502 ms to the first acknowledgement without, 53 ms with)."""

DOWN_SECONDS = 30.0
"""So long without any broker before one is asked for by name. All being down is often said after a mere idle close."""

PROBE_SECONDS = 2.0
"""How long that question may take."""

BEYOND_USE = frozenset({"_FATAL", "_FENCED", "_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "INVALID_PRODUCER_EPOCH"})
"""Errors after which only a new producer helps: its id is burnt, or its credentials are."""

UNKNOWN = frozenset(
    {"_MSG_TIMED_OUT", "_TIMED_OUT", "_PURGE_INFLIGHT", "_TRANSPORT", "REQUEST_TIMED_OUT", "_TIMED_OUT_QUEUE"}
)
"""Errors after which a record may be stored all the same."""


class ConfluentLine:
    """One confluent_kafka.Producer. With `thread`, a thread of its own serves its reports."""

    def __init__(
        self,
        settings: Settings,
        *,
        failed: Callable[[str], None],
        alive: Callable[[], None],
        thread: bool,
        warm_up: bool,
        clock: Clock | None = None,
    ) -> None:
        self._failed = failed
        self._alive = alive
        self._clock = clock or SystemClock()
        self._read = self._clock.read
        self._user_error = settings.get("error_cb")
        self._beyond_use = False
        self._down_since: float | None = None
        self._stop = threading.Event()
        self._raw: Producer = _watched(settings, told=self._on_told, error=self._on_error)
        if warm_up:
            self._raw.poll(WARM_UP_SECONDS)
        self._server = threading.Thread(target=self._serve_on, name="leadsman-reports", daemon=True) if thread else None
        if self._server:
            self._server.start()

    @property
    def raw(self) -> Producer:
        """The confluent_kafka.Producer."""
        return self._raw

    def send(self, record: Record, reported: Reported, *, within: timedelta) -> None:
        """Hand a record over."""
        deadline = self._read()[0] + within.total_seconds()
        while True:
            try:
                self._raw.produce(**_arguments(record), on_delivery=lambda *told: reported(_report(*told)))
            except BufferError:
                if self._read()[0] >= deadline:
                    raise
                self._raw.poll(POLL_SECONDS)
            except _refusals() as refusal:  # the client knows at once: no such topic, too large
                reported(_refused(refusal.args[0]))
                return
            else:
                return

    def serve(self, seconds: float) -> None:
        """Let the client tell its reports. While it is retired, that tells them all."""
        if self._stop.is_set():
            self._clock.pause(seconds)
        else:
            self._raw.poll(seconds)

    def flush(self, within: timedelta) -> int:
        """Wait for all reports; return how many are missing."""
        return int(self._raw.flush(within.total_seconds()))

    def usable(self) -> bool:
        """Ask for a broker once there has been none for long; the answer also ends the doubt."""
        if self._beyond_use:
            return False
        if self._down_since is None or self._read()[0] - self._down_since < DOWN_SECONDS:
            return True
        try:
            self._raw.list_topics(timeout=PROBE_SECONDS)
        except Exception:  # noqa: BLE001 (whatever it is, there was no answer)
            return False
        self._down_since = None
        return True

    def retire(self, within: timedelta) -> int:
        """Flush, purge what is left, close. Never called from the client's own callbacks."""
        left = self.flush((min(within, FAILED_WITHIN) if self._beyond_use else within) * FLUSH_SHARE)
        if left:
            self._raw.purge()
            self._raw.flush(PURGED_WITHIN.total_seconds())
        self._stop.set()
        if self._server:
            self._server.join(PURGED_WITHIN.total_seconds())
        close = getattr(self._raw, "close", None)  # before 2.13 there was none: letting go of it has to do
        if close is not None:
            close()
        return left

    def _serve_on(self) -> None:
        """Serve until the end. What a user's own callback raises comes out of poll(): it must not end the thread."""
        while not self._stop.is_set():
            try:
                self._raw.poll(POLL_SECONDS)
            except Exception:
                LOG.exception("A callback of a producer failed")

    def _on_told(self, error: KafkaError | None) -> None:
        """Take a delivery report as word about the producer: it is alive, or perhaps not."""
        if error is None:
            self._down_since = None
            self._alive()
        else:
            self._notice(error)

    def _on_error(self, error: KafkaError) -> None:
        """Take the client's word about itself. Runs wherever the client is served: only flags are set."""
        self._notice(error)
        if self._user_error is not None:
            self._user_error(error)

    def _notice(self, error: KafkaError) -> None:
        if error.name() == "_ALL_BROKERS_DOWN" and self._down_since is None:
            self._down_since = self._read()[0]
        if (error.fatal() or error.name() in BEYOND_USE) and not self._beyond_use:
            self._beyond_use = True
            self._failed(str(error))


def _refusals() -> type[Exception]:
    from confluent_kafka import KafkaException  # noqa: PLC0415 (only who uses this client needs it)

    return KafkaException


def _report(error: KafkaError | None, message: Message) -> Report:
    if error is None:
        topic, partition, offset = str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)
        return Delivered(topic=topic, partition=partition, offset=offset)
    return _refused(error)


def _refused(error: KafkaError) -> Refused:
    name = str(error.name())
    unsent = name == "_PURGE_QUEUE"
    return Refused(says=str(error), retriable=bool(error.retriable()) or unsent, unsent=unsent, unknown=name in UNKNOWN)


def _watched(
    settings: Settings, *, told: Callable[[KafkaError | None], None], error: Callable[[KafkaError], None]
) -> Producer:
    """Return a producer that tells of each delivery report, however its user calls produce()."""
    try:
        from confluent_kafka import Producer  # noqa: PLC0415 (only who uses this client needs it)
    except ImportError as missing:
        raise MissingLibrary(
            "confluent-kafka is not installed. Install it: pip install 'leadsman[clients]'"
        ) from missing
    usual = settings.get("on_delivery")

    class WatchedProducer(Producer):
        def produce(self, *positional: Any, **named: Any) -> None:  # noqa: ANN401 (as the library has it)
            wanted = named.pop("on_delivery", None) or named.pop("callback", None) or usual

            def both(problem: KafkaError | None, message: Message) -> None:
                told(problem)
                if wanted is not None:
                    wanted(problem, message)

            super().produce(*positional, **{**named, "on_delivery": both})

    return WatchedProducer({**settings, "error_cb": error})


def _arguments(record: Record) -> dict[str, Any]:
    """Return what produce() takes; what is not set is left to its defaults."""
    found: dict[str, Any] = {"topic": record.topic, "value": record.value, "key": record.key}
    if record.headers:
        found["headers"] = list(record.headers)
    if record.partition is not None:
        found["partition"] = record.partition
    if record.timestamp_ms is not None:
        found["timestamp"] = record.timestamp_ms
    return found
