"""A small service with confluent-kafka."""

from __future__ import annotations

import logging
import sys

from confluent_kafka import KafkaError, Message, Producer, libversion, version

from leadsman.lab.programs.talking import ANSWER_SECONDS, Delivery, NotDelivered, say_settings, start, talk

DEFAULTS = {"connections.max.idle.ms": 0}
"""librdkafka's, which it logs nowhere: it never closes an idle connection by itself."""


def main() -> None:
    """Make one producer for the life of the process, and talk."""
    call = start(sys.argv[1:])
    client = f"confluent-kafka {version()} (librdkafka {libversion()[0]})"
    say_settings(client, {**DEFAULTS, **call.settings})
    producer = Producer(dict(call.settings), logger=logging.getLogger("rdkafka"))

    def deliver(value: str) -> Delivery:
        outcome: list[tuple[KafkaError | None, Message]] = []
        producer.produce(
            call.topic, value.encode(), on_delivery=lambda error, message: outcome.append((error, message))
        )
        producer.flush(ANSWER_SECONDS)
        if not outcome:
            raise NotDelivered(f"No answer within {ANSWER_SECONDS} s")
        error, message = outcome[0]
        if error is not None:
            raise NotDelivered(str(error))
        return Delivery(message.partition() or 0, message.offset() or 0)

    def serve_callbacks() -> None:
        producer.poll(0)

    talk(call, deliver, serve_callbacks)
    producer.flush(5)


if __name__ == "__main__":
    main()
