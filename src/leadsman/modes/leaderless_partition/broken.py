"""A program with `leaderless_partition`: a consumer with the default commit timeout that handles no failed commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka import KafkaConsumer

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = {
    "enable.auto.commit": "false",
    "default.api.timeout.ms": "60000",
}
"""One minute: the default of every client since 2.0, and shorter than many failovers."""


def serve(bootstrap: str, process: Callable[[bytes], None]) -> None:
    """Process records until the first commit fails; nothing restarts the consumer."""
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap,
        group_id="billing",
        enable_auto_commit=SETTINGS["enable.auto.commit"] == "true",
    )
    while True:
        for records in consumer.poll(500).values():
            for record in records:
                process(record.value)
        consumer.commit(timeout_ms=int(SETTINGS["default.api.timeout.ms"]))
