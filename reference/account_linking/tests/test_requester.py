"""A fetch is whole or not at all, keeps to the limits, and loses nothing whenever it is cut off."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from account_linking import elements
from account_linking.demo.balance import expected
from account_linking.demo.history import households
from account_linking.demo.ledger import START, Account, Change, Item, Ledger, Movement
from account_linking.demo.rumour import Rumour
from account_linking.demo.simulator import plaid
from account_linking.demo.simulator.server import app, served
from account_linking.demo.simulator.world import Weather, World
from account_linking.demo.stage import links
from account_linking.errors import Poison, TryLater
from account_linking.providers.model import Element, Link
from account_linking.providers.yodlee.client import missed as yodlee_missed
from account_linking.requester.api import HttpApi, http_sessions
from account_linking.requester.limits import Bucket
from account_linking.requester.worker import POSITIONS, Requester
from account_linking.store import SqliteStore
from account_linking.sweeper import missed
from leadsman.lab.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from account_linking.requester.worker import Outgoing

ITEM = Item(id="i", provider="plaid", user="anna", accounts=(Account(id="a", kind="checking"),))
ELEMENT = Element(provider="plaid", item="i")


def change(number: int, *, gone: bool = False) -> Change:
    movement = Movement(id=f"m{number}", account="a", kind="shop", amount=Decimal(1), day=START.date(), text="x")
    return Change(at=float(number), item="i", movement=movement, gone=gone)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    made = SqliteStore(tmp_path / "items.sqlite")
    made.add([Link(provider="plaid", item="i", user="anna", token="access-i")])
    return made


@pytest.fixture
def world() -> World:
    made = World(Ledger({"i": ITEM}), Weather(page_rows=2))
    made.happen([change(number) for number in range(7)])
    return made


@pytest.fixture
def rumour(world: World, store: SqliteStore) -> Rumour:
    return Rumour(world, store)


def transactions(records: Sequence[Outgoing]) -> list[Outgoing]:
    return [each for each in records if each.topic.endswith("transactions.raw")]


def ids(records: Sequence[Outgoing]) -> list[str]:
    return [json.loads(each.value)["transaction_id"] for each in transactions(records)]


def revisions(records: Sequence[Outgoing]) -> list[int]:
    return [int(dict(each.headers)["revision"]) for each in records]


def test_all_pages_come_as_one_update(rumour: Rumour) -> None:
    rumour.fetch("i")

    assert ids(rumour.records) == [f"m{number}" for number in range(7)]
    assert revisions(rumour.records) == [POSITIONS + place for place in range(8)]


def test_a_change_between_two_pages_begins_the_sync_anew(rumour: Rumour, world: World) -> None:
    news = [change(7), change(3, gone=True)]
    rumour.between_pages = lambda: world.happen([replace(news.pop(0), at=world.now + 1)]) if news else None

    rumour.fetch("i")

    assert world.calls["mutations"] == 1
    assert ids(rumour.records) == ["m0", "m1", "m2", "m4", "m5", "m6", "m7"]


def test_a_sync_that_never_holds_still_is_tried_later(rumour: Rumour, world: World) -> None:
    rumour.between_pages = lambda: world.happen([change(int(world.now) + 1)])

    with pytest.raises(TryLater, match="changed 5 times"):
        rumour.fetch("i")

    assert rumour.records == []


def test_a_worker_that_dies_before_the_cursor_moves_is_repeated_with_higher_revisions(rumour: Rumour) -> None:
    rumour.fetch("i", dies=True)
    dead = list(rumour.records)

    rumour.fetch("i")

    again = rumour.records[len(dead) :]
    assert ids(again) == ids(dead)
    assert min(revisions(again)) > max(revisions(dead))


def test_what_a_dead_worker_had_published_and_is_gone_by_now_is_deleted(rumour: Rumour, world: World) -> None:
    rumour.fetch("i", dies=True)
    world.happen([replace(change(3, gone=True), at=world.now + 1)])

    rumour.fetch("i")

    latest = dict(zip(ids(rumour.records), transactions(rumour.records), strict=True))
    assert dict(latest["m3"].headers)["op"] == b"DELETE"
    assert [name for name, record in latest.items() if dict(record.headers)["op"] == b"DELETE"] == ["m3"]


def test_a_login_that_is_no_longer_accepted_is_told_once_and_not_retried(
    rumour: Rumour, world: World, store: SqliteStore
) -> None:
    world.login_required.add("i")

    rumour.fetch("i")

    (told,) = rumour.records
    assert told.topic == "item.state"
    assert json.loads(told.value) == {"provider": "plaid", "item": "i", "user": "anna", "state": "login_required"}
    assert store.stale(before=time.time()) == []


def test_an_item_in_use_is_left_for_later(rumour: Rumour, store: SqliteStore) -> None:
    store.claim("plaid", "i", now=time.time(), until=time.time() + 60)

    with pytest.raises(TryLater, match="somebody else"):
        rumour.fetch("i")


def test_an_item_that_nobody_linked_is_poison(store: SqliteStore) -> None:
    requester = Requester(store=store, api=lambda _name, _deadline: pytest.fail("asked"), publish=lambda *_, **__: None)

    with pytest.raises(Poison, match="is linked"):
        requester.handle(Element(provider="plaid", item="nobody"), within=timedelta(seconds=5))


def test_a_worker_that_was_overtaken_says_so_and_its_event_comes_again(world: World, store: SqliteStore) -> None:
    rumour = Rumour(world, store)
    rumour.between_pages = lambda: overtake(store)

    with pytest.raises(TryLater, match="meanwhile"):
        rumour.fetch("i")


def overtake(store: SqliteStore) -> None:
    store.claim("plaid", "i", now=time.time() + 3600, until=time.time() + 3700)


def test_rate_limits_and_outages_are_waited_for(world: World, store: SqliteStore) -> None:
    world.weather = Weather(page_rows=1, per_second=20, errors=0.4, seed=3)
    published: list[Outgoing] = []

    with served(app(world, plaid.Signer()), free_ports(1)[0]) as url:
        bucket = Bucket(1000, burst=8, now=time.monotonic)
        requester = Requester(
            store=store,
            api=lambda _, deadline: HttpApi(
                base=f"{url}/plaid", sessions=http_sessions(), bucket=bucket, deadline=deadline
            ),
            publish=lambda records, **_: published.extend(records),
        )
        requester.handle(ELEMENT, within=timedelta(seconds=30))

    assert ids(published) == [f"m{number}" for number in range(7)]
    assert world.calls["500"] > 0


def test_waiting_ends_before_the_invocation_does(store: SqliteStore) -> None:
    (nobody,) = free_ports(1)
    bucket = Bucket(1000, burst=8, now=time.monotonic)
    requester = Requester(
        store=store,
        api=lambda _, deadline: HttpApi(
            base=f"http://127.0.0.1:{nobody}", sessions=http_sessions(), bucket=bucket, deadline=deadline
        ),
        publish=lambda *_, **__: None,
    )
    began = time.monotonic()

    with pytest.raises(TryLater, match="too late"):
        requester.handle(ELEMENT, within=timedelta(seconds=1))

    assert time.monotonic() - began < 5


def test_a_bucket_lets_no_more_through_than_its_rate() -> None:
    now = [0.0]
    bucket = Bucket(10, burst=2, now=lambda: now[0])

    waits = [bucket.take() for _ in range(5)]

    assert waits == pytest.approx([0, 0, 0.1, 0.2, 0.3])


def test_threads_share_a_bucket() -> None:
    bucket = Bucket(10, burst=100, now=lambda: 0.0)
    threads = [threading.Thread(target=lambda: [bucket.take() for _ in range(50)]) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert bucket.take() == pytest.approx(10.1)


def test_the_sweeper_asks_for_what_was_silent(store: SqliteStore) -> None:
    found = list(missed(store, now=time.time()))

    assert [json.loads(each.value) for each in found] == [{"provider": "plaid", "item": "i", "link": ""}]


def test_the_sweeper_makes_up_for_webhooks_that_nobody_received(tmp_path: Path) -> None:
    ledger = households(3, per_provider=1, providers=("plaid", "yodlee", "fdx"), months=1)
    world = World(ledger, Weather(), now=0.0)
    store = SqliteStore(tmp_path / "swept.sqlite")
    store.add(links(world))
    rumour = Rumour(world, store)

    for asked in missed(store, now=START.timestamp()):
        rumour.handle(elements.load(asked.value))

    told = {each.value for each in rumour.records if each.topic.endswith("transactions.raw")}
    assert len(told) == len(expected(ledger, at=0.0))


def test_missed_windows_of_yodlee_are_an_hour_each_and_reach_until_now() -> None:
    link = Link(provider="yodlee", item="anna", user="anna", token="t")
    now = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)

    windows = [element.link for element in yodlee_missed(link, "2026-06-01T10:00:00Z", now)]

    assert windows == [
        "fromDate=2026-06-01T10:00:00Z&toDate=2026-06-01T11:00:00Z",
        "fromDate=2026-06-01T11:00:00Z&toDate=2026-06-01T12:00:00Z",
        "fromDate=2026-06-01T12:00:00Z&toDate=2026-06-01T12:30:00Z",
    ]
