"""Single raw records, and their ingestion, for tests of the tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from account_linking.demo.fetch_harness import kafka_frame
from account_linking.requester.worker import Outgoing
from account_linking.tables.ingest import Ingestion
from account_linking.topics import raw_topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from account_linking.tables.layout import Layout

HEADERS = {"item": "i", "user": "anna", "op": "UPSERT", "revision": "1"}

PURCHASE: Mapping[str, Any] = {
    "transaction_id": "t",
    "account_id": "a",
    "amount": 12.5,
    "iso_currency_code": "USD",
    "date": "2026-06-01",
    "name": "Thing",
    "pending": False,
}
"""A transaction of Plaid."""


def raw_record(
    value: Mapping[str, Any] | str | bytes,
    *,
    provider: str = "plaid",
    entity: str = "transactions",
    key: str = "k",
    **headers: str,
) -> Outgoing:
    """Return a raw record with this value, or its JSON; `headers` replace those of HEADERS."""
    text = value if isinstance(value, str | bytes) else json.dumps(value)
    return Outgoing(
        topic=raw_topic(provider, entity),
        key=key,
        value=text.encode() if isinstance(text, str) else text,
        headers=tuple((name, header.encode()) for name, header in {**HEADERS, **headers}.items()),
    )


def bought(user: str, number: int = 0, *, revision: int = 1, account: str = "") -> Outgoing:
    """Return a purchase of a user."""
    account = account or f"account-of-{user}"
    value = {
        **PURCHASE,
        "transaction_id": f"{user}-{number}",
        "account_id": account,
        "amount": 12.5 + revision,
    }
    return raw_record(value, key=f"plaid|{account}", user=user, revision=str(revision))


def with_user(user: str, record: Outgoing) -> Outgoing:
    """Return the record with another user."""
    headers = tuple((name, user.encode() if name == "user" else value) for name, value in record.headers)
    return Outgoing(topic=record.topic, key=record.key, value=record.value, headers=headers)


def ingest_records(spark: SparkSession, layout: Layout, records: Sequence[Outgoing], *, offset: int = 0) -> None:
    """Ingest raw records as one batch. The first has this offset in its topic."""
    Ingestion(layout).ingest(kafka_frame(spark, list(enumerate(records, offset))))
