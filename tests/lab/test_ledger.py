"""The oracle compares delivery reports with the stored records."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.lab.oracles.ledger import DeliveryReport, build_ledger, read_topic

if TYPE_CHECKING:
    from leadsman.lab.brokers.cluster import Cluster


def report(number: int, *, result: str = "ok", seconds: float = 0.01, is_warm_up: bool = False) -> DeliveryReport:
    took = timedelta(seconds=seconds)
    return DeliveryReport(
        worker="worker-1", value=f"worker-1:{number}", result=result, latency=took, is_warm_up=is_warm_up
    )


def test_what_is_acknowledged_and_stored_at_once_is_harmless() -> None:
    ledger = build_ledger([report(1), report(2)], ["worker-1:1", "worker-1:2"])

    assert ledger.is_harmless
    assert (ledger.sent, ledger.acknowledged, ledger.stored) == (2, 2, 2)


@pytest.mark.parametrize("result", ["_TRANSPORT", "", "ok"], ids=["refused", "never answered", "acknowledged"])
def test_what_the_topic_does_not_hold_is_lost(result: str) -> None:
    ledger = build_ledger([report(1, result=result)], [])

    assert ledger.harm == {"lost": 1, "duplicated": 0, "delayed": 0, "stalled": 0}


def test_what_was_refused_but_stored_is_not_lost() -> None:
    ledger = build_ledger([report(1, result="_TRANSPORT")], ["worker-1:1"])

    assert ledger.is_harmless
    assert ledger.refused_but_stored == ("worker-1:1",)


def test_what_is_stored_twice_is_duplicated() -> None:
    ledger = build_ledger([report(1)], ["worker-1:1", "worker-1:1"])

    assert ledger.duplicated == ("worker-1:1",)


def test_a_late_ack_is_delayed_and_a_very_late_one_stalled() -> None:
    ledger = build_ledger([report(1, seconds=2.5), report(2, seconds=60)], ["worker-1:1", "worker-1:2"])

    assert ledger.delayed == ("worker-1:1",)
    assert ledger.stalled == ("worker-1:2",)


def test_a_first_record_may_be_late_but_not_lost() -> None:
    ledger = build_ledger([report(1, seconds=60, is_warm_up=True), report(2, is_warm_up=True)], ["worker-1:1"])

    assert ledger.harm == {"lost": 1, "duplicated": 0, "delayed": 0, "stalled": 0}
    assert ledger.slowest == timedelta(0)


def test_harm_is_counted_by_worker() -> None:
    ledger = build_ledger([report(1, result="x"), report(2, seconds=3), report(3)], ["worker-1:2", "worker-1:3"])

    assert ledger.harm_by_worker() == {"worker-1": {"lost": 1, "delayed": 1}}


@pytest.mark.lab
def test_a_topic_is_read_back_whole(cluster: Cluster) -> None:
    from confluent_kafka import Producer

    cluster.create_topic("read-back", partitions=3)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    sent = [f"worker-1:{number}" for number in range(5000)]
    list(map(lambda value: producer.produce("read-back", value.encode()), sent))  # noqa: C417 - one call for each value
    producer.flush(60)

    assert sorted(read_topic(cluster.bootstrap, "read-back")) == sorted(sent)


@pytest.mark.lab
def test_an_empty_topic_is_read_back_empty(cluster: Cluster) -> None:
    cluster.create_topic("empty")

    assert read_topic(cluster.bootstrap, "empty") == []
