"""When whose webhooks are quiet: one worker's day has a gap that is longer than the path keeps a connection."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Self

from confluent_kafka import Consumer, TopicPartition

from account_linking import elements
from account_linking.demo.day import QUARTERS
from account_linking.demo.stage import PARTITIONS, PATH_SECONDS
from account_linking.names import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from account_linking.demo.stage import Stage

LONGER_SECONDS = 2.4
"""The broker looks every now and then for idle connections, and closes one at a time."""


@dataclass(frozen=True, slots=True)
class Siesta:
    """Which worker serves an item, and in which quarters of the day that worker is to have nothing to do."""

    worker: Mapping[str, int]
    quarters: Mapping[int, range]

    @classmethod
    def of(cls, stage: Stage, *, seconds: float) -> Self:
        """Give the first worker a quiet time, as long as it must be when a day lasts `seconds`."""
        length = ceil((PATH_SECONDS + LONGER_SECONDS) / (seconds / QUARTERS))
        return cls(_workers(stage), {0: range(40, min(40 + length, QUARTERS - 4))})

    def quiet(self, item: str, quarter: int) -> bool:
        """Say whether nothing is to be told of an item in a quarter."""
        return quarter in self.quarters.get(self.worker.get(item, -1), ())


def _workers(stage: Stage) -> dict[str, int]:
    """Return each item's worker: its partition, as the topic has it. Joining a group would itself take seconds."""
    consumer = Consumer({"bootstrap.servers": stage.bootstrap, "group.id": "siesta", "log_level": 0})
    consumer.assign([TopicPartition(ELEMENTS, partition, 0) for partition in range(PARTITIONS)])
    found: dict[str, int] = {}
    while len(found) < len(stage.world.ledger.items):
        for message in consumer.consume(100, 1.0):
            if not message.error():
                found[elements.load(bytes(message.value() or b"")).item] = int(message.partition() or 0)
    consumer.close()
    return found
