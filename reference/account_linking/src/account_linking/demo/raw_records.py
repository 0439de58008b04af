"""The raw topics' records, read without the tables' code: what bronze, and the lineage of each row, must be."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from account_linking.demo.independent_reader import read_topic
from account_linking.providers import every_provider
from account_linking.topics import ENTITIES, raw_topic

if TYPE_CHECKING:
    from collections.abc import Collection

    from account_linking.demo.expected_classes import Row
    from account_linking.demo.independent_reader import TopicRecord

KNOWN_FIELDS = {
    "plaid": "transaction_id account_id amount iso_currency_code unofficial_currency_code date authorized_date "
    "datetime authorized_datetime name merchant_name merchant_entity_id original_description pending "
    "pending_transaction_id payment_channel check_number transaction_code counterparties personal_finance_category",
    "yodlee": "id CONTAINER accountId amount baseType status isDeleted date transactionDate postDate description "
    "merchant category categoryType subType sourceMerchantCategoryCode checkNumber",
    "fdx": "transactionId accountId referenceTransactionId amount currency debitCreditMemo status transactionTimestamp "
    "postedTimestamp description payee category subCategory checkNumber",
}
"""The fields of each provider that the generic schema uses; all others are kept in `_extra`."""

ID_FIELDS = {
    "plaid": ("account_id", "transaction_id", "pending_transaction_id"),
    "yodlee": ("accountId", "id", ""),
    "fdx": ("accountId", "transactionId", "referenceTransactionId"),
}
"""The provider's fields of account, transaction, and the pending transaction that this one replaces."""

ACCOUNT_ID_FIELDS = {"plaid": "account_id", "yodlee": "id", "fdx": "accountId"}

LINEAGE = (
    "item_ref",
    "op",
    "source_topic",
    "source_partition",
    "source_offset",
    "received_at",
    "raw_sha256",
    "_extra",
)
"""Columns of silver that `classified` does not have."""


@dataclass(frozen=True, slots=True)
class RawTransactions:
    """All raw records. `unreadable` are the transactions without JSON or ids: they can only be quarantined."""

    records: tuple[TopicRecord, ...]
    named: dict[tuple[str, int, int], str]

    @classmethod
    def read(cls, bootstrap: str) -> RawTransactions:
        """Read the raw topics of all providers."""
        topics = [raw_topic(provider, entity) for provider in every_provider() for entity in ENTITIES]
        records = tuple(record for topic in topics for record in read_topic(bootstrap, topic))
        named = {}
        for record in records:
            if record.topic.endswith(".transactions.raw") and (found := keys(record)):
                named[record.position] = "|".join(list(found.values())[:3])
        return cls(records, named)

    @property
    def unreadable(self) -> list[TopicRecord]:
        """Return the transactions without JSON or ids."""
        transactions = (record for record in self.records if record.topic.endswith(".transactions.raw"))
        return [record for record in transactions if record.position not in self.named]

    def latest(self, quarantined_positions: Collection[tuple[str, int, int]]) -> dict[str, TopicRecord]:
        """Return each transaction's record of the highest revision that is not quarantined."""
        latest: dict[str, TopicRecord] = {}
        for record in self.records:
            name = self.named.get(record.position)
            if name is None or record.position in quarantined_positions:
                continue
            if name not in latest or _order(record) > _order(latest[name]):
                latest[name] = record
        return latest

    def account_revisions(self) -> dict[str, int]:
        """Return the highest revision of each account's records."""
        found: dict[str, int] = {}
        for record in self.records:
            _, provider, entity, _ = record.topic.split(".")
            name = parse(record.value).get(ACCOUNT_ID_FIELDS[provider]) if entity == "accounts" else None
            if name:
                key = f"{provider}|{name}"
                found[key] = max(found.get(key, 0), int(record.headers.get("revision", 0)))
        return found


def _order(record: TopicRecord) -> tuple[int, str]:
    return int(record.headers["revision"]), record.headers["item"]


def parse(value: bytes) -> dict[str, Any]:
    """Parse a JSON object, numbers as decimals; {} if it is none."""
    try:
        found = json.loads(value, parse_float=Decimal)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def keys(record: TopicRecord) -> dict[str, str]:
    """Return account, transaction and logical id of a transaction's record; {} if it has none."""
    provider = record.topic.split(".")[1]
    value = parse(record.value)
    account, own, pending = ID_FIELDS[provider]
    if not value.get(account) or not value.get(own):
        return {}
    name = f"{value['CONTAINER']}:{value[own]}" if provider == "yodlee" else str(value[own])
    return {
        "provider": provider,
        "provider_account_id": str(value[account]),
        "provider_transaction_id": name,
        "logical_transaction_id": value.get(pending) or name,
    }


def lineage(record: TopicRecord | None) -> Row:
    """Return the columns of silver that the record decides; {} without a record."""
    if record is None:
        return {}
    position = bronze_row(record)
    names = ("item_ref", "user_ref", "op", "revision", "source_topic", "source_partition", "source_offset")
    is_deleted = record.headers.get("op") == "DELETE"
    return {
        **{name: position[name] for name in (*names, "received_at", "raw_sha256")},
        "is_deleted": is_deleted,
        "_extra": None if is_deleted else _extra(record),
    }


def _extra(record: TopicRecord) -> list[tuple[str, str]]:
    """Return the fields that the generic schema does not use, as Arrow gives a map: pairs in order."""
    known = KNOWN_FIELDS[record.topic.split(".")[1]].split()
    fields = ((name, value) for name, value in parse(record.value).items() if name not in known and value is not None)
    return [(name, value if isinstance(value, str) else _text(value)) for name, value in fields]


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def bronze_row(record: TopicRecord) -> Row:
    """Return the row of bronze for a record."""
    _, provider, entity, _ = record.topic.split(".")
    revision = record.headers.get("revision", "")
    return {
        "provider": provider,
        "entity": entity,
        "key": record.key,
        "value": record.value.decode(errors="replace"),
        "item_ref": record.headers.get("item"),
        "user_ref": record.headers.get("user"),
        "op": record.headers.get("op"),
        "revision": int(revision) if revision.isdecimal() else None,
        "source_topic": record.topic,
        "source_partition": record.partition,
        "source_offset": record.offset,
        "received_at": datetime.fromtimestamp(record.timestamp_ms / 1000, UTC),
        "raw_sha256": hashlib.sha256(record.value).hexdigest(),
    }
