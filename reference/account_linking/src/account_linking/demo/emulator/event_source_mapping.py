"""AWS's event source mapping of a topic to a function: one poller for each partition; retries a failed batch."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from account_linking.demo.emulator.environment import Environment
from account_linking.kafka_event import KafkaRecord, make_event
from account_linking.topics import DEAD_LETTERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from account_linking.demo.emulator.environment import LambdaFunction, LambdaResult

T = TypeVar("T")

POLL_SECONDS = 0.1
COORDINATOR_TIMEOUT_SECONDS = 90.0
"""A killed broker restarts within seconds, on a busy machine within 90 s."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 4.0
NOT_RETRIED = ("Poison",)
"""Errors that go to the dead letters at once, without a retry."""


@dataclass(slots=True, kw_only=True)
class EventSourceMapping:
    """Polls `topic` and invokes `function`, one environment for each partition, while the context lasts.

    A batch that failed `max_attempts` times goes to the dead letters with its error; the partition continues after it.
    """

    bootstrap: str
    topic: str
    function: LambdaFunction
    partitions: int
    batch_size: int = 1
    max_attempts: int = 20
    on_result: Callable[[LambdaResult], None] | None = None
    environments: list[Environment] = field(default_factory=list)
    failed_invocations: dict[str, int] = field(default_factory=dict)
    dead_letters: int = 0
    poller_error: Exception | None = None
    """The error that ended a poller."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        self.environments = [self._stack.enter_context(Environment(self.function)) for _ in range(self.partitions)]
        for partition, environment in enumerate(self.environments):
            thread = threading.Thread(target=self._poll, args=(partition, environment), daemon=True)
            thread.start()
            self._stack.callback(thread.join, 60)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._stack.close()

    def is_drained(self) -> bool:
        """Return whether all records of the topic are handled: the committed offsets are at the end."""
        consumer = self._consumer()
        try:
            return all(self._is_handled(consumer, partition) for partition in range(self.partitions))
        finally:
            consumer.close()

    def _is_handled(self, consumer: Consumer, partition: int) -> bool:
        topic_partition = TopicPartition(self.topic, partition)
        _, end = _retry_kafka(lambda: consumer.get_watermark_offsets(topic_partition, timeout=10))
        (committed,) = _retry_kafka(lambda: consumer.committed([topic_partition], timeout=10))
        return int(end) == 0 or int(committed.offset or 0) >= int(end)

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": f"mapping-{self.function.name}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )

    def _poll(self, partition: int, environment: Environment) -> None:
        """Poll until stopped. Saves the error in `poller_error`: otherwise the thread would only print it."""
        try:
            self._poll_until_stopped(partition, environment)
        except Exception as error:  # noqa: BLE001 - any error ends the poller
            self.poller_error = None if self._stop.is_set() else error

    def _poll_until_stopped(self, partition: int, environment: Environment) -> None:
        consumer = self._consumer()
        topic_partition = TopicPartition(self.topic, partition)
        (committed,) = _retry_kafka(lambda: consumer.committed([topic_partition], timeout=10))
        consumer.assign([TopicPartition(self.topic, partition, max(0, committed.offset))])
        while not self._stop.is_set():
            messages = [each for each in consumer.consume(self.batch_size, POLL_SECONDS) if not each.error()]
            if messages and self._handle(environment, [_record(each) for each in messages]):
                done = TopicPartition(self.topic, partition, int(messages[-1].offset() or 0) + 1)
                _retry_kafka(partial(consumer.commit, offsets=[done], asynchronous=False))
        consumer.close()

    def _handle(self, environment: Environment, records: list[KafkaRecord]) -> bool:
        """Invoke until success or `max_attempts`; return whether the batch is handled, as opposed to stopped."""
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(1, self.max_attempts + 1):
            result = environment.invoke(make_event(records))
            if self.on_result:
                self.on_result(result)
            if not result.error:
                return True
            self.failed_invocations[result.error] = self.failed_invocations.get(result.error, 0) + 1
            if result.error in NOT_RETRIED or attempt == self.max_attempts:
                self._store_dead_letters(records, result)
                return True
            if self._stop.wait(pause):
                return False
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return False

    def _store_dead_letters(self, records: list[KafkaRecord], result: LambdaResult) -> None:
        """Store the batch in the dead-letter topic, before the partition continues."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0})
        for record in records:
            kafka_position = f"{record.topic}-{record.partition}-{record.offset}"
            headers: list[tuple[str, str | bytes | None]] = [
                ("from", kafka_position),
                ("reason", str(result.response or result.error)),
            ]
            producer.produce(DEAD_LETTERS, record.value, kafka_position, headers=headers)
        if producer.flush(30):
            raise RuntimeError("The dead letters were not delivered within 30 s.")
        self.dead_letters += len(records)


def _retry_kafka(request: Callable[[], T]) -> T:
    """Retry a request while the coordinator or leader is elected, or its broker restarts."""
    deadline = time.monotonic() + COORDINATOR_TIMEOUT_SECONDS
    while True:
        try:
            return request()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)


def _record(message: Any) -> KafkaRecord:  # noqa: ANN401 - confluent-kafka publishes no types
    return KafkaRecord(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        value=message.value() or b"",
        headers={name: (value or b"").decode(errors="surrogateescape") for name, value in message.headers() or ()},
    )


def wait_until(condition: Callable[[], bool], *, within_seconds: float, what: str) -> None:
    """Wait for a condition; RuntimeError after `within_seconds`."""
    deadline = time.monotonic() + within_seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"Timed out after {within_seconds:g} s waiting for {what}.")
        time.sleep(POLL_SECONDS)
