"""Only one worker claims an item at a time, and a worker whose claim expired cannot move the cursor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from account_linking.providers.model import FetchResult, LinkedItem, RawRecord
from account_linking.store import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    made = SqliteStore(tmp_path / "items.sqlite")
    made.add([LinkedItem(provider="plaid", item="one", user="anna", token="t")])
    return made


def test_a_claim_excludes_others_until_it_expires(store: SqliteStore) -> None:
    first = store.claim("plaid", "one", now=0, until=30)

    second, third = store.claim("plaid", "one", now=29, until=60), store.claim("plaid", "one", now=30, until=60)

    assert first is not None
    assert second is None
    assert third is not None
    assert third.number > first.number


def test_an_expired_claim_does_not_move_the_cursor(store: SqliteStore) -> None:
    slow = store.claim("plaid", "one", now=0, until=30)
    quick = store.claim("plaid", "one", now=31, until=60)
    assert slow
    assert quick

    late, in_time = store.advance(slow, "old", now=40), store.advance(quick, "new", now=40)

    again = store.claim("plaid", "one", now=41, until=60)
    assert (late, in_time) == (False, True)
    assert again
    assert again.cursor == "new"


def test_an_unfinished_result_is_kept_until_the_cursor_moves(store: SqliteStore) -> None:
    result = FetchResult((RawRecord(entity="transactions", account="a", value="{}", op="DELETE"),), "next")
    first = store.claim("plaid", "one", now=0, until=30)
    assert first
    is_saved = store.save_unfinished(first, result)
    store.release(first)

    second = store.claim("plaid", "one", now=1, until=30)
    assert second
    too_late = store.save_unfinished(first, FetchResult((), "late"))
    store.advance(second, "next", now=2)

    third = store.claim("plaid", "one", now=3, until=30)
    assert third
    assert (is_saved, too_late) == (True, False)
    assert (first.unfinished, second.unfinished, third.unfinished) == (None, result, None)


def test_of_64_concurrent_claims_one_succeeds(store: SqliteStore) -> None:
    with ThreadPoolExecutor(16) as pool:
        claims = list(pool.map(lambda _: store.claim("plaid", "one", now=0, until=30), range(64)))

    assert len([claim for claim in claims if claim]) == 1


def test_an_unknown_item_is_an_error_and_not_a_failed_claim(store: SqliteStore) -> None:
    with pytest.raises(KeyError):
        store.claim("plaid", "unknown", now=0, until=30)


def test_items_without_sync_are_stale_unless_the_holder_must_log_in(store: SqliteStore) -> None:
    store.add([LinkedItem(provider="plaid", item=name, user="anna", token="t") for name in ("two", "three")])
    synced = store.claim("plaid", "two", now=0, until=30)
    login_required = store.claim("plaid", "three", now=0, until=30)
    assert synced
    assert login_required
    store.advance(synced, "c", now=100)
    store.release(login_required, state="login_required")

    stale = store.stale(before=50)

    assert [claim.link.item for claim in stale] == ["one"]


def test_a_delivery_is_new_once_until_its_time_has_passed(store: SqliteStore) -> None:
    answers = [
        store.remember_delivery("plaid|a", now=0, until=10),
        store.remember_delivery("plaid|a", now=9, until=19),
        store.remember_delivery("plaid|b", now=9, until=19),
        store.remember_delivery("plaid|a", now=10, until=20),
        store.remember_delivery("plaid|a", now=11, until=21),
    ]

    assert answers == [True, False, True, True, False]


def test_a_delivery_that_was_not_stored_is_forgotten_alone(store: SqliteStore) -> None:
    for name in ("plaid|a", "plaid|b"):
        store.remember_delivery(name, now=0, until=600)

    store.forget_delivery("plaid|a")

    answers = [store.remember_delivery(name, now=1, until=601) for name in ("plaid|a", "plaid|b")]
    assert answers == [True, False]


def test_of_64_copies_of_a_delivery_at_once_one_is_new(store: SqliteStore) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: store.remember_delivery("plaid|a", now=0, until=10), range(64)))

    assert answers.count(True) == 1
