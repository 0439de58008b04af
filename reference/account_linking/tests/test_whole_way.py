"""From webhook to tables and topic: a real broker, AWS's own runtime client, real Spark."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from account_linking.demo import day
from account_linking.demo.balance import balance, named
from account_linking.demo.history import households
from account_linking.demo.kinds import every_kind
from account_linking.demo.simulator import plaid
from account_linking.demo.simulator.world import Weather, World
from account_linking.demo.stage import SECRET, Choice, Stage, stage
from account_linking.names import DEAD, TRANSACTIONS, WEBHOOKS, raw_topic
from account_linking.tables import flow, streams
from account_linking.tables.layout import Layout
from account_linking.tables.maps import version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from leadsman.lab.cluster import Cluster

PROVIDERS = ("plaid", "yodlee", "fdx")


@pytest.fixture(scope="module")
def running(cluster: Cluster) -> Iterator[Stage]:
    """A stage on which a day has passed, in bad weather."""
    weather = Weather(errors=0.03, page_rows=20, per_second=200)
    world = World(households(7, per_provider=1, providers=PROVIDERS, months=1), weather, now=-1.0)
    with stage(world, Choice(tries=6), cluster=cluster) as up:
        day.link(up)
        day.play(up, seed=8, per_item=12, lasts_seconds=4)
        producer = Producer({"bootstrap.servers": up.bootstrap})
        producer.produce(raw_topic("plaid", "transactions"), b"{no json", "plaid|a", headers=[("user", b"u")])
        producer.produce(WEBHOOKS, b"no webhook", headers=[("provider", b"plaid")])
        producer.produce(WEBHOOKS, plaid.webhook("nobody-linked-it"), headers=[("provider", b"plaid")])
        producer.flush(10)
        up.handled()
        yield up


@pytest.fixture(scope="module")
def tables(running: Stage, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    layout = Layout(str(tmp_path_factory.mktemp("streamed")))
    for name, start in (("tables", streams.tables), ("changes", streams.changes)):
        start(spark, running.bootstrap, layout, checkpoint=f"{layout.root}/_checkpoints/{name}").awaitTermination()
    return layout


def values(spark: SparkSession, layout: Layout, table: str) -> list[str]:
    """Every row of a table but for when it was made, in one order."""
    rows = spark.read.format("delta").load(layout.path(table))
    return sorted(str(row) for row in rows.drop("replayed_at").collect())


def consumed(bootstrap: str, topic: str) -> list[tuple[str, bytes, dict[str, str]]]:
    """Everything that a topic holds now."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "enable.auto.commit": False})
    place = TopicPartition(topic, 0, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    consumer.assign([place])
    found: list[Any] = []
    deadline = time.monotonic() + 60
    while consumer.position([place])[0].offset < end and time.monotonic() < deadline:
        found += consumer.consume(1000, 1.0)
    consumer.close()
    return [(each.key().decode(), each.value(), {k: v.decode() for k, v in each.headers()}) for each in found]


def test_every_transaction_is_there_exactly_once_to_the_cent(
    running: Stage, tables: Layout, spark: SparkSession
) -> None:
    found = balance(spark, tables, running.world.ledger, at=running.world.now)

    assert found.transactions > 90
    assert (found.missing, found.surplus, found.doubled, found.amounts) == ((), (), (), ())


def test_the_workers_were_frozen_and_reused(running: Stage) -> None:
    environments = [each for mapping in running.mappings for each in mapping.environments]

    assert sum(each.invocations for each in environments) > 30
    assert all(each.cold_starts == 1 for each in environments if each.invocations)


def test_the_topic_holds_the_last_state_of_every_transaction(
    running: Stage, tables: Layout, spark: SparkSession
) -> None:
    last: dict[str, tuple[int, dict[str, object]]] = {}
    events = consumed(running.bootstrap, TRANSACTIONS)

    for key, value, headers in events:
        last[key] = max(last.get(key, (0, {})), (int(headers["sequence"]), json.loads(value)), key=lambda each: each[0])

    rows = spark.read.format("delta").load(tables.path("classified")).collect()
    assert len({headers["event-id"] for _, _, headers in events}) == len(events)
    assert {key: told["class"] for key, (_, told) in last.items() if not told["is_deleted"]} == {
        f"{row.provider}|{row.provider_account_id}|{row.provider_transaction_id}": row["class"]
        for row in rows
        if not row.is_deleted
    }


def test_what_is_no_transaction_waits_in_quarantine_with_its_reason(tables: Layout, spark: SparkSession) -> None:
    (row,) = spark.read.format("delta").load(tables.path("quarantine")).collect()

    assert row.value == "{no json"
    assert "is_json" in {error.rule for error in row.errors}


def test_what_can_never_be_fetched_is_a_dead_letter(running: Stage) -> None:
    dead = consumed(running.bootstrap, DEAD)

    assert sorted(value[:12] for _, value, _ in dead) == [b"no webhook", b'{"provider":']
    assert all("Poison" in headers["reason"] for _, _, headers in dead)


def test_the_history_in_one_batch_gives_the_same_tables(
    running: Stage, tables: Layout, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    batch = Layout(str(tmp_path_factory.mktemp("batch")))

    flow.history(spark, running.bootstrap, batch)

    for table in ("bronze", "silver", "accounts", "quarantine", "classified", "monthly"):
        assert values(spark, batch, table) == values(spark, tables, table)


def test_a_checkpoint_that_was_lost_or_cut_off_while_it_was_made_changes_nothing(
    running: Stage, tables: Layout, spark: SparkSession
) -> None:
    names = ("bronze", "silver", "quarantine", "classified", "monthly")
    before = {table: values(spark, tables, table) for table in names}

    new = Path(tables.root, "_checkpoints", "new")
    (new / "offsets").mkdir(parents=True)
    (new / "offsets" / ".0.killed.tmp").touch()  # what a driver leaves that is killed as it writes the first offsets

    streams.tables(spark, running.bootstrap, tables, checkpoint=str(new)).awaitTermination()

    assert {table: values(spark, tables, table) for table in names} == before


def test_most_transactions_are_classified_as_they_were_meant(
    running: Stage, tables: Layout, spark: SparkSession
) -> None:
    ledger = running.world.ledger
    meant = {
        named(item, movement): every_kind()[movement.kind].expects
        for item in ledger.items.values()
        for movement in ledger.live(item.id, running.world.now).values()
    }

    rows = spark.read.format("delta").load(tables.path("classified")).where("not is_deleted").collect()

    right = [row for row in rows if row["class"] == meant[row.provider_transaction_id]]
    assert {row.class_version for row in rows} == {version()}
    assert len(right) / len(rows) > 0.9


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        ("plaid", "forged", 401),
        ("yodlee", "", 401),
        ("yodlee/guessed-secret-of-enough-length", "", 401),
        ("nobody", "", 404),
    ],
)
def test_the_receiver_refuses(running: Stage, path: str, token: str, status: int) -> None:
    body = plaid.webhook("plaid-000")

    answer = httpx.post(f"{running.receiver}/webhooks/{path}", content=body, headers={"Plaid-Verification": token})

    assert answer.status_code == status


def test_the_receiver_takes_a_sending_once(running: Stage) -> None:
    body = plaid.webhook("plaid-000")
    headers = {"Plaid-Verification": running.signer.sign(body)}

    answers = [httpx.post(f"{running.receiver}/webhooks/plaid", content=body, headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 401]


def test_the_receiver_refuses_what_is_too_large_and_what_is_another_method(running: Stage) -> None:
    url = f"{running.receiver}/webhooks/yodlee/{SECRET}"

    large, got = httpx.post(url, content=b"x" * 1_000_000), httpx.get(url)

    assert (large.status_code, got.status_code) == (413, 405)
