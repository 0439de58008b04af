"""Processes one record: calls the handler, retries, skips, or stores a dead letter."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from leadsman_clients.consumer.handler import DeadLetter, HandlerResult, Message, Retry, Skip
from leadsman_clients.errors import ClientsError, NotDelivered

if TYPE_CHECKING:
    import threading
    from collections import Counter
    from collections.abc import Awaitable, Callable

    from leadsman_clients.clock import Clock
    from leadsman_clients.consumer.policy import ConsumerPolicy
    from leadsman_clients.producer.provider import KafkaProducerProvider

    Handler: TypeAlias = Callable[[Message], "HandlerResult | Awaitable[HandlerResult]"]
    OnProgress: TypeAlias = Callable[[], object]

LOG = logging.getLogger("leadsman_clients")

DEAD_LETTER_TIMEOUT = timedelta(seconds=30)
"""How long one attempt to store a dead letter may take."""


class DeadLetterNotStored(Exception):
    """There is no dead-letter topic, or it does not take the record."""


class RecordProcessor:
    """Calls the handler for one record after the other, in the worker thread."""

    def __init__(
        self,
        handler: Handler,
        *,
        policy: ConsumerPolicy,
        clock: Clock,
        counts: Counter[str],
        name: str,
        producers: KafkaProducerProvider | None,
        dead_letters: str,
    ) -> None:
        self._handler = handler
        self._policy = policy
        self._clock = clock
        self._counts = counts
        self._name = name
        self._producers = producers
        self._dead_letters = dead_letters
        self.loop: asyncio.AbstractEventLoop | None = None
        """Where coroutine functions run; None: each in a loop of its own."""

    def process(self, message: Message, stopping: threading.Event, on_progress: OnProgress) -> bool:
        """Process a record to its end; False: it was stopped before. Each return of the handler is progress."""
        attempt = 0
        while not stopping.is_set():
            attempt += 1
            result = self._call_handler(replace(message, attempt=attempt))
            on_progress()
            if not isinstance(result, Retry):
                return self._finish(message, result, stopping)
            if attempt >= self._policy.max_attempts:
                return self._dead_letter(message, f"Tried {attempt} times. {result.reason}".strip(), stopping)
            self._counts["retried"] += 1
            self._wait(stopping, attempt, result.after)
        return False

    def _call_handler(self, message: Message) -> HandlerResult:
        try:
            return self._handler_result(message)
        except Exception as error:
            LOG.exception("%s: handling %s-%d@%d", self._name, message.topic, message.partition, message.offset)
            return Retry(reason=repr(error))

    def _handler_result(self, message: Message) -> HandlerResult:
        returned: Any = self._handler(message)
        if not inspect.isawaitable(returned):
            result: HandlerResult = returned
            return result
        if self.loop is None:
            return asyncio.run(_await(returned))
        return asyncio.run_coroutine_threadsafe(_await(returned), self.loop).result()

    def _finish(self, message: Message, result: HandlerResult, stopping: threading.Event) -> bool:
        if isinstance(result, DeadLetter):
            return self._dead_letter(message, result.reason, stopping)
        self._counts["skipped" if isinstance(result, Skip) else "processed"] += 1
        return True

    def _dead_letter(self, message: Message, reason: str, stopping: threading.Event) -> bool:
        """Store a dead letter; the consumer does not continue until it is stored."""
        position = f"{message.topic}-{message.partition}@{message.offset}"
        if self._producers is None:
            raise DeadLetterNotStored(
                f"{position} is a dead letter, and there is no topic for it (dead_letters=). {reason}"
            )
        attempt = 0
        while not stopping.is_set():
            attempt += 1
            try:
                self._store(self._producers, message, reason)
            except ClientsError as error:
                if isinstance(error, NotDelivered) and not (error.retriable or error.possibly_persisted):
                    raise DeadLetterNotStored(
                        f"{position} is a dead letter, and {self._dead_letters} does not take it. {error}"
                    ) from error
                LOG.warning("%s: a dead letter is not stored yet: %s", self._name, error)
                self._wait(stopping, attempt)
            else:
                self._counts["dead_lettered"] += 1
                return True
        return False

    def _store(self, producers: KafkaProducerProvider, message: Message, reason: str) -> None:
        origin = {"topic": message.topic, "partition": message.partition, "offset": message.offset, "reason": reason}
        origin_headers = [(f"dead-letter.{name}", str(value).encode()) for name, value in origin.items()]
        headers = (*message.headers, *origin_headers)
        producers.deliver(
            self._dead_letters, message.value, timeout=DEAD_LETTER_TIMEOUT, key=message.key, headers=headers
        )

    def _wait(self, stopping: threading.Event, attempt: int, after: timedelta | None = None) -> None:
        seconds = self._policy.retry_backoff.seconds(attempt) if after is None else after.total_seconds()
        self._clock.wait(stopping, seconds)


async def _await(awaitable: Awaitable[HandlerResult]) -> HandlerResult:
    return await awaitable
