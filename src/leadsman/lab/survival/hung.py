"""A group's coordinator hangs: it takes connections and answers nothing. A plain consumer, and one that is supervised.

Both commit what they have processed. The records' own partition is led by a broker that is well.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from leadsman.clients import ConsumerRunner, kafka_producer_provider
from leadsman.errors import LabError
from leadsman.lab import faults
from leadsman.lab.cluster import Cluster, Plan
from leadsman.lab.survival.rows import Row
from leadsman.lab.survival.stage import PLAIN, TOPIC, WRAPPED, quiet
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from leadsman.clients import Message
    from leadsman.lab.cluster import Broker

PLAN = Plan(brokers=2)

HUNG_SECONDS = 60.0
BEFORE_SECONDS, AFTER_SECONDS = 5.0, 30.0
EVERY_SECONDS = 1.0
"""A record a second, from before the fault until well after it."""

JOINED_WITHIN = timedelta(seconds=60)
PROCESSED_WITHIN = timedelta(seconds=180)
ENDED_SECONDS = 90.0

CLIENT = "confluent-kafka, consuming"


@dataclass(slots=True)
class Processed:
    """When each record was processed, by value; every time that it was."""

    at: dict[str, list[float]] = field(default_factory=dict)

    def add(self, value: str) -> None:
        """Process a record."""
        self.at.setdefault(value, []).append(time.monotonic())


class Consuming(Protocol):
    """A consumer at work in threads of its own."""

    processed: Processed

    def stop(self) -> None:
        """End it, if it ends at all."""


class Plain:
    """The loop of every tutorial: poll, process, commit."""

    def __init__(self, bootstrap: str) -> None:
        self.processed = Processed()
        self._stop = threading.Event()
        self._bootstrap = bootstrap
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        from confluent_kafka import Consumer, KafkaException  # noqa: PLC0415 (the lab's extra)

        consumer: Any = Consumer(_group(self._bootstrap, PLAIN))
        consumer.subscribe([TOPIC])
        while not self._stop.is_set():
            message = consumer.poll(0.1)
            if message is None or message.error():
                continue
            self.processed.add(message.value().decode())
            try:
                consumer.commit(message, asynchronous=False)
            except KafkaException:
                continue  # as the tutorials have it: the next commit says the same and more
        consumer.close()

    def stop(self) -> None:
        """End it."""
        self._stop.set()
        self._thread.join(ENDED_SECONDS)


class Supervised:
    """The same under a ConsumerRunner, with its defaults."""

    def __init__(self, bootstrap: str) -> None:
        self.processed = Processed()
        self._runner = ConsumerRunner(_group(bootstrap, WRAPPED), [TOPIC], self._process)
        self._thread = threading.Thread(target=self._runner.run, daemon=True)
        self._thread.start()

    def _process(self, message: Message) -> None:
        self.processed.add((message.value or b"").decode())

    def stop(self) -> None:
        """End it."""
        self._runner.stop()
        self._thread.join(ENDED_SECONDS)


def _group(bootstrap: str, name: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }


def rows(fault: str) -> tuple[Row, ...]:
    """Play it once with both consumers side by side."""
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(PLAN))
        coordinator = _coordinator(cluster)
        (well,) = (broker for broker in cluster.brokers if broker is not coordinator)
        cluster.create_topic(TOPIC, assigned=((well.id,),))
        consumers: dict[str, Consuming] = {PLAIN: Plain(cluster.bootstrap), WRAPPED: Supervised(cluster.bootstrap)}
        for consumer in consumers.values():
            stack.callback(consumer.stop)
        stored = _fed(cluster, coordinator, consumers)
        for consumer in consumers.values():
            consumer.stop()
    return tuple(_row(fault, how, consumer.processed, stored) for how, consumer in consumers.items())


def _coordinator(cluster: Cluster) -> Broker:
    """Return the broker that coordinates all groups: there is one partition of offsets."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 (the lab's extra)
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 (the same)

    cluster.create_topic("first")
    asking: Any = Consumer(_group(cluster.bootstrap, "first"))
    asking.assign([TopicPartition("first", 0, 0)])
    asking.commit(offsets=[TopicPartition("first", 0, 0)], asynchronous=False)
    asking.close()
    admin: Any = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    found = admin.describe_consumer_groups(["first"])["first"].result(timeout=30).coordinator.id
    return next(broker for broker in cluster.brokers if broker.id == found)


def _fed(cluster: Cluster, coordinator: Broker, consumers: dict[str, Consuming]) -> dict[str, float]:
    """Store a record a second while the coordinator hangs and comes back; return when each was stored."""
    stored: dict[str, float] = {}
    done = threading.Event()
    with kafka_producer_provider({"bootstrap.servers": cluster.bootstrap, "log_level": 0}) as producers:

        def feed() -> None:
            while not done.is_set():
                value = f"{len(stored)}"
                producers.deliver(TOPIC, value, within=timedelta(seconds=120))
                stored[value] = time.monotonic()
                done.wait(EVERY_SECONDS)

        feeding = threading.Thread(target=feed, daemon=True)
        feeding.start()
        for consumer in consumers.values():
            wait_for(lambda: consumer.processed.at, within=JOINED_WITHIN, what="the first record", error=LabError)  # noqa: B023 (asked here and now)
        quiet(BEFORE_SECONDS)
        assert coordinator.program is not None
        with faults.frozen(coordinator.program):
            quiet(HUNG_SECONDS)
        quiet(AFTER_SECONDS)
        done.set()
        feeding.join(ENDED_SECONDS)
    _wait_for_all(stored, consumers)
    return stored


def _wait_for_all(stored: dict[str, float], consumers: dict[str, Consuming]) -> None:
    """Give both the time to come after; who does not is not waited for beyond it."""
    deadline = time.monotonic() + PROCESSED_WITHIN.total_seconds()
    while time.monotonic() < deadline and any(stored.keys() - each.processed.at.keys() for each in consumers.values()):
        quiet(EVERY_SECONDS)


def _row(fault: str, how: str, processed: Processed, stored: dict[str, float]) -> Row:
    """Judge one consumer. Its first record waits for the group to form: that is no stall."""
    counted = Counter({value: len(times) for value, times in processed.at.items()})
    first = min(processed.at, key=lambda value: processed.at[value][0])
    began = processed.at[first][0]
    waits = [processed.at[value][0] - max(at, began) for value, at in stored.items() if value in processed.at]
    missing = sum(not counted[value] for value in stored)
    return Row(
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
