"""An oracle: how many producer ids brokers hold on their heaps. Counted by Java itself, so for every version alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.lab.watch import asked
from leadsman.model import Harm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.lab.cluster import Broker
    from leadsman.lab.experiment import Stage

ENTRY = re.compile(r"^ *\d+: +(\d+) +\d+ +[\w.]+\.ProducerStateEntry(?: |$)", re.MULTILINE)
"""The class moved from `kafka.log` to `org.apache.kafka.storage.internals.log` in 3.5; its name stayed."""


CRASHED = "broker.crashed"
"""What a play marks when a broker died by itself, before it starts it again."""


def producer_ids(broker: Broker) -> int:
    """Return how many ids a running broker holds, in each partition anew. Before the first there is no such class."""
    found = ENTRY.search(asked(broker, "GC.class_histogram"))
    return int(found[1]) if found else 0


def harm(stage: Stage) -> Mapping[Harm, int]:
    """Return what brokers hold beyond an id for each producer that was there at one time, and how many brokers died."""
    running = [broker for broker in stage.cluster.brokers if broker.running]
    held = sum(producer_ids(broker) for broker in running)
    return {
        Harm.RETAINED: max(0, held - sum(worker.most_held for worker in stage.workers.values())),
        Harm.CRASHED: len(stage.cluster.brokers) - len(running) + (CRASHED in stage.marks),
    }
