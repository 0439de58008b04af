"""The names of all topics."""

from __future__ import annotations

from typing import Final

WEBHOOKS: Final = "webhook.raw"
"""Verified webhooks, byte for byte as the provider sent them."""

FETCH_TASKS: Final = "webhook.element"
"""One record for each fetch that is due. The key is the item, so that an item's fetches run one after the other."""

DEAD_LETTERS: Final = "webhook.dead"
"""Webhooks and fetch tasks that failed on every attempt, or can never succeed, with the reason."""

ITEM_STATES: Final = "item.state"
"""Items whose holder must act, for example log in again."""

TRANSACTIONS: Final = "bank.transaction.v1"
"""The topic that other applications read: one record for each change of a classified transaction."""

ENTITIES: Final = ("transactions", "accounts")

RAW_PATTERN: Final = r"provider\.[a-z_]+\.(transactions|accounts)\.raw"
"""The pattern by which Spark subscribes to all raw topics: a new provider needs no new job."""


def raw_topic(provider: str, entity: str) -> str:
    """Return the topic of a provider's raw records, one for each transaction or account."""
    return f"provider.{provider}.{entity}.raw"


def all_topics(providers: tuple[str, ...]) -> tuple[str, ...]:
    """Return every topic that these providers need."""
    raw = tuple(raw_topic(provider, entity) for provider in providers for entity in ENTITIES)
    return (WEBHOOKS, FETCH_TASKS, DEAD_LETTERS, ITEM_STATES, TRANSACTIONS, *raw)
