"""A small service with confluent-kafka."""

from __future__ import annotations

import logging
import sys

from confluent_kafka import KafkaError, Message, Producer, libversion, version

from leadsman.lab.programs.talking import ANSWER_SECONDS, Call, Delivery, NotDelivered, say_settings, start, talk

DEFAULTS = {"connections.max.idle.ms": 0}
"""librdkafka's, which it logs nowhere: it never closes an idle connection by itself."""


class Sender:
    """One producer; with a transactional id, each record is a transaction."""

    def __init__(self, call: Call) -> None:
        self._topic = call.topic
        self._transactional = "transactional.id" in call.settings
        self._producer = Producer(dict(call.settings), logger=logging.getLogger("rdkafka"))
        if self._transactional:
            self._producer.init_transactions()

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait for its answer."""
        outcome: list[tuple[KafkaError | None, Message]] = []
        if self._transactional:
            self._producer.begin_transaction()
        self._producer.produce(
            self._topic, value.encode(), on_delivery=lambda error, message: outcome.append((error, message))
        )
        self._producer.flush(ANSWER_SECONDS)
        if not outcome:
            raise NotDelivered(f"No answer within {ANSWER_SECONDS} s")
        error, message = outcome[0]
        if error is not None:
            raise NotDelivered(str(error))
        if self._transactional:
            self._producer.commit_transaction()
        return Delivery(message.partition() or 0, message.offset() or 0)

    def breathe(self) -> None:
        """Serve callbacks."""
        self._producer.poll(0)

    def close(self) -> None:
        """Flush; librdkafka lets go of the rest by itself."""
        self._producer.flush(5)


def main() -> None:
    """Say the settings once, and talk."""
    call = start(sys.argv[1:])
    client = f"confluent-kafka {version()} (librdkafka {libversion()[0]})"
    say_settings(client, {**DEFAULTS, **call.settings})
    talk(call, lambda: Sender(call))


if __name__ == "__main__":
    main()
