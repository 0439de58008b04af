"""Any subset of webhooks lost, repeated or delayed ends in the same tables: for every provider, after one sweep."""

from __future__ import annotations

import json
import shutil
import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from account_linking import fetch_tasks
from account_linking.demo.deployment import linked_items
from account_linking.demo.expected_rows import expected_rows
from account_linking.demo.fetch_harness import FetchHarness, kafka_frame
from account_linking.demo.ledger import START, Account, BankLedger, Movement, MovementChange, SimulatedItem, to_datetime
from account_linking.demo.simulator import fdx, plaid, yodlee
from account_linking.demo.simulator.banks import FaultInjection, SimulatedBanks
from account_linking.providers import every_provider
from account_linking.store import SqliteStore
from account_linking.sweeper import missed_fetch_tasks
from account_linking.tables.bronze import to_bronze
from account_linking.tables.ingest import Ingestion
from account_linking.tables.layout import Layout
from leadsman.run_folder import memory_folder, run_folder

from .drawn_examples import SLOW, drawn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from account_linking.providers.model import FetchTask

PROVIDERS = ("plaid", "yodlee", "fdx")
HOUR = 3600.0


@dataclass(frozen=True)
class Step:
    """A change after some hours; its webhook's deliveries, each so many steps late (none: lost); does a worker die."""

    action: str
    hours: float
    amount: int
    deliveries: tuple[int, ...]
    dies: bool


STEPS = st.builds(
    Step,
    st.sampled_from(["new", "new", "correct", "remove"]),
    st.sampled_from([0.01, 0.2, 0.9, 1.0, 3.0]) | st.floats(0.01, 9),
    st.integers(-(10**6), 10**6),
    st.sampled_from([(), (), (0,), (0,), (0, 0), (1,), (0, 2), (5,), (3, 1)]),
    st.sampled_from([False, False, False, True]),
)
STORIES = st.lists(
    st.tuples(st.sampled_from(PROVIDERS), st.lists(STEPS, min_size=1, max_size=14)), min_size=3, max_size=5
)


def next_change(banks: SimulatedBanks, item: SimulatedItem, step: Step, number: int) -> MovementChange:
    live = list(banks.ledger.live(item.id, banks.now).values())
    at = banks.now + step.hours * HOUR
    new = Movement(
        id=f"{item.id}-{number}",
        account=item.accounts[0].id,
        kind="shop",
        amount=Decimal(step.amount) / 100,
        day=START.date(),
        text="Thing",
    )
    if step.action == "new" or not live:
        return MovementChange(at=at, item=item.id, movement=new)
    old = live[number % len(live)]
    return MovementChange(
        at=at, item=item.id, movement=replace(old, amount=new.amount), removed=step.action == "remove"
    )


def announced(banks: SimulatedBanks, item: SimulatedItem, since: float) -> tuple[FetchTask, ...]:
    """The fetch tasks of the webhook for the changes since a time, as the fan-out reads them."""
    since = max(since, banks.now - 0.9 * HOUR)
    bodies = {
        "plaid": lambda: plaid.webhook(item.id),
        "fdx": lambda: fdx.webhook(item.id),
        "yodlee": lambda: yodlee.webhook([item.id], since=since, until=banks.now + 0.001),
    }
    return every_provider()[item.provider].fetch_tasks(bodies[item.provider]())


def run_story(harness: FetchHarness, item: SimulatedItem, steps: Sequence[Step]) -> None:
    due: dict[int, list[tuple[FetchTask, bool]]] = {}
    last_webhook = harness.banks.now
    for number, step in enumerate(steps):
        harness.apply_changes(next_change(harness.banks, item, step, number))
        for late in step.deliveries:
            webhook = announced(harness.banks, item, last_webhook)
            due.setdefault(number + late, []).extend((task, step.dies) for task in webhook)
        last_webhook = harness.banks.now
        for task, dies in due.pop(number, []):
            harness.deliver(task, dies=dies)
    for task, dies in (each for late in due.values() for each in late):
        harness.deliver(task, dies=dies)


def run_stories(stories: Sequence[tuple[str, Sequence[Step]]], folder: Path) -> FetchHarness:
    """Run the stories one after the other, then the sweeper once."""
    name = uuid.uuid4().hex[:8]
    items = [
        SimulatedItem(
            id=f"{provider}-{name}-{number}",
            provider=provider,
            user=f"user-{name}-{number}",
            accounts=(Account(id=f"{provider}-{name}-{number}-a", kind="checking"),),
        )
        for number, (provider, _) in enumerate(stories)
    ]
    harnesses = []
    for item, (_, steps) in zip(items, stories, strict=True):
        banks = SimulatedBanks(BankLedger({item.id: item}), FaultInjection(page_rows=2))
        store = SqliteStore(folder / f"{item.id}.sqlite")
        store.add(linked_items(banks))
        harness = FetchHarness(banks, store)
        run_story(harness, item, steps)
        banks.now += 13 * HOUR
        for outgoing in missed_fetch_tasks(store, now=to_datetime(banks.now).timestamp(), stale_after=timedelta(0)):
            harness.deliver(fetch_tasks.load(outgoing.value))
        harnesses.append(harness)
    return merged(harnesses)


def merged(harnesses: Sequence[FetchHarness]) -> FetchHarness:
    """One harness with the ledger and the records of all."""
    items = {name: item for each in harnesses for name, item in each.banks.ledger.items.items()}
    changes = {name: change for each in harnesses for name, change in each.banks.ledger.changes.items()}
    banks = SimulatedBanks(BankLedger(items, changes), now=max(each.banks.now for each in harnesses))
    return FetchHarness(banks, harnesses[0].store, [record for each in harnesses for record in each.records])


def last_states(harness: FetchHarness) -> dict[str, Decimal]:
    """The amount of each transaction by its published record of the highest revision, without the deleted ones."""
    last: dict[str, tuple[int, bool, dict[str, Any]]] = {}
    for record in harness.records:
        if record.topic.endswith("transactions.raw"):
            headers = {name: value.decode() for name, value in record.headers}
            row = json.loads(record.value, parse_float=Decimal, parse_int=Decimal)
            provider = record.topic.split(".")[1]
            key = f"{provider}|{transaction_id(provider, row)}"
            last[key] = max(
                last.get(key, (0, False, {})),
                (int(headers["revision"]), headers["op"] == "DELETE", row),
                key=lambda each: each[0],
            )
    return {key: amount(key.partition("|")[0], row) for key, (_, deleted, row) in last.items() if not deleted}


def transaction_id(provider: str, row: dict[str, Any]) -> str:
    names = {"plaid": "transaction_id", "fdx": "transactionId"}
    return f"{row['CONTAINER']}:{row['id']}" if provider == "yodlee" else row[names[provider]]


def amount(provider: str, row: dict[str, Any]) -> Decimal:
    if provider == "plaid":
        return Decimal(-row["amount"])
    is_debit = row["baseType" if provider == "yodlee" else "debitCreditMemo"] == "DEBIT"
    absolute = row["amount"]["amount"] if provider == "yodlee" else row["amount"]
    return Decimal(-absolute if is_debit else absolute)


@given(STORIES)
@settings(max_examples=12, deadline=None, suppress_health_check=SLOW, derandomize=True)
def test_published_records_end_in_the_ledgers_state_whichever_webhooks_are_lost(
    stories: list[tuple[str, list[Step]]],
) -> None:
    with run_folder(memory_folder()) as items:  # SQLite writes each commit through to the disk
        harness = run_stories(stories, items)

    expected = expected_rows(harness.banks.ledger, harness.banks.now)
    assert last_states(harness) == {key: row[0] for key, row in expected.items()}


def test_a_lost_window_is_requested_by_the_next_webhook(tmp_path: Path) -> None:
    lost, delivered = Step("new", 1.0, 100, (), False), Step("new", 5.0, 200, (0,), False)
    item = SimulatedItem(id="y", provider="yodlee", user="u", accounts=(Account(id="a", kind="checking"),))
    banks = SimulatedBanks(BankLedger({"y": item}))
    store = SqliteStore(tmp_path / "items.sqlite")
    store.add(linked_items(banks))
    harness = FetchHarness(banks, store)

    run_story(harness, item, [delivered, lost, delivered])

    assert sorted(last_states(harness).values()) == [Decimal(1), Decimal(2), Decimal(2)]


@pytest.fixture(scope="module")
def shared(empty_tables: Layout, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """Tables shared by all examples; each example has its own items."""
    tables = Layout(str(tmp_path_factory.mktemp("shared") / "tables"))
    shutil.copytree(empty_tables.root, tables.root)
    return tables


def check_tables(spark: SparkSession, layout: Layout, stories: list[tuple[str, list[Step]]], folder: Path) -> None:
    harness = run_stories(stories, folder)
    if harness.records:
        Ingestion(layout).update_tables(to_bronze(kafka_frame(spark, list(enumerate(harness.records)))))

    users = [item.user for item in harness.banks.ledger.items.values()]
    silver = spark.read.format("delta").load(layout.path("silver")).where("not is_deleted")
    rows = silver.where(silver.user_ref.isin(users)).collect()
    assert {
        f"{row.provider}|{row.provider_transaction_id}": (row.amount, row.currency) for row in rows
    } == expected_rows(harness.banks.ledger, harness.banks.now)


def test_tables_equal_the_ledger_whichever_webhooks_are_lost(
    spark: SparkSession, shared: Layout, tmp_path: Path
) -> None:
    stories = [story for stories in drawn(STORIES, 3) for story in stories]

    check_tables(spark, shared, stories, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@given(STORIES)
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_tables_equal_the_ledger_for_many_more_sets_of_lost_webhooks(
    spark: SparkSession, shared: Layout, tmp_path_factory: pytest.TempPathFactory, stories: list[tuple[str, list[Step]]]
) -> None:
    check_tables(spark, shared, stories, tmp_path_factory.mktemp("items"))
