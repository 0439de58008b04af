"""Sends records with aiokafka, through a producer that is replaced before it could be dead."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from leadsman_clients.errors import MissingLibrary, NotDelivered
from leadsman_clients.instance.async_provider import AsyncExpiringProvider
from leadsman_clients.producer.records import RecordMetadata

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import timedelta
    from typing import Unpack

    from leadsman_clients.clock import Clock
    from leadsman_clients.instance.policy import Policy
    from leadsman_clients.observability.events import EventListener
    from leadsman_clients.observability.statistics import ProviderStats
    from leadsman_clients.producer.records import RecordOptions
    from leadsman_clients.producer.settings import AdjustedSettings

FATAL_ERRORS = frozenset(
    {
        "ProducerFenced",
        "ProducerClosed",
        "InvalidProducerEpoch",
        "OutOfOrderSequenceNumber",
        "UnknownProducerId",
        "AuthenticationFailedError",
        "SaslAuthenticationFailed",
        "RequestTimedOutError",  # a new producer looks up brokers and credentials again
        "KafkaTimeoutError",
    }
)
"""Errors after which only a new producer helps, by class."""

CLOSE_SECONDS = 1.0
"""How long closing connections may take after a flush that timed out."""

POSSIBLY_PERSISTED_ERRORS = frozenset(
    {"RequestTimedOutError", "KafkaTimeoutError", "KafkaConnectionError", "TimeoutError"}
)
"""Errors after which the broker may have stored the record, by class."""


class AsyncKafkaProducerProvider:
    """One aiokafka producer for all tasks of the event loop, live at each use. Made by `kafka_producer_provider`."""

    def __init__(
        self,
        load_settings: Callable[[], AdjustedSettings],
        *,
        policy: Policy,
        name: str,
        on_event: EventListener | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._load_settings = load_settings
        self.provider: AsyncExpiringProvider[Any] = AsyncExpiringProvider(
            self._create, _retire, policy=policy, name=name, on_event=on_event, clock=clock, fatal=_is_fatal
        )

    @asynccontextmanager
    async def lease(self, *, timeout: timedelta | None = None) -> AsyncIterator[Any]:
        """Lease the AIOKafkaProducer, alive, for as long as the block lasts."""
        async with self.provider.lease(timeout=timeout) as producer:
            yield producer

    async def deliver(
        self, topic: str, value: bytes | str | None, *, timeout: timedelta, **record: Unpack[RecordOptions]
    ) -> RecordMetadata:
        """Send a record and wait until it is stored. NotDelivered if it is not, or not within the time."""
        try:
            async with asyncio.timeout(timeout.total_seconds()), self.provider.lease(timeout=timeout) as producer:
                metadata = await producer.send_and_wait(topic, **_send_arguments(value, record))
                self.provider.touch(producer)
        except Exception as error:
            if type(error).__name__ not in POSSIBLY_PERSISTED_ERRORS and not isinstance(error, _kafka_error()):
                raise
            raise _not_delivered(topic, error) from error
        return RecordMetadata(topic=metadata.topic, partition=metadata.partition, offset=metadata.offset)

    async def close(self, *, timeout: timedelta | None = None) -> bool:
        """Flush and close; return whether that was done in time."""
        return await self.provider.close(timeout=timeout)

    @property
    def stats(self) -> ProviderStats:
        """Counts of the producers so far, and the state of the live one."""
        return self.provider.stats

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _create(self) -> Any:  # noqa: ANN401 - the library is untyped
        try:
            from aiokafka import AIOKafkaProducer
        except ImportError as error:
            raise MissingLibrary(
                "aiokafka is not installed. Install it: pip install 'leadsman-clients[aiokafka]'"
            ) from error
        producer = AIOKafkaProducer(**self._load_settings().settings)
        try:
            await producer.start()
        except BaseException:
            await producer.stop()  # a producer that failed to start keeps its connections otherwise
            raise
        return producer


async def _retire(producer: Any, timeout: timedelta) -> int:  # noqa: ANN401 - the library is untyped
    """Stop the producer, which flushes; after the time is over, by force. Each remaining record gets its error."""
    try:
        await asyncio.wait_for(producer.stop(), timeout.total_seconds())
    except TimeoutError:
        with suppress(TimeoutError):
            await asyncio.wait_for(producer.client.close(), CLOSE_SECONDS)
        return 1
    return 0


def _kafka_error() -> type[Exception]:
    from aiokafka.errors import KafkaError

    return KafkaError  # type: ignore[no-any-return]  # the library is untyped


def _is_fatal(error: BaseException) -> bool:
    return type(error).__name__ in FATAL_ERRORS


def _send_arguments(value: bytes | str | None, record: RecordOptions) -> dict[str, Any]:
    """Return the arguments of send_and_wait()."""
    key = record.get("key")
    return {
        "value": value.encode() if isinstance(value, str) else value,
        "key": key.encode() if isinstance(key, str) else key,
        "headers": list(record.get("headers", ())),
        "partition": record.get("partition"),
        "timestamp_ms": record.get("timestamp_ms"),
    }


def _not_delivered(topic: str, error: Exception) -> NotDelivered:
    possibly_persisted = type(error).__name__ in POSSIBLY_PERSISTED_ERRORS
    status = "It is possibly stored" if possibly_persisted else "It is not stored"
    return NotDelivered(
        f"A record for {topic} was not acknowledged: {error!r}. {status}.",
        retriable=bool(getattr(error, "retriable", False)) or possibly_persisted,
        possibly_persisted=possibly_persisted,
    )
