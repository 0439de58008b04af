"""One confluent_kafka.Consumer from its creation to its end. Another comes after it when it does not come back."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from leadsman.clients.clock import elapsed
from leadsman.clients.consumer import statistics
from leadsman.clients.consumer.commits import Commits
from leadsman.clients.consumer.handling import NowhereToPut
from leadsman.clients.consumer.offsets import Offsets
from leadsman.clients.consumer.treatment import Action, Treatment, treatment
from leadsman.clients.consumer.verdicts import Message
from leadsman.clients.errors import MissingLibrary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from confluent_kafka import KafkaError, TopicPartition

    from leadsman.clients.clock import Clock
    from leadsman.clients.consumer.offsets import Partition
    from leadsman.clients.consumer.verdicts import Rules

    Process: TypeAlias = Callable[[Message, threading.Event, Callable[[], object]], bool]

LOG = logging.getLogger("leadsman.clients")

POLL_SECONDS = 0.1
"""How long one poll blocks at most: commits and stops wait for it."""

STATISTICS_MS = 1000
"""How often librdkafka says when it last heard from its brokers."""

SAY_AGAIN_SECONDS = 60.0
"""How often the same error is logged."""

OURS: Mapping[str, object] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "statistics.interval.ms": STATISTICS_MS,
}
"""What makes it at-least-once, and lets it be watched."""


class Session:
    """A thread polls and commits, another handles the records in order. Neither ever waits for the other.

    `process(message, stopping, progress)` returns when the record is done with; False: the stop came first, and it must
    not count.
    """

    def __init__(
        self, settings: Mapping[str, Any], topics: Sequence[str], *, process: Process, rules: Rules, clock: Clock
    ) -> None:
        self._process = process
        self._rules = rules
        self._clock = clock
        self._lock = threading.Lock()
        self._offsets = Offsets()
        self._commits = Commits(self._ask, self._offsets, self._lock, rules=rules, clock=clock)
        self._records: deque[Message] = deque()
        self._more = threading.Event()
        self._held: set[Partition] = set()
        """Partitions that are paused, because much is under way."""
        self._assigned: set[Partition] = set()
        self._stopping = threading.Event()
        self._progress = self._heard = clock.read()
        self._said: dict[str, float] = {}
        """When each error was logged last."""
        self.ended: Treatment | None = None
        """Why it cannot go on."""
        self.joined = False
        self.lag = 0
        """How many records of its partitions were not received yet, as of the last statistics."""
        self._consumer, self._place = self._subscribed(settings, topics)
        self._poller = threading.Thread(target=self._poll_on, name="leadsman-poll", daemon=True)
        self._worker = threading.Thread(target=self._work_on, name="leadsman-handle", daemon=True)

    def _subscribed(self, settings: Mapping[str, Any], topics: Sequence[str]) -> tuple[Any, type[TopicPartition]]:
        try:
            from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 (only who uses this client needs it)
        except ImportError as error:
            raise MissingLibrary("confluent-kafka is not installed: pip install 'leadsman[clients]'") from error
        told = {"error_cb": self._treat, "stats_cb": self._on_statistics, "on_commit": self._on_commit}
        consumer: Any = Consumer({**settings, **OURS, **told})
        consumer.subscribe(list(topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        return consumer, TopicPartition

    def start(self) -> None:
        """Begin."""
        self._poller.start()
        self._worker.start()

    # How it is doing, for other threads.

    def counts(self) -> dict[str, int]:
        """Return what it did so far."""
        return {"commits": self._commits.answered, "commit_failures": self._commits.failed}

    @property
    def under_way(self) -> int:
        """How many records are received and not done with."""
        with self._lock:
            return self._offsets.under_way

    @property
    def partitions(self) -> int:
        """How many partitions it has."""
        return len(self._assigned)

    def idle_seconds(self) -> float:
        """Return how long ago it last made progress."""
        return elapsed(self._progress, self._clock.read())

    def silent_seconds(self) -> float:
        """Return how long ago a broker was last heard."""
        return elapsed(self._heard, self._clock.read())

    def stall(self) -> str:
        """Say why it does not do what it should, or nothing. With nothing to do, hearing from a broker is enough."""
        limit = self._rules.stall_within.total_seconds()
        if self._clock.read()[0] - self._commits.good >= limit:
            return f"No commit was answered for {limit:g} s."
        if self.idle_seconds() < limit:
            return ""
        if self.silent_seconds() >= limit:
            return f"No broker was heard for {limit:g} s."
        has_work = self.under_way > 0 or self.lag > 0
        return f"No progress for {limit:g} s with work to do." if has_work else ""

    # Its end.

    def close(self) -> bool:
        """Finish the record under way, commit what is done, leave the group; return whether all went well in time."""
        self._stopping.set()
        self._more.set()
        self._worker.join(self._rules.drain_within.total_seconds())
        drained = not self._worker.is_alive()
        self._poller.join(self._rules.commit_within.total_seconds() + 2 * POLL_SECONDS)
        closing = threading.Thread(target=self._close, name="leadsman-close", daemon=True)
        closing.start()
        closing.join(self._rules.close_within.total_seconds())
        return drained and not closing.is_alive()

    def _close(self) -> None:
        try:
            self._consumer.close()
        except RuntimeError as error:
            LOG.info("Closing a consumer: %s", error)

    # The poller's thread.

    def _poll_on(self) -> None:
        try:
            while not self._stopping.is_set() and self.ended is None:
                self._step()
            self._commit_last()
        except Exception as error:
            LOG.exception("A consumer's polling failed")
            self.ended = self.ended or Treatment(Action.RESTART, f"Polling failed: {error!r}")

    def _step(self) -> None:
        received = self._consumer.poll(POLL_SECONDS)
        if received is not None and received.error() is not None:
            self._treat(received.error())
        elif received is not None:
            self._take(_message(received))
        self._hold_back()
        self._commits.in_time()

    def _take(self, message: Message) -> None:
        with self._lock:
            if not self._records:
                self._progress = self._clock.read()  # to have had nothing to do was no stall
            self._offsets.took((message.topic, message.partition), message.offset)
            self._records.append(message)
        self._more.set()

    def _hold_back(self) -> None:
        """Pause partitions while much is under way. Polling goes on, so that the group does not miss this member."""
        with self._lock:
            waiting, assigned = len(self._records), set(self._assigned)
        if waiting >= self._rules.most_under_way and assigned - self._held:
            self._consumer.pause(self._places(assigned - self._held))
            self._held = assigned
        elif self._held and waiting <= self._rules.most_under_way // 2:
            self._consumer.resume(self._places(self._held))
            self._held = set()

    def _places(self, partitions: Iterable[Partition]) -> list[TopicPartition]:
        return [self._place(*partition) for partition in partitions]

    def _treat(self, error: KafkaError) -> None:
        chosen = treatment(error)
        if chosen.action is Action.SKIP:
            return
        self._say(error, chosen)
        if chosen.action in {Action.RESTART, Action.STOP} and self.ended is None:
            self.ended = Treatment(chosen.action, f"{error.name()}: {chosen.because}")

    def _say(self, error: KafkaError, chosen: Treatment) -> None:
        """Log it, but each code only now and then: a client without a broker tells of each attempt."""
        name, now = str(error.name()), self._clock.read()[0]
        if now - self._said.get(name, -SAY_AGAIN_SECONDS) >= SAY_AGAIN_SECONDS:
            self._said[name] = now
            LOG.warning("Consumer: %s: %s. %s", name, error.str(), chosen.because)

    def _ask(self, positions: Mapping[Partition, int]) -> None:
        places = [self._place(*partition, offset) for partition, offset in positions.items()]
        self._consumer.commit(offsets=places, asynchronous=True)

    def _on_commit(self, error: KafkaError | None, places: Sequence[TopicPartition]) -> None:
        if error is not None:
            self._treat(error)
        positions = {(place.topic, place.partition): place.offset for place in places if place.error is None}
        self._commits.told(positions, failed=error is not None)

    def _commit_last(self) -> None:
        """Commit what is done before leaving, and wait for the answer, but not for ever."""
        self._worker.join(self._rules.drain_within.total_seconds())
        self._commits.now()
        while self._commits.awaited:
            self._consumer.poll(POLL_SECONDS)

    # The group's word about partitions; called by poll().

    def _on_assign(self, _: object, places: Sequence[TopicPartition]) -> None:
        with self._lock:
            self._assigned |= {(place.topic, place.partition) for place in places}
        self.joined = True
        self._progress = self._clock.read()

    def _on_revoke(self, _: object, places: Sequence[TopicPartition]) -> None:
        """Commit what is done of them; what is under way is delivered again, to their next owner."""
        self._commits.now()
        self._drop(places)

    def _on_lost(self, _: object, places: Sequence[TopicPartition]) -> None:
        """Commit nothing: somebody else has them already."""
        self._drop(places)

    def _drop(self, places: Sequence[TopicPartition]) -> None:
        gone = {(place.topic, place.partition) for place in places}
        with self._lock:
            self._assigned -= gone
            self._offsets.forget(gone)
            self._records = deque(each for each in self._records if (each.topic, each.partition) not in gone)
        self._held -= gone

    def _on_statistics(self, text: str) -> None:
        """Learn the lag, and when a broker was last heard. One that hangs says nothing; one without news answers."""
        told = json.loads(text)
        self.lag = statistics.lag(told)
        if statistics.silent_seconds(told) < 2 * STATISTICS_MS / 1000:
            self._heard = self._clock.read()

    # The worker's thread.

    def _work_on(self) -> None:
        while not self._stopping.is_set() and self.ended is None:
            message = self._next()
            if message is None:
                self._clock.wait(self._more, POLL_SECONDS)
            else:
                self._handle(message)

    def _next(self) -> Message | None:
        with self._lock:
            if self._records:
                return self._records.popleft()
            self._more.clear()
        return None

    def _handle(self, message: Message) -> None:
        partition = (message.topic, message.partition)
        with self._lock:
            if not self._offsets.holds(partition, message.offset):
                return
        try:
            done = self._process(message, self._stopping, self._progressed)
        except NowhereToPut as error:
            self.ended = Treatment(Action.STOP, str(error))
        except Exception as error:
            LOG.exception("Processing failed at %s-%d@%d", *partition, message.offset)
            self.ended = Treatment(Action.RESTART, f"Processing failed: {error!r}")
        else:
            if done:
                with self._lock:
                    self._offsets.done(partition, message.offset)
                self._progressed()

    def _progressed(self) -> None:
        self._progress = self._clock.read()


def _message(received: Any) -> Message:  # noqa: ANN401 (confluent_kafka.Message)
    return Message(
        topic=received.topic(),
        partition=received.partition(),
        offset=received.offset(),
        key=received.key(),
        value=received.value(),
        headers=tuple(received.headers() or ()),
        timestamp_ms=received.timestamp()[1],
    )
