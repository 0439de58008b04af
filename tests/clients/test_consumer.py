"""A supervised consumer on a real broker: no record is skipped when the broker, handler or process fails."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from leadsman.lab import faults
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.waiting import wait_for
from leadsman_clients import (
    ConsumerPolicy,
    ConsumerRunner,
    DeadLetter,
    Retry,
    RunnerFailed,
    RunnerState,
    Skip,
    kafka_producer_provider,
)
from leadsman_clients.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman_clients import Message
    from leadsman_clients.consumer.handler import HandlerResult

pytestmark = pytest.mark.lab

SOON = timedelta(seconds=60)
QUICK = ConsumerPolicy(
    retry_backoff=Backoff(initial=timedelta(milliseconds=10)),
    restart_backoff=Backoff(initial=timedelta(milliseconds=10)),
    commit_interval=timedelta(milliseconds=100),
)


def group(bootstrap: str) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}


def store(bootstrap: str, topic: str, values: Sequence[str]) -> None:
    with kafka_producer_provider({"bootstrap.servers": bootstrap}) as producers:
        producers.flush([producers.send(topic, value, key=value) for value in values], timeout=SOON)


def committed(config: dict[str, Any], topic: str) -> int:
    consumer: Any = Consumer(config)
    try:
        (position,) = consumer.committed([TopicPartition(topic, 0)], timeout=20)
        return int(position.offset)
    finally:
        consumer.close()


class RecordingHandler:
    """Records the values of its messages; returns the given result for each value."""

    def __init__(self, **results: HandlerResult) -> None:
        self.values: list[str] = []
        self._results = results

    def __call__(self, message: Message) -> HandlerResult:
        value = (message.value or b"").decode()
        self.values.append(value)
        return self._results.get(value)

    def wait_for(self, *values: str) -> None:
        wait_for(lambda: set(values) <= set(self.values), timeout=SOON, what=f"{values} in {self.values}")


@contextmanager
def running(runner: ConsumerRunner) -> Iterator[ConsumerRunner]:
    thread = threading.Thread(target=runner.run)
    thread.start()
    try:
        yield runner
    finally:
        runner.stop()
        thread.join(SOON.total_seconds())
        assert not thread.is_alive()


def test_a_stop_commits_all_processed_records(broker: Cluster, topic: str) -> None:
    config, handler = group(broker.bootstrap), RecordingHandler(b=Skip("of no interest"))
    store(broker.bootstrap, topic, ["a", "b", "c"])

    with running(ConsumerRunner(config, [topic], handler, policy=QUICK)) as runner:
        handler.wait_for("a", "b", "c")

    assert handler.values == ["a", "b", "c"]
    assert committed(config, topic) == 3
    assert (runner.health.state, runner.health.processed, runner.health.skipped) == (RunnerState.STOPPED, 2, 1)


def test_a_poison_record_is_stored_as_a_dead_letter_and_later_records_are_processed(
    broker: Cluster, topic: str
) -> None:
    dead_letter_topic = f"{topic}.dead"
    broker.create_topic(dead_letter_topic)
    store(broker.bootstrap, topic, ["a", "poison", "c"])
    handler = RecordingHandler(poison=Retry(reason="no JSON"))

    with kafka_producer_provider({"bootstrap.servers": broker.bootstrap}) as producers:
        runner = ConsumerRunner(
            group(broker.bootstrap), [topic], handler, policy=QUICK, producers=producers, dead_letters=dead_letter_topic
        )
        with running(runner):
            handler.wait_for("c")

    (letter,) = read(broker.bootstrap, dead_letter_topic, 1)
    assert Counter(handler.values) == {"a": 1, "poison": QUICK.max_attempts, "c": 1}
    assert letter.value() == letter.key() == b"poison"
    assert dict(letter.headers()) == {
        "dead-letter.topic": topic.encode(),
        "dead-letter.partition": b"0",
        "dead-letter.offset": b"1",
        "dead-letter.reason": b"Tried 5 times. no JSON",
    }


def read(bootstrap: str, topic: str, count: int) -> list[Any]:
    reader: Any = Consumer(group(bootstrap))
    reader.subscribe([topic])
    try:
        return [message for message in reader.consume(count, timeout=30) if message.error() is None]
    finally:
        reader.close()


def test_a_dead_letter_without_a_topic_for_it_ends_the_runner(broker: Cluster, topic: str) -> None:
    config = group(broker.bootstrap)
    store(broker.bootstrap, topic, ["a", "poison", "c"])
    handler = RecordingHandler(poison=DeadLetter("no JSON"))
    runner = ConsumerRunner(config, [topic], handler, policy=QUICK)

    with pytest.raises(RunnerFailed, match=f"{topic}-0@1 is a dead letter.*no JSON"):
        runner.run()

    assert handler.values == ["a", "poison"]
    assert committed(config, topic) == 1
    assert (runner.health.state, runner.health.alive) == (RunnerState.FAILED, False)


def test_a_handler_that_raises_is_retried_in_order(broker: Cluster, topic: str) -> None:
    seen: list[tuple[bytes | None, int]] = []
    store(broker.bootstrap, topic, ["a", "b"])

    def handle(message: Message) -> None:
        seen.append((message.value, message.attempt))
        if message.attempt < 3 and message.value == b"a":
            raise OSError("the database is down")

    with running(ConsumerRunner(group(broker.bootstrap), [topic], handle, policy=QUICK)) as runner:
        wait_for(lambda: (b"b", 1) in seen, timeout=SOON, what="b to be handled")

    assert seen == [(b"a", 1), (b"a", 2), (b"a", 3), (b"b", 1)]
    assert runner.health.retried == 2


def test_a_coroutine_handles_records_in_the_loop_that_runs_it(broker: Cluster, topic: str) -> None:
    config = group(broker.bootstrap)
    store(broker.bootstrap, topic, ["a", "b"])
    loops: list[object] = []

    async def consume() -> object:
        async def handle(_: Message) -> None:
            loops.append(asyncio.get_running_loop())
            if len(loops) == 2:
                runner.stop()

        runner = ConsumerRunner(config, [topic], handle, policy=QUICK)
        await asyncio.wait_for(runner.run_async(), SOON.total_seconds())
        return asyncio.get_running_loop()

    loop = asyncio.run(consume())

    assert loops == [loop, loop]
    assert committed(config, topic) == 2


def test_two_runners_share_a_group_and_every_record_is_processed(broker: Cluster) -> None:
    topic, config = f"orders-{uuid.uuid4().hex[:8]}", group(broker.bootstrap)
    broker.create_topic(topic, partitions=4)
    first, second, late = RecordingHandler(), RecordingHandler(), [f"late-{n}" for n in range(40)]

    with running(ConsumerRunner(config, [topic], first, policy=QUICK)) as one:
        wait_for(lambda: one.health.partitions == 4, timeout=SOON, what="the first to have all partitions")
        with running(ConsumerRunner(config, [topic], second, policy=QUICK)) as two:
            wait_for(lambda: one.health.partitions == two.health.partitions == 2, timeout=SOON, what="two each")
            store(broker.bootstrap, topic, late)
            wait_for(lambda: set(first.values + second.values) == set(late), timeout=SOON, what="all records")

    assert Counter(first.values + second.values) == dict.fromkeys(late, 1)


def test_partitions_are_paused_at_max_in_flight_and_no_record_is_lost(broker: Cluster, topic: str) -> None:
    values = [f"{n}" for n in range(60)]
    store(broker.bootstrap, topic, values)
    policy, in_flight = ConsumerPolicy(max_in_flight=10, commit_interval=timedelta(milliseconds=50)), []
    handler = RecordingHandler()

    def handle(message: Message) -> HandlerResult:
        in_flight.append(runner.health.in_flight)
        return handler(message)

    runner = ConsumerRunner(group(broker.bootstrap), [topic], handle, policy=policy)
    with running(runner):
        handler.wait_for(*values)

    assert handler.values == values
    assert max(in_flight) < 60


PROGRAM = """
    import json, sys, time
    from leadsman_clients import ConsumerRunner

    def handle(message):
        print(message.offset, flush=True)
        time.sleep(0.1)

    ConsumerRunner(json.loads(sys.argv[1]), [sys.argv[2]], handle).run()
    print("ended in order", flush=True)
"""


def test_sigterm_commits_all_processed_records(broker: Cluster, topic: str) -> None:
    config = group(broker.bootstrap)
    store(broker.bootstrap, topic, [f"{n}" for n in range(100)])
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), json.dumps(config), topic]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        first_lines = [program.stdout.readline() for _ in range(5)]
        program.send_signal(signal.SIGTERM)
        output, _ = program.communicate(timeout=SOON.total_seconds())

    handled = [int(line) for line in [*first_lines, *output.splitlines()[:-1]]]
    assert program.returncode == 0
    assert output.splitlines()[-1] == "ended in order"
    assert handled == list(range(len(handled)))
    assert 5 <= len(handled) < 100
    assert committed(config, topic) == len(handled)


@pytest.fixture(scope="module")
def fragile() -> Iterator[Cluster]:
    """A broker for tests that kill or freeze it."""
    with Cluster(ClusterPlan()) as cluster:
        yield cluster


def test_it_continues_after_a_killed_broker_is_restarted(fragile: Cluster) -> None:
    fragile.create_topic("killed")
    config, handler = group(fragile.bootstrap), RecordingHandler()
    store(fragile.bootstrap, "killed", ["before"])

    with running(ConsumerRunner(config, ["killed"], handler, policy=QUICK)) as runner:
        handler.wait_for("before")
        wait_for(lambda: runner.health.commits > 0, timeout=SOON, what="a commit")
        with faults.down(fragile.brokers[0], by=signal.SIGKILL):
            time.sleep(3)  # the outage is the experiment
        store(fragile.bootstrap, "killed", ["after"])
        handler.wait_for("after")

    assert set(handler.values) == {"before", "after"}
    assert committed(config, "killed") == 2
    assert runner.health.restarts == 0


def test_a_stop_is_bounded_when_the_coordinator_hangs(fragile: Cluster) -> None:
    fragile.create_topic("hung")
    policy = ConsumerPolicy(
        commit_interval=timedelta(hours=1), commit_timeout=timedelta(seconds=2), close_timeout=timedelta(seconds=2)
    )
    handler = RecordingHandler()
    store(fragile.bootstrap, "hung", ["a"])
    runner = ConsumerRunner(group(fragile.bootstrap), ["hung"], handler, policy=policy)
    thread = threading.Thread(target=runner.run)
    thread.start()
    handler.wait_for("a")
    broker = fragile.brokers[0].program
    assert broker is not None

    with faults.frozen(broker):
        began = time.monotonic()
        runner.stop()
        thread.join(30)
        stop_seconds = time.monotonic() - began

    assert not thread.is_alive()
    assert stop_seconds < 6


def test_a_consumer_that_makes_no_progress_is_replaced(broker: Cluster, topic: str) -> None:
    store(broker.bootstrap, topic, ["a", "b"])
    policy = ConsumerPolicy(
        stall_timeout=timedelta(seconds=3), drain_timeout=timedelta(seconds=1), restart_backoff=QUICK.restart_backoff
    )
    stuck, seen = threading.Event(), []

    def handle(message: Message) -> None:
        seen.append(message.value)
        if len(seen) == 1:
            stuck.wait(SOON.total_seconds())

    with running(ConsumerRunner(group(broker.bootstrap), [topic], handle, policy=policy)) as runner:
        wait_for(lambda: b"b" in seen, timeout=SOON, what="the record after the one that is stuck")
        stuck.set()

    assert seen == [b"a", b"a", b"b"]
    assert runner.health.restarts == 1


def test_a_dead_letter_that_its_topic_does_not_take_ends_the_runner(broker: Cluster, topic: str) -> None:
    dead_letter_topic = f"{topic}.dead"
    broker.create_topic(dead_letter_topic)
    store(broker.bootstrap, topic, ["x" * 1500])

    with kafka_producer_provider({"bootstrap.servers": broker.bootstrap, "message.max.bytes": 1000}) as producers:
        runner = ConsumerRunner(
            group(broker.bootstrap),
            [topic],
            lambda _: DeadLetter("no JSON"),
            policy=QUICK,
            producers=producers,
            dead_letters=dead_letter_topic,
        )
        with pytest.raises(
            RunnerFailed, match=f"{topic}-0@0 is a dead letter, and {dead_letter_topic} does not take it"
        ):
            runner.run()
