"""A user who is deleted leaves every table, gets tombstones in the topic, and does not come back with an old record."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from account_linking.demo.deployment import create_topics
from account_linking.demo.sample_records import PURCHASE, raw_record
from account_linking.errors import InvalidSettings
from account_linking.providers.model import LinkedItem
from account_linking.requester.publishing import InvocationPublisher, lambda_producers
from account_linking.store import SqliteStore
from account_linking.store.__main__ import main as store_main
from account_linking.tables import ingest
from account_linking.tables.__main__ import main
from account_linking.tables.layout import TABLES, Layout
from account_linking.tables.maintenance import LISTING_TASKS
from account_linking.topic_setup import main as topic_setup
from account_linking.topics import TRANSACTIONS
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from account_linking.requester.worker import Outgoing

pytestmark = [pytest.mark.lab, pytest.mark.spark]
VACUUM_SETTINGS = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(LISTING_TASKS),
}


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    with Cluster(ClusterPlan()) as running:
        create_topics(running.bootstrap, 1)
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "tables")


def bought(user: str, number: int, *, revision: int = 1) -> Outgoing:
    changes = {"transaction_id": f"{user}-{number}", "account_id": f"account-of-{user}", "amount": 12.5 + revision}
    return raw("transactions", user, {**PURCHASE, **changes, "name": f"{user} buys a planted thing"}, revision)


def account(user: str) -> Outgoing:
    return raw("accounts", user, {"account_id": f"account-of-{user}", "type": "depository", "name": user}, 1)


def raw(entity: str, user: str, value: dict[str, Any], revision: int) -> Outgoing:
    key, item = f"plaid|account-of-{user}", f"item-of-{user}"
    return raw_record(value, entity=entity, key=key, item=item, user=user, revision=str(revision))


def publish(cluster: Cluster, records: Sequence[Outgoing]) -> None:
    producers = lambda_producers({"KAFKA_BOOTSTRAP": cluster.bootstrap}, timeout=timedelta(seconds=60))
    InvocationPublisher(producers)(records, timeout=timedelta(seconds=60))
    producers.close()


def run(spark: SparkSession, command: str, folder: str, cluster: Cluster, *more: str) -> None:
    assert main([command, "--tables", folder, "--bootstrap", cluster.bootstrap, *more], spark) == 0


def events(cluster: Cluster) -> dict[str, list[tuple[dict[str, str], bytes | None]]]:
    """Every record of the topic of changes, by key: headers and value."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition(TRANSACTIONS, 0, 0)])
    found: dict[str, list[tuple[dict[str, str], bytes | None]]] = {}
    while (message := consumer.poll(30)) is not None and not message.error():
        pairs: Any = message.headers() or ()
        key = (message.key() or b"").decode()
        found.setdefault(key, []).append(({name: value.decode() for name, value in pairs}, message.value()))
    consumer.close()
    return found


def rows_of(spark: SparkSession, layout: Layout, user: str) -> dict[str, int]:
    """The number of rows of each table in which the user's name occurs anywhere."""
    counts = {}
    for table in TABLES:
        rows = spark.read.format("delta").load(layout.path(table))
        counts[table] = rows.where(f"contains(to_json(struct(*)), '{user}')").count()
    return {table: count for table, count in counts.items() if count}


def files_with(folder: str, text: bytes) -> list[Path]:
    return [path for path in Path(folder).rglob("*.parquet") if text in path.read_bytes()]


def vacuum(spark: SparkSession, layout: Layout) -> None:
    """VACUUM as it is after the retention has passed."""
    for name, value in VACUUM_SETTINGS.items():
        spark.conf.set(name, value)
    for table in TABLES:
        spark.sql(f"vacuum {layout.sql(table)} retain 0 hours")
    for name in VACUUM_SETTINGS:
        spark.conf.unset(name)


@pytest.mark.long  # four batches, all tables vacuumed
def test_a_forgotten_user_leaves_tables_topic_and_files_and_comes_back_only_by_newer_records(
    spark: SparkSession, own_cluster: Cluster, folder: str
) -> None:
    layout = Layout(folder)
    broken = raw("transactions", "anna", {"transaction_id": "anna-x"}, 1)
    of_anna = [bought("anna", 1), bought("anna", 2), account("anna"), broken]
    publish(own_cluster, [*of_anna, bought("bob", 1), account("bob")])
    run(spark, "stream", folder, own_cluster, "--once")
    before, bob = rows_of(spark, layout, "anna"), rows_of(spark, layout, "bob")
    assert files_with(folder, b"anna buys") != []

    run(spark, "forget", folder, own_cluster, "--user", "anna")
    run(spark, "stream", folder, own_cluster, "--once")
    vacuum(spark, layout)
    publish(own_cluster, [bought("bob", 2)])
    ingest.history(spark, own_cluster.bootstrap, layout)

    assert {"bronze", "silver", "classified", "quarantine", "accounts", "monthly", "holders"} <= set(before)
    assert rows_of(spark, layout, "anna") == {}
    assert set(rows_of(spark, layout, "bob")) == set(bob)
    assert files_with(folder, b"anna buys") == []
    found = events(own_cluster)
    for key in ("plaid|account-of-anna|anna-1", "plaid|account-of-anna|anna-2"):
        first, last = found[key][0], found[key][-1]
        assert (last[1], last[0]["op"]) == (None, "DELETE")
        assert int(last[0]["sequence"]) > int(first[0]["sequence"])
        assert last[0]["event-id"] != first[0]["event-id"]
    assert found["plaid|account-of-bob|bob-1"][-1][1] is not None
    publish(own_cluster, [bought("anna", 3, revision=9)])
    run(spark, "stream", folder, own_cluster, "--once")
    assert rows_of(spark, layout, "anna")["silver"] == 1


@pytest.mark.long  # a maintenance of all tables, four batches
def test_the_stream_of_changes_starts_after_vacuum_without_its_checkpoint(
    spark: SparkSession, own_cluster: Cluster, folder: str
) -> None:
    layout = Layout(folder)
    for revision in (1, 2, 3):
        publish(own_cluster, [bought("anna", 1, revision=revision)])
        run(spark, "history", folder, own_cluster)
    run(spark, "maintain", folder, own_cluster)
    vacuum(spark, layout)

    run(spark, "stream", folder, own_cluster, "--once")

    ((_, value),) = events(own_cluster)["plaid|account-of-anna|anna-1"]
    assert value is not None
    assert json.loads(value)["amount"] == -15.5


def test_topics_are_created_once_and_every_topic_gets_its_retention(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    create_topics(cluster.bootstrap, 1)
    settings = {"KAFKA_BOOTSTRAP": cluster.bootstrap}
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.delete_topics([TRANSACTIONS])[TRANSACTIONS].result(30)
    wait_for(
        lambda: TRANSACTIONS not in admin.list_topics(timeout=10).topics,
        timeout=timedelta(seconds=30),
        what="the topic to be gone",
    )

    topic_setup(["--replicas", "1", "--partitions", "2"], settings)
    topic_setup(["--replicas", "1", "--partitions", "2"], settings)

    lines = capsys.readouterr().out.splitlines()
    assert [line.split(";")[0] for line in lines] == ["Topics created: 1", "Topics created: 0"]
    assert setting(cluster, TRANSACTIONS, "cleanup.policy") == "compact"
    assert setting(cluster, "provider.plaid.transactions.raw", "retention.ms") == str(28 * 24 * 3600 * 1000)
    with pytest.raises(InvalidSettings, match="KAFKA_BOOTSTRAP"):
        topic_setup([], {})


def setting(cluster: Cluster, topic: str, name: str) -> str:
    resource = ConfigResource("topic", topic)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    return str(admin.describe_configs([resource])[resource].result(30)[name].value)


def test_the_store_forgets_a_users_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = SqliteStore(tmp_path / "items.sqlite")
    items = [("plaid", "one", "anna"), ("fdx", "two", "anna"), ("plaid", "three", "bob")]
    store.add(LinkedItem(provider=provider, item=item, user=user, token="t") for provider, item, user in items)

    store_main(["forget", "--user", "anna"], {"ACCOUNT_LINKING_STORE": store.path}, io.StringIO())

    assert [claim.link.item for claim in store.stale(before=1)] == ["three"]
    assert capsys.readouterr().out.splitlines()[:2] == ["deleted fdx|two", "deleted plaid|one"]
