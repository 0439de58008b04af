"""Silver equals the ledger after random order, duplicates, replays and deaths of workers."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from account_linking.demo.expected_rows import provider_transaction_id
from account_linking.demo.fetch_harness import FetchHarness, kafka_frame
from account_linking.demo.ledger import (
    START,
    Account,
    BankLedger,
    Movement,
    MovementChange,
    SimulatedItem,
    posted_movement,
)
from account_linking.demo.simulator.banks import FaultInjection, SimulatedBanks
from account_linking.providers.model import LinkedItem
from account_linking.store import SqliteStore
from account_linking.tables.bronze import to_bronze
from account_linking.tables.ingest import Ingestion
from account_linking.tables.layout import Layout

from .drawn_examples import SLOW, drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.requester.worker import Outgoing

PROVIDERS = ("plaid", "yodlee", "fdx")
KINDS = ("checking", "savings", "credit")
TEXTS = ("Groceries", "Ünïcode ☂ 東京", 'O\'Brien "quoted" \\ back', "x" * 200, "🦆")

AMOUNTS = st.decimals("-99999999999999.99", "99999999999999.99", places=2) | st.sampled_from(
    [Decimal("0.00"), Decimal("0.10"), Decimal("-0.01"), Decimal("1e3"), Decimal("123456789012345.12")]
)
"""Amounts in US dollars: with more decimal places they would be quarantined."""


@dataclass(frozen=True)
class Step:
    action: str
    which: int
    amount: Decimal
    text: str


STEPS = st.builds(
    Step,
    st.sampled_from(["new", "new", "pending", "pending", "post", "correct", "remove", "fetch", "fetch", "die"]),
    st.integers(0, 9),
    AMOUNTS,
    st.sampled_from(TEXTS),
)
STORIES = st.lists(
    st.tuples(st.sampled_from(PROVIDERS), st.lists(STEPS, min_size=1, max_size=25)),
    min_size=4,
    max_size=8,
)

NEW_MOVEMENTS = [Step("new", number, Decimal(number * 101 - 300) / 100, TEXTS[number % 5]) for number in range(8)]


def run_steps(harness: FetchHarness, item: SimulatedItem, steps: Sequence[Step]) -> None:
    """Run one item's steps: changes, fetches, deaths of workers. The last fetch completes."""
    for number, step in enumerate(steps):
        change = change_of(harness.banks, item, step, number)
        if change:
            harness.apply_changes(change)
        if step.action in {"fetch", "die"}:
            harness.fetch(item.id, dies=step.action == "die")
    harness.fetch(item.id)


def change_of(banks: SimulatedBanks, item: SimulatedItem, step: Step, number: int) -> MovementChange | None:
    live = list(banks.ledger.live(item.id, banks.now).values())
    at = banks.now + 1
    account = item.accounts[step.which % len(item.accounts)]
    new = Movement(
        id=f"{item.id}-{number}", account=account.id, kind="shop", amount=step.amount, day=START.date(), text=step.text
    )
    if step.action in {"new", "pending"}:
        return MovementChange(at=at, item=item.id, movement=replace(new, pending=step.action == "pending"))
    if step.action not in {"post", "correct", "remove"} or not live:
        return None
    old = live[step.which % len(live)]
    if step.action == "post" and old.pending:
        banks.apply_changes([MovementChange(at=at, item=item.id, movement=old, removed=True)])
        return MovementChange(at=at, item=item.id, movement=posted_movement(old, amount=step.amount))
    if step.action == "remove":
        return MovementChange(at=at, item=item.id, movement=old, removed=True)
    return MovementChange(at=at, item=item.id, movement=replace(old, amount=step.amount, text=step.text))


def expected_silver(banks: SimulatedBanks) -> dict[tuple[str, str], tuple[Any, ...]]:
    """The rows that silver must have, from the ledger alone."""
    return {
        (item.id, provider_transaction_id(item, movement)): (
            movement.amount.quantize(Decimal("0.0001")),
            "PENDING" if movement.pending else "POSTED",
            movement.text,
            movement.currency,
        )
        for item in banks.ledger.items.values()
        for movement in banks.ledger.live(item.id, banks.now).values()
        if not (item.provider == "yodlee" and movement.pending)
    }


def run_stories(stories: Sequence[tuple[str, Sequence[Step]]], *, folder: str, name: str) -> FetchHarness:
    items = [
        SimulatedItem(
            id=f"{provider}-{name}-{number}",
            provider=provider,
            user=f"user-{name}-{number}",
            accounts=tuple(Account(id=f"{provider}-{name}-{number}-{kind}", kind=kind) for kind in KINDS),
        )
        for number, (provider, _) in enumerate(stories)
    ]
    banks = SimulatedBanks(BankLedger({item.id: item for item in items}), FaultInjection(page_rows=2))
    store = SqliteStore(Path(folder) / "items.sqlite")
    store.add(
        LinkedItem(provider=item.provider, item=item.id, user=item.user, token=f"access-{item.id}") for item in items
    )
    harness = FetchHarness(banks, store)
    for item, (_, steps) in zip(items, stories, strict=True):
        run_steps(harness, item, steps)
    return harness


def ingest_shuffled(spark: SparkSession, layout: Layout, records: Sequence[Outgoing], *, seed: int) -> None:
    """Ingest all records, some twice, in random order, in two batches, the second with some again."""
    random = Random(seed)
    numbered = list(enumerate([*records, *random.choices(records, k=5)]))
    random.shuffle(numbered)
    half = len(numbered) // 2

    for batch in (numbered[:half], numbered[half:] + numbered[: half // 2]):
        Ingestion(layout).update_tables(bronze_frame(spark, batch))


def check(spark: SparkSession, layout: Layout, harness: FetchHarness) -> None:
    """Silver is right."""
    silver = spark.read.format("delta").load(layout.path("silver")).where("not is_deleted")
    rows = [row for row in silver.collect() if row.item_ref in harness.banks.ledger.items]
    found = {
        (row.item_ref, row.provider_transaction_id): (row.amount, row.status, row.description_clean, row.currency)
        for row in rows
    }
    assert spark.read.format("delta").load(layout.path("quarantine")).count() == 0
    assert len(found) == len(rows)
    assert found == expected_silver(harness.banks)


@pytest.fixture(scope="module")
def shared(empty_tables: Layout, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """Tables shared by all examples; each example has its own items."""
    tables = Layout(str(tmp_path_factory.mktemp("shared") / "tables"))
    shutil.copytree(empty_tables.root, tables.root)
    return tables


@dataclass(frozen=True)
class Ingested:
    """The tables after the records of several stories, and of one story through all providers."""

    layout: Layout
    stories: FetchHarness
    twins: FetchHarness


@pytest.fixture(scope="module")
def ingested(spark: SparkSession, shared: Layout, tmp_path_factory: pytest.TempPathFactory) -> Ingested:
    folders = [str(tmp_path_factory.mktemp(name)) for name in ("stories", "twins")]
    examples = [story for stories in drawn(STORIES, 3) for story in stories]
    stories = run_stories(examples, folder=folders[0], name="shuffled")
    twins = run_stories([(name, NEW_MOVEMENTS) for name in PROVIDERS], folder=folders[1], name="twins")

    ingest_shuffled(spark, shared, [*stories.records, *twins.records], seed=1)
    return Ingested(shared, stories, twins)


def bronze_frame(spark: SparkSession, records: Sequence[tuple[int, Outgoing]]) -> DataFrame:
    return to_bronze(kafka_frame(spark, records))


def test_silver_equals_the_ledger_in_any_order_of_records(spark: SparkSession, ingested: Ingested) -> None:
    assert len(ingested.stories.banks.ledger.items) >= 12
    check(spark, ingested.layout, ingested.stories)


@pytest.mark.long
@pytest.mark.timeout(3600)
@given(STORIES, st.integers(0, 1000))
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_silver_equals_the_ledger_for_many_more_ledgers(
    spark: SparkSession, shared: Layout, stories: list[tuple[str, list[Step]]], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        harness = run_stories(stories, folder=folder, name=uuid.uuid4().hex[:8])
    ingest_shuffled(spark, shared, harness.records, seed=seed)

    check(spark, shared, harness)


def test_the_same_ledger_through_all_providers_gives_the_same_rows(spark: SparkSession, ingested: Ingested) -> None:
    content = (
        "amount",
        "direction",
        "currency",
        "posted_date",
        "transaction_date",
        "status",
        "description_clean",
        "class",
    )

    classified = spark.read.format("delta").load(ingested.layout.path("classified"))
    of_twins = classified.where("user_ref like 'user-twins-%'")
    rows = {
        name: sorted(tuple(row) for row in of_twins.where(f"provider = '{name}'").select(*content).collect())
        for name in PROVIDERS
    }

    check(spark, ingested.layout, ingested.twins)
    assert len(rows["plaid"]) == len(NEW_MOVEMENTS)
    assert rows["plaid"] == rows["yodlee"]
    assert rows["plaid"] == rows["fdx"]
