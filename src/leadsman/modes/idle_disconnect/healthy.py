"""The cured worker: its client closes an idle connection before the broker or a hop of the path does."""

from __future__ import annotations

from functools import cache

from confluent_kafka import Producer

SETTINGS = {
    "acks": "1",
    "retries": "0",
    "enable.idempotence": "false",
    "connections.max.idle.ms": "270000",
}
"""45 % of the broker's default of 600 s: below half, because a client checks its idle connections only now and then.
Where a hop of the path drops connections earlier (`leadsman_clients.HOPS`), take 45 % of that."""


@cache
def producer(bootstrap: str) -> Producer:
    """One producer per worker, reused whenever the platform happens to reuse the worker."""
    return Producer({**SETTINGS, "bootstrap.servers": bootstrap})


def handle(event: bytes, bootstrap: str) -> int:
    """Handle one invocation. Returns how many records are still undelivered."""
    producer(bootstrap).produce("orders", event)
    return int(producer(bootstrap).flush(10))
