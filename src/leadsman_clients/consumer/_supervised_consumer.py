"""One confluent_kafka.Consumer from its creation to its end. The runner replaces one that does not recover."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from leadsman_clients.clock import elapsed
from leadsman_clients.consumer import _statistics
from leadsman_clients.consumer._commits import OffsetCommitter
from leadsman_clients.consumer._offsets import OffsetTracker
from leadsman_clients.consumer._processing import DeadLetterNotStored
from leadsman_clients.consumer.error_actions import Action, ErrorAction, error_action
from leadsman_clients.consumer.handler import Message
from leadsman_clients.errors import MissingLibrary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from confluent_kafka import KafkaError, TopicPartition

    from leadsman_clients.clock import Clock
    from leadsman_clients.consumer._offsets import Partition
    from leadsman_clients.consumer.policy import ConsumerPolicy

    Process: TypeAlias = Callable[[Message, threading.Event, Callable[[], object]], bool]

LOG = logging.getLogger("leadsman_clients")

POLL_SECONDS = 0.1
"""How long one poll blocks at most: commits and stops wait for it."""

STATISTICS_MS = 1000
"""How often librdkafka emits its statistics, which hold when each broker last responded."""

LOG_INTERVAL_SECONDS = 60.0
"""How often the same error is logged."""

REQUIRED_SETTINGS: Mapping[str, object] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "statistics.interval.ms": STATISTICS_MS,
}
"""Settings for at-least-once processing and for supervision."""


class SupervisedConsumer:
    """A poll thread polls and commits, a worker thread processes the records in order. Neither waits for the other.

    `process(message, stopping, on_progress)` returns when the record is processed; False: it was stopped before, and
    the record must not be committed.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        topics: Sequence[str],
        *,
        process: Process,
        policy: ConsumerPolicy,
        clock: Clock,
    ) -> None:
        self._process = process
        self._policy = policy
        self._clock = clock
        self._lock = threading.Lock()
        self._offsets = OffsetTracker()
        self._committer = OffsetCommitter(self._send_commit, self._offsets, self._lock, policy=policy, clock=clock)
        self._queue: deque[Message] = deque()
        self._queue_filled = threading.Event()
        self._paused: set[Partition] = set()
        """Partitions that are paused, because many records are in flight."""
        self._assigned: set[Partition] = set()
        self._stopping = threading.Event()
        self._last_progress = self._last_response = clock.read()
        self._logged_at: dict[str, float] = {}
        """When each error was logged last."""
        self.failure: ErrorAction | None = None
        """Why it cannot continue, and whether a new consumer can."""
        self.has_joined = False
        self.lag = 0
        """How many records of its partitions were not received yet, as of the last statistics."""
        self._consumer, self._topic_partition = self._subscribe(settings, topics)
        self._poll_thread = threading.Thread(target=self._poll_until_stopped, name="leadsman-poll", daemon=True)
        self._worker_thread = threading.Thread(target=self._work_until_stopped, name="leadsman-handle", daemon=True)

    def _subscribe(self, settings: Mapping[str, Any], topics: Sequence[str]) -> tuple[Any, type[TopicPartition]]:
        try:
            from confluent_kafka import Consumer, TopicPartition
        except ImportError as error:
            raise MissingLibrary(
                "confluent-kafka is not installed. Install it: pip install 'leadsman-clients[confluent]'"
            ) from error
        callbacks = {"error_cb": self._on_error, "stats_cb": self._on_statistics, "on_commit": self._on_commit}
        consumer: Any = Consumer({**settings, **REQUIRED_SETTINGS, **callbacks})
        consumer.subscribe(list(topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        return consumer, TopicPartition

    def start(self) -> None:
        """Start both threads."""
        self._poll_thread.start()
        self._worker_thread.start()

    # Its health, for other threads.

    def counts(self) -> dict[str, int]:
        """Return how many commits succeeded and failed so far."""
        return {"commits": self._committer.acknowledged, "commit_failures": self._committer.failed}

    @property
    def in_flight(self) -> int:
        """How many records are received and not yet processed."""
        with self._lock:
            return self._offsets.in_flight

    @property
    def partitions(self) -> int:
        """How many partitions are assigned to it."""
        return len(self._assigned)

    def idle_seconds(self) -> float:
        """Return how long ago it last made progress."""
        return elapsed(self._last_progress, self._clock.read())

    def seconds_since_response(self) -> float:
        """Return how long ago a broker last responded."""
        return elapsed(self._last_response, self._clock.read())

    def stall_reason(self) -> str:
        """Return why it is stalled; empty if it is not. With nothing to do, a broker's response is progress enough."""
        limit = self._policy.stall_timeout.total_seconds()
        if self._clock.read()[0] - self._committer.last_success_at >= limit:
            return f"No offset commit succeeded for {limit:g} s."
        if self.idle_seconds() < limit:
            return ""
        if self.seconds_since_response() >= limit:
            return f"No broker responded for {limit:g} s."
        has_work = self.in_flight > 0 or self.lag > 0
        return f"No progress for {limit:g} s with work to do." if has_work else ""

    # Its end.

    def close(self) -> bool:
        """Finish the record in flight, commit, leave the group; return whether all of it succeeded in time."""
        self._stopping.set()
        self._queue_filled.set()
        self._worker_thread.join(self._policy.drain_timeout.total_seconds())
        is_drained = not self._worker_thread.is_alive()
        self._poll_thread.join(self._policy.commit_timeout.total_seconds() + 2 * POLL_SECONDS)
        closing = threading.Thread(target=self._close, name="leadsman-close", daemon=True)
        closing.start()
        closing.join(self._policy.close_timeout.total_seconds())
        return is_drained and not closing.is_alive()

    def _close(self) -> None:
        try:
            self._consumer.close()
        except RuntimeError as error:
            LOG.info("Closing a consumer: %s", error)

    # The poll thread.

    def _poll_until_stopped(self) -> None:
        try:
            while not self._stopping.is_set() and self.failure is None:
                self._poll()
            self._commit_last()
        except Exception as error:
            LOG.exception("A consumer's polling failed")
            self.failure = self.failure or ErrorAction(Action.RESTART, f"Polling failed: {error!r}")

    def _poll(self) -> None:
        received = self._consumer.poll(POLL_SECONDS)
        if received is not None and received.error() is not None:
            self._on_error(received.error())
        elif received is not None:
            self._enqueue(_message(received))
        self._pause_or_resume()
        self._committer.commit_if_due()

    def _enqueue(self, message: Message) -> None:
        with self._lock:
            if not self._queue:
                self._last_progress = self._clock.read()  # an empty queue is no stall
            self._offsets.mark_received((message.topic, message.partition), message.offset)
            self._queue.append(message)
        self._queue_filled.set()

    def _pause_or_resume(self) -> None:
        """Pause partitions while many records are in flight. Polling continues, so that the group keeps this member."""
        with self._lock:
            queued, assigned = len(self._queue), set(self._assigned)
        if queued >= self._policy.max_in_flight and assigned - self._paused:
            self._consumer.pause(self._topic_partitions(assigned - self._paused))
            self._paused = assigned
        elif self._paused and queued <= self._policy.max_in_flight // 2:
            self._consumer.resume(self._topic_partitions(self._paused))
            self._paused = set()

    def _topic_partitions(self, partitions: Iterable[Partition]) -> list[TopicPartition]:
        return [self._topic_partition(*partition) for partition in partitions]

    def _on_error(self, error: KafkaError) -> None:
        decided = error_action(error)
        if decided.action is Action.IGNORE:
            return
        self._log(error, decided)
        if decided.action in {Action.RESTART, Action.STOP} and self.failure is None:
            self.failure = ErrorAction(decided.action, f"{error.name()}: {decided.reason}")

    def _log(self, error: KafkaError, decided: ErrorAction) -> None:
        """Log an error, but each code only now and then: a client without a broker reports each attempt."""
        name, now = str(error.name()), self._clock.read()[0]
        if now - self._logged_at.get(name, -LOG_INTERVAL_SECONDS) >= LOG_INTERVAL_SECONDS:
            self._logged_at[name] = now
            LOG.warning("Consumer: %s: %s. %s", name, error.str(), decided.reason)

    def _send_commit(self, positions: Mapping[Partition, int]) -> None:
        offsets = [self._topic_partition(*partition, offset) for partition, offset in positions.items()]
        self._consumer.commit(offsets=offsets, asynchronous=True)

    def _on_commit(self, error: KafkaError | None, offsets: Sequence[TopicPartition]) -> None:
        if error is not None:
            self._on_error(error)
        positions = {(each.topic, each.partition): each.offset for each in offsets if each.error is None}
        self._committer.on_response(positions, failed=error is not None)

    def _commit_last(self) -> None:
        """Commit all processed records before leaving, and wait for the response until `commit_timeout`."""
        self._worker_thread.join(self._policy.drain_timeout.total_seconds())
        self._committer.commit()
        while self._committer.is_pending:
            self._consumer.poll(POLL_SECONDS)

    # Rebalance callbacks; called by poll().

    def _on_assign(self, _: object, partitions: Sequence[TopicPartition]) -> None:
        with self._lock:
            self._assigned |= {(each.topic, each.partition) for each in partitions}
        self.has_joined = True
        self._last_progress = self._clock.read()

    def _on_revoke(self, _: object, partitions: Sequence[TopicPartition]) -> None:
        """Commit their processed records; those in flight are delivered again, to the next owner."""
        self._committer.commit()
        self._remove(partitions)

    def _on_lost(self, _: object, partitions: Sequence[TopicPartition]) -> None:
        """Commit nothing: another member owns them already."""
        self._remove(partitions)

    def _remove(self, partitions: Sequence[TopicPartition]) -> None:
        removed = {(each.topic, each.partition) for each in partitions}
        with self._lock:
            self._assigned -= removed
            self._offsets.remove(removed)
            self._queue = deque(each for each in self._queue if (each.topic, each.partition) not in removed)
        self._paused -= removed

    def _on_statistics(self, text: str) -> None:
        """Read the lag, and when a broker last responded: one that hangs does not, one without new records does."""
        statistics = json.loads(text)
        self.lag = _statistics.lag(statistics)
        if _statistics.seconds_since_response(statistics) < 2 * STATISTICS_MS / 1000:
            self._last_response = self._clock.read()

    # The worker thread.

    def _work_until_stopped(self) -> None:
        while not self._stopping.is_set() and self.failure is None:
            message = self._next_message()
            if message is None:
                self._clock.wait(self._queue_filled, POLL_SECONDS)
            else:
                self._process_message(message)

    def _next_message(self) -> Message | None:
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            self._queue_filled.clear()
        return None

    def _process_message(self, message: Message) -> None:
        partition = (message.topic, message.partition)
        with self._lock:
            if not self._offsets.is_in_flight(partition, message.offset):
                return
        try:
            is_processed = self._process(message, self._stopping, self._note_progress)
        except DeadLetterNotStored as error:
            self.failure = ErrorAction(Action.STOP, str(error))
        except Exception as error:
            LOG.exception("Processing failed at %s-%d@%d", *partition, message.offset)
            self.failure = ErrorAction(Action.RESTART, f"Processing failed: {error!r}")
        else:
            if is_processed:
                with self._lock:
                    self._offsets.mark_processed(partition, message.offset)
                self._note_progress()

    def _note_progress(self) -> None:
        self._last_progress = self._clock.read()


def _message(received: Any) -> Message:  # noqa: ANN401 - confluent_kafka.Message
    return Message(
        topic=received.topic(),
        partition=received.partition(),
        offset=received.offset(),
        key=received.key(),
        value=received.value(),
        headers=tuple(received.headers() or ()),
        timestamp_ms=received.timestamp()[1],
    )
