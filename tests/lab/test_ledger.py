"""The oracle counts what was told against what is stored."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.lab.ledger import Told, judge, read_topic

if TYPE_CHECKING:
    from leadsman.lab.cluster import Cluster


def told(number: int, *, result: str = "ok", seconds: float = 0.01, first: bool = False) -> Told:
    took = timedelta(seconds=seconds)
    return Told(worker="worker-1", value=f"worker-1:{number}", result=result, took=took, first=first)


def test_what_is_acknowledged_and_stored_at_once_is_harmless() -> None:
    ledger = judge([told(1), told(2)], ["worker-1:1", "worker-1:2"])

    assert ledger.harmless
    assert (ledger.sent, ledger.acknowledged, ledger.stored) == (2, 2, 2)


@pytest.mark.parametrize("result", ["_TRANSPORT", "", "ok"], ids=["refused", "never answered", "acknowledged"])
def test_what_the_topic_does_not_hold_is_lost(result: str) -> None:
    ledger = judge([told(1, result=result)], [])

    assert ledger.harm == {"lost": 1, "duplicated": 0, "delayed": 0, "stalled": 0}


def test_what_was_refused_but_stored_is_not_lost() -> None:
    ledger = judge([told(1, result="_TRANSPORT")], ["worker-1:1"])

    assert ledger.harmless
    assert ledger.refused_but_stored == ("worker-1:1",)


def test_what_is_stored_twice_is_duplicated() -> None:
    ledger = judge([told(1)], ["worker-1:1", "worker-1:1"])

    assert ledger.duplicated == ("worker-1:1",)


def test_a_late_ack_is_delayed_and_a_very_late_one_stalled() -> None:
    ledger = judge([told(1, seconds=2.5), told(2, seconds=60)], ["worker-1:1", "worker-1:2"])

    assert ledger.delayed == ("worker-1:1",)
    assert ledger.stalled == ("worker-1:2",)


def test_a_first_record_may_be_late_but_not_lost() -> None:
    ledger = judge([told(1, seconds=60, first=True), told(2, first=True)], ["worker-1:1"])

    assert ledger.harm == {"lost": 1, "duplicated": 0, "delayed": 0, "stalled": 0}
    assert ledger.slowest == timedelta(0)


def test_harm_is_told_by_worker() -> None:
    ledger = judge([told(1, result="x"), told(2, seconds=3), told(3)], ["worker-1:2", "worker-1:3"])

    assert ledger.harm_by_worker() == {"worker-1": {"lost": 1, "delayed": 1}}


@pytest.mark.lab
def test_a_topic_is_read_back_whole(cluster: Cluster) -> None:
    from confluent_kafka import Producer  # noqa: PLC0415

    cluster.create_topic("read-back", partitions=3)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    sent = [f"worker-1:{number}" for number in range(5000)]
    list(map(lambda value: producer.produce("read-back", value.encode()), sent))  # noqa: C417
    producer.flush(60)

    assert sorted(read_topic(cluster.bootstrap, "read-back")) == sorted(sent)


@pytest.mark.lab
def test_an_empty_topic_is_read_back_empty(cluster: Cluster) -> None:
    cluster.create_topic("empty")

    assert read_topic(cluster.bootstrap, "empty") == []
