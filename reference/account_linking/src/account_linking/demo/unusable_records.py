"""Sends what no table can take: webhooks of items that nobody linked, and raw records that break a rule.

A day of a real provider has some of both. None may vanish: they become dead letters and rows of the quarantine.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Producer

from account_linking.demo.simulator import plaid
from account_linking.topics import raw_topic

if TYPE_CHECKING:
    from account_linking.demo.deployment import Deployment

UNLINKED_ITEM: Final = "item-that-nobody-linked"

RULE_BREAKING_MEMBERS: Final[tuple[dict[str, Any], ...]] = (
    {"amount": "1.234,50", "iso_currency_code": "EUR"},
    {"amount": 12.345, "iso_currency_code": "USD"},
    {"amount": 7.5, "iso_currency_code": "usd"},
    {"amount": 7.5, "iso_currency_code": "USD", "date": "2026"},
)
"""Members of a transaction that break a rule each: a number in German notation, a tenth of a cent, a currency in lower
case, a date without month and day."""


def send_unusable_records(deployment: Deployment) -> None:
    """Send a webhook for an item that nobody linked, and raw records of an item that break a rule."""
    body = plaid.webhook(UNLINKED_ITEM)
    deployment.post_webhook("plaid", body, headers={"Plaid-Verification": deployment.signer.sign(body)})
    item = next(each for each in deployment.banks.ledger.items.values() if each.provider == "plaid")
    producer = Producer({"bootstrap.servers": deployment.bootstrap, "log_level": 0})
    for number, members in enumerate(RULE_BREAKING_MEMBERS):
        account = item.accounts[0].id
        value = {
            "transaction_id": f"unusable-{number}",
            "account_id": account,
            "date": "2026-06-01",
            "name": "Unusable",
            "pending": False,
            **members,
        }
        headers: list[tuple[str, str | bytes | None]] = [
            ("item", item.id),
            ("user", item.user),
            ("op", "UPSERT"),
            ("revision", "1"),
        ]
        producer.produce(raw_topic("plaid", "transactions"), json.dumps(value), f"plaid|{account}", headers=headers)
    if producer.flush(30):
        raise OSError("The raw records for the quarantine were not delivered within 30 s.")
