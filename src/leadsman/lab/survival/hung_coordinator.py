"""A group's coordinator hangs: it accepts connections and answers nothing. A plain consumer and a supervised one.

Both commit what they have processed. Another broker leads the records' own partition.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from leadsman.errors import LabError
from leadsman.lab import faults
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.survival.environment import PLAIN, TOPIC, WRAPPED, pause
from leadsman.lab.survival.results import WorkerResult
from leadsman.waiting import wait_for
from leadsman_clients import ConsumerRunner, kafka_producer_provider

if TYPE_CHECKING:
    from leadsman.lab.brokers.cluster import Broker
    from leadsman_clients import Message

PLAN = ClusterPlan(brokers=2)

HUNG_SECONDS = 60.0
BEFORE_SECONDS, AFTER_SECONDS = 5.0, 30.0
SEND_EVERY_SECONDS = 1.0
"""A record a second, from before the fault until well after it."""

JOINED_TIMEOUT = timedelta(seconds=60)
PROCESSED_TIMEOUT = timedelta(seconds=180)
ENDED_SECONDS = 90.0

CLIENT = "confluent-kafka, consuming"


@dataclass(slots=True)
class ProcessedRecords:
    """When each record was processed, by value; one time for each processing."""

    at: dict[str, list[float]] = field(default_factory=dict)

    def add(self, value: str) -> None:
        """Process a record."""
        self.at.setdefault(value, []).append(time.monotonic())


class RunningConsumer(Protocol):
    """A consumer that runs in threads of its own."""

    processed: ProcessedRecords

    def stop(self) -> None:
        """End it, if it still reacts."""


class PlainConsumer:
    """The loop of every tutorial: poll, process, commit."""

    def __init__(self, bootstrap: str) -> None:
        self.processed = ProcessedRecords()
        self._stop = threading.Event()
        self._bootstrap = bootstrap
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        from confluent_kafka import Consumer, KafkaException

        consumer: Any = Consumer(_consumer_settings(self._bootstrap, PLAIN))
        consumer.subscribe([TOPIC])
        while not self._stop.is_set():
            message = consumer.poll(0.1)
            if message is None or message.error():
                continue
            self.processed.add(message.value().decode())
            try:
                consumer.commit(message, asynchronous=False)
            except KafkaException:
                continue  # as in the tutorials: the next commit covers these offsets too
        consumer.close()

    def stop(self) -> None:
        """End it."""
        self._stop.set()
        self._thread.join(ENDED_SECONDS)


class WrappedConsumer:
    """The same under a ConsumerRunner, with its defaults."""

    def __init__(self, bootstrap: str) -> None:
        self.processed = ProcessedRecords()
        self._runner = ConsumerRunner(_consumer_settings(bootstrap, WRAPPED), [TOPIC], self._process)
        self._thread = threading.Thread(target=self._runner.run, daemon=True)
        self._thread.start()

    def _process(self, message: Message) -> None:
        self.processed.add((message.value or b"").decode())

    def stop(self) -> None:
        """End it."""
        self._runner.stop()
        self._thread.join(ENDED_SECONDS)


def _consumer_settings(bootstrap: str, name: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }


def run_consumers(fault: str) -> tuple[WorkerResult, ...]:
    """Run it once with both consumers side by side."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(PLAN))
        coordinator = _coordinator(cluster)
        (other,) = (broker for broker in cluster.brokers if broker is not coordinator)
        cluster.create_topic(TOPIC, replica_assignment=((other.id,),))
        consumers: dict[str, RunningConsumer] = {
            PLAIN: PlainConsumer(cluster.bootstrap),
            WRAPPED: WrappedConsumer(cluster.bootstrap),
        }
        for consumer in consumers.values():
            stack.callback(consumer.stop)
        stored = _store_records(cluster, coordinator, consumers)
        for consumer in consumers.values():
            consumer.stop()
    return tuple(_result(fault, how, consumer.processed, stored) for how, consumer in consumers.items())


def _coordinator(cluster: Cluster) -> Broker:
    """Return the broker that coordinates all groups: there is one partition of offsets."""
    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka.admin import AdminClient

    cluster.create_topic("first")
    consumer: Any = Consumer(_consumer_settings(cluster.bootstrap, "first"))
    consumer.assign([TopicPartition("first", 0, 0)])
    consumer.commit(offsets=[TopicPartition("first", 0, 0)], asynchronous=False)
    consumer.close()
    admin: Any = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    coordinator = admin.describe_consumer_groups(["first"])["first"].result(timeout=30).coordinator.id
    return next(broker for broker in cluster.brokers if broker.id == coordinator)


def _store_records(cluster: Cluster, coordinator: Broker, consumers: dict[str, RunningConsumer]) -> dict[str, float]:
    """Store a record a second while the coordinator hangs and comes back; return when each was stored."""
    stored: dict[str, float] = {}
    done = threading.Event()
    with kafka_producer_provider({"bootstrap.servers": cluster.bootstrap, "log_level": 0}) as producers:

        def store() -> None:
            while not done.is_set():
                value = f"{len(stored)}"
                producers.deliver(TOPIC, value, timeout=timedelta(seconds=120))
                stored[value] = time.monotonic()
                done.wait(SEND_EVERY_SECONDS)

        storing = threading.Thread(target=store, daemon=True)
        storing.start()
        for consumer in consumers.values():
            wait_for(lambda: consumer.processed.at, timeout=JOINED_TIMEOUT, what="the first record", error=LabError)  # noqa: B023 - called at once
        pause(BEFORE_SECONDS)
        assert coordinator.program is not None
        with faults.frozen(coordinator.program):
            pause(HUNG_SECONDS)
        pause(AFTER_SECONDS)
        done.set()
        storing.join(ENDED_SECONDS)
    _wait_for_all(stored, consumers)
    return stored


def _wait_for_all(stored: dict[str, float], consumers: dict[str, RunningConsumer]) -> None:
    """Wait until both consumers have processed all, within a deadline."""
    deadline = time.monotonic() + PROCESSED_TIMEOUT.total_seconds()
    while time.monotonic() < deadline and any(stored.keys() - each.processed.at.keys() for each in consumers.values()):
        pause(SEND_EVERY_SECONDS)


def _result(fault: str, how: str, processed: ProcessedRecords, stored: dict[str, float]) -> WorkerResult:
    """Measure one consumer. Its first record waits for the group's first rebalance: that is no stall."""
    counted = Counter({value: len(times) for value, times in processed.at.items()})
    first = min(processed.at, key=lambda value: processed.at[value][0])
    began = processed.at[first][0]
    waits = [processed.at[value][0] - max(at, began) for value, at in stored.items() if value in processed.at]
    missing = sum(not counted[value] for value in stored)
    return WorkerResult(
        fault=fault,
        client=CLIENT,
        how=how,
        sent=len(stored),
        acknowledged=len(stored) - missing,
        lost=missing,
        lost_acknowledged=missing,
        duplicated=sum(counted[value] > 1 for value in stored),
        worst_seconds=max(0.0, *waits),
    )
