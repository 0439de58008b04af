"""A program with `producer_id_leak`: a service that creates an idempotent producer for each event."""

from __future__ import annotations

from confluent_kafka import Producer

SETTINGS = {
    "client.id": "order-events",
    "acks": "all",
    "enable.idempotence": "true",
}
"""An idempotent producer has its own id. Idempotence is the default in Java and kafka-python since their 3.0."""


def handle(event: bytes, bootstrap: str) -> int:
    """Handle one event. Returns how many records are still undelivered."""
    producer = Producer({**SETTINGS, "bootstrap.servers": bootstrap})
    producer.produce("orders", event)
    return int(producer.flush(10))
