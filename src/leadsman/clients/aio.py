"""Sends records with aiokafka, through a producer that is replaced when it could be dead."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from leadsman.clients.async_provider import AsyncExpiringProvider
from leadsman.clients.errors import MissingLibrary, NotDelivered
from leadsman.clients.records import Delivered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import timedelta
    from typing import Unpack

    from leadsman.clients.clock import Clock
    from leadsman.clients.events import Listener
    from leadsman.clients.policy import Policy
    from leadsman.clients.records import RecordOptions
    from leadsman.clients.settings import Fitted
    from leadsman.clients.tally import Stats

BEYOND_USE = frozenset(
    {
        "ProducerFenced",
        "ProducerClosed",
        "InvalidProducerEpoch",
        "OutOfOrderSequenceNumber",
        "UnknownProducerId",
        "AuthenticationFailedError",
        "SaslAuthenticationFailed",
        "RequestTimedOutError",  # a new producer asks for brokers and credentials anew
        "KafkaTimeoutError",
    }
)
"""Errors after which only a new producer helps, by class."""

CLOSED_SECONDS = 1.0
"""What closing connections may take once a flush has run out of time."""

UNKNOWN = frozenset({"RequestTimedOutError", "KafkaTimeoutError", "KafkaConnectionError", "TimeoutError"})
"""Errors after which a record may be stored all the same, by class."""


class AsyncKafkaProducers:
    """One aiokafka producer for everybody in the event loop, live at each use. Made by `kafka_producer_provider`."""

    def __init__(
        self,
        fitted: Callable[[], Fitted],
        *,
        policy: Policy,
        name: str,
        on_event: Listener | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._fitted = fitted
        self.provider: AsyncExpiringProvider[Any] = AsyncExpiringProvider(
            self._create, _retire, policy=policy, name=name, on_event=on_event, clock=clock, fatal=_fatal
        )

    @asynccontextmanager
    async def lease(self, *, within: timedelta | None = None) -> AsyncIterator[Any]:
        """Give the AIOKafkaProducer, alive, for as long as the block lasts."""
        async with self.provider.lease(within=within) as producer:
            yield producer

    async def deliver(
        self, topic: str, value: bytes | str | None, *, within: timedelta, **record: Unpack[RecordOptions]
    ) -> Delivered:
        """Send a record and wait until it is stored. NotDelivered if it is not, or not within the time."""
        try:
            async with asyncio.timeout(within.total_seconds()), self.provider.lease(within=within) as producer:
                sent = await producer.send_and_wait(topic, **_arguments(value, record))
                self.provider.touch(producer)
        except Exception as error:
            if type(error).__name__ not in UNKNOWN and not isinstance(error, _kafka_error()):
                raise
            raise _not_delivered(topic, error) from error
        return Delivered(topic=sent.topic, partition=sent.partition, offset=sent.offset)

    async def close(self, *, within: timedelta | None = None) -> bool:
        """Flush and close; return whether that was done in time."""
        return await self.provider.close(within=within)

    @property
    def stats(self) -> Stats:
        """What happened to the producers so far."""
        return self.provider.stats

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _create(self) -> Any:  # noqa: ANN401 (the library is untyped)
        try:
            from aiokafka import AIOKafkaProducer  # noqa: PLC0415 (only who uses this client needs it)
        except ImportError as error:
            raise MissingLibrary("aiokafka is not installed. Install it: pip install 'aiokafka>=0.12'") from error
        producer = AIOKafkaProducer(**self._fitted().settings)
        try:
            await producer.start()
        except BaseException:
            await producer.stop()  # a producer that failed to start keeps its connections otherwise
            raise
        return producer


async def _retire(producer: Any, within: timedelta) -> int:  # noqa: ANN401 (the library is untyped)
    """Stop it, which flushes; after so long by force. Whoever waits for a record hears of it."""
    try:
        await asyncio.wait_for(producer.stop(), within.total_seconds())
    except TimeoutError:
        with suppress(TimeoutError):
            await asyncio.wait_for(producer.client.close(), CLOSED_SECONDS)
        return 1
    return 0


def _kafka_error() -> type[Exception]:
    from aiokafka.errors import KafkaError  # noqa: PLC0415 (only who uses this client needs it)

    return KafkaError  # type: ignore[no-any-return]  # the library is untyped


def _fatal(error: BaseException) -> bool:
    return type(error).__name__ in BEYOND_USE


def _arguments(value: bytes | str | None, record: RecordOptions) -> dict[str, Any]:
    """Return what send() takes."""
    key = record.get("key")
    return {
        "value": value.encode() if isinstance(value, str) else value,
        "key": key.encode() if isinstance(key, str) else key,
        "headers": list(record.get("headers", ())),
        "partition": record.get("partition"),
        "timestamp_ms": record.get("timestamp_ms"),
    }


def _not_delivered(topic: str, error: Exception) -> NotDelivered:
    unknown = type(error).__name__ in UNKNOWN
    fate = "It may be stored all the same" if unknown else "It is not stored"
    return NotDelivered(
        f"A record for {topic} was not acknowledged: {error!r}. {fate}.",
        retriable=bool(getattr(error, "retriable", False)) or unknown,
        unknown=unknown,
    )
