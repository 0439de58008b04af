"""Compares tables and topics with the ledger: every row of every table, column by column, amounts to the cent.

Shares no code with the tables: it reads by delta-rs and a plain consumer, and states the rules a second time
(`expected_rows`, `expected_classes`). What only a fetch decides is compared with the raw topics' records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from account_linking.demo import expected_classes, raw_records
from account_linking.demo.expected_classes import UserClasses, identity
from account_linking.demo.expected_rows import NO_CONTENT, expected_accounts, expected_transactions
from account_linking.demo.independent_reader import read_table, read_topic
from account_linking.demo.raw_records import RawTransactions
from account_linking.topics import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from account_linking.demo.expected_classes import Row
    from account_linking.demo.independent_reader import TopicRecord
    from account_linking.demo.ledger import BankLedger

WHOLE_ROW: Final = "row"
"""In a difference: the row itself is missing, unexpected or duplicate."""

VERSION = re.compile(r"[0-9a-f]{12}")
SHA256 = re.compile(r"[0-9a-f]{64}")
UUID5 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
DIGESTS: Final = {"class_version": VERSION, "content_sha256": SHA256, "event_id": UUID5}
"""Columns of `classified` that are compared by their form only."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs. Column WHOLE_ROW: the row is missing, unexpected or duplicate."""

    table: str
    row: str
    column: str
    expected: object
    found: object

    def __str__(self) -> str:
        return f"{self.table}, {self.row}: {self.column} is {self.found!r}, expected {self.expected!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """All differences between tables, topics and ledger. `compared` is the number of compared rows of each table."""

    transactions: int
    total: Mapping[str, Decimal]
    compared: Mapping[str, int]
    values: int
    differences: tuple[Difference, ...]

    @property
    def is_balanced(self) -> bool:
        """Whether tables, topics and ledger agree."""
        return not self.differences

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the transactions that silver does not have."""
        return self._rows("missing")

    @property
    def unexpected(self) -> tuple[str, ...]:
        """Return the transactions that only silver has."""
        return self._rows("unexpected")

    @property
    def duplicates(self) -> tuple[str, ...]:
        """Return the transactions that silver has twice."""
        return self._rows("duplicate")

    @property
    def wrong_amounts(self) -> tuple[str, ...]:
        """Return the transactions with another amount."""
        return tuple(each.row for each in self.differences if (each.table, each.column) == ("silver", "amount"))

    def _rows(self, found: str) -> tuple[str, ...]:
        key = ("silver", WHOLE_ROW, found)
        return tuple(each.row for each in self.differences if (each.table, each.column, each.found) == key)


def compare_with_ledger(root: str, ledger: BankLedger, *, at: float, bootstrap: str) -> Balance:
    """Compare all tables below a folder and all topics with the ledger at a time."""
    comparison = _Comparison(root, bootstrap, RawTransactions.read(bootstrap))
    expected = comparison.expected_silver(ledger, at)
    differences = [
        *comparison.bronze(),
        *comparison.quarantine(),
        *comparison.table("silver", expected),
        *comparison.accounts(expected_accounts(ledger)),
        *comparison.holders(),
        *comparison.classes(expected, expected_accounts(ledger)),
        *comparison.topic(),
    ]
    live = [row for row in comparison.read("silver") if not row["is_deleted"]]
    return Balance(
        transactions=len(live),
        total=_total(live),
        compared=comparison.compared,
        values=comparison.values[0],
        differences=tuple(differences),
    )


class _Comparison:
    """One comparison: caches the tables that it has read, and counts what it compares."""

    def __init__(self, root: str, bootstrap: str, raw: RawTransactions) -> None:
        self.root, self.bootstrap, self.raw = root, bootstrap, raw
        self.compared: dict[str, int] = {}
        self.values = [0]
        self._tables: dict[str, list[Row]] = {}

    def read(self, table: str) -> list[Row]:
        if table not in self._tables:
            self._tables[table] = read_table(self.root, table)
        return self._tables[table]

    def table(
        self, table: str, expected: Sequence[Row], *, key: Callable[[Row], str] = identity
    ) -> Iterator[Difference]:
        """Yield the differences between a table's rows and the expected rows, in all columns that these have."""
        yield from self.rows(table, {key(row): row for row in expected}, self.read(table), key=key)

    def rows(
        self, table: str, expected: Mapping[str, Row], found: Iterable[Row], *, key: Callable[[Row], str]
    ) -> Iterator[Difference]:
        seen: set[str] = set()
        for row in found:
            name = key(row)
            if name in seen or name not in expected:
                yield Difference(table, name, WHOLE_ROW, None, "duplicate" if name in seen else "unexpected")
            else:
                yield from self._columns(table, name, expected[name], row)
            seen.add(name)
        for name in expected.keys() - seen:
            yield Difference(table, name, WHOLE_ROW, expected[name], "missing")
        self.compared[table] = len(seen)

    def _columns(self, table: str, name: str, expected: Row, found: Row) -> Iterator[Difference]:
        self.values[0] += len(expected)
        for column, value in expected.items():
            if found.get(column) != value:
                yield Difference(table, name, column, value, found.get(column))

    def expected_silver(self, ledger: BankLedger, at: float) -> list[Row]:
        """Return silver's rows: live ones with the ledger's content, deleted ones without; lineage of their record."""
        quarantined_positions = {_position(row) for row in self.read("quarantine") if row["replayed_at"] is None}
        latest = self.raw.latest(quarantined_positions)
        live = [
            {**row, **raw_records.lineage(latest.get(identity(row))), "is_deleted": False}
            for row in expected_transactions(ledger, at)
        ]
        names = {identity(row) for row in live}
        deleted = [
            {**raw_records.keys(record), **NO_CONTENT, **raw_records.lineage(record)}
            for name, record in latest.items()
            if name not in names and record.headers.get("op") == "DELETE"
        ]
        return [*live, *deleted]

    def bronze(self) -> Iterator[Difference]:
        """Every record of the raw topics must be in bronze once."""
        expected = {str(each.position): raw_records.bronze_row(each) for each in self.raw.records}
        yield from self.rows("bronze", expected, self.read("bronze"), key=lambda row: str(_position(row)))

    def quarantine(self) -> Iterator[Difference]:
        """Compare each quarantined row with its record; each record that is no JSON must be quarantined."""
        rows = self.read("quarantine")
        names = {str(_position(row)) for row in rows}
        expected = {
            str(each.position): raw_records.bronze_row(each) for each in self.raw.records if str(each.position) in names
        }
        yield from self.rows("quarantine", expected, rows, key=lambda row: str(_position(row)))
        for row in rows:
            if not row["errors"]:
                yield Difference("quarantine", str(_position(row)), "errors", "a broken rule", row["errors"])
        for each in self.raw.unreadable:
            if str(each.position) not in names:
                yield Difference("quarantine", str(each.position), WHOLE_ROW, each.value[:80], "missing")

    def accounts(self, expected: Sequence[Row]) -> Iterator[Difference]:
        """Compare `accounts`: the ledger's accounts, each with the revision of its latest record."""
        revisions = self.raw.account_revisions()
        rows = [{**row, "revision": revisions.get(_account_key(row))} for row in expected]
        yield from self.table("accounts", rows, key=_account_key)

    def holders(self) -> Iterator[Difference]:
        """`holders` must have every user and account of silver."""
        rows = self.read("holders")
        self.compared["holders"] = len(rows)
        pairs = {(row["user_ref"], row["provider_account_id"]) for row in rows}
        for row in self.read("silver"):
            if (pair := (row["user_ref"], row["provider_account_id"])) not in pairs:
                yield Difference("holders", str(pair), WHOLE_ROW, pair, "missing")

    def classes(self, silver: Sequence[Row], accounts: Sequence[Row]) -> Iterator[Difference]:
        """Compare `classified` and `monthly`."""
        kinds = {(row["provider"], row["provider_account_id"]): row["kind"] for row in accounts}
        own = UserClasses(self.read("rules"), self.read("overrides"))
        live = expected_classes.classified([row for row in silver if not row["is_deleted"]], kinds, own)
        no_class = {"class": None, "class_source": "deleted", "class_confidence": None, "transfer_of": None}
        expected = [*live, *({**row, **no_class} for row in silver if row["is_deleted"])]
        known = [{name: value for name, value in row.items() if name not in raw_records.LINEAGE} for row in expected]
        yield from self.table("classified", known)
        yield from self._digests()
        yield from self.table("monthly", expected_classes.months(live), key=_month_key)

    def _digests(self) -> Iterator[Difference]:
        """Compare hashes, ids and versions by their form."""
        for row in self.read("classified"):
            for name, form in DIGESTS.items():
                if not form.fullmatch(row[name] or ""):
                    yield Difference("classified", identity(row), name, form.pattern, row[name])
        for row in self.read("silver"):
            if (row["schema_version"] or 0) < 1:
                yield Difference("silver", identity(row), "schema_version", "1 or higher", row["schema_version"])

    def topic(self) -> Iterator[Difference]:
        """Compare the last event of each transaction with its row of `classified`; without one it is a deletion."""
        last: dict[str, TopicRecord] = {}
        for event in read_topic(self.bootstrap, TRANSACTIONS):
            if event.key not in last or _sequence(event) > _sequence(last[event.key]):
                last[event.key] = event
        rows = {identity(row): _event_row(row) for row in self.read("classified")}
        events = {key: _parse_event(event) for key, event in last.items()}
        found = [row for key, row in events.items() if key in rows or row["op"] != "DELETE"]
        yield from self.rows(f"topic {TRANSACTIONS}", rows, found, key=lambda row: str(row["key"]))


def _sequence(event: TopicRecord) -> int:
    return int(event.headers["sequence"])


def _parse_event(event: TopicRecord) -> Row:
    body = {name: value for name, value in raw_records.parse(event.value).items() if value is not None}
    headers = {name: event.headers.get(name) for name in ("op", "revision", "event-id")}
    return {"key": event.key, **headers, "body": body}


def _event_row(row: Row) -> Row:
    """Return a row of `classified` as its event."""
    body = {
        name: _json_value(value)
        for name, value in row.items()
        if value is not None and name not in ("content_sha256", "event_id")
    }
    op = "DELETE" if row["is_deleted"] else "UPSERT"
    return {
        "key": identity(row),
        "op": op,
        "revision": str(row["revision"]),
        "event-id": row["event_id"],
        "body": body,
    }  # fmt: skip - one line


def _json_value(value: object) -> object:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z"
    return value.isoformat() if isinstance(value, date) else value


def _account_key(row: Row) -> str:
    return f"{row['provider']}|{row['provider_account_id']}"


def _month_key(row: Row) -> str:
    return f"{row['user_ref']} {row['month']} {row['currency']} {row['class']}"


def _position(row: Mapping[str, Any]) -> tuple[str, int, int]:
    return row["source_topic"], row["source_partition"], row["source_offset"]


def _total(rows: Iterable[Row]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for row in rows:
        name = str(row["currency"] or row["unofficial_currency"])
        total[name] = total.get(name, Decimal(0)) + (row["amount"] or 0)
    return total
