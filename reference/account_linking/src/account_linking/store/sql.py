"""A store in a relational database: the statements that SQLite and PostgreSQL share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from account_linking.providers.model import LinkedItem
from account_linking.store.model import Claim
from account_linking.store.values import delivery_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from account_linking.providers.model import FetchResult
    from account_linking.store.values import SealedValues

TABLES = (
    """create table if not exists link (
        provider text, item text, "user" text not null, token {bytes} not null,
        cursor text not null default '', claim bigint not null default 0,
        claimed_until double precision not null default 0, synced_at double precision not null default 0,
        state text not null default 'good', unfinished {bytes}, primary key (provider, item))""",
    """create index if not exists link_of_user on link ("user")""",
    "create index if not exists link_by_sync on link (synced_at)",
    "create table if not exists delivery (name text primary key, until double precision not null)",
    "create index if not exists delivery_by_time on delivery (until)",
)


class SqlStore(ABC):
    """A store in one database. A connection lasts one call: it must not outlive a freeze or a fork of the process."""

    placeholder: ClassVar[str]
    bytes_type: ClassVar[str]
    values: SealedValues

    @abstractmethod
    def _connect(self) -> Any:  # noqa: ANN401 - a connection of any database
        """Open a connection (DB-API 2.0)."""

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Open, use in one transaction, close; without the commit the database rolls back."""
        with closing(self._connect()) as connection:
            yield connection.cursor()
            connection.commit()

    def _run(self, cursor: Any, statement: str, values: Sequence[Any] = ()) -> Any:  # noqa: ANN401 - the same
        cursor.execute(statement.replace("?", self.placeholder), tuple(values))
        return cursor

    def _write(self, statement: str, values: Sequence[Any]) -> bool:
        """Run one conditional write; return whether its condition was true."""
        with self._transaction() as cursor:
            return bool(self._run(cursor, statement, values).rowcount == 1)

    def create(self) -> None:
        """Create the tables that do not exist yet."""
        with self._transaction() as cursor:
            for statement in TABLES:
                self._run(cursor, statement.format(bytes=self.bytes_type))

    def add(self, links: Iterable[LinkedItem]) -> None:
        """Add items, or change their user and token."""
        with self._transaction() as cursor:
            for link in links:
                self._run(
                    cursor,
                    'insert into link (provider, item, "user", token) values (?, ?, ?, ?) on conflict (provider, item)'
                    ' do update set "user" = excluded."user", token = excluded.token, state = \'good\'',
                    (link.provider, link.item, link.user, self.values.token(link)),
                )

    def claim(self, provider: str, item: str, *, now: float, until: float) -> Claim | None:
        """Claim an item until a time; None while another worker's claim is valid. KeyError if the item is unknown."""
        with self._transaction() as cursor:
            row = self._run(
                cursor,
                "update link set claim = claim + 1, claimed_until = ?"
                " where provider = ? and item = ? and claimed_until <= ?"
                ' returning "user", token, cursor, claim, unfinished',
                (until, provider, item, now),
            ).fetchone()
            find = "select 1 from link where provider = ? and item = ?"
            is_known = row or self._run(cursor, find, (provider, item)).fetchone()
        if not is_known:
            raise KeyError(item)
        if not row:
            return None
        user, token, position, fencing_token, unfinished = row
        return Claim(
            link=self.values.link(provider, item, user=user, token=token),
            cursor=position,
            fencing_token=fencing_token,
            unfinished=self.values.unfinished(provider, item, bytes(unfinished or b"")),
        )

    def save_unfinished(self, claim: Claim, result: FetchResult) -> bool:
        """Save a fetch result before publishing, unless the item was claimed later; return whether it was saved."""
        return self._write(
            "update link set unfinished = ? where provider = ? and item = ? and claim = ?",
            (self.values.result(claim.link, result), *_place(claim)),
        )

    def advance(self, claim: Claim, cursor: str, *, now: float) -> bool:
        """Move the cursor and release the item, unless it was claimed later; return whether the cursor moved."""
        return self._write(
            "update link set cursor = ?, unfinished = null, claimed_until = 0, synced_at = ?, state = 'good'"
            " where provider = ? and item = ? and claim = ?",
            (cursor, now, *_place(claim)),
        )

    def release(self, claim: Claim, *, state: str = "good") -> None:
        """Release the item without moving its cursor, unless it was claimed later."""
        self._write(
            "update link set claimed_until = 0, state = ? where provider = ? and item = ? and claim = ?",
            (state, *_place(claim)),
        )

    def stale(self, *, before: float) -> list[Claim]:
        """Return the items in good state that were last synced before a time, with their cursors. Claims no item."""
        rows = self._rows(
            "select provider, item, \"user\", cursor, claim from link where synced_at < ? and state = 'good'",
            (before,),
        )
        return [
            Claim(
                link=LinkedItem(provider=provider, item=item, user=user, token=""),
                cursor=position,
                fencing_token=fencing_token,
            )
            for provider, item, user, position, fencing_token in rows
        ]

    def items_of(self, user: str) -> list[LinkedItem]:
        """Return all items of a user, in any state, without their tokens."""
        rows = self._rows('select provider, item from link where "user" = ? order by 1, 2', (user,))
        return [LinkedItem(provider=provider, item=item, user=user, token="") for provider, item in rows]

    def remove(self, provider: str, item: str) -> bool:
        """Delete an item with all that is stored of it; return whether it was there."""
        return self._write("delete from link where provider = ? and item = ?", (provider, item))

    def reseal(self) -> int:
        """Seal every token again with the current key; return how many. Safe beside running workers."""
        rows = self._rows("select provider, item, token from link")
        return sum(
            self._write(
                "update link set token = ? where provider = ? and item = ? and token = ?",
                (self.values.resealed(provider, item, token), provider, item, token),
            )
            for provider, item, token in rows
        )

    def remember_delivery(self, name: str, *, now: float, until: float) -> bool:
        """Remember a webhook's delivery until a time, unless it is remembered already; return whether it was new."""
        key = delivery_key(name)
        with self._transaction() as cursor:
            self._run(cursor, "delete from delivery where until <= ? and name <> ?", (now, key))
            done = self._run(
                cursor,
                "insert into delivery (name, until) values (?, ?) on conflict (name)"
                " do update set until = excluded.until where delivery.until <= ?",
                (key, until, now),
            )
            return bool(done.rowcount == 1)

    def forget_delivery(self, name: str) -> None:
        """Forget a delivery that was not stored after all."""
        self._write("delete from delivery where name = ?", (delivery_key(name),))

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._transaction() as cursor:
            return list(self._run(cursor, statement, values).fetchall())


def _place(claim: Claim) -> tuple[str, str, int]:
    return claim.link.provider, claim.link.item, claim.fencing_token
