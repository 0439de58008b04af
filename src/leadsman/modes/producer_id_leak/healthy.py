"""The cured service: one producer for the life of the process."""

from __future__ import annotations

from functools import cache

from confluent_kafka import Producer

SETTINGS = {
    "client.id": "order-events",
    "acks": "all",
    "enable.idempotence": "true",
}
"""As in the broken program: idempotence is right, a producer for each event is wrong."""


@cache
def producer(bootstrap: str) -> Producer:
    """Return the one producer of the process; threads can share it."""
    return Producer({**SETTINGS, "bootstrap.servers": bootstrap})


def handle(event: bytes, bootstrap: str) -> int:
    """Handle one event. Returns how many records are still undelivered."""
    producer(bootstrap).produce("orders", event)
    return int(producer(bootstrap).flush(10))
