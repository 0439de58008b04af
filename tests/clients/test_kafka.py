"""Records through a provider, on a real broker."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.network.forwarder import Forwarder, PathBehaviour
from leadsman.lab.oracles.ledger import read_topic
from leadsman.waiting import wait_for
from leadsman_clients import EventKind, Hop, NotDelivered, kafka_producer_provider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman_clients.testing import EventRecorder, ManualClock

pytestmark = pytest.mark.lab

SOON = timedelta(seconds=30)
UNREACHABLE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


@pytest.mark.parametrize("path", ["broker", "lambda"])
@pytest.mark.parametrize("more", [{}, {"enable.idempotence": True}], ids=["plain", "idempotent"])
def test_a_record_is_stored_with_key_headers_and_partition(broker, config, topic: str, *, path: str, more) -> None:
    with kafka_producer_provider({**config, **more}, path=path) as producers:
        stored = producers.deliver(topic, "ahoy", key="k", headers=[("h", b"1")], partition=0, timeout=SOON)

    assert (stored.topic, stored.partition, stored.offset) == (topic, 0, 0)
    assert read_topic(broker.bootstrap, topic) == ["ahoy"]


@pytest.mark.parametrize("path", ["broker", "lambda"])
def test_an_invocation_ends_when_all_its_records_are_stored(broker, config, topic: str, path: str) -> None:
    with kafka_producer_provider(config, path=path) as producers:
        with producers.invocation(timeout=SOON) as sent:
            for number in range(500):
                sent.send(topic, str(number))

        assert all(delivery.done() for delivery in sent.deliveries)
        assert sorted(map(int, read_topic(broker.bootstrap, topic))) == list(range(500))


def test_an_invocation_whose_records_are_not_acknowledged_raises() -> None:
    timeout = timedelta(seconds=1)
    producers = kafka_producer_provider(UNREACHABLE, path="lambda", timeout=timeout)

    with pytest.raises(NotDelivered), producers.invocation(timeout=timeout) as sent:
        sent.send("orders", "lost")


def test_every_record_of_a_closed_producer_gets_its_report(recorder: EventRecorder) -> None:
    producers = kafka_producer_provider(UNREACHABLE, on_event=recorder)
    deliveries = [producers.send("orders", str(number)) for number in range(100)]

    producers.close(timeout=timedelta(seconds=0.2))

    reports = [delivery.exception(SOON.total_seconds()) for delivery in deliveries]
    assert all(isinstance(report, Exception) for report in reports)


def test_replacing_under_load_loses_and_duplicates_no_record(broker, config, topic: str) -> None:
    with kafka_producer_provider(config) as producers, ThreadPoolExecutor(4) as pool:

        def send(worker: int) -> list[str]:
            values = [f"{worker}:{number}" for number in range(2000)]
            producers.flush([producers.send(topic, value) for value in values], timeout=SOON)
            return values

        running = [pool.submit(send, worker) for worker in range(4)]
        replaced = [producers.provider.reset() for n in range(20) if producers.deliver(topic, f"9:{n}", timeout=SOON)]
        sent = [future.result() for future in running]

    assert replaced == [True] * 20
    assert sorted(read_topic(broker.bootstrap, topic)) == sorted([*chain(*sent), *(f"9:{n}" for n in range(20))])


def test_records_that_never_left_a_failed_producer_are_sent_by_the_next(
    broker, config, topic: str, recorder: EventRecorder
) -> None:
    configs = iter([UNREACHABLE, UNREACHABLE, *[config] * 9])
    with kafka_producer_provider(lambda: next(configs), on_event=recorder) as producers:
        deliveries = [producers.send(topic, str(number)) for number in range(10)]

        with producers.provider.lease() as adapter:
            adapter._on_delivery(Fatal())  # type: ignore[attr-defined]  # as librdkafka calls it

        assert [delivery.result(SOON.total_seconds()).topic for delivery in deliveries] == [topic] * 10
    assert sorted(read_topic(broker.bootstrap, topic)) == [str(number) for number in range(10)]
    assert recorder.of_kind(EventKind.CLOSED)[0].unsent == 0


class Fatal:
    """An error as librdkafka reports it when an idempotent producer is fenced."""

    def fatal(self) -> bool:
        return True

    def name(self) -> str:
        return "_FENCED"

    def retriable(self) -> bool:
        return False


def test_only_a_stored_record_restarts_the_idle_time(config, topic: str, clock: ManualClock) -> None:
    limit = timedelta(seconds=100)
    with kafka_producer_provider(config, path=Hop("broker", limit), clock=clock) as producers:
        producers.deliver(topic, "1", timeout=SOON)
        clock.advance(79)
        producers.deliver(topic, "2", timeout=SOON)
        clock.advance(79)
        created_before = producers.stats.created
        with producers.lease():
            clock.advance(2)
        producers.deliver(topic, "3", timeout=SOON)

        assert (created_before, producers.stats.created) == (1, 2)


def test_a_stored_record_of_a_leased_producer_restarts_the_idle_time_too(
    config, topic: str, clock: ManualClock
) -> None:
    errors: list[object] = []
    with kafka_producer_provider(config, path=Hop("broker", timedelta(seconds=100)), clock=clock) as producers:
        for _ in range(3):
            with producers.lease() as producer:
                producer.produce(topic, b"raw", on_delivery=lambda error, _: errors.append(error))
                producer.flush(SOON.total_seconds())
            clock.advance(70)

        assert (producers.stats.created, errors) == (1, [None, None, None])


def test_a_child_process_delivers_with_a_producer_of_its_own(broker, config, topic: str) -> None:
    with kafka_producer_provider(config) as producers:
        producers.deliver(topic, "parent", timeout=SOON)
        pid = os.fork()
        if pid == 0:
            producers.deliver(topic, "child", timeout=SOON)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        producers.deliver(topic, "parent again", timeout=SOON)

    assert status == 0
    assert sorted(read_topic(broker.bootstrap, topic)) == ["child", "parent", "parent again"]


@pytest.fixture
def worker() -> Iterator[tuple[Cluster, Forwarder]]:
    """A broker that drops connections after 2 s, behind a path that drops the FIN."""
    with Forwarder(path=PathBehaviour.SILENT) as forwarder:
        plan = ClusterPlan(settings={"connections.max.idle.ms": "2000"}, proxy_ports={1: forwarder.port})
        with Cluster(plan) as cluster:
            forwarder.target = ("127.0.0.1", cluster.brokers[0].ports["PROXY"])
            cluster.create_topic("orders")
            yield cluster, forwarder


def test_a_silent_drop_while_idle_costs_milliseconds(worker) -> None:
    cluster, forwarder = worker
    hop = Hop("broker", timedelta(seconds=2))
    with kafka_producer_provider({"bootstrap.servers": f"127.0.0.1:{forwarder.port}"}, path=hop) as producers:
        producers.deliver("orders", "before", timeout=SOON)
        wait_for(
            lambda: (producers.stats.idle_seconds or 0) > 3, timeout=SOON, what="more idle time than the broker allows"
        )

        producers.deliver("orders", "after", timeout=timedelta(seconds=5))

        assert forwarder.counts.swallowed == 0
    assert read_topic(cluster.bootstrap, "orders") == ["before", "after"]


@pytest.mark.lab
def test_a_record_that_the_client_refuses_at_once_gets_its_report(config: dict[str, object], topic: str) -> None:
    with kafka_producer_provider({**config, "message.max.bytes": 2000}) as producers:
        delivery = producers.send(topic, "x" * 3000)

        with pytest.raises(NotDelivered, match=r"too large.*It is not stored") as refused:
            delivery.result(20)

    assert (refused.value.retriable, refused.value.possibly_persisted) == (False, False)


def test_a_delivery_future_cannot_be_cancelled(config, topic: str) -> None:
    with kafka_producer_provider(config) as producers:
        cancelled = producers.send(topic, "cancelled")
        was_cancelled = cancelled.cancel()
        stored = producers.deliver(topic, "next", timeout=SOON)

        assert not was_cancelled
        assert cancelled.result(SOON.total_seconds()).offset == 0
    assert stored.offset == 1


def test_later_reports_arrive_after_a_callback_raised(config, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise ValueError("in the user's own callback")

    with kafka_producer_provider(config) as producers:
        with producers.lease() as producer:
            producer.produce(topic, b"first", on_delivery=fail)
            wait_for(lambda: "A callback of a producer failed" in caplog.text, timeout=SOON, what="the callback")
        stored = producers.deliver(topic, "second", timeout=SOON)

    assert stored.offset == 1
