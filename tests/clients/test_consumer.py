"""A supervised consumer on a real broker: nothing is skipped, whatever happens to broker, handler or process."""

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

from leadsman.clients import (
    ConsumerRunner,
    DeadLetter,
    Retry,
    Rules,
    RunnerFailed,
    Skip,
    State,
    kafka_producer_provider,
)
from leadsman.clients.backoff import Backoff
from leadsman.lab import faults
from leadsman.lab.cluster import Cluster, Plan
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leadsman.clients import Message
    from leadsman.clients.consumer.verdicts import Verdict

pytestmark = pytest.mark.lab

SOON = timedelta(seconds=60)
QUICK = Rules(
    retry=Backoff(first=timedelta(milliseconds=10)),
    restart=Backoff(first=timedelta(milliseconds=10)),
    commit_every=timedelta(milliseconds=100),
)


def group(bootstrap: str) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}


def store(bootstrap: str, topic: str, values: Sequence[str]) -> None:
    with kafka_producer_provider({"bootstrap.servers": bootstrap}) as producers:
        producers.flush([producers.send(topic, value, key=value) for value in values], within=SOON)


def committed(config: dict[str, Any], topic: str) -> int:
    asking: Any = Consumer(config)
    try:
        (place,) = asking.committed([TopicPartition(topic, 0)], timeout=20)
        return int(place.offset)
    finally:
        asking.close()


class Kept:
    """A handler that keeps what it is given, and answers as it is told to."""

    def __init__(self, **answers: Verdict) -> None:
        self.values: list[str] = []
        self._answers = answers

    def __call__(self, message: Message) -> Verdict:
        value = (message.value or b"").decode()
        self.values.append(value)
        return self._answers.get(value)

    def has(self, *values: str) -> None:
        wait_for(lambda: set(values) <= set(self.values), within=SOON, what=f"{values} in {self.values}")


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


def test_what_was_processed_is_committed_when_it_stops(broker: Cluster, topic: str) -> None:
    config, kept = group(broker.bootstrap), Kept(b=Skip("of no interest"))
    store(broker.bootstrap, topic, ["a", "b", "c"])

    with running(ConsumerRunner(config, [topic], kept, rules=QUICK)) as runner:
        kept.has("a", "b", "c")

    assert kept.values == ["a", "b", "c"]
    assert committed(config, topic) == 3
    assert (runner.health.state, runner.health.processed, runner.health.skipped) == (State.STOPPED, 2, 1)


def test_a_poison_record_is_put_aside_and_the_others_go_on(broker: Cluster, topic: str) -> None:
    aside = f"{topic}.dead"
    broker.create_topic(aside)
    store(broker.bootstrap, topic, ["a", "poison", "c"])
    kept = Kept(poison=Retry(because="no JSON"))

    with kafka_producer_provider({"bootstrap.servers": broker.bootstrap}) as producers:
        runner = ConsumerRunner(
            group(broker.bootstrap), [topic], kept, rules=QUICK, producers=producers, dead_letters=aside
        )
        with running(runner):
            kept.has("c")

    (letter,) = read(broker.bootstrap, aside, 1)
    assert Counter(kept.values) == {"a": 1, "poison": QUICK.attempts, "c": 1}
    assert letter.value() == letter.key() == b"poison"
    assert dict(letter.headers()) == {
        "dead-letter.topic": topic.encode(),
        "dead-letter.partition": b"0",
        "dead-letter.offset": b"1",
        "dead-letter.because": b"Tried 5 times. no JSON",
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
    kept = Kept(poison=DeadLetter("no JSON"))
    runner = ConsumerRunner(config, [topic], kept, rules=QUICK)

    with pytest.raises(RunnerFailed, match=f"{topic}-0@1 is a dead letter.*no JSON"):
        runner.run()

    assert kept.values == ["a", "poison"]
    assert committed(config, topic) == 1
    assert (runner.health.state, runner.health.alive) == (State.FAILED, False)


def test_a_handler_that_raises_is_asked_again_and_order_is_kept(broker: Cluster, topic: str) -> None:
    seen: list[tuple[bytes | None, int]] = []
    store(broker.bootstrap, topic, ["a", "b"])

    def handle(message: Message) -> None:
        seen.append((message.value, message.attempt))
        if message.attempt < 3 and message.value == b"a":
            raise OSError("the database is away")

    with running(ConsumerRunner(group(broker.bootstrap), [topic], handle, rules=QUICK)) as runner:
        wait_for(lambda: (b"b", 1) in seen, within=SOON, what="b to be handled")

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

        runner = ConsumerRunner(config, [topic], handle, rules=QUICK)
        await asyncio.wait_for(runner.run_async(), SOON.total_seconds())
        return asyncio.get_running_loop()

    loop = asyncio.run(consume())

    assert loops == [loop, loop]
    assert committed(config, topic) == 2


def test_two_runners_share_a_group_and_every_record_is_processed(broker: Cluster) -> None:
    topic, config = f"orders-{uuid.uuid4().hex[:8]}", group(broker.bootstrap)
    broker.create_topic(topic, partitions=4)
    first, second, late = Kept(), Kept(), [f"late-{n}" for n in range(40)]

    with running(ConsumerRunner(config, [topic], first, rules=QUICK)) as one:
        wait_for(lambda: one.health.partitions == 4, within=SOON, what="the first to have all partitions")
        with running(ConsumerRunner(config, [topic], second, rules=QUICK)) as two:
            wait_for(lambda: one.health.partitions == two.health.partitions == 2, within=SOON, what="two each")
            store(broker.bootstrap, topic, late)
            wait_for(lambda: set(first.values + second.values) == set(late), within=SOON, what="all records")

    assert Counter(first.values + second.values) == dict.fromkeys(late, 1)


def test_more_records_than_may_be_under_way_are_held_back_and_none_is_lost(broker: Cluster, topic: str) -> None:
    values = [f"{n}" for n in range(60)]
    store(broker.bootstrap, topic, values)
    rules, most = Rules(most_under_way=10, commit_every=timedelta(milliseconds=50)), []
    kept = Kept()

    def handle(message: Message) -> Verdict:
        most.append(runner.health.under_way)
        return kept(message)

    runner = ConsumerRunner(group(broker.bootstrap), [topic], handle, rules=rules)
    with running(runner):
        kept.has(*values)

    assert kept.values == values
    assert max(most) < 60


PROGRAM = """
    import json, sys, time
    from leadsman.clients import ConsumerRunner

    def handle(message):
        print(message.offset, flush=True)
        time.sleep(0.1)

    ConsumerRunner(json.loads(sys.argv[1]), [sys.argv[2]], handle).run()
    print("ended in order", flush=True)
"""


def test_sigterm_commits_what_was_processed(broker: Cluster, topic: str) -> None:
    config = group(broker.bootstrap)
    store(broker.bootstrap, topic, [f"{n}" for n in range(100)])
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), json.dumps(config), topic]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        begun = [program.stdout.readline() for _ in range(5)]
        program.send_signal(signal.SIGTERM)
        rest, _ = program.communicate(timeout=SOON.total_seconds())

    handled = [int(line) for line in [*begun, *rest.splitlines()[:-1]]]
    assert program.returncode == 0
    assert rest.splitlines()[-1] == "ended in order"
    assert handled == list(range(len(handled)))
    assert 5 <= len(handled) < 100
    assert committed(config, topic) == len(handled)


@pytest.fixture(scope="module")
def fragile() -> Iterator[Cluster]:
    """A broker for tests that break it."""
    with Cluster(Plan()) as cluster:
        yield cluster


def test_it_goes_on_when_a_killed_broker_is_back(fragile: Cluster) -> None:
    fragile.create_topic("killed")
    config, kept = group(fragile.bootstrap), Kept()
    store(fragile.bootstrap, "killed", ["before"])

    with running(ConsumerRunner(config, ["killed"], kept, rules=QUICK)) as runner:
        kept.has("before")
        wait_for(lambda: runner.health.commits > 0, within=SOON, what="a commit")
        with faults.down(fragile.brokers[0], by=signal.SIGKILL):
            time.sleep(3)  # the outage is the experiment
        store(fragile.bootstrap, "killed", ["after"])
        kept.has("after")

    assert set(kept.values) == {"before", "after"}
    assert committed(config, "killed") == 2
    assert runner.health.restarts == 0


def test_a_stop_is_bounded_when_the_coordinator_hangs(fragile: Cluster) -> None:
    fragile.create_topic("hung")
    rules = Rules(
        commit_every=timedelta(hours=1), commit_within=timedelta(seconds=2), close_within=timedelta(seconds=2)
    )
    kept = Kept()
    store(fragile.bootstrap, "hung", ["a"])
    runner = ConsumerRunner(group(fragile.bootstrap), ["hung"], kept, rules=rules)
    thread = threading.Thread(target=runner.run)
    thread.start()
    kept.has("a")
    broker = fragile.brokers[0].program
    assert broker is not None

    with faults.frozen(broker):
        began = time.monotonic()
        runner.stop()
        thread.join(30)
        took = time.monotonic() - began

    assert not thread.is_alive()
    assert took < 6


def test_a_consumer_that_makes_no_progress_is_replaced(broker: Cluster, topic: str) -> None:
    store(broker.bootstrap, topic, ["a", "b"])
    rules = Rules(stall_within=timedelta(seconds=3), drain_within=timedelta(seconds=1), restart=QUICK.restart)
    stuck, seen = threading.Event(), []

    def handle(message: Message) -> None:
        seen.append(message.value)
        if len(seen) == 1:
            stuck.wait(SOON.total_seconds())

    with running(ConsumerRunner(group(broker.bootstrap), [topic], handle, rules=rules)) as runner:
        wait_for(lambda: b"b" in seen, within=SOON, what="the record after the one that is stuck")
        stuck.set()

    assert seen == [b"a", b"a", b"b"]
    assert runner.health.restarts == 1


def test_a_dead_letter_that_its_topic_does_not_take_ends_the_runner(broker: Cluster, topic: str) -> None:
    aside = f"{topic}.dead"
    broker.create_topic(aside)
    store(broker.bootstrap, topic, ["x" * 1500])

    with kafka_producer_provider({"bootstrap.servers": broker.bootstrap, "message.max.bytes": 1000}) as producers:
        runner = ConsumerRunner(
            group(broker.bootstrap),
            [topic],
            lambda _: DeadLetter("no JSON"),
            rules=QUICK,
            producers=producers,
            dead_letters=aside,
        )
        with pytest.raises(RunnerFailed, match=f"{topic}-0@0 is a dead letter, and {aside} does not take it"):
            runner.run()
