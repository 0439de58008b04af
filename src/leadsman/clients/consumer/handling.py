"""What becomes of one record: handled, tried again, skipped, or put aside as a dead letter."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from leadsman.clients.consumer.verdicts import DeadLetter, Message, Retry, Skip, Verdict
from leadsman.clients.errors import ClientsError, NotDelivered

if TYPE_CHECKING:
    import threading
    from collections import Counter
    from collections.abc import Awaitable, Callable

    from leadsman.clients.clock import Clock
    from leadsman.clients.consumer.verdicts import Rules
    from leadsman.clients.producers import KafkaProducers

    Handler: TypeAlias = Callable[[Message], "Verdict | Awaitable[Verdict]"]
    Progress: TypeAlias = Callable[[], object]

LOG = logging.getLogger("leadsman.clients")

STORE_WITHIN = timedelta(seconds=30)
"""How long one attempt to store a dead letter may take."""


class NowhereToPut(Exception):
    """A dead letter, and no topic for it."""


class Handling:
    """Asks the handler about one record after the other, in the worker's thread."""

    def __init__(
        self,
        handler: Handler,
        *,
        rules: Rules,
        clock: Clock,
        counts: Counter[str],
        name: str,
        producers: KafkaProducers | None,
        dead_letters: str,
    ) -> None:
        self._handler = handler
        self._rules = rules
        self._clock = clock
        self._counts = counts
        self._name = name
        self._producers = producers
        self._dead_letters = dead_letters
        self.loop: asyncio.AbstractEventLoop | None = None
        """Where coroutine functions run; None: each in a loop of its own."""

    def process(self, message: Message, stopping: threading.Event, progress: Progress) -> bool:
        """Handle a record until it is done with; False: the stop came first. Each answer of the handler is progress."""
        attempt = 0
        while not stopping.is_set():
            attempt += 1
            verdict = self._ask(replace(message, attempt=attempt))
            progress()
            if not isinstance(verdict, Retry):
                return self._done(message, verdict, stopping)
            if attempt >= self._rules.attempts:
                return self._put_aside(message, f"Tried {attempt} times. {verdict.because}".strip(), stopping)
            self._counts["retried"] += 1
            self._wait(stopping, attempt, verdict.after)
        return False

    def _ask(self, message: Message) -> Verdict:
        try:
            return self._answer(message)
        except Exception as error:
            LOG.exception("%s: handling %s-%d@%d", self._name, message.topic, message.partition, message.offset)
            return Retry(because=repr(error))

    def _answer(self, message: Message) -> Verdict:
        answer: Any = self._handler(message)
        if not inspect.isawaitable(answer):
            verdict: Verdict = answer
            return verdict
        if self.loop is None:
            return asyncio.run(_awaited(answer))
        return asyncio.run_coroutine_threadsafe(_awaited(answer), self.loop).result()

    def _done(self, message: Message, verdict: Verdict, stopping: threading.Event) -> bool:
        if isinstance(verdict, DeadLetter):
            return self._put_aside(message, verdict.because, stopping)
        self._counts["skipped" if isinstance(verdict, Skip) else "processed"] += 1
        return True

    def _put_aside(self, message: Message, because: str, stopping: threading.Event) -> bool:
        """Store a dead letter; until it is stored the consumer does not go on."""
        place = f"{message.topic}-{message.partition}@{message.offset}"
        if self._producers is None:
            raise NowhereToPut(f"{place} is a dead letter, and there is no topic for it (dead_letters=). {because}")
        attempt = 0
        while not stopping.is_set():
            attempt += 1
            try:
                self._store(self._producers, message, because)
            except ClientsError as error:
                if isinstance(error, NotDelivered) and not (error.retriable or error.unknown):
                    raise NowhereToPut(
                        f"{place} is a dead letter, and {self._dead_letters} does not take it. {error}"
                    ) from error
                LOG.warning("%s: a dead letter is not stored yet: %s", self._name, error)
                self._wait(stopping, attempt)
            else:
                self._counts["dead_lettered"] += 1
                return True
        return False

    def _store(self, producers: KafkaProducers, message: Message, because: str) -> None:
        origin = {"topic": message.topic, "partition": message.partition, "offset": message.offset, "because": because}
        told = [(f"dead-letter.{name}", str(value).encode()) for name, value in origin.items()]
        headers = (*message.headers, *told)
        producers.deliver(self._dead_letters, message.value, within=STORE_WITHIN, key=message.key, headers=headers)

    def _wait(self, stopping: threading.Event, attempt: int, after: timedelta | None = None) -> None:
        seconds = self._rules.retry.seconds(attempt) if after is None else after.total_seconds()
        self._clock.wait(stopping, seconds)


async def _awaited(answer: Awaitable[Verdict]) -> Verdict:
    return await answer
