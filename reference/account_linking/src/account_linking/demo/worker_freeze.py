"""Plans a period without webhooks for one worker: it stays frozen for longer than the path keeps an idle connection."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Self

from confluent_kafka import Consumer, TopicPartition

from account_linking import fetch_tasks
from account_linking.demo.deployment import PARTITIONS, PATH_IDLE_LIMIT_SECONDS
from account_linking.demo.simulated_day import QUARTERS
from account_linking.topics import FETCH_TASKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from account_linking.demo.deployment import Deployment

CLOSE_DELAY_SECONDS = 2.4
"""Added to the path's idle limit: the broker checks for idle connections periodically and closes one at a time."""


@dataclass(frozen=True, slots=True)
class WorkerFreeze:
    """`worker`: the worker of each item. `quarters`: by worker, the quarter hours in which it is frozen."""

    worker: Mapping[str, int]
    quarters: Mapping[int, range]

    @classmethod
    def plan(cls, deployment: Deployment, *, seconds: float) -> Self:
        """Plan a freeze of the first worker that outlasts the path's idle limit when the day lasts `seconds`."""
        length = ceil((PATH_IDLE_LIMIT_SECONDS + CLOSE_DELAY_SECONDS) / (seconds / QUARTERS))
        return cls(_workers(deployment), {0: range(40, min(40 + length, QUARTERS - 4))})

    def is_frozen(self, item: str, quarter: int) -> bool:
        """Return whether the item's worker stays frozen in this quarter hour."""
        return quarter in self.quarters.get(self.worker.get(item, -1), ())


def _workers(deployment: Deployment) -> dict[str, int]:
    """Return each item's worker: its partition of the topic. Joining a consumer group would take seconds."""
    consumer = Consumer({"bootstrap.servers": deployment.bootstrap, "group.id": "worker-freeze", "log_level": 0})
    consumer.assign([TopicPartition(FETCH_TASKS, partition, 0) for partition in range(PARTITIONS)])
    workers: dict[str, int] = {}
    items = len(deployment.banks.ledger.items)
    while len(workers) < items:
        for message in consumer.consume(items - len(workers), 1.0):
            if not message.error():
                workers[fetch_tasks.load(bytes(message.value() or b"")).item] = int(message.partition() or 0)
    consumer.close()
    return workers
