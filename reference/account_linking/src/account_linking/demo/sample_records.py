"""Single raw records of Plaid, for tests of the tables."""

from __future__ import annotations

import json

from account_linking.requester.worker import Outgoing
from account_linking.topics import raw_topic


def bought(user: str, number: int = 0, *, revision: int = 1, account: str = "") -> Outgoing:
    """Return a purchase of a user."""
    value = {
        "transaction_id": f"{user}-{number}",
        "account_id": account or f"account-of-{user}",
        "amount": 12.5 + revision,
        "iso_currency_code": "USD",
        "date": "2026-06-01",
        "name": "Thing",
        "pending": False,
    }
    headers = {"item": "i", "user": user, "op": "UPSERT", "revision": str(revision)}
    return Outgoing(
        topic=raw_topic("plaid", "transactions"),
        key=f"plaid|{value['account_id']}",
        value=json.dumps(value).encode(),
        headers=tuple((name, text.encode()) for name, text in headers.items()),
    )


def with_user(user: str, record: Outgoing) -> Outgoing:
    """Return the record with another user."""
    headers = tuple((name, user.encode() if name == "user" else value) for name, value in record.headers)
    return Outgoing(topic=record.topic, key=record.key, value=record.value, headers=headers)
