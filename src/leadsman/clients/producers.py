"""Sends records through a producer that is replaced when it could be dead."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from leadsman.clients.clock import SystemClock, elapsed
from leadsman.clients.errors import NoInstance, NotDelivered, ProviderClosed
from leadsman.clients.provider import ExpiringProvider
from leadsman.clients.records import Delivered, Delivery, Record, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Unpack

    from leadsman.clients.clock import Clock
    from leadsman.clients.events import Listener
    from leadsman.clients.line import Line, MakeLine
    from leadsman.clients.policy import Policy
    from leadsman.clients.records import Headers, RecordOptions, Report
    from leadsman.clients.settings import Fitted
    from leadsman.clients.tally import Stats

SERVE_SECONDS = 0.05
"""How long one look for reports may take, where the caller serves them itself."""

RESEND_WITHIN = timedelta(seconds=10)
"""How long a record that never left may wait for the next producer."""


class KafkaProducers:
    """One producer for everybody in the process, live at each use. Made by `kafka_producer_provider`."""

    def __init__(
        self,
        fitted: Callable[[], Fitted],
        make: MakeLine,
        *,
        policy: Policy,
        name: str,
        threaded: bool,
        on_event: Listener | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._fitted = fitted
        self._make = make
        self._threaded = threaded
        self._clock = clock or SystemClock()
        self._again: deque[tuple[Record, Delivery]] = deque()
        self.provider: ExpiringProvider[Line] = ExpiringProvider(
            self._create,
            self._retire,
            policy=policy,
            name=name,
            usable=lambda line: line.usable(),
            on_event=on_event,
            clock=self._clock,
        )

    @contextmanager
    def lease(self, *, within: timedelta | None = None) -> Iterator[Any]:
        """Give the client's own producer, alive, for as long as the `with` block lasts.

        Flush it inside: a record that is under way when the block ends is waited for when the producer is replaced, and
        its report comes to the callback given to the client.
        """
        with self.provider.lease(within=within) as line:
            yield line.raw

    def send(
        self,
        topic: str,
        value: bytes | str | None,
        *,
        key: bytes | str | None = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        within: timedelta | None = None,
    ) -> Delivery:
        """Hand a record over and return its delivery report to come.

        `within` bounds the wait for a producer and for room. A record that never left a producer
        that failed is handed to the next one, once.
        """
        record = Record(
            topic=topic,
            value=_bytes(value),
            key=_bytes(key),
            headers=tuple(headers),
            partition=partition,
            timestamp_ms=timestamp_ms,
        )
        delivery = Delivery(None if self._threaded else self._serve_until)
        self._hand_over(record, delivery, within=within or self.provider.policy.wait_within, again=False)
        return delivery

    def deliver(
        self, topic: str, value: bytes | str | None, *, within: timedelta, **record: Unpack[RecordOptions]
    ) -> Delivered:
        """Send a record and wait until it is stored. NotDelivered if it is not, or not within the time."""
        began = self._clock.read()
        delivery = self.send(topic, value, within=within, **record)
        return self._awaited(delivery, within.total_seconds() - elapsed(began, self._clock.read()))

    def flush(self, deliveries: Iterable[Delivery], *, within: timedelta) -> None:
        """Wait for these reports and no others: other callers' records delay nobody. Raises the first error of them."""
        began = self._clock.read()
        for delivery in list(deliveries):
            self._awaited(delivery, within.total_seconds() - elapsed(began, self._clock.read()))

    @contextmanager
    def invocation(self, *, within: timedelta) -> Iterator[Invocation]:
        """Send inside, and leave only when all that was sent inside is stored.

        Else NotDelivered is raised, so that the platform retries the event. For workers that are frozen when they
        return: what is not acknowledged by then may never be.
        """
        sent = Invocation(self, self._clock, within)
        yield sent
        self.flush(sent.deliveries, within=sent.left())

    def close(self, *, within: timedelta | None = None) -> bool:
        """Flush and close; return whether that was done in time."""
        return self.provider.close(within=within)

    @property
    def stats(self) -> Stats:
        """What happened to the producers so far."""
        return self.provider.stats

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _create(self) -> Line:
        made: list[Line] = []

        def failed(cause: str) -> None:
            if made:
                self.provider.invalidate(cause, instance=made[0])

        def alive() -> None:
            if made:
                self.provider.touch(made[0])

        made.append(self._make(self._fitted().settings, failed=failed, alive=alive))
        return made[0]

    def _retire(self, line: Line, within: timedelta) -> int:
        """Retire a producer, and hand what never left it to the next one."""
        left = line.retire(within)
        resent = 0
        while self._again:
            self._hand_over(*self._again.popleft(), within=RESEND_WITHIN, again=True)
            resent += 1
        return max(0, left - resent)

    def _hand_over(self, record: Record, delivery: Delivery, *, within: timedelta, again: bool) -> None:
        def reported(report: Report) -> None:
            if isinstance(report, Delivered):
                delivery.set_result(report)
            elif report.unsent and not again:
                self._again.append((record, delivery))
            else:
                delivery.set_exception(_not_delivered(record, report))

        try:
            with self.provider.lease(within=within) as line:
                delivery.line = line
                line.send(record, reported, within=within)
        except (NoInstance, ProviderClosed, BufferError) as error:
            if not again:
                raise
            delivery.set_exception(error)

    def _serve_until(self, delivery: Delivery, seconds: float | None) -> None:
        began = self._clock.read()
        while not delivery.done() and (seconds is None or elapsed(began, self._clock.read()) < seconds):
            delivery.line.serve(SERVE_SECONDS)

    def _awaited(self, delivery: Delivery, seconds: float) -> Delivered:
        try:
            return delivery.result(max(0.0, seconds))
        except TimeoutError as error:
            raise NotDelivered("No delivery report in time.", retriable=True, unknown=True) from error


class Invocation:
    """What one invocation of a worker sent."""

    def __init__(self, producers: KafkaProducers, clock: Clock, within: timedelta) -> None:
        self._producers = producers
        self._read = clock.read
        self._began = clock.read()
        self._within = within
        self.deliveries: list[Delivery] = []

    def left(self) -> timedelta:
        """Return the time that is left."""
        return max(timedelta(0), self._within - timedelta(seconds=elapsed(self._began, self._read())))

    def send(self, topic: str, value: bytes | str | None, **record: Unpack[RecordOptions]) -> Delivery:
        """Hand a record over; it is waited for at the end of the invocation."""
        self.deliveries.append(self._producers.send(topic, value, within=self.left(), **record))
        return self.deliveries[-1]


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _not_delivered(record: Record, report: Refused) -> NotDelivered:
    fate = "It may be stored all the same" if report.unknown else "It is not stored"
    return NotDelivered(
        f"A record for {record.topic} was not acknowledged: {report.says}. {fate}.",
        retriable=report.retriable,
        unknown=report.unknown,
    )
