"""Names of topics and partitions of the made-up clusters whose producer ids are counted."""

from __future__ import annotations

AREAS = ("ledger", "parcel", "invoice", "loyalty", "meter", "booking", "pricing", "catalog", "fraud", "notify")
FACTS = ("created", "changed", "settled", "rejected", "audit", "snapshot", "replay", "enriched")

LEAKY_TOPIC = "receipt-scans"
BUSY_TOPIC = "meter-readings"
PARTITIONS = 12
PARTITION_COUNT = 400 * 3


def topic(number: int) -> str:
    """The name of a topic that nothing is wrong with."""
    plain = f"{AREAS[number % len(AREAS)]}.{FACTS[number // len(AREAS) % len(FACTS)]}"
    round_number = number // (len(AREAS) * len(FACTS))
    return f"{plain}.v{round_number + 1}"
