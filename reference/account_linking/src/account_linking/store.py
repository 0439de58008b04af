"""Items and their cursors in SQLite, behind calls that DynamoDB would serve with conditional writes.

A worker claims an item before it calls the provider, and moves the cursor only if no other worker has claimed the item
since. The claim's number orders all published records: a later fetch has the higher number.

A fetch result is saved here before it is published, until the cursor has moved. If the worker dies in between, the next
worker publishes the saved records and does not fetch again from the old cursor: a transaction that appeared, was
published and was deleted before the second fetch would be in neither of the two states that the provider compares, and
would stay in the tables for ever. DynamoDB allows 400 KB an item: with DynamoDB, put larger results into S3 and the
object's key into the item.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

from account_linking.providers.model import FetchResult, LinkedItem, RawRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

BUSY_SECONDS = 10
"""How long a writer waits for another writer's lock. A write takes a millisecond."""

TABLES = """
create table if not exists link (
    provider text, item text, user text not null, token text not null,
    cursor text not null default '', claim integer not null default 0, claimed_until real not null default 0,
    synced_at real not null default 0, state text not null default 'good', unfinished text not null default '',
    primary key (provider, item)
) without rowid
"""

DELIVERIES = """
create table if not exists delivery (name text primary key, until real not null) without rowid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to fetch one item. `number` grows with each claim of the item.

    `unfinished` is the fetch result that an earlier worker saved for this cursor and did not finish publishing.
    """

    link: LinkedItem
    cursor: str
    number: int
    unfinished: FetchResult | None = None


class Store(Protocol):
    """The calls that a store must serve. Each call is one conditional write, or one read."""

    def claim(self, provider: str, item: str, *, now: float, until: float) -> Claim | None:
        """Claim an item until a time; None while another worker's claim is valid. KeyError if the item is unknown."""

    def save_unfinished(self, claim: Claim, result: FetchResult) -> bool:
        """Save a fetch result before publishing, unless the item was claimed later; return whether it was saved."""

    def advance(self, claim: Claim, cursor: str, *, now: float) -> bool:
        """Move the cursor and release the item, unless it was claimed later; return whether the cursor moved."""

    def release(self, claim: Claim, *, state: str = "good") -> None:
        """Release the item without moving its cursor, unless it was claimed later."""

    def stale(self, *, before: float) -> list[Claim]:
        """Return the items in good state that were last synced before a time, with their cursors. Claims no item."""

    def add(self, links: Iterable[LinkedItem]) -> None:
        """Add items, or change their user and token."""

    def remember_delivery(self, name: str, *, now: float, until: float) -> bool:
        """Remember a webhook's delivery until a time, unless it is remembered already; return whether it was new.

        One atomic step: of ten copies that arrive at once, one is new. It inserts the name, or replaces one whose time
        has passed (`until <= :now`).
        """

    def forget_delivery(self, name: str) -> None:
        """Forget a delivery that could not be stored, so that the provider's next attempt is new."""


class SqliteStore:
    """The store in one file, shared by the processes of one machine."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        with self._connection() as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute(TABLES)
            connection.execute(DELIVERIES)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open, use in one transaction, close: a connection must not outlive a freeze or a fork."""
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection, connection:
            yield connection

    def add(self, links: Iterable[LinkedItem]) -> None:
        """Add items, or change their user and token."""
        with self._connection() as connection:
            connection.executemany(
                "insert into link (provider, item, user, token) values (?, ?, ?, ?)"
                " on conflict do update set user = excluded.user, token = excluded.token, state = 'good'",
                [(link.provider, link.item, link.user, link.token) for link in links],
            )

    def claim(self, provider: str, item: str, *, now: float, until: float) -> Claim | None:
        """Claim an item until a time; None while another worker's claim is valid. KeyError if the item is unknown."""
        with self._connection() as connection:
            row = connection.execute(
                "update link set claim = claim + 1, claimed_until = ?"
                " where provider = ? and item = ? and claimed_until <= ?"
                " returning user, token, cursor, claim, unfinished",
                (until, provider, item, now),
            ).fetchone()
            known = (
                row
                or connection.execute("select 1 from link where provider = ? and item = ?", (provider, item)).fetchone()
            )
        if not known:
            raise KeyError(item)
        if not row:
            return None
        user, token, cursor, number, unfinished = row
        link = LinkedItem(provider=provider, item=item, user=user, token=token)
        return Claim(
            link=link, cursor=cursor, number=number, unfinished=_parse_fetch_result(unfinished) if unfinished else None
        )

    def save_unfinished(self, claim: Claim, result: FetchResult) -> bool:
        """Save a fetch result before publishing, unless the item was claimed later; return whether it was saved."""
        with self._connection() as connection:
            done = connection.execute(
                "update link set unfinished = ? where provider = ? and item = ? and claim = ?",
                (json.dumps(asdict(result)), claim.link.provider, claim.link.item, claim.number),
            )
            return done.rowcount == 1

    def advance(self, claim: Claim, cursor: str, *, now: float) -> bool:
        """Move the cursor and release the item, unless it was claimed later; return whether the cursor moved."""
        with self._connection() as connection:
            done = connection.execute(
                "update link set cursor = ?, unfinished = '', claimed_until = 0, synced_at = ?, state = 'good'"
                " where provider = ? and item = ? and claim = ?",
                (cursor, now, claim.link.provider, claim.link.item, claim.number),
            )
            return done.rowcount == 1

    def release(self, claim: Claim, *, state: str = "good") -> None:
        """Release the item without moving its cursor, unless it was claimed later."""
        with self._connection() as connection:
            connection.execute(
                "update link set claimed_until = 0, state = ? where provider = ? and item = ? and claim = ?",
                (state, claim.link.provider, claim.link.item, claim.number),
            )

    def stale(self, *, before: float) -> list[Claim]:
        """Return the items in good state that were last synced before a time, with their cursors. Claims no item."""
        with self._connection() as connection:
            rows = connection.execute(
                "select provider, item, user, token, cursor, claim from link where synced_at < ? and state = 'good'",
                (before,),
            ).fetchall()
        return [
            Claim(
                link=LinkedItem(provider=row[0], item=row[1], user=row[2], token=row[3]), cursor=row[4], number=row[5]
            )
            for row in rows
        ]

    def remember_delivery(self, name: str, *, now: float, until: float) -> bool:
        """Remember a webhook's delivery until a time, unless it is remembered already; return whether it was new."""
        with self._connection() as connection:
            connection.execute("delete from delivery where until <= ?", (now,))
            done = connection.execute("insert into delivery values (?, ?) on conflict do nothing", (name, until))
            return done.rowcount == 1

    def forget_delivery(self, name: str) -> None:
        """Forget a delivery that could not be stored, so that the provider's next attempt is new."""
        with self._connection() as connection:
            connection.execute("delete from delivery where name = ?", (name,))


def _parse_fetch_result(text: str) -> FetchResult:
    document = json.loads(text)
    return FetchResult(tuple(RawRecord(**record) for record in document["records"]), document["cursor"])
