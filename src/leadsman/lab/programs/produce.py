"""Sends records at a steady rate over all partitions, until told to quit: `produce.py TOPIC RATE SETTINGS`.

A value is its number and when it was sent. A line `poison` on standard input makes the next one a record that no
service can digest. At the end one line of JSON says how many were acknowledged, and why others were not.
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
    orders: list[str] = []
    over = threading.Event()
    threading.Thread(target=_listen, args=(orders, over), daemon=True).start()
    told: Counter[str] = Counter()

    def answered(error: KafkaError | None, _: Message) -> None:
        told["ok" if error is None else str(error.name())] += 1

    sent = 0
    while not over.is_set():
        poison = "poison" if orders and orders.pop() == "poison" else ""
        value = f"{sent}:{time.time_ns() // 1_000_000}:{poison}"
        producer.produce(topic, value, partition=sent % partitions, on_delivery=answered)
        producer.poll(0)
        sent += 1
        over.wait(1 / rate)
    producer.flush(ACKS_WITHIN_SECONDS)
    print(
        json.dumps({"name": "source", "sent": sent, "acknowledged": told.pop("ok", 0), "refused": dict(told)}),
        flush=True,
    )


def _listen(orders: list[str], over: threading.Event) -> None:
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        orders.append(line.strip())
    over.set()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
