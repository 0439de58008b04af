"""The remedies of producer_id_leak, on brokers of the versions between which they differ."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource

from leadsman.cli.commands.remedy import command
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.oracles.producer_ids import count_producer_ids
from leadsman.remedies.remedy import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.lab

KEY = "producer.id.expiration.ms"
LEAKED = 12


@pytest.fixture(scope="module")
def modern() -> Iterator[Cluster]:
    """A broker that looks for expired ids each half second, not each ten minutes."""
    with Cluster(ClusterPlan(settings={"producer.id.expiration.check.interval.ms": "500"})) as running:
        yield running


@pytest.fixture(scope="module")
def old() -> Iterator[Cluster]:
    with Cluster(ClusterPlan(kafka="2.3.1")) as running:
        yield running


@pytest.fixture(scope="module")
def between() -> Iterator[Cluster]:
    # Brokers hold what they deleted for another minute: its files, and its producers.
    with Cluster(ClusterPlan(kafka="2.8.2", settings={"log.segment.delete.delay.ms": "1000"})) as running:
        yield running


def leak(cluster: Cluster, topic: str) -> None:
    """Send one record each by a dozen producers."""
    cluster.create_topic(topic)
    for _ in range(LEAKED):
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, enable_idempotence=True)
        producer.send(topic, b"one").get(30)
        producer.close()


def read_half(cluster: Cluster, topic: str) -> None:
    """Have the group `billing` read and commit the first six records."""
    options = {"auto_offset_reset": "earliest", "max_poll_records": LEAKED // 2, "enable_auto_commit": False}
    consumer = KafkaConsumer(topic, bootstrap_servers=cluster.bootstrap, group_id="billing", **options)
    while not consumer.poll(1000):
        pass
    consumer.commit()
    consumer.close()


def remedy(cluster: Cluster, *words: str) -> Result:
    return CliRunner().invoke(command, [*words, "--bootstrap", cluster.bootstrap], standalone_mode=False)


def expiry_of(cluster: Cluster) -> tuple[str, str]:
    """Return the broker's expiry and where it is set."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    settings = admin.describe_configs([ConfigResource("broker", "1")], config_filter="all")["broker"]["1"][KEY]
    admin.close()
    return str(settings["value"]), str(settings["config_source"])


def pid_of(cluster: Cluster) -> str:
    program = cluster.brokers[0].program
    assert program is not None
    return str(program.popen.pid)


def test_a_lower_expiry_frees_the_ids_and_is_put_back(modern: Cluster) -> None:
    leak(modern, "orders")
    before = expiry_of(modern)

    answer = remedy(modern, "producer_id_leak", "--expire-after", "100ms", "--timeout", "60s", "--do", "--yes")

    assert answer.return_value == 0, (answer.output, answer.exception)
    assert count_producer_ids(modern.brokers[0]) == 0
    assert expiry_of(modern) == before


def test_without_do_nothing_is_changed(modern: Cluster) -> None:
    leak(modern, "shown")

    answer = remedy(modern, "producer_id_leak", "--topic", "shown", "--expire-after", "100ms")

    assert answer.return_value == 0, answer.exception
    assert re.search(rf"shown: \d+ of {LEAKED} ids would go", answer.output), answer.output
    assert "Nothing was changed" in answer.output
    assert count_producer_ids(modern.brokers[0]) == LEAKED


def test_without_a_terminal_do_needs_yes(modern: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["leadsman"])

    answer = remedy(modern, "producer_id_leak", "--expire-after", "100ms", "--do")

    assert "--yes" in str(answer.exception)
    assert expiry_of(modern)[1] == "DEFAULT_CONFIG"


def test_trimming_is_refused_where_it_would_free_nothing(modern: Cluster) -> None:
    answer = remedy(modern, "trim", "orders", "--do", "--yes")

    assert isinstance(answer.exception, Refused)
    assert "lost without effect" in str(answer.exception)


def test_deleting_a_topic_frees_its_ids_on_any_version(between: Cluster) -> None:
    leak(between, "orders")

    words = ("producer_id_leak", "--by", "delete-topic", "--topic", "orders", "--do", "--yes", "--pid")
    answer = remedy(between, *words, pid_of(between))

    assert answer.return_value == 0, (answer.output, answer.exception)
    assert count_producer_ids(between.brokers[0]) == 0


def test_between_the_eras_nothing_frees_ids_but_a_restart_or_deleting(between: Cluster) -> None:
    answer = remedy(between, "producer_id_leak")

    assert isinstance(answer.exception, Refused)
    assert "transactional.id.expiration.ms" in str(answer.exception)


@pytest.mark.timeout(200)
def test_before_2_4_trimming_frees_the_ids_unless_a_consumer_waits_for_the_records(old: Cluster) -> None:
    leak(old, "orders")
    read_half(old, "orders")

    refused = remedy(old, "trim", "orders", "--do", "--yes")
    answer = remedy(
        old, "producer_id_leak", "--topic", "orders", "--pid", pid_of(old), "--even-unread", "--do", "--yes"
    )

    assert f"group billing (Empty) has not read {LEAKED // 2} records" in str(refused.exception)
    assert answer.return_value == 0, (answer.output, answer.exception)
    assert "orders-0: 12 records would go, offsets 0 to 11" in answer.output
    assert count_producer_ids(old.brokers[0]) == 0


def test_a_topic_that_is_not_there_is_refused(old: Cluster) -> None:
    answer = remedy(old, "trim", "no-such-topic")

    assert "no-such-topic" in str(answer.exception)
