"""A fetch is complete or fails, keeps to the limits, and loses nothing when the worker dies."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from account_linking import fetch_tasks
from account_linking.demo.deployment import linked_items
from account_linking.demo.expected_rows import expected_rows
from account_linking.demo.fetch_harness import FetchHarness
from account_linking.demo.ledger import START, Account, BankLedger, Movement, MovementChange, SimulatedItem
from account_linking.demo.ledger_generator import generate_households
from account_linking.demo.simulator import plaid
from account_linking.demo.simulator.banks import FaultInjection, SimulatedBanks
from account_linking.demo.simulator.server import app, serve
from account_linking.errors import Poison, TryLater
from account_linking.providers import every_provider
from account_linking.providers.model import ApiResponse, FetchTask, LinkedItem
from account_linking.providers.yodlee.client import missed_fetch_tasks as yodlee_missed
from account_linking.requester.api import HttpApi, http_sessions
from account_linking.requester.limits import TokenBucket
from account_linking.requester.worker import MAX_RECORDS_PER_FETCH, Requester
from account_linking.store import SqliteStore
from account_linking.sweeper import missed_fetch_tasks
from leadsman.lab.processes.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from account_linking.requester.worker import Outgoing

ITEM = SimulatedItem(id="i", provider="plaid", user="anna", accounts=(Account(id="a", kind="checking"),))
TASK = FetchTask(provider="plaid", item="i")


def change(number: int, *, removed: bool = False) -> MovementChange:
    movement = Movement(id=f"m{number}", account="a", kind="shop", amount=Decimal(1), day=START.date(), text="x")
    return MovementChange(at=float(number), item="i", movement=movement, removed=removed)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    items = SqliteStore(tmp_path / "items.sqlite")
    items.add([LinkedItem(provider="plaid", item="i", user="anna", token="access-i")])
    return items


@pytest.fixture
def banks() -> SimulatedBanks:
    simulated = SimulatedBanks(BankLedger({"i": ITEM}), FaultInjection(page_rows=2))
    simulated.apply_changes([change(number) for number in range(7)])
    return simulated


@pytest.fixture
def harness(banks: SimulatedBanks, store: SqliteStore) -> FetchHarness:
    return FetchHarness(banks, store)


def transactions(records: Sequence[Outgoing]) -> list[Outgoing]:
    return [each for each in records if each.topic.endswith("transactions.raw")]


def ids(records: Sequence[Outgoing]) -> list[str]:
    return [json.loads(each.value)["transaction_id"] for each in transactions(records)]


def revisions(records: Sequence[Outgoing]) -> list[int]:
    return [int(dict(each.headers)["revision"]) for each in records]


def test_all_pages_come_as_one_update(harness: FetchHarness) -> None:
    harness.fetch("i")

    assert ids(harness.records) == [f"m{number}" for number in range(7)]
    assert revisions(harness.records) == [MAX_RECORDS_PER_FETCH + place for place in range(8)]


def test_a_change_between_two_pages_restarts_the_sync(harness: FetchHarness, banks: SimulatedBanks) -> None:
    changes = [change(7), change(3, removed=True)]
    harness.between_pages = lambda: (
        banks.apply_changes([replace(changes.pop(0), at=banks.now + 1)]) if changes else None
    )

    harness.fetch("i")

    assert banks.call_counts["mutations"] == 1
    assert ids(harness.records) == ["m0", "m1", "m2", "m4", "m5", "m6", "m7"]


def test_a_sync_that_changes_on_every_page_is_tried_later(harness: FetchHarness, banks: SimulatedBanks) -> None:
    harness.between_pages = lambda: banks.apply_changes([change(int(banks.now) + 1)])

    with pytest.raises(TryLater, match="changed 5 times"):
        harness.fetch("i")

    assert harness.records == []


def test_a_worker_that_dies_before_the_cursor_moves_is_repeated_with_higher_revisions(harness: FetchHarness) -> None:
    harness.fetch("i", dies=True)
    dead = list(harness.records)

    harness.fetch("i")

    again = harness.records[len(dead) :]
    assert ids(again) == ids(dead)
    assert min(revisions(again)) > max(revisions(dead))


def test_a_transaction_that_a_dead_worker_published_and_that_was_removed_since_is_deleted(
    harness: FetchHarness, banks: SimulatedBanks
) -> None:
    harness.fetch("i", dies=True)
    banks.apply_changes([replace(change(3, removed=True), at=banks.now + 1)])

    harness.fetch("i")

    latest = dict(zip(ids(harness.records), transactions(harness.records), strict=True))
    assert dict(latest["m3"].headers)["op"] == b"DELETE"
    assert [name for name, record in latest.items() if dict(record.headers)["op"] == b"DELETE"] == ["m3"]


def test_a_login_that_is_no_longer_accepted_is_published_once_and_not_retried(
    harness: FetchHarness, banks: SimulatedBanks, store: SqliteStore
) -> None:
    banks.login_required.add("i")

    harness.fetch("i")

    (record,) = harness.records
    assert record.topic == "item.state"
    assert json.loads(record.value) == {"provider": "plaid", "item": "i", "user": "anna", "state": "login_required"}
    assert store.stale(before=time.time()) == []


def test_an_item_with_a_valid_claim_is_tried_later(harness: FetchHarness, store: SqliteStore) -> None:
    store.claim("plaid", "i", now=time.time(), until=time.time() + 60)

    with pytest.raises(TryLater, match="another worker"):
        harness.fetch("i")


def test_an_item_that_is_not_linked_is_poison(store: SqliteStore) -> None:
    requester = Requester(
        store=store, api=lambda _name, _deadline: pytest.fail("the API was called"), publish=lambda *_, **__: None
    )

    with pytest.raises(Poison, match="is linked"):
        requester.handle(FetchTask(provider="plaid", item="not-linked"), timeout=timedelta(seconds=5))


def test_a_worker_whose_item_was_claimed_meanwhile_is_tried_again(banks: SimulatedBanks, store: SqliteStore) -> None:
    harness = FetchHarness(banks, store)
    harness.between_pages = lambda: claim_item(store)

    with pytest.raises(TryLater, match="meanwhile"):
        harness.fetch("i")


def claim_item(store: SqliteStore) -> None:
    store.claim("plaid", "i", now=time.time() + 3600, until=time.time() + 3700)


def test_rate_limits_and_outages_are_waited_out(banks: SimulatedBanks, store: SqliteStore) -> None:
    banks.faults = FaultInjection(page_rows=1, calls_per_second=20, error_rate=0.4, seed=3)
    published: list[Outgoing] = []

    with serve(app(banks, plaid.Signer()), free_ports(1)[0]) as url:
        bucket = TokenBucket(1000, burst=8, now=time.monotonic)
        requester = Requester(
            store=store,
            api=lambda _, deadline: HttpApi(
                base_url=f"{url}/plaid", sessions=http_sessions(), bucket=bucket, deadline=deadline
            ),
            publish=lambda records, **_: published.extend(records),
        )
        requester.handle(TASK, timeout=timedelta(seconds=30))

    assert ids(published) == [f"m{number}" for number in range(7)]
    assert banks.call_counts["500"] > 0


def test_retries_end_before_the_invocation_does(store: SqliteStore) -> None:
    (closed_port,) = free_ports(1)
    bucket = TokenBucket(1000, burst=8, now=time.monotonic)
    requester = Requester(
        store=store,
        api=lambda _, deadline: HttpApi(
            base_url=f"http://127.0.0.1:{closed_port}", sessions=http_sessions(), bucket=bucket, deadline=deadline
        ),
        publish=lambda *_, **__: None,
    )
    began = time.monotonic()

    with pytest.raises(TryLater, match="too late"):
        requester.handle(TASK, timeout=timedelta(seconds=1))

    assert time.monotonic() - began < 5


def test_a_bucket_lets_no_more_through_than_its_rate() -> None:
    now = [0.0]
    bucket = TokenBucket(10, burst=2, now=lambda: now[0])

    waits = [bucket.take() for _ in range(5)]

    assert waits == pytest.approx([0, 0, 0.1, 0.2, 0.3])


def test_threads_share_a_bucket() -> None:
    bucket = TokenBucket(10, burst=100, now=lambda: 0.0)
    threads = [threading.Thread(target=lambda: [bucket.take() for _ in range(50)]) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert bucket.take() == pytest.approx(10.1)


def test_the_sweeper_requests_items_without_recent_sync(store: SqliteStore) -> None:
    found = list(missed_fetch_tasks(store, now=time.time()))

    assert [json.loads(each.value) for each in found] == [{"provider": "plaid", "item": "i", "link": ""}]


def test_the_sweeper_replaces_lost_webhooks(tmp_path: Path) -> None:
    ledger = generate_households(3, per_provider=1, providers=("plaid", "yodlee", "fdx"), months=1)
    banks = SimulatedBanks(ledger, FaultInjection(), now=0.0)
    store = SqliteStore(tmp_path / "swept.sqlite")
    store.add(linked_items(banks))
    harness = FetchHarness(banks, store)

    for outgoing in missed_fetch_tasks(store, now=START.timestamp()):
        harness.handle(fetch_tasks.load(outgoing.value))

    published = {each.value for each in harness.records if each.topic.endswith("transactions.raw")}
    assert len(published) == len(expected_rows(ledger, at=0.0))


def missed_windows(cursor: str, now: datetime) -> list[str]:
    link = LinkedItem(provider="yodlee", item="anna", user="anna", token="t")
    return [task.link for task in yodlee_missed(link, cursor, now)]


def test_missed_windows_of_yodlee_are_an_hour_each_and_reach_until_now() -> None:
    now = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)

    windows = missed_windows("2026-05-25T12:00:00Z/2026-06-01T10:00:00Z", now)

    assert windows == [
        "fromDate=2026-06-01T10:00:00Z&toDate=2026-06-01T11:00:00Z",
        "fromDate=2026-06-01T11:00:00Z&toDate=2026-06-01T12:00:00Z",
        "fromDate=2026-06-01T12:00:00Z&toDate=2026-06-01T12:30:00Z",
    ]


def test_missed_windows_before_the_first_fetched_one_go_back_seven_days() -> None:
    now = datetime(2026, 6, 8, 12, tzinfo=UTC)

    never, once = missed_windows("", now), missed_windows("2026-06-08T11:00:00Z/2026-06-08T12:00:00Z", now)

    assert never[0] == "fromDate=2026-06-08T11:05:00Z&toDate=2026-06-08T12:00:00Z"
    assert never[-1] == once[-1] == "fromDate=2026-06-01T12:05:00Z&toDate=2026-06-01T13:05:00Z"
    assert (len(never), len(once)) == (168, 167)


def test_a_stretch_older_than_yodlee_keeps_begins_anew() -> None:
    now = datetime(2026, 6, 30, tzinfo=UTC)

    windows = missed_windows("2026-06-01T10:00:00Z/2026-06-01T12:00:00Z", now)

    assert windows[0].startswith("fromDate=2026-06-23T00:05:00Z")
    assert len(windows) == 168


MALFORMED: list[Any] = [
    5,
    None,
    "x",
    [],
    {},
    {"account_id": None, "accountId": {}, "id": []},
    {"id": "\ud800", "isDeleted": "false"},
]
PAGES = {
    "plaid": {"added": MALFORMED, "removed": MALFORMED, "accounts": MALFORMED, "next_cursor": "c", "has_more": False},
    "yodlee": {"transaction": MALFORMED, "account": MALFORMED},
    "fdx": {"accounts": MALFORMED, "transactions": MALFORMED, "asOf": "now", "page": {}},
}


@dataclass(frozen=True)
class OnePage:
    """An API that always gives the same response."""

    body: bytes

    def call(self, method: str, path: str, **request: Any) -> ApiResponse:  # noqa: ARG002 - as an Api
        return ApiResponse(200, self.body)


def window_of(name: str) -> str:
    return "fromDate=2026-06-01T00:00:00Z&toDate=2026-06-01T00:15:00Z" if name == "yodlee" else ""


def cursor_of(name: str) -> str:
    """Yodlee's cursor of a range without a missing window: otherwise a fetch asks for those too."""
    return "2026-05-20T00:00:00Z/2026-06-01T00:15:00Z" if name == "yodlee" else ""


@pytest.mark.parametrize(("name", "count"), [("plaid", 21), ("yodlee", 14), ("fdx", 7)])
def test_malformed_records_of_a_provider_are_published_and_none_is_deleted_by_them(name: str, count: int) -> None:
    link = LinkedItem(provider=name, item="i", user="anna", token="t")
    task = FetchTask(provider=name, item="i", link=window_of(name))

    result = every_provider()[name].fetch(task, link, cursor_of(name), OnePage(json.dumps(PAGES[name]).encode()))

    assert len(result.records) == count
    assert all(json.loads(record.value) in MALFORMED for record in result.records)
    assert [record.op for record in result.records].count("DELETE") == (7 if name == "plaid" else 0)
    assert all(record.account.encode() is not None for record in result.records)


@pytest.mark.parametrize("name", ["plaid", "yodlee", "fdx"])
@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b"[" * 100_000, b'{"added": 5, "transaction": 5, "accounts": 5}', b"<html>", b"\xff", b"5"],
)
def test_a_response_that_is_no_page_is_tried_later(name: str, body: bytes) -> None:
    link = LinkedItem(provider=name, item="i", user="anna", token="t")
    task = FetchTask(provider=name, item="i", link=window_of(name))

    with pytest.raises(TryLater):
        every_provider()[name].fetch(task, link, "", OnePage(body))
