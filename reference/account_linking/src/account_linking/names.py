"""Every topic's name, and the headers of a raw record. Written here once."""

from __future__ import annotations

from typing import Final

WEBHOOKS: Final = "webhook.raw"
"""What providers sent, byte for byte, once it was verified."""

ELEMENTS: Final = "webhook.element"
"""One record for each thing that is to be fetched, keyed by item, so that no item is fetched twice at a time."""

DEAD: Final = "webhook.dead"
"""Elements that failed too often, with the reason."""

STATES: Final = "item.state"
"""What only the account's holder can mend, such as a login that is no longer accepted."""

TRANSACTIONS: Final = "bank.transaction.v1"
"""What the application reads."""

ENTITIES: Final = ("transactions", "accounts")

RAW_PATTERN: Final = r"provider\.[a-z_]+\.(transactions|accounts)\.raw"
"""All raw topics, as Spark subscribes to them: a new provider needs no new job."""


def raw_topic(provider: str, entity: str) -> str:
    """Return where a provider's answers are kept, one record for each transaction or account."""
    return f"provider.{provider}.{entity}.raw"


def all_topics(providers: tuple[str, ...]) -> tuple[str, ...]:
    """Return every topic that these providers need."""
    raw = tuple(raw_topic(provider, entity) for provider in providers for entity in ENTITIES)
    return (WEBHOOKS, ELEMENTS, DEAD, STATES, TRANSACTIONS, *raw)
