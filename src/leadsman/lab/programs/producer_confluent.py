"""A small service with confluent-kafka."""

from __future__ import annotations

import logging
import sys

from confluent_kafka import KafkaError, Message, Producer, libversion, version

from leadsman.lab.programs.producer_service import (
    DELIVERY_SECONDS,
    Delivery,
    DeliveryFailed,
    ProgramArguments,
    log_settings,
    serve_commands,
    start,
)

DEFAULTS = {"connections.max.idle.ms": 0}
"""librdkafka's, which it logs nowhere: it never closes an idle connection by itself."""


class ConfluentSender:
    """One producer; with a transactional id, each record is a transaction."""

    def __init__(self, arguments: ProgramArguments) -> None:
        self._topic = arguments.topic
        self._transactional = "transactional.id" in arguments.settings
        self._producer = Producer(dict(arguments.settings), logger=logging.getLogger("rdkafka"))
        if self._transactional:
            self._producer.init_transactions()

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait for its delivery report."""
        outcome: list[tuple[KafkaError | None, Message]] = []
        if self._transactional:
            self._producer.begin_transaction()
        self._producer.produce(
            self._topic, value.encode(), on_delivery=lambda error, message: outcome.append((error, message))
        )
        self._producer.flush(DELIVERY_SECONDS)
        if not outcome:
            raise DeliveryFailed(f"No delivery report within {DELIVERY_SECONDS} s")
        error, message = outcome[0]
        if error is not None:
            raise DeliveryFailed(str(error))
        if self._transactional:
            self._producer.commit_transaction()
        return Delivery(message.partition() or 0, message.offset() or 0)

    def poll(self) -> None:
        """Serve callbacks."""
        self._producer.poll(0)

    def close(self) -> None:
        """Flush; librdkafka frees the rest by itself."""
        self._producer.flush(5)


def main() -> None:
    """Log the settings once, and serve commands."""
    arguments = start(sys.argv[1:])
    client = f"confluent-kafka {version()} (librdkafka {libversion()[0]})"
    log_settings(client, {**DEFAULTS, **arguments.settings})
    serve_commands(arguments, lambda: ConfluentSender(arguments))


if __name__ == "__main__":
    main()
