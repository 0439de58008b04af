"""Nobody fetches an item twice at a time, and nobody moves a cursor that somebody else has taken over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from account_linking.providers.model import Link, Raw, Update
from account_linking.store import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    made = SqliteStore(tmp_path / "items.sqlite")
    made.add([Link(provider="plaid", item="one", user="anna", token="t")])
    return made


def test_a_claim_excludes_the_next_until_its_time_is_over(store: SqliteStore) -> None:
    first = store.claim("plaid", "one", now=0, until=30)

    second, third = store.claim("plaid", "one", now=29, until=60), store.claim("plaid", "one", now=30, until=60)

    assert first is not None
    assert second is None
    assert third is not None
    assert third.number > first.number


def test_who_was_overtaken_does_not_move_the_cursor(store: SqliteStore) -> None:
    slow = store.claim("plaid", "one", now=0, until=30)
    quick = store.claim("plaid", "one", now=31, until=60)
    assert slow
    assert quick

    late, in_time = store.advance(slow, "old", now=40), store.advance(quick, "new", now=40)

    again = store.claim("plaid", "one", now=41, until=60)
    assert (late, in_time) == (False, True)
    assert again
    assert again.cursor == "new"


def test_what_was_begun_is_kept_until_the_cursor_moves(store: SqliteStore) -> None:
    update = Update((Raw(entity="transactions", account="a", value="{}", op="DELETE"),), "next")
    first = store.claim("plaid", "one", now=0, until=30)
    assert first
    begun = store.begin(first, update)
    store.release(first)

    second = store.claim("plaid", "one", now=1, until=30)
    assert second
    too_late = store.begin(first, Update((), "late"))
    store.advance(second, "next", now=2)

    third = store.claim("plaid", "one", now=3, until=30)
    assert third
    assert (begun, too_late) == (True, False)
    assert (first.begun, second.begun, third.begun) == (None, update, None)


def test_of_many_at_once_one_gets_the_item(store: SqliteStore) -> None:
    with ThreadPoolExecutor(16) as pool:
        claims = list(pool.map(lambda _: store.claim("plaid", "one", now=0, until=30), range(64)))

    assert len([claim for claim in claims if claim]) == 1


def test_an_unknown_item_is_told_from_one_in_use(store: SqliteStore) -> None:
    with pytest.raises(KeyError):
        store.claim("plaid", "nobody", now=0, until=30)


def test_what_was_not_synced_is_stale_unless_its_holder_must_act(store: SqliteStore) -> None:
    store.add([Link(provider="plaid", item=name, user="anna", token="t") for name in ("two", "three")])
    synced = store.claim("plaid", "two", now=0, until=30)
    parked = store.claim("plaid", "three", now=0, until=30)
    assert synced
    assert parked
    store.advance(synced, "c", now=100)
    store.release(parked, state="login_required")

    stale = store.stale(before=50)

    assert [claim.link.item for claim in stale] == ["one"]
