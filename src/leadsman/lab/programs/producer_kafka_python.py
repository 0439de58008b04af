"""A small service with kafka-python."""

from __future__ import annotations

import sys

import kafka
from kafka import KafkaProducer

from leadsman.lab.programs.producer_service import (
    DELIVERY_SECONDS,
    Delivery,
    DeliveryFailed,
    ProgramArguments,
    log_settings,
    serve_commands,
    start,
)

LOGGED_SETTINGS = (
    "acks",
    "retries",
    "connections_max_idle_ms",
    "request_timeout_ms",
    "delivery_timeout_ms",
    "enable_idempotence",
)
"""Settings that are logged also where they are defaults."""


class KafkaPythonSender:
    """One producer, which logs its settings when it is created."""

    def __init__(self, arguments: ProgramArguments) -> None:
        self._topic = arguments.topic
        self._producer = KafkaProducer(**arguments.settings)
        config = self._producer.config
        settings = {name.replace("_", "."): config[name] for name in (*LOGGED_SETTINGS, *arguments.settings)}
        log_settings(f"kafka-python {kafka.__version__}", settings)

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait for its delivery report."""
        try:
            sent = self._producer.send(self._topic, value.encode()).get(timeout=DELIVERY_SECONDS)
        except Exception as error:
            raise DeliveryFailed(repr(error)) from error
        return Delivery(sent.partition, sent.offset)

    def poll(self) -> None:
        """Nothing to poll: the client has a thread of its own."""

    def close(self) -> None:
        """Close the producer."""
        self._producer.close(timeout=5)


def main() -> None:
    """Serve the lab's commands."""
    arguments = start(sys.argv[1:])
    serve_commands(arguments, lambda: KafkaPythonSender(arguments))


if __name__ == "__main__":
    main()
