"""Whatever way a ledger's changes take, silver ends as the ledger: random order, duplicates, replays, deaths."""

from __future__ import annotations

import tempfile
import uuid
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from account_linking.demo.balance import named
from account_linking.demo.ledger import START, Account, Change, Item, Ledger, Movement, posted
from account_linking.demo.rumour import Rumour, frame
from account_linking.demo.simulator.world import Weather, World
from account_linking.providers.model import Link
from account_linking.store import SqliteStore
from account_linking.tables.bronze import bronze
from account_linking.tables.flow import Flow
from account_linking.tables.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.requester.worker import Outgoing

PROVIDERS = ("plaid", "yodlee", "fdx")
KINDS = ("checking", "savings", "credit")
TEXTS = ("Groceries", "Ünïcode ☂ 東京", 'O\'Brien "quoted" \\ back', "x" * 200, "🦆")

AMOUNTS = st.decimals("-99999999999999.9999", "99999999999999.9999", places=4) | st.sampled_from(
    [Decimal("0.00"), Decimal("0.10"), Decimal("-0.01"), Decimal("1e3"), Decimal("123456789012345.1234")]
)


@dataclass(frozen=True)
class Step:
    act: str
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


def told(rumour: Rumour, item: Item, steps: Sequence[Step]) -> None:
    """Play one item's story: things happen, workers fetch, some of them die. At the end all is fetched."""
    for number, step in enumerate(steps):
        change = happened(rumour.world, item, step, number)
        if change:
            rumour.happen(change)
        if step.act in {"fetch", "die"}:
            rumour.fetch(item.id, dies=step.act == "die")
    rumour.fetch(item.id)


def happened(world: World, item: Item, step: Step, number: int) -> Change | None:
    live = list(world.ledger.live(item.id, world.now).values())
    at = world.now + 1
    account = item.accounts[step.which % len(item.accounts)]
    new = Movement(
        id=f"{item.id}-{number}", account=account.id, kind="shop", amount=step.amount, day=START.date(), text=step.text
    )
    if step.act in {"new", "pending"}:
        return Change(at=at, item=item.id, movement=replace(new, pending=step.act == "pending"))
    if step.act not in {"post", "correct", "remove"} or not live:
        return None
    old = live[step.which % len(live)]
    if step.act == "post" and old.pending:
        world.happen([Change(at=at, item=item.id, movement=old, gone=True)])
        return Change(at=at, item=item.id, movement=posted(old, amount=step.amount))
    if step.act == "remove":
        return Change(at=at, item=item.id, movement=old, gone=True)
    return Change(at=at, item=item.id, movement=replace(old, amount=step.amount, text=step.text))


def model(world: World) -> dict[tuple[str, str], tuple[Any, ...]]:
    """What silver is to hold, from the ledger alone."""
    return {
        (item.id, named(item, movement)): (
            movement.amount.quantize(Decimal("0.0001")),
            "PENDING" if movement.pending else "POSTED",
            movement.text,
            movement.currency,
        )
        for item in world.ledger.items.values()
        for movement in world.ledger.live(item.id, world.now).values()
        if not (item.provider == "yodlee" and movement.pending)
    }


def told_world(stories: Sequence[tuple[str, Sequence[Step]]], *, folder: str, name: str) -> Rumour:
    items = [
        Item(
            id=f"{provider}-{name}-{number}",
            provider=provider,
            user=f"user-{name}-{number}",
            accounts=tuple(Account(id=f"{provider}-{name}-{number}-{kind}", kind=kind) for kind in KINDS),
        )
        for number, (provider, _) in enumerate(stories)
    ]
    world = World(Ledger({item.id: item for item in items}), Weather(page_rows=2))
    store = SqliteStore(Path(folder) / "items.sqlite")
    store.add(Link(provider=item.provider, item=item.id, user=item.user, token=f"access-{item.id}") for item in items)
    rumour = Rumour(world, store)
    for item, (_, steps) in zip(items, stories, strict=True):
        told(rumour, item, steps)
    return rumour


def check(spark: SparkSession, layout: Layout, stories: Sequence[tuple[str, Sequence[Step]]], *, seed: int) -> None:
    """Deliver every record, some twice, in any order, in two batches, then some again: silver is the ledger."""
    with tempfile.TemporaryDirectory() as folder:
        rumour = told_world(stories, folder=folder, name=uuid.uuid4().hex[:8])
    random = Random(seed)
    records = list(enumerate([*rumour.records, *random.choices(rumour.records, k=5)]))
    random.shuffle(records)
    half = len(records) // 2

    for batch in (records[:half], records[half:], records[: half // 2]):
        Flow(layout).settle(bronzed(spark, batch))

    silver = spark.read.format("delta").load(layout.path("silver")).where("not is_deleted")
    rows = [row for row in silver.collect() if row.item_ref in rumour.world.ledger.items]
    found = {
        (row.item_ref, row.provider_transaction_id): (row.amount, row.status, row.description_clean, row.currency)
        for row in rows
    }
    assert spark.read.format("delta").load(layout.path("quarantine")).count() == 0
    assert len(found) == len(rows)
    assert found == model(rumour.world)


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """Tables for all examples: each has items of its own."""
    made = Layout(str(tmp_path_factory.mktemp("tables")))
    made.create(spark)
    return made


def bronzed(spark: SparkSession, records: Sequence[tuple[int, Outgoing]]) -> DataFrame:
    return bronze(frame(spark, records))


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@given(STORIES, st.integers(0, 1000))
@settings(max_examples=3, deadline=None, suppress_health_check=SLOW, phases=[Phase.generate], derandomize=True)
def test_silver_is_the_ledger_whatever_way_it_came(
    spark: SparkSession, shared: Layout, stories: list[tuple[str, list[Step]]], seed: int
) -> None:
    check(spark, shared, stories, seed=seed)


@pytest.mark.long
@pytest.mark.timeout(3600)
@given(STORIES, st.integers(0, 1000))
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
def test_silver_is_the_ledger_for_many_more_ledgers(
    spark: SparkSession, shared: Layout, stories: list[tuple[str, list[Step]]], seed: int
) -> None:
    check(spark, shared, stories, seed=seed)


def test_the_same_ledger_through_all_providers_gives_the_same_rows(
    spark: SparkSession, shared: Layout, tmp_path: Path
) -> None:
    steps = [Step("new", number, Decimal(number * 101 - 300) / 100, TEXTS[number % 5]) for number in range(8)]
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

    rumour = told_world([(name, steps) for name in PROVIDERS], folder=str(tmp_path), name="twins")
    Flow(shared).take(frame(spark, list(enumerate(rumour.records))))
    classified = spark.read.format("delta").load(shared.path("classified")).where("user_ref like 'user-twins-%'")
    rows = {
        name: sorted(tuple(row) for row in classified.where(f"provider = '{name}'").select(*content).collect())
        for name in PROVIDERS
    }

    assert len(rows["plaid"]) == len(steps)
    assert rows["plaid"] == rows["yodlee"]
    assert rows["plaid"] == rows["fdx"]
