"""A program with `idle_disconnect`: a serverless worker that is reused after a long idle time and never retries."""

from __future__ import annotations

from functools import cache

from confluent_kafka import Producer

SETTINGS = {
    "acks": "1",
    "retries": "0",
    "enable.idempotence": "false",
}
"""Without its own idle limit the client keeps a connection that the broker, or a hop before it, dropped long ago."""


@cache
def producer(bootstrap: str) -> Producer:
    """One producer per worker, reused whenever the platform happens to reuse the worker."""
    return Producer({**SETTINGS, "bootstrap.servers": bootstrap})


def handle(event: bytes, bootstrap: str) -> int:
    """Handle one invocation. Returns how many records are still undelivered."""
    producer(bootstrap).produce("orders", event)
    return int(producer(bootstrap).flush(10))
