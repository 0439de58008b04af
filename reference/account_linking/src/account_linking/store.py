"""Items and their cursors, behind the few calls that DynamoDB would serve with conditional writes. Here: SQLite.

A fetch claims its item before it asks the provider for anything, and moves the cursor only if nobody claimed the item
after it. The claim's number orders all that is published: what was fetched later has the higher number.

What is about to be published is kept here until the cursor has moved, so that a worker's death in between is followed
by the same records and not by another fetch from the old cursor: a transaction that came, was published, and went
before that fetch would be in neither of the two states that the provider compares, and would stay in the tables.
DynamoDB holds 400 KB an item; there, larger updates belong to S3, and their key here.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

from account_linking.providers.model import Link, Raw, Update

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

BUSY_SECONDS = 10
"""How long a writer waits for another one. A write takes a millisecond."""

TABLES = """
create table if not exists link (
    provider text, item text, user text not null, token text not null,
    cursor text not null default '', claim integer not null default 0, held_until real not null default 0,
    synced_at real not null default 0, state text not null default 'good', begun text not null default '',
    primary key (provider, item)
) without rowid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to fetch one item. `number` grows with each claim of the item.

    `begun` is what somebody fetched from this cursor and began to publish, before it died perhaps.
    """

    link: Link
    cursor: str
    number: int
    begun: Update | None = None


class Store(Protocol):
    """What the application asks of a store. Each call is one conditional write, or one read."""

    def claim(self, provider: str, item: str, *, now: float, until: float) -> Claim | None:
        """Claim an item until a time; None while somebody else holds it. KeyError if there is no such item."""

    def begin(self, claim: Claim, update: Update) -> bool:
        """Keep what is about to be published, if nobody claimed the item later; say whether that was so."""

    def advance(self, claim: Claim, cursor: str, *, now: float) -> bool:
        """Move the cursor and let the item go, if nobody claimed it later; say whether that was so."""

    def release(self, claim: Claim, *, state: str = "good") -> None:
        """Let the item go with its cursor where it was, if nobody claimed it later."""

    def stale(self, *, before: float) -> list[Claim]:
        """Return items in good state that were not synced since, with their cursors; nothing is claimed by that."""

    def add(self, links: Iterable[Link]) -> None:
        """Add items, or change their user and token."""


class SqliteStore:
    """The store in one file, shared by the processes of one machine."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        with self._connection() as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute(TABLES)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open, use in one transaction, close: a connection must not outlive a freeze or a fork."""
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection, connection:
            yield connection

    def add(self, links: Iterable[Link]) -> None:
        """Add items, or change their user and token."""
        with self._connection() as connection:
            connection.executemany(
                "insert into link (provider, item, user, token) values (?, ?, ?, ?)"
                " on conflict do update set user = excluded.user, token = excluded.token, state = 'good'",
                [(link.provider, link.item, link.user, link.token) for link in links],
            )

    def claim(self, provider: str, item: str, *, now: float, until: float) -> Claim | None:
        """Claim an item until a time; None while somebody else holds it. KeyError if there is no such item."""
        with self._connection() as connection:
            row = connection.execute(
                "update link set claim = claim + 1, held_until = ? where provider = ? and item = ? and held_until <= ?"
                " returning user, token, cursor, claim, begun",
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
        user, token, cursor, number, begun = row
        link = Link(provider=provider, item=item, user=user, token=token)
        return Claim(link=link, cursor=cursor, number=number, begun=_update(begun) if begun else None)

    def begin(self, claim: Claim, update: Update) -> bool:
        """Keep what is about to be published, if nobody claimed the item later; say whether that was so."""
        with self._connection() as connection:
            done = connection.execute(
                "update link set begun = ? where provider = ? and item = ? and claim = ?",
                (json.dumps(asdict(update)), claim.link.provider, claim.link.item, claim.number),
            )
            return done.rowcount == 1

    def advance(self, claim: Claim, cursor: str, *, now: float) -> bool:
        """Move the cursor and let the item go, if nobody claimed it later; say whether that was so."""
        with self._connection() as connection:
            done = connection.execute(
                "update link set cursor = ?, begun = '', held_until = 0, synced_at = ?, state = 'good'"
                " where provider = ? and item = ? and claim = ?",
                (cursor, now, claim.link.provider, claim.link.item, claim.number),
            )
            return done.rowcount == 1

    def release(self, claim: Claim, *, state: str = "good") -> None:
        """Let the item go with its cursor where it was, if nobody claimed it later."""
        with self._connection() as connection:
            connection.execute(
                "update link set held_until = 0, state = ? where provider = ? and item = ? and claim = ?",
                (state, claim.link.provider, claim.link.item, claim.number),
            )

    def stale(self, *, before: float) -> list[Claim]:
        """Return items in good state that were not synced since, with their cursors; nothing is claimed by that."""
        with self._connection() as connection:
            rows = connection.execute(
                "select provider, item, user, token, cursor, claim from link where synced_at < ? and state = 'good'",
                (before,),
            ).fetchall()
        return [
            Claim(link=Link(provider=row[0], item=row[1], user=row[2], token=row[3]), cursor=row[4], number=row[5])
            for row in rows
        ]


def _update(told: str) -> Update:
    document = json.loads(told)
    return Update(tuple(Raw(**record) for record in document["records"]), document["cursor"])
