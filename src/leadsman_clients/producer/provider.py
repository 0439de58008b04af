"""Sends records through one producer for the process, which is replaced before it could be dead."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from leadsman_clients.clock import SystemClock, elapsed
from leadsman_clients.errors import NoInstance, NotDelivered, ProviderClosed
from leadsman_clients.instance.provider import ExpiringProvider
from leadsman_clients.producer.records import DeliveryFailure, DeliveryFuture, ProducerRecord, RecordMetadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Unpack

    from leadsman_clients.clock import Clock
    from leadsman_clients.instance.policy import Policy
    from leadsman_clients.observability.events import EventListener
    from leadsman_clients.observability.statistics import ProviderStats
    from leadsman_clients.producer._adapter import AdapterFactory, ProducerAdapter
    from leadsman_clients.producer.records import DeliveryResult, Headers, RecordOptions
    from leadsman_clients.producer.settings import AdjustedSettings

POLL_SECONDS = 0.05
"""How long one poll for reports may take, where the caller polls."""

RESEND_TIMEOUT = timedelta(seconds=10)
"""How long a record that never left a failed producer may wait for the next producer."""


class KafkaProducerProvider:
    """One producer for all callers of the process, live at each use. Made by `kafka_producer_provider`."""

    def __init__(
        self,
        load_settings: Callable[[], AdjustedSettings],
        make_adapter: AdapterFactory,
        *,
        policy: Policy,
        name: str,
        has_poll_thread: bool,
        on_event: EventListener | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._load_settings = load_settings
        self._make_adapter = make_adapter
        self._has_poll_thread = has_poll_thread
        self._clock = clock or SystemClock()
        self._to_resend: deque[tuple[ProducerRecord, DeliveryFuture]] = deque()
        self.provider: ExpiringProvider[ProducerAdapter] = ExpiringProvider(
            self._create,
            self._retire,
            policy=policy,
            name=name,
            usable=lambda adapter: adapter.is_usable(),
            on_event=on_event,
            clock=self._clock,
        )

    @contextmanager
    def lease(self, *, timeout: timedelta | None = None) -> Iterator[Any]:
        """Lease the client's own producer, alive, for as long as the `with` block lasts.

        Flush it inside: a record that is in flight when the block ends is waited for when the producer is replaced, and
        its report goes to the callback that was given to the client.
        """
        with self.provider.lease(timeout=timeout) as adapter:
            yield adapter.client

    def send(
        self,
        topic: str,
        value: bytes | str | None,
        *,
        key: bytes | str | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        timeout: timedelta | None = None,
    ) -> DeliveryFuture:
        """Send a record and return the future of its delivery report.

        `timeout` bounds the wait for a producer and for room in its queue. A record that never left a producer that
        failed is sent by the next one, once.
        """
        record = ProducerRecord(
            topic=topic,
            value=_bytes(value),
            key=_bytes(key),
            headers=tuple(headers),
            partition=partition,
            timestamp_ms=timestamp_ms,
        )
        future = DeliveryFuture(None if self._has_poll_thread else self._poll_until_done)
        self._send(record, future, timeout=timeout or self.provider.policy.lease_timeout, is_resend=False)
        return future

    def deliver(
        self, topic: str, value: bytes | str | None, *, timeout: timedelta, **record: Unpack[RecordOptions]
    ) -> RecordMetadata:
        """Send a record and wait until it is stored. NotDelivered if it is not, or not within the time."""
        began = self._clock.read()
        future = self.send(topic, value, timeout=timeout, **record)
        return self._wait(future, timeout.total_seconds() - elapsed(began, self._clock.read()))

    def flush(self, deliveries: Iterable[DeliveryFuture], *, timeout: timedelta) -> None:
        """Wait for these reports and no others: records of other callers add no delay. Raises the first error."""
        began = self._clock.read()
        for future in list(deliveries):
            self._wait(future, timeout.total_seconds() - elapsed(began, self._clock.read()))

    @contextmanager
    def invocation(self, *, timeout: timedelta) -> Iterator[Invocation]:
        """Send inside, and leave only when all records that were sent inside are stored.

        Otherwise it raises NotDelivered, so that the platform retries the event. For workers that are frozen when they
        return: a record that is not acknowledged by then may never be.
        """
        invocation = Invocation(self, self._clock, timeout)
        yield invocation
        self.flush(invocation.deliveries, timeout=invocation.remaining())

    def close(self, *, timeout: timedelta | None = None) -> bool:
        """Flush and close; return whether that was done in time."""
        return self.provider.close(timeout=timeout)

    @property
    def stats(self) -> ProviderStats:
        """Counts of the producers so far, and the state of the live one."""
        return self.provider.stats

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _create(self) -> ProducerAdapter:
        created: list[ProducerAdapter] = []

        def on_failed(cause: str) -> None:
            if created:
                self.provider.invalidate(cause, instance=created[0])

        def on_alive() -> None:
            if created:
                self.provider.touch(created[0])

        settings = self._load_settings().settings
        created.append(self._make_adapter(settings, on_failed=on_failed, on_alive=on_alive))
        return created[0]

    def _retire(self, adapter: ProducerAdapter, timeout: timedelta) -> int:
        """Retire a producer, and send the records that never left it through the next one."""
        unsent = adapter.retire(timeout)
        resent = 0
        while self._to_resend:
            self._send(*self._to_resend.popleft(), timeout=RESEND_TIMEOUT, is_resend=True)
            resent += 1
        return max(0, unsent - resent)

    def _send(self, record: ProducerRecord, future: DeliveryFuture, *, timeout: timedelta, is_resend: bool) -> None:
        def on_report(result: DeliveryResult) -> None:
            if isinstance(result, RecordMetadata):
                future.set_result(result)
            elif result.unsent and not is_resend:
                self._to_resend.append((record, future))
            else:
                future.set_exception(_not_delivered(record, result))

        try:
            with self.provider.lease(timeout=timeout) as adapter:
                future.adapter = adapter
                adapter.send(record, on_report, timeout=timeout)
        except (NoInstance, ProviderClosed, BufferError) as error:
            if not is_resend:
                raise
            future.set_exception(error)

    def _poll_until_done(self, future: DeliveryFuture, seconds: float | None) -> None:
        began = self._clock.read()
        while not future.done() and (seconds is None or elapsed(began, self._clock.read()) < seconds):
            future.adapter.poll(POLL_SECONDS)

    def _wait(self, future: DeliveryFuture, seconds: float) -> RecordMetadata:
        try:
            return future.result(max(0.0, seconds))
        except TimeoutError as error:
            raise NotDelivered("No delivery report in time.", retriable=True, possibly_persisted=True) from error


class Invocation:
    """The records that one invocation of a worker sent."""

    def __init__(self, producers: KafkaProducerProvider, clock: Clock, timeout: timedelta) -> None:
        self._producers = producers
        self._read_clock = clock.read
        self._began = clock.read()
        self._timeout = timeout
        self.deliveries: list[DeliveryFuture] = []

    def remaining(self) -> timedelta:
        """Return how much of the invocation's time remains."""
        return max(timedelta(0), self._timeout - timedelta(seconds=elapsed(self._began, self._read_clock())))

    def send(self, topic: str, value: bytes | str | None, **record: Unpack[RecordOptions]) -> DeliveryFuture:
        """Send a record; the end of the invocation waits for its report."""
        self.deliveries.append(self._producers.send(topic, value, timeout=self.remaining(), **record))
        return self.deliveries[-1]


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _not_delivered(record: ProducerRecord, failure: DeliveryFailure) -> NotDelivered:
    status = "It is possibly stored" if failure.possibly_persisted else "It is not stored"
    return NotDelivered(
        f"A record for {record.topic} was not acknowledged: {failure.message}. {status}.",
        retriable=failure.retriable,
        possibly_persisted=failure.possibly_persisted,
    )
