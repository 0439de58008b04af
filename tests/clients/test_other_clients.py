"""Providers of kafka-python and aiokafka, on a real broker."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.lab.oracles.ledger import read_topic
from leadsman_clients import Hop, NotDelivered, kafka_producer_provider

if TYPE_CHECKING:
    from leadsman.lab.brokers.cluster import Cluster
    from leadsman_clients.testing import ManualClock

# kafka-python's own warning, at its import.
pytestmark = [pytest.mark.lab, pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")]

SOON = timedelta(seconds=30)
HOP = Hop("broker", timedelta(seconds=100))


@pytest.fixture
def config(broker: Cluster) -> dict[str, object]:
    return {"bootstrap_servers": broker.bootstrap}


@pytest.fixture
def payments(broker: Cluster) -> str:
    name = f"payments-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name)
    return name


@pytest.mark.parametrize("path", ["broker", "lambda"])
def test_kafka_python_stores_records_and_waits_for_its_own_reports(broker, config, payments: str, path: str) -> None:
    with kafka_producer_provider(config, client="kafka-python", path=path) as producers:
        stored = producers.deliver(payments, "0", key="k", headers=[("h", b"1")], timeout=SOON)
        with producers.invocation(timeout=SOON) as sent:
            for number in range(1, 50):
                sent.send(payments, str(number))

    assert (stored.topic, stored.partition, stored.offset) == (payments, 0, 0)
    assert sorted(map(int, read_topic(broker.bootstrap, payments))) == list(range(50))


def test_kafka_python_is_replaced_after_its_idle_limit(config, payments: str, clock: ManualClock) -> None:
    with kafka_producer_provider(config, client="kafka-python", path=HOP, clock=clock) as producers:
        for idle_seconds in (0, 79, 81):
            clock.advance(idle_seconds)
            producers.deliver(payments, "ahoy", timeout=SOON)

        assert producers.stats.created == 2


def test_a_closed_kafka_python_producer_reports_every_record(config, payments: str) -> None:
    producers = kafka_producer_provider({**config, "linger_ms": 60_000}, client="kafka-python")
    sent = [producers.send(payments, str(number)) for number in range(20)]

    producers.close(timeout=timedelta(seconds=5))

    assert all(delivery.exception(SOON.total_seconds()) or delivery.result() for delivery in sent)


def test_aiokafka_stores_records_and_is_replaced_after_its_idle_limit(
    broker, config, payments: str, clock: ManualClock
) -> None:
    async def main() -> int:
        async with kafka_producer_provider(config, client="aiokafka", path=HOP, clock=clock) as producers:
            for idle_seconds in (0, 79, 81):
                clock.advance(idle_seconds)
                await producers.deliver(payments, "ahoy", headers=[("h", b"1")], timeout=SOON)
            return producers.stats.created

    made = asyncio.run(main())

    assert made == 2
    assert read_topic(broker.bootstrap, payments) == ["ahoy"] * 3


def test_aiokafka_in_a_second_event_loop_gets_a_producer_of_its_own(config, payments: str) -> None:
    producers = kafka_producer_provider(config, client="aiokafka")

    async def main() -> None:
        await producers.deliver(payments, "ahoy", timeout=SOON)

    asyncio.run(main())
    asyncio.run(main())

    assert producers.stats.created == 2
    assert producers.stats.expired == {"loop": 1}


def test_a_record_that_is_not_stored_in_time_is_not_delivered(config) -> None:
    async def main() -> None:
        async with kafka_producer_provider(config, client="aiokafka") as producers:
            await producers.deliver("no-such-topic", "ahoy", timeout=timedelta(seconds=1))

    with pytest.raises(NotDelivered, match="no-such-topic"):
        asyncio.run(main())
