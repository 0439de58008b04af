"""A small service with kafka-python."""

from __future__ import annotations

import sys

import kafka
from kafka import KafkaProducer

from leadsman.lab.programs.talking import ANSWER_SECONDS, Call, Delivery, NotDelivered, say_settings, start, talk

TOLD = ("acks", "retries", "connections_max_idle_ms", "request_timeout_ms", "delivery_timeout_ms", "enable_idempotence")
"""Settings that are logged also where they are defaults."""


class Sender:
    """One producer, which says its settings when it is made."""

    def __init__(self, call: Call) -> None:
        self._topic = call.topic
        self._producer = KafkaProducer(**call.settings)
        config = self._producer.config
        known = {name.replace("_", "."): config[name] for name in (*TOLD, *call.settings)}
        say_settings(f"kafka-python {kafka.__version__}", known)

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait for its answer."""
        try:
            sent = self._producer.send(self._topic, value.encode()).get(timeout=ANSWER_SECONDS)
        except Exception as error:
            raise NotDelivered(repr(error)) from error
        return Delivery(sent.partition, sent.offset)

    def breathe(self) -> None:
        """Nothing to serve: it has a thread of its own."""

    def close(self) -> None:
        """Let go of it."""
        self._producer.close(timeout=5)


def main() -> None:
    """Talk."""
    call = start(sys.argv[1:])
    talk(call, lambda: Sender(call))


if __name__ == "__main__":
    main()
