"""Sends records at a steady rate to all partitions in turn, until `quit`: `steady_source.py TOPIC RATE SETTINGS`.

A value is the record's number and its send time. A line `poison` on standard input makes the next record one that fails
in every service. At the end one line of JSON reports how many were acknowledged, and the errors of the others.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from confluent_kafka import Producer

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

PARTITIONS_WITHIN_SECONDS = 30
ACKS_WITHIN_SECONDS = 60


def main(topic: str, rate: int, settings: dict[str, object]) -> None:
    """Send until the input ends."""
    producer = Producer(settings)
    partitions = len(producer.list_topics(topic, timeout=PARTITIONS_WITHIN_SECONDS).topics[topic].partitions)
    commands: list[str] = []
    quitting = threading.Event()
    threading.Thread(target=_read_commands, args=(commands, quitting), daemon=True).start()
    results: Counter[str] = Counter()

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        results["ok" if error is None else str(error.name())] += 1

    sent = 0
    while not quitting.is_set():
        poison = "poison" if commands and commands.pop() == "poison" else ""
        value = f"{sent}:{time.time_ns() // 1_000_000}:{poison}"
        producer.produce(topic, value, partition=sent % partitions, on_delivery=on_delivery)
        producer.poll(0)
        sent += 1
        quitting.wait(1 / rate)
    producer.flush(ACKS_WITHIN_SECONDS)
    print(
        json.dumps({"name": "source", "sent": sent, "acknowledged": results.pop("ok", 0), "refused": dict(results)}),
        flush=True,
    )


def _read_commands(commands: list[str], quitting: threading.Event) -> None:
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        commands.append(line.strip())
    quitting.set()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
