"""The cured consumer: commits wait longer than a failover takes, and a supervisor replaces a failed consumer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafka import KafkaConsumer
from kafka.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = logging.getLogger(__name__)

SETTINGS = {
    "enable.auto.commit": "false",
    "default.api.timeout.ms": "300000",
}
"""Five minutes: the default of task.timeout.ms in Streams since 2.8."""


def serve(bootstrap: str, process: Callable[[bytes], None]) -> None:
    """Process records for ever. An error that ends the consumer is logged, and a new consumer replaces it."""
    while True:
        try:
            consume(bootstrap, process)
        except KafkaError:
            LOG.exception("The consumer ended; a new one takes over")


def consume(bootstrap: str, process: Callable[[bytes], None]) -> None:
    """Process records until something fails."""
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
