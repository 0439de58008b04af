"""From webhook to tables and topic: a real broker, AWS's own runtime client, real Spark."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from deltalake import DeltaTable

from account_linking.demo import simulated_day
from account_linking.demo.balance import compare_with_ledger
from account_linking.demo.deployment import SECRET, Deployment, DeploymentOptions, deploy
from account_linking.demo.expected_rows import provider_transaction_id
from account_linking.demo.kinds import all_kinds
from account_linking.demo.ledger_generator import generate_households
from account_linking.demo.simulator import plaid
from account_linking.demo.simulator.banks import FaultInjection, SimulatedBanks
from account_linking.tables import ingest, streams
from account_linking.tables.layout import Layout
from account_linking.tables.maps import version
from account_linking.tables.rebuild import rebuild
from account_linking.topics import DEAD_LETTERS, TRANSACTIONS, WEBHOOKS, raw_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PROVIDERS = ("plaid", "yodlee", "fdx")


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    """A deployment with a broker of its own, after a simulated day with injected faults."""
    faults = FaultInjection(error_rate=0.03, page_rows=20, calls_per_second=200)
    banks = SimulatedBanks(generate_households(7, per_provider=1, providers=PROVIDERS, months=1), faults, now=-1.0)
    with deploy(banks, DeploymentOptions(max_attempts=6)) as deployment:
        simulated_day.announce_history(deployment)
        simulated_day.run(deployment, seed=8, per_item=12, lasts_seconds=4)
        producer = Producer({"bootstrap.servers": deployment.bootstrap})
        producer.produce(raw_topic("plaid", "transactions"), b"{no json", "plaid|a", headers=[("user", b"u")])
        producer.produce(WEBHOOKS, b"no webhook", headers=[("provider", b"plaid")])
        producer.produce(WEBHOOKS, plaid.webhook("not-linked"), headers=[("provider", b"plaid")])
        producer.flush(10)
        deployment.wait_until_handled()
        yield deployment


@pytest.fixture(scope="module")
def tables(deployment: Deployment, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    layout = Layout(str(tmp_path_factory.mktemp("streamed")))
    for name, start in (("tables", streams.start_tables), ("changes", streams.start_changes)):
        start(spark, deployment.bootstrap, layout, checkpoint=f"{layout.root}/_checkpoints/{name}").awaitTermination()
    return layout


def values(spark: SparkSession, layout: Layout, table: str) -> list[str]:
    """All rows of a table without `replayed_at`, sorted."""
    rows = spark.read.format("delta").load(layout.path(table))
    return sorted(str(row) for row in rows.drop("replayed_at").collect())


def consumed(bootstrap: str, topic: str) -> list[tuple[str, bytes, dict[str, str]]]:
    """All records of a topic."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "enable.auto.commit": False})
    place = TopicPartition(topic, 0, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    consumer.assign([place])
    found: list[Any] = []
    deadline = time.monotonic() + 60
    while (at := consumer.position([place])[0].offset) < end and time.monotonic() < deadline:
        found += consumer.consume(min(1000, end - max(0, at)), 1.0)
    consumer.close()
    return [(each.key().decode(), each.value(), {k: v.decode() for k, v in each.headers()}) for each in found]


def test_every_column_of_every_table_and_topic_equals_the_ledger(deployment: Deployment, tables: Layout) -> None:
    banks = deployment.banks

    found = compare_with_ledger(tables.root, banks.ledger, at=banks.now, bootstrap=deployment.bootstrap)

    assert [str(each) for each in found.differences] == []
    assert found.transactions > 90


@pytest.mark.parametrize(
    ("table", "column", "wrong"),
    [
        ("bronze", "key", "'x'"),
        ("silver", "check_number", "'7'"),
        ("silver", "raw_sha256", "'x'"),
        ("accounts", "kind", "'loan'"),
        ("quarantine", "value", "'x'"),
        ("classified", "transfer_of", "'x'"),
        ("classified", "event_id", "'x'"),
        ("monthly", "transactions", "77"),
    ],
)
def test_the_comparison_finds_a_wrong_value_in_any_table(
    deployment: Deployment, tables: Layout, tmp_path: Path, *, table: str, column: str, wrong: str
) -> None:
    banks, root = deployment.banks, tmp_path / "wrong"
    shutil.copytree(tables.root, root, ignore=shutil.ignore_patterns("_checkpoints"))
    DeltaTable(root / table).update(updates={column: wrong})

    found = compare_with_ledger(str(root), banks.ledger, at=banks.now, bootstrap=deployment.bootstrap)

    assert (table, column) in {(each.table, each.column) for each in found.differences}


@pytest.mark.parametrize("table", ["bronze", "silver", "accounts", "quarantine", "classified", "monthly", "holders"])
def test_the_comparison_finds_a_missing_row_in_any_table(
    deployment: Deployment, tables: Layout, tmp_path: Path, table: str
) -> None:
    banks, root = deployment.banks, tmp_path / "wrong"
    shutil.copytree(tables.root, root, ignore=shutil.ignore_patterns("_checkpoints"))
    DeltaTable(root / table).delete()

    found = compare_with_ledger(str(root), banks.ledger, at=banks.now, bootstrap=deployment.bootstrap)

    assert (table, "row", "missing") in {(each.table, each.column, each.found) for each in found.differences}


def test_the_workers_were_frozen_and_reused(deployment: Deployment) -> None:
    environments = [each for mapping in deployment.mappings for each in mapping.environments]

    assert sum(each.invocations for each in environments) > 30
    assert all(each.cold_starts == 1 for each in environments if each.invocations)


def test_the_topic_holds_the_last_state_of_every_transaction(
    deployment: Deployment, tables: Layout, spark: SparkSession
) -> None:
    last: dict[str, tuple[int, dict[str, object]]] = {}
    events = consumed(deployment.bootstrap, TRANSACTIONS)

    for key, value, headers in events:
        last[key] = max(last.get(key, (0, {})), (int(headers["sequence"]), json.loads(value)), key=lambda each: each[0])

    rows = spark.read.format("delta").load(tables.path("classified")).collect()
    assert len({headers["event-id"] for _, _, headers in events}) == len(events)
    assert {key: event["class"] for key, (_, event) in last.items() if not event["is_deleted"]} == {
        f"{row.provider}|{row.provider_account_id}|{row.provider_transaction_id}": row["class"]
        for row in rows
        if not row.is_deleted
    }


def test_a_record_that_is_no_transaction_is_quarantined_with_its_rule(tables: Layout, spark: SparkSession) -> None:
    (row,) = spark.read.format("delta").load(tables.path("quarantine")).collect()

    assert row.value == "{no json"
    assert "is_json" in {error.rule for error in row.errors}


def test_a_fetch_task_that_can_never_be_fetched_is_a_dead_letter(deployment: Deployment) -> None:
    dead = consumed(deployment.bootstrap, DEAD_LETTERS)

    assert sorted(value[:12] for _, value, _ in dead) == [b"no webhook", b'{"provider":']
    assert all("Poison" in headers["reason"] for _, _, headers in dead)


@pytest.mark.long  # all records once more
def test_the_history_in_one_batch_gives_the_same_tables(
    deployment: Deployment, tables: Layout, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    batch = Layout(str(tmp_path_factory.mktemp("batch")))

    ingest.history(spark, deployment.bootstrap, batch)

    for table in ("bronze", "silver", "accounts", "quarantine", "classified", "monthly"):
        assert values(spark, batch, table) == values(spark, tables, table)


@pytest.mark.long  # all records once more
def test_a_lost_or_incomplete_checkpoint_changes_nothing(
    deployment: Deployment, tables: Layout, spark: SparkSession
) -> None:
    names = ("bronze", "silver", "quarantine", "classified", "monthly")
    before = {table: values(spark, tables, table) for table in names}

    new = Path(tables.root, "_checkpoints", "new")
    (new / "offsets").mkdir(parents=True)
    (new / "offsets" / ".0.killed.tmp").touch()  # left by a driver that is killed while it writes the first offsets

    streams.start_tables(spark, deployment.bootstrap, tables, checkpoint=str(new)).awaitTermination()

    assert {table: values(spark, tables, table) for table in names} == before


def test_most_transactions_get_their_expected_class(
    deployment: Deployment, tables: Layout, spark: SparkSession
) -> None:
    ledger = deployment.banks.ledger
    expected = {
        provider_transaction_id(item, movement): all_kinds()[movement.kind].expected_class
        for item in ledger.items.values()
        for movement in ledger.live(item.id, deployment.banks.now).values()
    }

    rows = spark.read.format("delta").load(tables.path("classified")).where("not is_deleted").collect()

    right = [row for row in rows if row["class"] == expected[row.provider_transaction_id]]
    assert {row.class_version for row in rows} == {version()}
    assert len(right) / len(rows) > 0.9


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        ("plaid", "forged", 401),
        ("yodlee", "", 401),
        ("yodlee/guessed-secret-of-enough-length", "", 401),
        ("unknown", "", 404),
    ],
)
def test_the_receiver_refuses(deployment: Deployment, path: str, token: str, status: int) -> None:
    body = plaid.webhook("plaid-000")

    answer = httpx.post(
        f"{deployment.receiver_url}/webhooks/{path}", content=body, headers={"Plaid-Verification": token}
    )

    assert answer.status_code == status


def test_the_receiver_stores_a_delivery_once(deployment: Deployment) -> None:
    body = plaid.webhook("plaid-000")
    headers = {"Plaid-Verification": deployment.signer.sign(body)}

    answers = [httpx.post(f"{deployment.receiver_url}/webhooks/plaid", content=body, headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 401]


def test_the_receiver_refuses_large_bodies_and_other_methods(deployment: Deployment) -> None:
    url = f"{deployment.receiver_url}/webhooks/yodlee/{SECRET}"

    large, got = httpx.post(url, content=b"x" * 1_000_000), httpx.get(url)

    assert (large.status_code, got.status_code) == (413, 405)


@pytest.mark.long  # two rebuilds of everything
def test_a_rebuild_publishes_nothing_and_events_of_tables_created_anew_are_the_last(
    deployment: Deployment, tables: Layout, spark: SparkSession, tmp_path: Path
) -> None:
    banks, anew = deployment.banks, Layout(str(tmp_path / "anew"))
    deployment.wait_until_handled()
    start_tables(spark, deployment, tables)
    start_changes(spark, deployment, tables)
    published = len(consumed(deployment.bootstrap, TRANSACTIONS))
    rebuild(spark, tables)
    start_changes(spark, deployment, tables)
    published_after = len(consumed(deployment.bootstrap, TRANSACTIONS))
    shutil.copytree(tables.path("bronze"), anew.path("bronze"))

    rebuild(spark, anew)
    start_changes(spark, deployment, anew)

    found = compare_with_ledger(anew.root, banks.ledger, at=banks.now, bootstrap=deployment.bootstrap)
    assert published_after == published
    assert [str(each) for each in found.differences] == []


def start_tables(spark: SparkSession, deployment: Deployment, layout: Layout) -> None:
    checkpoint = f"{layout.root}/_checkpoints/tables"
    streams.start_tables(spark, deployment.bootstrap, layout, checkpoint=checkpoint).awaitTermination()


def start_changes(spark: SparkSession, deployment: Deployment, layout: Layout) -> None:
    checkpoint = f"{layout.root}/_checkpoints/changes"
    streams.start_changes(spark, deployment.bootstrap, layout, checkpoint=checkpoint).awaitTermination()
