"""A small service with kafka-python."""

from __future__ import annotations

import sys

import kafka
from kafka import KafkaProducer

from leadsman.lab.programs.talking import ANSWER_SECONDS, Delivery, NotDelivered, say_settings, start, talk

TOLD = ("acks", "retries", "connections_max_idle_ms", "request_timeout_ms", "delivery_timeout_ms", "enable_idempotence")
"""Settings that are logged also where they are defaults."""


def main() -> None:
    """Make one producer for the life of the process, and talk."""
    call = start(sys.argv[1:])
    producer = KafkaProducer(**call.settings)
    known = {name: producer.config[name] for name in (*TOLD, *call.settings)}
    say_settings(f"kafka-python {kafka.__version__}", {name.replace("_", "."): value for name, value in known.items()})

    def deliver(value: str) -> Delivery:
        try:
            sent = producer.send(call.topic, value.encode()).get(timeout=ANSWER_SECONDS)
        except Exception as error:
            raise NotDelivered(repr(error)) from error
        return Delivery(sent.partition, sent.offset)

    talk(call, deliver)
    producer.close(timeout=5)


if __name__ == "__main__":
    main()
