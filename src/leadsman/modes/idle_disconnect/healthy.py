"""The same worker, cured: its client closes an idle connection before anybody else does."""

from __future__ import annotations

from functools import cache

from confluent_kafka import Producer

SETTINGS = {
    "acks": "1",
    "retries": "0",
    "enable.idempotence": "false",
    "connections.max.idle.ms": "270000",
}
"""45 % of the broker's default of 600 s: below half, because a client looks at its idle connections only now and then.
Every hop counts: where one drops after 350 s or 240 s (AWS, Azure), take 45 % of that."""


@cache
def producer(bootstrap: str) -> Producer:
    """One producer per worker, reused whenever the platform happens to reuse the worker."""
    return Producer({**SETTINGS, "bootstrap.servers": bootstrap})


def handle(event: bytes, bootstrap: str) -> int:
    """Handle one invocation. Returns how many records are still undelivered."""
    producer(bootstrap).produce("orders", event)
    return int(producer(bootstrap).flush(10))
