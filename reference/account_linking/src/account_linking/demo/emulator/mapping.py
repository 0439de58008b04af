"""Maps a topic to a function, as AWS does: one poller a partition, a batch again until it succeeds or is given up."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from account_linking.demo.emulator.environment import Environment
from account_linking.kafka_event import Record, as_event
from account_linking.names import DEAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from account_linking.demo.emulator.environment import Function, Outcome

T = TypeVar("T")

POLL_SECONDS = 0.1
COORDINATOR_SECONDS = 90.0
"""A killed broker is back within seconds, or within a minute and a half on a crowded machine."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 4.0
HOPELESS = ("Poison",)
"""Errors that no retry mends: they go to the dead letters at once."""


@dataclass(slots=True, kw_only=True)
class Mapping:
    """Polls `topic` and invokes `function`, one environment a partition. Runs while it is a context.

    A batch that failed `tries` times goes to the dead letters with its error, and its partition goes on.
    """

    bootstrap: str
    topic: str
    function: Function
    partitions: int
    batch: int = 1
    tries: int = 20
    on_outcome: Callable[[Outcome], None] | None = None
    environments: list[Environment] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)
    dead: int = 0
    broken: Exception | None = None
    """Why a poller ended, if one did."""
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

    def idle(self) -> bool:
        """Say whether everything that is in the topic was handled."""
        consumer = self._consumer()
        try:
            return all(self._handled(consumer, partition) for partition in range(self.partitions))
        finally:
            consumer.close()

    def _handled(self, consumer: Consumer, partition: int) -> bool:
        place = TopicPartition(self.topic, partition)
        _, end = _patiently(lambda: consumer.get_watermark_offsets(place, timeout=10))
        (committed,) = _patiently(lambda: consumer.committed([place], timeout=10))
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
        """Poll until the end. A thread's error would only be printed: it is kept for those who wait."""
        try:
            self._poll_on(partition, environment)
        except Exception as error:  # noqa: BLE001 - whatever ended it
            self.broken = None if self._stop.is_set() else error

    def _poll_on(self, partition: int, environment: Environment) -> None:
        consumer = self._consumer()
        place = TopicPartition(self.topic, partition)
        (committed,) = _patiently(lambda: consumer.committed([place], timeout=10))
        consumer.assign([TopicPartition(self.topic, partition, max(0, committed.offset))])
        while not self._stop.is_set():
            messages = [each for each in consumer.consume(self.batch, POLL_SECONDS) if not each.error()]
            if messages and self._handle(environment, [_record(each) for each in messages]):
                done = TopicPartition(self.topic, partition, int(messages[-1].offset() or 0) + 1)
                _patiently(partial(consumer.commit, offsets=[done], asynchronous=False))
        consumer.close()

    def _handle(self, environment: Environment, records: list[Record]) -> bool:
        """Invoke until it succeeds or is given up; return whether the batch is done with."""
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(1, self.tries + 1):
            outcome = environment.invoke(as_event(records))
            if self.on_outcome:
                self.on_outcome(outcome)
            if not outcome.error:
                return True
            self.failed[outcome.error] = self.failed.get(outcome.error, 0) + 1
            if outcome.error in HOPELESS or attempt == self.tries:
                self._bury(records, outcome)
                return True
            if self._stop.wait(pause):
                return False
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return False

    def _bury(self, records: list[Record], outcome: Outcome) -> None:
        """Store what was given up where somebody can look at it, before the partition goes on."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0})
        for record in records:
            place = f"{record.topic}-{record.partition}-{record.offset}"
            headers: list[tuple[str, str | bytes | None]] = [
                ("from", place),
                ("reason", str(outcome.answer or outcome.error)),
            ]
            producer.produce(DEAD, record.value, place, headers=headers)
        if producer.flush(30):
            raise RuntimeError("The dead letters could not be stored.")
        self.dead += len(records)


def _patiently(ask: Callable[[], T]) -> T:
    """Ask a coordinator or leader that may still be moving in, or whose broker is being started again."""
    deadline = time.monotonic() + COORDINATOR_SECONDS
    while True:
        try:
            return ask()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)


def _record(message: Any) -> Record:  # noqa: ANN401 - confluent-kafka publishes no types
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        value=message.value() or b"",
        headers={name: value.decode() for name, value in message.headers() or ()},
    )


def wait_until(condition: Callable[[], bool], *, within_seconds: float, what: str) -> None:
    """Wait for a condition; RuntimeError if it does not come true in time."""
    deadline = time.monotonic() + within_seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"Waited {within_seconds:g} s for {what}, in vain.")
        time.sleep(POLL_SECONDS)
